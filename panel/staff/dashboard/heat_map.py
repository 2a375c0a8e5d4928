"""Hosts by time as a map: a row for each host, a column for each stretch of time, in the colours of
the maps. A stretch of which too little is known is left unpainted, so that the hatched ground
shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from math import inf
from typing import Final

from django.utils import timezone

from panel.charts.heat_bands import OVER, Heat, busy_heat, busy_legend, latency_heat, latency_legend
from storage.formatting import counted
from storage.metrics.samples.host_load import HostStretch, stretches
from storage.models import Host
from storage.models.host import BUSY_PERCENT, SLOW_READ_MS, HostState
from storage.volumes.slow_limit import SlowLimits

COVERED: Final = 0.5
"""A stretch is known when the host reported of so much of it."""
MEASURED: Final = (HostState.ACTIVE, HostState.QUARANTINED)
"""A host in another state was never measured, or is gone."""
JUDGED: Final = ("slow_read_ms", "busy_percent", "tags")
"""The fields that limits of hosts come from."""
OWN_LIMIT: Final = ", or the limit of its host"
EDGE: Final = 0.03
HOUR: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class HeatScale:
    """What colours say: the same as on the other maps. `whose` says what the figure is of, `value`
    is None where there was nothing to measure, and `heat` judges it by the limit of the host."""

    key: str
    title: str
    whose: str
    legend: tuple[Heat, ...]
    value: Callable[[HostStretch], float | None]
    limit: Callable[[Host, SlowLimits], float]
    heat: Callable[[float | None, float], Heat]


LATENCY: Final = HeatScale(
    "latency",
    "Read latency",
    "Average of all reads of a host",
    latency_legend(SLOW_READ_MS, differs=OWN_LIMIT, quiet="under 1 read/s"),
    lambda stretch: stretch.read_latency_ms,
    lambda host, limits: limits.of(None, host.slow_read_ms, host.tags).ms,
    latency_heat,
)
BUSY: Final = HeatScale(
    "busy",
    "Busiest volume",
    "Share of time in which the busiest volume of a host had I/O under way",
    busy_legend(BUSY_PERCENT, differs=OWN_LIMIT),
    lambda stretch: stretch.busy,
    lambda host, _: host.busy_percent,
    busy_heat,
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
    has, in units of one stretch; `latest` is the figure of the last one, `words` says the row to
    those who do not see it."""

    key: str
    name: str
    paths: tuple[tuple[str, str], ...]
    latest: str
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
    def latest_words(self) -> str:
        """The time of the last stretch, which is not over."""
        return f"since {timezone.localtime(self.end - self.time.step):%H:%M}"

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
    that are silent now. `hosts` come with `JUDGED`. Two queries."""
    start = time.start(at)
    known = stretches([host.pk for host in hosts], start, start + time.length, time.step)
    known = {host_id: _covered(row, start, time.step, at) for host_id, row in known.items()}
    worst = sorted(hosts, key=lambda host: _peak(known[host.pk], scale, time), reverse=True)
    shown = {host.pk for host in worst[:most]}
    limits = SlowLimits()
    return HeatMap(
        scale,
        time,
        start,
        tuple(
            _row(host, known[host.pk], scale, time, scale.limit(host, limits))
            for host in hosts
            if host.pk in shown
        ),
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


def _row(
    host: Host, row: Mapping[int, HostStretch], scale: HeatScale, time: HeatTime, limit: float
) -> HeatRow:
    heats = {n: scale.heat(scale.value(stretch), limit) for n, stretch in row.items()}
    last = time.columns - 1
    is_measured = last in row and scale.value(row[last]) is not None
    values = [value for each in row.values() if (value := scale.value(each)) is not None]
    unknown = time.columns - len(heats)
    words = [
        f"highest {scale.heat(max(values), limit).words}" if values else "no figures",
        *([f"unknown for {unknown} of {time.columns} parts of the time"] if unknown else []),
    ]
    return HeatRow(
        host.key,
        host.name,
        painted([heats[n].band if n in heats else "" for n in range(time.columns)]),
        heats[last].words if is_measured else "-",
        is_measured and heats[last].band == OVER,
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
