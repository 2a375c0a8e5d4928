"""The one judge of when reads are slow: alerts, lists and the explanation ask for these courses,
which are read from the samples and from what the last judgement noted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from storage.analysis.slowness.course import (
    LOOKED_BACK,
    STEP_SECONDS,
    ReadCourse,
    ReadMinute,
    read_course,
)
from storage.health.slowness import SlowSpell
from storage.metrics.samples.aggregate import Aggregate, aggregate
from storage.metrics.samples.chunk_store import VOLUMES
from storage.models import CacheCondition

READS: Final = VOLUMES.only("dt_ms", "reads", "read_ms")
SHORTEST: Final = timedelta(seconds=STEP_SECONDS / 2)
"""A minute that has begun later says too little: it is judged with the one before."""


def read_courses(
    limits_ms: Mapping[int, int], at: datetime, *, since: datetime | None = None
) -> dict[int, ReadCourse]:
    """Of volumes by primary key, with what is slow for each, in the hours up to `at`. Nothing that
    ended before `since` counts."""
    start = at.replace(second=0, microsecond=0) - LOOKED_BACK
    noted = _noted(limits_ms, since, at)
    # What was before a slow time that is noted says nothing about it.
    after = {pk: noted[pk].begun if pk in noted else since or start for pk in limits_ms}
    by_volume: dict[int, list[Aggregate]] = {each: [] for each in limits_ms}
    for part in aggregate(limits_ms, start, at, kind=READS, step=STEP_SECONDS, since=after):
        by_volume[part.subject_id].append(part)
    return {
        volume_id: read_course(_minutes(each), limits_ms[volume_id], noted.get(volume_id))
        for volume_id, each in by_volume.items()
    }


def _noted(volume_ids: Iterable[int], since: datetime | None, at: datetime) -> dict[int, SlowSpell]:
    """The slow times that the last judgement noted, where they began between the two moments."""
    rows = CacheCondition.objects.filter(volume__in=volume_ids, noted__has_key="slow")
    spells = [
        (pk, SlowSpell.from_json(kept)) for pk, kept in rows.values_list("volume_id", "noted__slow")
    ]
    return {
        pk: spell
        for pk, spell in spells
        if spell is not None and spell.begun < at and (since is None or spell.begun >= since)
    }


def _minutes(parts: Sequence[Aggregate]) -> list[ReadMinute]:
    minutes: list[ReadMinute] = []
    for part in sorted(parts, key=lambda each: each.n):
        at = datetime.fromtimestamp(part.ended, UTC)
        lasted = timedelta(seconds=part.ended - part.began)
        minutes.append(ReadMinute(at, lasted, part.counts["reads"], part.counts["read_ms"]))
    if len(minutes) > 1 and minutes[-1].lasted < SHORTEST:
        *earlier, one, rest = minutes
        begun = one.at - one.lasted
        joined = ReadMinute(
            rest.at, rest.at - begun, one.reads + rest.reads, one.read_ms + rest.read_ms
        )
        return [*earlier, joined]
    return minutes
