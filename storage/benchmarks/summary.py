"""What came of a run, in figures: what is kept beside its raw files, and compared. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Self

import msgspec

from storage.host_data import BadHostData, converted

VERSION: Final = 1
PERCENTILES: Final = (1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99)
MOST_POINTS: Final = 1200
"""Of a series that is kept here; the raw files have all of it."""


@dataclass(frozen=True, slots=True)
class DirectionSummary:
    """Reads or writes of all jobs. `percentiles` are completion latencies in ns at `PERCENTILES`,
    from summed bins; None where too few requests were made, or fio counted no bins."""

    ios: int
    iops: float
    bytes_s: float
    mean_ns: float | None = None
    percentiles: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True)
class JobSummary:
    """One of fio's streams: what it got of the whole."""

    number: int
    ios: int
    iops: float
    p99_ns: float | None = None


@dataclass(frozen=True, slots=True)
class RunSeries:
    """Figures at each `step_ms` since the measured part began: None where nothing is known.
    `hit_rate` is the share of reads that the SSD answered, 0 to 1; `promotions` counts since the
    beginning, and so do `written_bytes` to the SSD."""

    step_ms: int
    iops: tuple[float | None, ...] = ()
    jobs: tuple[tuple[float | None, ...], ...] = ()
    hit_rate: tuple[float | None, ...] = ()
    promotions: tuple[int | None, ...] = ()
    written_bytes: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True)
class SteadySummary:
    """SNIA's steady state of one figure over its last rounds of one minute: `range_share` and
    `slope_share` are the largest difference and the line's rise within the window, as shares of its
    mean. `rounds` there were; of one that is not steady the window is the last one."""

    is_steady: bool
    mean: float
    range_share: float
    slope_share: float
    first_round: int
    last_round: int
    rounds: int


@dataclass(frozen=True, slots=True)
class EndSlope:
    """How much it still changes at the end, in shares of its mean an hour (0.03: 3 % an hour), with
    the bounds of a 95 % interval."""

    per_hour: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RunSummary:
    """`seconds` were wanted, `reached_seconds` measured. `iops` is fio's count of requests by its
    time, of all jobs and directions. `hit_rate` is from the legs below the cache, over all of the
    run, `end_hit_rate` over its last tenth. `cpu_share` is of all CPUs of the host. `seconds_to_90`
    is when the mean of a minute stays above 90 % of the end's. `ending` says how IOPS ended, as
    "still rising, +3 % an hour (2 to 4)", `hit_ending` the hit rate. `pauses` are [from, to] in ms,
    in which fio stood still for neighbours. None where nothing is known, or a target has no such
    thing."""

    seconds: int
    reached_seconds: float
    iops: float
    ios: int
    bytes_s: float
    read: DirectionSummary | None
    write: DirectionSummary | None
    jobs: tuple[JobSummary, ...]
    series: RunSeries
    hit_rate: float | None = None
    end_hit_rate: float | None = None
    promotions: int | None = None
    demotions: int | None = None
    ssd_written_bytes: int | None = None
    cpu_share: float | None = None
    first_30s_iops: float | None = None
    seconds_to_90: float | None = None
    steady: SteadySummary | None = None
    steady_hit_rate: SteadySummary | None = None
    end_slope: EndSlope | None = None
    ending: str = ""
    hit_ending: str = ""
    pauses: tuple[tuple[int, int], ...] = ()
    version: int = VERSION

    def to_json(self) -> dict[str, Any]:
        json: dict[str, Any] = msgspec.to_builtins(self)
        return json

    @classmethod
    def from_json(cls, data: object) -> Self:
        """The inverse of `to_json`; raises `BadHostData`."""
        summary = converted(data, cls, "summary")
        if summary.version != VERSION:
            raise BadHostData(f"summary.version: {summary.version} is not {VERSION}")
        return summary
