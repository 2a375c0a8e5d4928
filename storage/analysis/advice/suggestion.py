"""Which volume to cache first, and which not: the waiting that a cache saves a day, per GiB of SSD
that it needs, by the volume's curve; without one the time waited on a usual day, of which a cache
saves some part. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from storage.analysis.advice.by_hand import ByHand, by_hand
from storage.analysis.advice.usage import LoadShare
from storage.analysis.advice.usual_wait import (
    DAY,
    ENOUGH_DAYS,
    LEAST_SECONDS,
    LEAST_WAIT_SECONDS,
    UsualWait,
    usual_wait,
)
from storage.analysis.curve.prospects import Prospect
from storage.analysis.heat_forecast import ForecastByKind
from storage.analysis.size_choice import (
    RISK,
    SizeChoice,
    by_curve,
    by_traffic,
    helps_never,
    saved_range,
    saved_seconds,
    technology_reason,
    writeback_gain,
)
from storage.analysis.size_forecasts import forecasts_of
from storage.byte_sizes import GIB
from storage.formatting import seconds, size
from storage.metrics.rates import Sums
from storage.models import SizeForecast
from storage.planner import Refused
from storage.planner.technologies.lookup import TECHNOLOGIES
from storage.planner.wish import TechnologyName
from storage.volumes.cache_sizes import SIZES_BYTES, free_bytes, within
from storage.volumes.cache_wish import mode_refusal, offered_sizes
from storage.volumes.snapshot import VolumeSnapshot

HOUR: Final = 3600
PLANNED: Final = 20
"""For so many volumes, those with the longest waits, the commands are worked out."""
NAMES: Final = tuple(each.name for each in TECHNOLOGIES)
WRITES_GAIN: Final = "Reads gain little, writes much: so writeback mode."
NOT_KNOWN: Final = "What it reads again is not known yet."


@dataclass(frozen=True, slots=True)
class CacheAdvice:
    """A cache to add. `prospect` is what the volume's curve says of it, None without a curve.
    `reasons` are sentences: why this size, this technology, and what writes say."""

    size_bytes: int
    mode: str
    prospect: Prospect | None
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A volume without a cache. `waited_seconds` is what its reads took in the time without a cache
    that has figures (`covered_seconds`), those at once counted each. `usual` is what it is judged
    by without a curve. `obstacle` is why the cache cannot be had now."""

    use: LoadShare
    advised: CacheAdvice
    usual: UsualWait
    waited_seconds: float
    covered_seconds: float
    obstacle: Refused | None
    commands: ByHand | None

    @property
    def size_bytes(self) -> int:
        return self.advised.size_bytes

    @property
    def is_enough(self) -> bool:
        """True once there are enough figures to spend money by."""
        return self.usual.days >= ENOUGH_DAYS

    @property
    def waited_seconds_per_day(self) -> float:
        """On a usual day."""
        return self.usual.reads * DAY

    @property
    def seconds_per_gib(self) -> float:
        """A day: of waiting saved, without a curve of waiting."""
        prospect = self.advised.prospect
        each = self.waited_seconds_per_day if prospect is None else saved_seconds(prospect)
        return each / (self.size_bytes / GIB)

    @property
    def arithmetic(self) -> str:
        """The sum as a person would write it. Less than a day is not made a figure a day of."""
        cache = f"per GiB of a cache of {size(self.size_bytes)}"
        if (prospect := self.advised.prospect) is not None:
            may = "Saves" if prospect.verdict == "helps" else "May save"
            each = hours_text(self.seconds_per_gib)
            return f"{may} {saved_range(prospect)} of waiting a day: about {each} {cache}"
        waited, of_reads = self.waited_seconds_per_day, "Reads wait {} a day"
        if not self.usual.days:
            waited = self.waited_seconds
            of_reads = f"Reads waited {{}} in {seconds(self.covered_seconds)}"
        each = hours_text(waited / (self.size_bytes / GIB))
        return f"{of_reads.format(hours_text(waited))}: {each} {cache}"


def hours_text(waited_seconds: float) -> str:
    """A wait, which many reads at once can make longer than the day in which it was."""
    if waited_seconds < HOUR:
        return seconds(waited_seconds)
    return f"{waited_seconds / HOUR:,.1f} h"


@dataclass(frozen=True, slots=True)
class Unhelped:
    """A volume that waits and for which no cache is advised. `instead` says what would help where
    no size of cache does; "" where that is not certain."""

    use: LoadShare
    reason: str
    instead: str


@dataclass(frozen=True, slots=True)
class CacheVerdicts:
    """The volumes that wait, by whether a cache helps."""

    suggestions: tuple[Suggestion, ...] = ()
    unhelped: tuple[Unhelped, ...] = ()


