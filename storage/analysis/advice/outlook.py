"""All advice for one host, from its last inventory and its samples of the last hour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from storage.analysis.advice.suggestion import (
    ENOUGH_SECONDS,
    LEAST_SECONDS,
    Suggestion,
    suggestions,
)
from storage.analysis.advice.usage import GuestUse, LoadShare, by_guest, uses
from storage.health.host_problems import ORDER, HostProblem, reported_problems
from storage.inventory.facts import HostFacts
from storage.metrics.rates import Figures, Sums, figures
from storage.metrics.samples.aggregate import FIGURES, added_up, intervals
from storage.models import Host, Resolution, Volume
from storage.planner.technologies.lookup import TECHNOLOGIES
from storage.volumes.snapshot import VolumeSnapshot


def risks_of(host: Host, facts: HostFacts | None) -> tuple[HostProblem, ...]:
    """The worst first."""
    problems = list(reported_problems(host))
    if facts is not None:
        problems += [
            HostProblem(*risk)
            for lv in facts.lvs
            for technology in TECHNOLOGIES
            for risk in technology.risks(facts, lv)
        ]
    return tuple(sorted(problems, key=lambda problem: ORDER[problem.severity]))


def loads(
    volumes: Iterable[Volume], starts: Sequence[datetime], end: datetime
) -> dict[int, tuple[Sums, ...]]:
    """By primary key of the volume: its sums from each of `starts` to `end`, in that order.
    Volumes without any sample in the longest window are missing."""
    keys = [volume.pk for volume in volumes]
    first = min(starts)
    table = intervals(keys, first, end, kind=FIGURES, begun_since=first, resolution=Resolution.RAW)
    sums_of: dict[int, list[Sums]] = {}
    for n, start in enumerate(starts):
        # Whole intervals only, as in a window.
        for each in added_up(table.begun_since(start), first, None):
            sums_of.setdefault(each.subject_id, [Sums()] * len(starts))[n] = each.sums
    return {volume_id: tuple(each) for volume_id, each in sums_of.items()}


SHORT: Final = timedelta(minutes=15)
LONG: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class CacheUse:
    """A volume with a cache and what the cache did in the last 15 minutes and the last hour."""

    row: VolumeSnapshot
    short: Figures
    long: Figures


@dataclass(frozen=True, slots=True)
class Outlook:
    """`recent` are the uses of the last 15 minutes, `uses` those of the last hour. `seconds` is how
    much of the hour has figures."""

    seconds: float
    recent: tuple[LoadShare, ...]
    uses: tuple[LoadShare, ...]
    guests: tuple[GuestUse, ...]
    caches: tuple[CacheUse, ...]
    suggestions: tuple[Suggestion, ...]
    risks: tuple[HostProblem, ...]

    @property
    def is_enough(self) -> bool:
        """True once there are enough figures to spend money by."""
        return self.seconds >= ENOUGH_SECONDS

    @property
    def early_seconds(self) -> float | None:
        """How much is known of the volumes to cache, where that is too little to name one; None
        where it is enough."""
        waited = [
            use.sums.dt_ms / 1000 for use in self.uses if use.row.cache is None and use.sums.read_ms
        ]
        seconds = max(waited, default=self.seconds)
        return seconds if seconds < LEAST_SECONDS else None

    @property
    def minutes(self) -> int:
        return int(self.seconds // 60)

    @property
    def enough_minutes(self) -> int:
        return ENOUGH_SECONDS // 60


def outlook(
    host: Host, facts: HostFacts | None, rows: Sequence[VolumeSnapshot], now: datetime
) -> Outlook:
    """`facts` are the host's inventory, `rows` its volumes. One query, whatever their number."""
    sums = loads((row.volume for row in rows), (now - SHORT, now - LONG), now)
    short = {volume_id: each[0] for volume_id, each in sums.items()}
    long = {volume_id: each[1] for volume_id, each in sums.items()}
    recent, used = uses(rows, short), uses(rows, long)
    return Outlook(
        seconds=max((each.dt_ms / 1000 for each in long.values()), default=0.0),
        recent=recent,
        uses=used,
        guests=by_guest(recent),
        caches=tuple(
            CacheUse(
                row,
                figures(short.get(row.volume.pk, Sums())),
                figures(long.get(row.volume.pk, Sums())),
            )
            for row in rows
            if row.cache is not None
        ),
        suggestions=suggestions(used),
        risks=risks_of(host, facts),
    )
