"""Why a volume is slow, or a disk busy: the figures, with what the host says of the disk and what
changed before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from django.db.models import Q

from jobs import timeline
from jobs.models import Alert, Job
from jobs.timeline import TimelineEntry, TimelinePlace, entries_of, keys_of, merged
from storage import row_security
from storage.access import Person
from storage.analysis.slowness import slow_figures
from storage.analysis.slowness.explanation import (
    AT_ONCE,
    BEFORE,
    MOST_CHANGES,
    PastChange,
    SlowExplanation,
    explain,
)
from storage.analysis.slowness.slow_figures import SlowFigures
from storage.models import Host
from storage.problems.all_kinds import KINDS
from storage.volumes.snapshot import VolumeSnapshot

FAULTS: Final = (
    "disk_vanished",
    "disk_failing",
    "attribute_failed",
    "self_test_failed",
    "uncorrectable_rose",
    "reported_rose",
    "pending_rose",
    "reallocated_rose",
    "crc_rose",
    "disk_hung",
    "array_failed",
    "array_degraded",
    "array_weakened",
)
"""Codes of what makes a disk or array slow until a disk of it is replaced."""
VERDICTS: Final = tuple(code for code, kind in KINDS.items() if kind.is_about_speed)
"""Codes of alerts that the card explains."""


@dataclass(frozen=True, slots=True)
class Slowness:
    """An explanation with the rows that it mentions. `verdicts` are the open alerts that the
    figures of the volume or disk have; staff only, as are `figures.rows`."""

    explanation: SlowExplanation
    figures: SlowFigures
    changes: tuple[TimelineEntry, ...]
    verdicts: tuple[Alert, ...] = ()


def reasons_of_volume(row: VolumeSnapshot, user: Person, at: datetime) -> Slowness:
    """For staff."""
    read = slow_figures.of_volume(row, at)
    place = (
        TimelinePlace(host=row.host) if row.host is not None else TimelinePlace(volume=row.volume)
    )
    verdicts = Alert.objects.visible_to(user).open().filter(volume=row.volume, code__in=VERDICTS)
    return _explained(read, user, place, tuple(verdicts.with_names()))


def reasons_of_disk(host: Host, name: str, user: Person, at: datetime) -> Slowness | None:
    """For staff; None where no volume is on such a disk."""
    read = slow_figures.of_disk(host, name, at)
    if read is None:
        return None
    names = read.disk_names or (name,)
    verdicts = Alert.objects.visible_to(user).open()
    verdicts = verdicts.filter(_of_subjects(names), host=host, code__in=VERDICTS)
    return _explained(read, user, TimelinePlace(host=host), tuple(verdicts.with_names()))


def reasons_of_own_volume(row: VolumeSnapshot, user: Person, at: datetime) -> Slowness:
    """For the customer who has the volume: shares without names, and only their own changes. The
    neighbours' load is added up here, beyond what the session may read."""
    with row_security.beyond():
        read = slow_figures.of_volume(row, at, for_customer=True)
    own = Job.objects.visible_to(user).filter(volume=row.volume, dry_run=False)
    began = read.timing.since or read.timing.looked_at
    near = own.filter(created_at__gte=began - BEFORE, created_at__lte=began + AT_ONCE)
    keys = keys_of(near.select_related(None), "job", "created_at").order_by("-moment")
    return _joined(read, (), list(keys[:MOST_CHANGES]), ())


def _explained(
    read: SlowFigures, user: Person, place: TimelinePlace, verdicts: tuple[Alert, ...]
) -> Slowness:
    faults = Alert.objects.visible_to(user).open()
    faults = faults.filter(_of_subjects(read.disk_names), host=read.host, code__in=FAULTS)
    sentences = [each.message for each in faults] if read.disk_names else []
    return _joined(read, sentences, _keys_before(read, user, place), verdicts)


def _keys_before(
    read: SlowFigures, user: Person, place: TimelinePlace
) -> list[tuple[str, datetime, int]]:
    """What may have to do with it: no alert but those of disks, and of what is not as recorded."""
    began = read.timing.since or read.timing.looked_at
    sources = [each for each in timeline.ALL if each is not timeline.all_alerts]
    drifted = Alert.objects.visible_to(user).filter(volume=read.volume_id, code="drift")
    keys = [source(user, place) for source in (timeline.disk_alerts, *sources)]
    keys.append(keys_of(drifted.exclude(volume=None), "alert", "opened_at"))
    near = [each.filter(moment__gte=began - BEFORE, moment__lte=began + AT_ONCE) for each in keys]
    return list(merged(near)[:MOST_CHANGES])


def _joined(
    read: SlowFigures,
    faults: Iterable[str],
    keys: list[tuple[str, datetime, int]],
    verdicts: tuple[Alert, ...],
) -> Slowness:
    explanation = explain(
        read.volume_id,
        replace(read.timing, is_alerted=bool(verdicts)),
        read.speed,
        read.disk,
        faults=tuple(faults),
        offers=read.offers,
        changes=[PastChange(at, source, number) for source, at, number in keys],
        lacks=read.lacks,
    )
    near = [(each.source, each.at, each.number) for each in explanation.changes]
    return Slowness(explanation, read, tuple(entries_of(near)), verdicts)


def _of_subjects(names: Iterable[str]) -> Q:
    """Alerts of a disk or array by these names: after that of a disk its controller may follow."""
    matching = Q(pk__in=())
    for name in names:
        matching |= Q(subject=name) | Q(subject__startswith=f"{name} ")
    return matching
