"""All advice for one host, from its last inventory and its samples of the last two weeks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from storage.analysis.advice.known_curves import known_curves
from storage.analysis.advice.past_loads import LOOK_BACK, look_back_start, past_loads
from storage.analysis.advice.suggestion import Suggestion, Unhelped, judged
from storage.analysis.advice.usage import GuestUse, LoadShare, by_guest, uses
from storage.analysis.advice.usual_wait import (
    ENOUGH_DAYS,
    LEAST_SECONDS,
    LEAST_WAIT_SECONDS,
    known_days,
)
from storage.formatting import seconds
from storage.health.host_problems import ORDER, HealthFinding, reported_problems
from storage.inventory.facts import HostFacts
from storage.metrics.rates import Figures, Sums, figures
from storage.models import Host
from storage.naming import is_scratch
from storage.planner.technologies.lookup import TECHNOLOGIES
from storage.volumes.snapshot import VolumeSnapshot


def risks_of(host: Host, facts: HostFacts | None) -> tuple[HealthFinding, ...]:
    """The worst first."""
    problems = list(reported_problems(host))
    if facts is not None:
        problems += [
            HealthFinding("", *risk)
            for lv in facts.lvs
            if not is_scratch(lv.name, lv.tags)
            for technology in TECHNOLOGIES
            for risk in technology.risks(facts, lv)
        ]
    return tuple(sorted(problems, key=lambda problem: ORDER[problem.severity]))


@dataclass(frozen=True, slots=True)
class CacheUse:
    """A volume with a cache and what it did in the last hour and in all of the time."""

    row: VolumeSnapshot
    recent: Figures
    whole: Figures


@dataclass(frozen=True, slots=True)
class Outlook:
    """What was judged from `start` to `end`. `recent` are the uses of the last hour of it, `uses`
    and `guests` those of all of it. `seconds` is how much of it has figures, and so many `days` of
    24 hours have."""

    start: datetime
    end: datetime
    seconds: float
    days: int
    recent: tuple[LoadShare, ...]
    uses: tuple[LoadShare, ...]
    guests: tuple[GuestUse, ...]
    caches: tuple[CacheUse, ...]
    suggestions: tuple[Suggestion, ...]
    unhelped: tuple[Unhelped, ...]
    risks: tuple[HealthFinding, ...]

    @property
    def is_enough(self) -> bool:
        """True once there are enough figures to spend money by."""
        return self.days >= ENOUGH_DAYS

    @property
    def early_seconds(self) -> float | None:
        """How much is known of the volumes to cache, where that is too little to name one; None
        where it is enough."""
        waited = [
            use.load.uncached.dt_ms / 1000
            for use in self.uses
            if use.row.cache is None and use.load.uncached.read_ms
        ]
        longest = max(waited, default=self.seconds)
        return longest if longest < LEAST_SECONDS else None

    @property
    def enough_days(self) -> int:
        return ENOUGH_DAYS

    @property
    def why_none(self) -> str:
        """Why there is no suggestion."""
        if self.unhelped:
            return "Volumes wait, but for none of them a cache is advised."
        if self.early_seconds is not None:
            return f"Not enough data: {seconds(self.early_seconds)} so far."
        time = "a day so far"
        if self.is_enough:
            time = f"on a typical day of the last {self.look_back_days} days"
        return (
            "Reads of the volumes that could have a cache wait for HDDs for less than "
            f"{seconds(LEAST_WAIT_SECONDS)} {time}."
        )

    @property
    def look_back_days(self) -> int:
        return LOOK_BACK.days


def outlook(
    host: Host, facts: HostFacts | None, rows: Sequence[VolumeSnapshot], now: datetime
) -> Outlook:
    """`facts` are the host's inventory, `rows` its volumes. One query, whatever their number, up to
    hundreds of them (`storage.analysis.advice.past_loads`)."""
    past = past_loads([row.volume.pk for row in rows], now)
    whole = {volume_id: each.whole for volume_id, each in past.items()}
    recent = {volume_id: each.recent for volume_id, each in past.items()}
    used = uses(rows, whole)
    days = {volume_id: [day.uncached for day in each.days] for volume_id, each in past.items()}
    verdicts = judged(used, days, known_curves([each.row.volume.key for each in used]))
    return Outlook(
        start=look_back_start(now),
        end=now,
        seconds=max((each.whole.dt_ms / 1000 for each in whole.values()), default=0.0),
        days=max(
            (len(known_days([day.whole for day in each.days])) for each in past.values()),
            default=0,
        ),
        recent=uses(rows, recent),
        uses=used,
        guests=by_guest(used),
        caches=tuple(
            CacheUse(
                row,
                figures(recent[row.volume.pk].whole if row.volume.pk in recent else Sums()),
                figures(whole[row.volume.pk].whole if row.volume.pk in whole else Sums()),
            )
            for row in rows
            if row.cache is not None
        ),
        suggestions=verdicts.suggestions,
        unhelped=verdicts.unhelped,
        risks=risks_of(host, facts),
    )
