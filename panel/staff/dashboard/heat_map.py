"""Hosts by time as a map: a row for each host, a column for each stretch of time, the stronger the
colour, the longer reads took or the busier the host was. A stretch of which too little is known is
left unpainted, so that the hatched ground shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from math import inf
from typing import Final

from django.utils import timezone

from storage.formatting import counted, ms, percent
from storage.metrics.samples.host_load import HostStretch, stretches
from storage.models import Host
from storage.models.host import BUSY_PERCENT, SLOW_READ_MS, HostState

COVERED: Final = 0.5
"""A stretch is known when the host reported of so much of it."""
MEASURED: Final = (HostState.ACTIVE, HostState.QUARANTINED)
"""A host in another state was never measured, or is gone."""
QUIET: Final = "quiet"
LIMIT: Final = 3
"""The place of the bound where a figure becomes a problem."""
EDGE: Final = 0.03
HOUR: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class HeatScale:
    """What colours say. `bounds` are the upper ends of all classes but the last; what exceeds the
    one at `LIMIT` is a problem. `end` writes a bound, `say` a figure. `value` is None where there
    was nothing to measure, which `quiet` says in words."""

    key: str
    title: str
    bounds: tuple[float, ...]
    end: Callable[[float], str]
    say: Callable[[float], str]
    value: Callable[[HostStretch], float | None]
    quiet: str = ""

    def class_of(self, stretch: HostStretch) -> str:
        """The name of its class, the last part of its class in the style sheet."""
        value = self.value(stretch)
        if value is None:
            return QUIET
        return str(sum(value > bound for bound in self.bounds))

    @property
    def legend(self) -> tuple[tuple[str, str], ...]:
        """Each class with its words."""
        ends = [self.end(bound) for bound in self.bounds]
        classes = [(str(n), f"≤ {end}") for n, end in enumerate(ends)]
        classes.append((str(len(ends)), f"> {ends[-1]}"))
        return ((QUIET, self.quiet), *classes) if self.quiet else tuple(classes)


LATENCY: Final = HeatScale(
    "latency",
    "Read latency",
    (1, 5, 10, SLOW_READ_MS, 50),
    "{:g} ms".format,
    ms,
    lambda stretch: stretch.read_latency_ms,
    "< 1 read/s",
)
BUSY: Final = HeatScale(
    "busy",
    "Busiest volume",
    (0.25, 0.5, 0.75, BUSY_PERCENT / 100, 0.98),
    percent,
    percent,
    lambda stretch: stretch.busy,
)
SCALES: Final = {scale.key: scale for scale in (LATENCY, BUSY)}


@dataclass(frozen=True, slots=True)
class HeatTime:
    """A length of time, in stretches of `step`, with a label at each full `every`."""

    words: str
    length: timedelta
    step: timedelta
    every: timedelta

    @property
    def columns(self) -> int:
        return self.length // self.step

    def start(self, at: datetime) -> datetime:
        """Where the first stretch begins, when the last one has `at` in it."""
        seconds = int(self.step.total_seconds())
        last = at.timestamp() // seconds * seconds
        return datetime.fromtimestamp(last, UTC) + self.step - self.length


LAST_3H: Final = HeatTime("Last 3 h", 3 * HOUR, timedelta(minutes=5), timedelta(minutes=30))
LAST_DAY: Final = HeatTime("Last 24 h", 24 * HOUR, timedelta(minutes=15), 4 * HOUR)


@dataclass(frozen=True, slots=True)
class TimeTick:
    """A label of the time axis, and its place from the left in per cent."""

    place: str
    text: str


@dataclass(frozen=True, slots=True)
class HeatRow:
    """A host. `paths` are the classes of its stretches, each with the SVG path of those that it
    has, in units of one stretch; `now` is the figure of the last one, `words` says the row to those
    who do not see it."""

    key: str
    name: str
    paths: tuple[tuple[str, str], ...]
    now: str
    is_over: bool
    words: str


@dataclass(frozen=True, slots=True)
class HeatMap:
    """`left_out` hosts had lower figures in this time than those shown, or the same."""

    scale: HeatScale
    time: HeatTime
    start: datetime
    rows: tuple[HeatRow, ...]
    left_out: int

    @property
    def end(self) -> datetime:
        return self.start + self.time.length

    @property
    def ticks(self) -> tuple[TimeTick, ...]:
        return time_ticks(self.start, self.time)

    @property
    def zone(self) -> str:
        """The time zone of the labels."""
        return f"{timezone.localtime(self.start):%Z}"

    @property
    def left_out_words(self) -> str:
        """Which hosts are not shown, "" where all are."""
        if not self.left_out:
            return ""
        others = counted(self.left_out, "more host")
        return f"{others} with lower figures in this time."

    @property
    def scales(self) -> tuple[HeatScale, ...]:
        """What a person can choose from."""
        return tuple(SCALES.values())


def heat_map(
    hosts: Sequence[Host], scale: HeatScale, time: HeatTime, at: datetime, most: int
) -> HeatMap:
    """Of the hosts in their order; of more than `most` those with the highest figure, and those
    that are silent now. One query."""
    start = time.start(at)
    known = stretches([host.pk for host in hosts], start, start + time.length, time.step)
    known = {host_id: _covered(row, start, time.step, at) for host_id, row in known.items()}
    worst = sorted(hosts, key=lambda host: _peak(known[host.pk], scale, time), reverse=True)
    shown = {host.pk for host in worst[:most]}
    return HeatMap(
        scale,
        time,
        start,
        tuple(_row(host, known[host.pk], scale, time) for host in hosts if host.pk in shown),
        len(hosts) - len(shown),
    )


def time_ticks(start: datetime, time: HeatTime) -> tuple[TimeTick, ...]:
    """Labels at full times of the zone that is shown, none so near to an end that it is cut."""
    local = timezone.localtime(start)
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
    first = midnight + -((midnight - local) // time.every) * time.every
    ticks = []
    while (place := (first - local) / time.length) < 1:
        if EDGE < place < 1 - EDGE:
            ticks.append(TimeTick(f"{place:.2%}", f"{first:%H:%M}"))
        first += time.every
    return tuple(ticks)


def _covered(
    row: Mapping[int, HostStretch], start: datetime, step: timedelta, at: datetime
) -> dict[int, HostStretch]:
    """The stretches of which enough is known; the last one has not lasted for its whole time."""
    return {
        n: stretch
        for n, stretch in row.items()
        if stretch.dt_ms >= COVERED * 1000 * min(step, at - start - n * step).total_seconds()
    }


def _peak(row: Mapping[int, HostStretch], scale: HeatScale, time: HeatTime) -> float:
    last = time.columns - 1
    if last not in row and last - 1 not in row:
        return inf
    return max((scale.value(stretch) or 0.0 for stretch in row.values()), default=inf)


def _row(host: Host, row: Mapping[int, HostStretch], scale: HeatScale, time: HeatTime) -> HeatRow:
    classes = [scale.class_of(row[n]) if n in row else "" for n in range(time.columns)]
    last = row.get(time.columns - 1)
    now = scale.value(last) if last is not None else None
    values = [value for each in row.values() if (value := scale.value(each)) is not None]
    unknown = classes.count("")
    words = [
        f"highest {scale.say(max(values))}" if values else "no figures",
        *([f"unknown for {unknown} of {time.columns} parts of the time"] if unknown else []),
    ]
    return HeatRow(
        host.key,
        host.name,
        painted(classes),
        scale.say(now) if now is not None else "-",
        now is not None and now > scale.bounds[LIMIT],
        ", ".join(words),
    )


def painted(classes: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """For each class the path of its stretches; "" is left out."""
    paths: dict[str, str] = {}
    n = 0
    for name, run in groupby(classes):
        count = len(list(run))
        if name:
            paths[name] = f"{paths.get(name, '')}M{n} 0h{count}v1h-{count}z"
        n += count
    return tuple(sorted(paths.items()))
