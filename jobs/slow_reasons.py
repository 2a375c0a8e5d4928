"""Why a volume is slow, or a disk busy: the figures, with what the host says of the disk and what
changed before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from django.db.models import Q

from jobs import timeline
from jobs.models import OVER, Alert, Job, State
from jobs.models.job import NEW_CACHES
from jobs.timeline import TimelineEntry, TimelinePlace, entries_of, keys_of, merged
from storage import row_security
from storage.access import Person
from storage.analysis.slowness import slow_figures
from storage.analysis.slowness.explanation import (
    AT_ONCE,
    BEFORE,
    Help,
    PastChange,
    SlowExplanation,
    Timing,
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
MOST_CHANGES: Final = 6
LOOKED_AT_CHANGES: Final = 4 * MOST_CHANGES
"""So many of the last are looked at for those of the volumes that use the disk most."""
CACHES: Final = (Help.ADD_CACHE, Help.RESIZE_CACHE)
VERDICTS: Final = tuple(code for code, kind in KINDS.items() if kind.is_about_speed)
"""Codes of alerts that the card explains."""


@dataclass(frozen=True, slots=True)
class Slowness:
    """An explanation with the rows that it mentions. `verdicts` are the open alerts that the
    figures of the volume or disk have; staff only, as are `figures.rows`. `changes` of volumes that
    use the disk most come first, then the newest. `cache_jobs` are
    those of volumes whose cache would be advised without them; staff only. `has_new_cache`: the
    customer's volume got its cache in the slow time, or after it."""

    explanation: SlowExplanation
    figures: SlowFigures
    changes: tuple[TimelineEntry, ...]
    verdicts: tuple[Alert, ...] = ()
    cache_jobs: tuple[Job, ...] = ()
    has_new_cache: bool = False


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
        made = Job.objects.filter(_new_caches(read.timing), volume=row.volume, dry_run=False)
        has_new_cache = row.cache is not None and made.exists()
    own = Job.objects.visible_to(user).filter(volume=row.volume, dry_run=False)
    began = read.timing.since or read.timing.looked_at
    # What has not begun cannot be a reason.
    near = own.filter(started_at__gte=began - BEFORE, started_at__lte=began + AT_ONCE)
    keys = keys_of(near.select_related(None), "job", "started_at").order_by("-moment")
    found = _joined(read, (), list(keys[:MOST_CHANGES]), ())
    return replace(found, has_new_cache=has_new_cache)


def _explained(
    read: SlowFigures, user: Person, place: TimelinePlace, verdicts: tuple[Alert, ...]
) -> Slowness:
    faults = Alert.objects.visible_to(user).open()
    faults = faults.filter(_of_subjects(read.disk_names), host=read.host, code__in=FAULTS)
    sentences = [each.message for each in faults] if read.disk_names else []
    found = _joined(read, sentences, _keys_before(read, user, place), verdicts)
    return _without_jobs(found, user)


def _without_jobs(found: Slowness, user: Person) -> Slowness:
    """No advice for a volume that a job changes, or that has got a cache since it was slow."""
    known = found.explanation
    advised = {each.volume_id for each in known.remedies if each.help in CACHES}
    asked = advised | {each.volume_id for each in known.closed}
    lately = ~Q(state__in=OVER) | _new_caches(known.timing)
    jobs = Job.objects.visible_to(user).filter(lately, volume__in=asked, dry_run=False)
    cache_jobs = tuple(jobs.with_names()) if asked else ()
    taken = {each.volume_id for each in cache_jobs}
    explanation = replace(
        known,
        remedies=tuple(
            each
            for each in known.remedies
            if each.help not in CACHES or each.volume_id not in taken
        ),
        closed=tuple(each for each in known.closed if each.volume_id not in taken),
    )
    return replace(found, explanation=explanation, cache_jobs=cache_jobs)


def _new_caches(timing: Timing) -> Q:
    """Jobs that made a cache in the slow time or after it."""
    if timing.since is None:
        return Q(pk__in=())
    return Q(kind__in=NEW_CACHES, state=State.SUCCEEDED, ended_at__gte=timing.since)


def _keys_before(
    read: SlowFigures, user: Person, place: TimelinePlace
) -> list[tuple[str, datetime, int]]:
    """What may have to do with it: no job that has not begun, and no alert but those of disks, and
    of what is not as recorded."""
    began = read.timing.since or read.timing.looked_at
    sources = [each for each in timeline.ALL if each not in (timeline.all_alerts, timeline.jobs)]
    drifted = Alert.objects.visible_to(user).filter(volume=read.volume_id, code="drift")
    keys = [source(user, place) for source in (timeline.disk_alerts, *sources)]
    keys.append(keys_of(drifted.exclude(volume=None), "alert", "opened_at"))
    begun = Job.objects.visible_to(user).filter(dry_run=False, started_at__isnull=False)
    of_place = {"host": place.host} if place.host is not None else {"volume": place.volume}
    keys.append(keys_of(begun.filter(**of_place), "job", "started_at"))
    near = [each.filter(moment__gte=began - BEFORE, moment__lte=began + AT_ONCE) for each in keys]
    return list(merged(near)[:LOOKED_AT_CHANGES])


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
    changes = sorted(entries_of(near), key=lambda each: not _is_of_top(each, explanation, read))
    return Slowness(explanation, read, tuple(changes[:MOST_CHANGES]), verdicts)


def _is_of_top(entry: TimelineEntry, explanation: SlowExplanation, read: SlowFigures) -> bool:
    """Whether it happened to a volume that uses the disk most."""
    top = {each.volume_id for each in explanation.top}
    if entry.source in ("job", "alert"):
        return entry.record.volume_id in top
    if entry.source == "event":
        keys = {row.volume.key for pk, row in read.rows.items() if pk in top}
        return entry.record.volume_key in keys
    return False


def _of_subjects(names: Iterable[str]) -> Q:
    """Alerts of a disk or array by these names: after that of a disk its controller may follow."""
    matching = Q(pk__in=())
    for name in names:
        matching |= Q(subject=name) | Q(subject__startswith=f"{name} ")
    return matching
