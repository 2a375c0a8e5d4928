"""Jobs, their steps, the locks on hosts and volume groups, the audit trail, and alerts."""

from jobs.models.alert import Alert, AlertEvent, AlertEventKind, AlertRound, Silence
from jobs.models.audit import AuditEntry, AuditQuerySet, Phase
from jobs.models.bulk_change import BulkChange
from jobs.models.job import (
    CHANGING_SPEED,
    DESTROYING,
    OF_DISKS,
    OF_HOST,
    OVER,
    WINDOWED,
    Job,
    JobQuerySet,
    Kind,
    Origin,
    State,
)
from jobs.models.life_sign import LifeSign, PartKind
from jobs.models.locks import Halt, Installation, VgFence
from jobs.models.media_check import CheckKind, CheckState, MediaCheck
from jobs.models.step import Line, Step, StepState

__all__ = [
    "CHANGING_SPEED",
    "DESTROYING",
    "OF_DISKS",
    "OF_HOST",
    "OVER",
    "WINDOWED",
    "Alert",
    "AlertEvent",
    "AlertEventKind",
    "AlertRound",
    "AuditEntry",
    "AuditQuerySet",
    "BulkChange",
    "CheckKind",
    "CheckState",
    "Halt",
    "Installation",
    "Job",
    "JobQuerySet",
    "Kind",
    "LifeSign",
    "Line",
    "MediaCheck",
    "Origin",
    "PartKind",
    "Phase",
    "Silence",
    "State",
    "Step",
    "StepState",
    "VgFence",
]
