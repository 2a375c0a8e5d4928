"""Jobs, their steps, the locks on hosts and volume groups, and the audit trail."""

from jobs.models.audit import AuditEntry, AuditQuerySet, Phase
from jobs.models.bulk_change import BulkChange
from jobs.models.job import OVER, Job, JobQuerySet, Kind, Origin, State
from jobs.models.locks import Halt, Installation, VgFence
from jobs.models.step import Line, Step, StepState

__all__ = [
    "OVER",
    "AuditEntry",
    "AuditQuerySet",
    "BulkChange",
    "Halt",
    "Installation",
    "Job",
    "JobQuerySet",
    "Kind",
    "Line",
    "Origin",
    "Phase",
    "State",
    "Step",
    "StepState",
    "VgFence",
]
