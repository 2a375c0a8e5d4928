"""A host before and after it restarted into another kernel: the hours of the same time of day in
which its volumes did about as much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from storage.analysis.before_after import Block, Pair, before_window, pairs, total
from storage.analysis.before_after.block import DAY, HOUR, WEEK, period_seconds
from storage.analysis.before_after.change import LEAST
from storage.analysis.before_after.verdict import least_alike, time_change
from storage.formatting import counted, iops, ms
from storage.metrics.compare import Compared, times_longer
from storage.metrics.rates.figures import percentile_ms
from storage.metrics.samples.aggregate import aggregate
from storage.metrics.samples.chunk_store import HOSTS, kept_for
from storage.models import Host, HostChange, HostChangeKind, Resolution, RestartEffect

LEAST_LOSS: Final = 1.05
"""A loss that matters takes surely so many times as long."""
LIKE_LOAD: Final = 1.5
"""Hours count as alike where one has at most so many times the I/O of the other."""


@dataclass(frozen=True, slots=True)
class LikeHours:
    """The hours of one side that are like hours of the other; None where nothing was measured."""

    p95_ms: float | None
    p99_ms: float | None
    average_ms: float | None
    iops: float


@dataclass(frozen=True, slots=True)
class RestartComparison:
    """`days` of each side are compared, of which `hours` are like ones. There is no `before` and
    no `after`, and `lacks` says why, where too little is known. An I/O takes so many `times` as
    long as before: best estimate, least, most (95 %); None where that is unknown."""

    days: int
    hours: int
    lacks: str = ""
    before: LikeHours | None = None
    after: LikeHours | None = None
    times: tuple[float, float, float] | None = None

    @property
    def verdict(self) -> Literal["worse", "better", ""]:
        """ "" where no difference is certain."""
        if self.times is None:
            return ""
        return "worse" if self.times[1] > 1 else "better" if self.times[2] < 1 else ""

    @property
    def effect(self) -> str:
        """The loss or gain (`RestartEffect`) that alerts go by; "" for none that is certain."""
        if self.times is not None and self.times[1] >= LEAST_LOSS:
            return RestartEffect.LOSS
        return RestartEffect.GAIN if self.verdict == "better" else ""

    @property
    def sentence(self) -> str:
        """What the figures come to, "" where there are none."""
        if self.before is None:
            return ""
        if self.times is None:
            return "The hours differ too much to tell a difference."
        return {
            "worse": "I/O is slower with the new kernel.",
            "better": "I/O is faster with the new kernel.",
            "": "No difference is certain.",
        }[self.verdict]

    @property
    def rows(self) -> tuple[Compared, ...]:
        """The figures for people."""
        before, after = self.before, self.after
        if before is None or after is None:
            return ()
        p95, p99 = (before.p95_ms, after.p95_ms), (before.p99_ms, after.p99_ms)
        average = before.average_ms, after.average_ms
        times = "" if self.times is None else "{:.2f} times ({:.2f} to {:.2f})".format(*self.times)
        return (
            Compared("p95 latency", ms(p95[0]), ms(p95[1]), times_longer(*p95), ""),
            Compared("p99 latency", ms(p99[0]), ms(p99[1]), times_longer(*p99), ""),
            Compared("Average time of an I/O", ms(average[0]), ms(average[1]), times, self.verdict),
            Compared("IOPS at like load", iops(before.iops), iops(after.iops), "", ""),
        )


def compare_restart(change: HostChange, now: datetime) -> RestartComparison:
    """The whole days before and after a restart into another kernel, up to a week, but not beyond
    another such restart. Four queries at most."""
    kernels = HostChange.objects.filter(host=change.host_id, kind=HostChangeKind.KERNEL)
    earlier = kernels.filter(at__lt=change.at).order_by("-at").first()
    later = kernels.filter(at__gt=change.at).order_by("at").first()
    keeping = kept_for(Resolution.HOUR) or timedelta()
    limit = max(now - keeping, earlier.at if earlier is not None else change.host.created_at)
    end = min(now, later.at if later is not None else now)
    # The hour of the restart belongs to neither side.
    began = next_hour(change.at)
    length = min(WEEK, (change.at - limit).total_seconds(), (end - began).total_seconds())
    days = max(0, int(length // DAY))
    if not days:
        return RestartComparison(0, 0, "Each side needs a whole day: look again later.")
    before = before_window(limit, change.at, days * DAY, HOUR)
    after = began, began + (before[1] - before[0])
    alike = [
        pair
        for pair in pairs(
            _hours(change.host, *before), _hours(change.host, *after), period_seconds(days * DAY)
        )
        if _is_like(pair)
    ]
    if len(alike) < LEAST:
        return RestartComparison(
            days,
            len(alike),
            f"Not enough data: {counted(len(alike), 'hour')} had about as much I/O on both sides, "
            f"and {LEAST} are needed.",
        )
    return _compared(days, alike)


def next_hour(at: datetime) -> datetime:
    """The first hour of which all is after it."""
    return at.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)


def _is_like(pair: Pair) -> bool:
    before, after = (block.reads / block.dt_ms for block in pair)
    return max(before, after) <= LIKE_LOAD * min(before, after)


def _hours(host: Host, start: datetime, end: datetime) -> list[Block]:
    """Reads and writes together: what a block calls reads."""
    blocks = []
    first = start.replace(minute=0, second=0, microsecond=0)
    for each in aggregate([host.pk], first, end, kind=HOSTS, step=HOUR, since=start):
        ios = each.counts["reads"] + each.counts["writes"]
        blocks.append(
            Block(
                at=round((first + timedelta(seconds=each.n * HOUR)).timestamp()),
                dt_ms=each.counts["dt_ms"],
                reads=ios,
                read_ms=each.counts["read_ms"] + each.counts["write_ms"],
                accesses=ios,
                hits=0,
                counts=each.histograms["latency_counts"],
            )
        )
    return blocks


def _compared(days: int, alike: Sequence[Pair]) -> RestartComparison:
    before, after = (_like(total(side)) for side in zip(*alike, strict=True))
    time = time_change(
        [(before.reads, before.read_ms, after.reads, after.read_ms) for before, after in alike],
        least_alike(is_short=days * DAY < WEEK),
    )
    times = None if time is None else time.factors
    return RestartComparison(days, len(alike), "", before, after, times)


def _like(block: Block) -> LikeHours:
    return LikeHours(
        percentile_ms(block.counts, 0.95),
        percentile_ms(block.counts, 0.99),
        block.read_ms / block.reads if block.reads else None,
        block.reads * 1000 / block.dt_ms,
    )