def judged(
    shares: Sequence[LoadShare],
    days: Mapping[int, Sequence[Sums]],
    forecasts: Mapping[int, SizeForecast],
) -> CacheVerdicts:
    """Volumes on slow disks without a cache that wait on usual days, the best use of SSD first:
    what a curve says before what only may be, those with too few figures after the others. Writes
    count where there is a curve. `days` are sums without a cache, by the volume's primary key, as
    `forecasts` are."""
    usual = {
        use.row.volume.pk: usual_wait(days[use.row.volume.pk])
        for use in shares
        if use.row.cache is None and use.load.uncached.dt_ms >= LEAST_SECONDS * 1000
    }
    waits = {
        key: wait.reads + (wait.writes if key in forecasts else 0.0) for key, wait in usual.items()
    }
    waiting = sorted(
        (use for use in shares if waits.get(use.row.volume.pk, 0.0) * DAY >= LEAST_WAIT_SECONDS),
        key=lambda use: -waits[use.row.volume.pk] / use.row.volume.size_bytes,
    )
    listed, unhelped = [], []
    for use in waiting[:PLANNED]:
        row = use.row
        if row.facts is None or row.placement is None or (row.lv and row.lv.hosts_own):
            continue
        wait, forecast = usual[row.volume.pk], forecasts.get(row.volume.pk)
        curves = forecasts_of(forecast) if forecast is not None else {}
        advised = _advised(use, wait, curves)
        if isinstance(advised, CacheAdvice):
            listed.append(_suggestion(use, wait, advised))
        else:
            unhelped.append(advised)
    listed.sort(
        key=lambda each: (
            each.obstacle is not None,
            not each.is_enough,
            each.advised.prospect is None,
            -each.seconds_per_gib,
        )
    )
    return CacheVerdicts(tuple(listed), tuple(unhelped))


def _advised(use: LoadShare, usual: UsualWait, curves: ForecastByKind) -> CacheAdvice | Unhelped:
    row, sizes = use.row, _sizes(use.row)
    through = _prospects(curves, row.technology.name, writeback=False)
    if not any(each.size_bytes in sizes for each in through):
        chosen = by_traffic(sizes, usual.bytes_per_day, row.volume.size_bytes)
        reasons = (f"{NOT_KNOWN} {chosen.reason}",)
        return CacheAdvice(chosen.size_bytes or sizes[0], "writethrough", None, reasons)
    back = _prospects(curves, row.technology.name, writeback=True)
    refusal = mode_refusal(row, "writeback")
    chosen = by_curve(through, sizes)
    if chosen.size_bytes is not None and chosen.prospect is not None:
        gain = writeback_gain(chosen.prospect, _of_size(back, chosen.size_bytes), refusal)
        return _by_curve(row, "writethrough", chosen, curves, gain)
    of_writes = by_curve(back, sizes)
    if of_writes.size_bytes is None:
        offered = [each for each in (*through, *back) if each.size_bytes in sizes]
        return Unhelped(use, chosen.reason, _instead(row) if helps_never(offered) else "")
    if refusal:
        reason = f"{chosen.reason} In writeback mode it would: {of_writes.reason} {refusal}"
        return Unhelped(use, reason, "")
    return _by_curve(row, "writeback", of_writes, curves, f"{WRITES_GAIN} {RISK}")


def _by_curve(
    row: VolumeSnapshot, mode: str, chosen: SizeChoice, curves: ForecastByKind, writes: str
) -> CacheAdvice:
    size_bytes = chosen.size_bytes or 0
    fits = [
        {
            name: prospect
            for name in NAMES
            for prospect in _prospects(curves, name, writeback=writeback)
            if prospect.size_bytes == size_bytes
        }
        for writeback in (False, True)
    ]
    technology = ""
    if all(len(each) == len(NAMES) for each in fits):
        technology = technology_reason(row.technology.name, *fits)
    reasons = tuple(each for each in (chosen.reason, technology, writes) if each)
    return CacheAdvice(size_bytes, mode, chosen.prospect, reasons)


def _prospects(
    curves: ForecastByKind, technology: TechnologyName, *, writeback: bool
) -> Sequence[Prospect]:
    traffic = curves.get((technology, writeback))
    return traffic.prospects if traffic else ()


def _of_size(prospects: Sequence[Prospect], size_bytes: int) -> Prospect:
    return next(each for each in prospects if each.size_bytes == size_bytes)


def _sizes(row: VolumeSnapshot) -> list[int]:
    """As the form offers them; where there is no room for any, those for which there could be."""
    least_bytes = row.technology.least_offered_bytes
    could_be = [each for each in SIZES_BYTES if each >= least_bytes]
    return offered_sizes(row) or within(could_be, row.volume.size_bytes)


def _instead(row: VolumeSnapshot) -> str:
    """What would help where no cache does."""
    free = 0
    if row.facts is not None and row.placement is not None:
        free = free_bytes(row.facts, row.placement.vg_uuid, "fast")
    whole = size(row.volume.size_bytes)
    room = f"{size(free)} of SSD are free" if free else "no SSD is free"
    return f"Only SSD for the whole volume helps: it needs {whole}; {room}."


def _suggestion(use: LoadShare, usual: UsualWait, advised: CacheAdvice) -> Suggestion:
    commands, obstacle = None, None
    try:
        commands = by_hand(use.row, advised.size_bytes, advised.mode)
    except Refused as refused:
        obstacle = refused
    sums = use.load.uncached
    return Suggestion(
        use, advised, usual, sums.read_ms / 1000, sums.dt_ms / 1000, obstacle, commands
    )
