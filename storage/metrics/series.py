"""A volume's figures over a time in buckets of one length: what charts and the API draw.

Bucket n covers the time after `start + n * step` up to and with `start + (n + 1) * step`. An
interval of the samples belongs whole to the bucket in which it ends, also where it began in an
earlier one. Every rate is a sum over a sum within its bucket (`storage.metrics.rates.figures`), so
no average is ever taken of averages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import ceil
from typing import Any, Final

from django.conf import settings

from storage.byte_sizes import SECTOR_BYTES
from storage.metrics.rates import Sums, figures, percentile_ms, read_hit_rate
from storage.metrics.rates.figures import MIN_ACCESSES
from storage.metrics.samples.aggregate import FIGURES, Aggregate, aggregate
from storage.metrics.samples.columns import BAND
from storage.metrics.samples.window import kept
from storage.models import Volume

MAX_POINTS: Final = 2000
YEAR: Final = timedelta(days=368)
DAY_SECONDS: Final = 86_400
MOST_OF_USUAL: Final = 1.5
"""A longer interval is a gap."""
# Steps that people read easily on a time axis, in seconds.
STEPS: Final = (10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200)
UNITS: Final = {
    "read_iops": "1/s",
    "write_iops": "1/s",
    "read_ms": "ms",
    "write_ms": "ms",
    "latency_p50_ms": "ms",
    "latency_p95_ms": "ms",
    "latency_p99_ms": "ms",
    "hit_rate": "ratio",
    "write_hit_rate": "ratio",
    "accesses_per_s": "1/s",
    "write_accesses_per_s": "1/s",
    "read_bytes_per_s": "B/s",
    "write_bytes_per_s": "B/s",
    "promotions_per_s": "1/s",
    "demotions_per_s": "1/s",
    "ssd_write_bytes_per_s": "B/s",
    "dirty_bytes": "B",
    "used_bytes": "B",
    "cache_size_bytes": "B",
}
Values = Mapping[str, float | None]
UNKNOWN: Final[Values] = dict.fromkeys(UNITS)
HIT_RATES: Final = ("hit_rate", "write_hit_rate")
NOT_FAINT: Final[Values] = dict.fromkeys(HIT_RATES)
BANDED: Final = tuple(BAND)
"""Names of which a bucket has the least and the most of its intervals."""
NO_BAND: Final[Values] = dict.fromkeys(BANDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """What the samples of one bucket add up to. Its first interval lasted from `began` to `ended`,
    in seconds after the start of the series; `cache_ms`, `moves_ms` and `ssd_ms` are the times in
    which the cache's accesses, its moves and the writes to its SSD (`ssd_write_sectors`) were
    counted; the sizes are those of its last sample, None without a cache. `least` and `most` are of
    the rates of single intervals, under the names of `BANDED`, to within half a percent."""

    began: float
    ended: float
    cache_ms: int
    moves_ms: int
    ssd_ms: int
    ssd_write_sectors: int
    sums: Sums
    cache_size_bytes: int | None
    used_bytes: int | None
    dirty_bytes: int | None
    least: Values = field(default_factory=lambda: NO_BAND)
    most: Values = field(default_factory=lambda: NO_BAND)

    def covers(self, n: int, step: int) -> bool:
        """True where the first interval is, but for half a step, bucket `n`."""
        return max(abs(self.began - n * step), abs(self.ended - (n + 1) * step)) < step / 2

    def values(self) -> Values:
        """The bucket's figures under the names of `UNITS`; None = unknown."""
        totals = figures(self.sums)
        return {
            "read_iops": totals.read_iops,
            "write_iops": totals.write_iops,
            "read_ms": totals.read_ms,
            "write_ms": totals.write_ms,
            "latency_p50_ms": totals.latency_ms_p50,
            "latency_p95_ms": totals.latency_ms_p95,
            "latency_p99_ms": percentile_ms(self.sums.latency_counts, 0.99),
            "hit_rate": totals.hit_rate,
            "write_hit_rate": totals.write_hit_rate,
            "accesses_per_s": _a_second(totals.accesses, self.cache_ms),
            "write_accesses_per_s": _a_second(totals.write_accesses, self.moves_ms),
            "read_bytes_per_s": totals.read_bytes_per_second,
            "write_bytes_per_s": totals.write_bytes_per_second,
            "promotions_per_s": _a_second(self.sums.promotions, self.moves_ms),
            "demotions_per_s": _a_second(self.sums.demotions, self.moves_ms),
            "ssd_write_bytes_per_s": _a_second(self.ssd_write_sectors * SECTOR_BYTES, self.ssd_ms),
            "dirty_bytes": self.dirty_bytes,
            "used_bytes": self.used_bytes,
            "cache_size_bytes": self.cache_size_bytes,
        }

    def timed_share(self) -> float | None:
        """The share of the I/O whose latency was measured; None without I/O."""
        count = self.sums.reads + self.sums.writes
        return min(1.0, sum(self.sums.latency_counts) / count) if count else None

    def faint(self) -> Values:
        """The hit rates that so few accesses made that `values` does not tell them."""
        is_known = read_hit_rate(self.sums) is not None
        writes = self.sums.write_hits + self.sums.write_misses
        return {
            "hit_rate": None if is_known else read_hit_rate(self.sums, least=1),
            "write_hit_rate": (
                self.sums.write_hits / writes if 0 < writes < MIN_ACCESSES else None
            ),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """`values` has one mapping of the names of `units` for each bucket; all None where no sample
    ended (a gap). `totals` is the same over all samples, `seconds` the time they cover.

    Latencies without percentile are averages; the percentiles are of reads and writes together
    and None for bcache. Hit rates are None where fewer than `MIN_ACCESSES` say nothing; `faint` has
    those for a chart that fades them. Sizes are of the end of the bucket; `moves` (promotions,
    demotions), writes and the SSD are told apart by dm-cache alone.
    """

    start: datetime
    end: datetime
    step_seconds: int
    values: Sequence[Values]
    faint: Sequence[Values]
    totals: Values
    seconds: float
    units: Mapping[str, str] = field(default_factory=lambda: UNITS)
    timed_share: float | None = None
    """The share of all I/O that the percentiles are of; None without I/O."""
    least: Sequence[Values] = ()
    most: Sequence[Values] = ()
    """Of the intervals in each bucket, under the names of `BANDED`."""
    histograms: Sequence[tuple[int, ...] | None] = ()
    """Of the latencies in each bucket, in the classes of `LATENCY_BOUNDS_NS`; None in a gap."""

    @property
    def is_empty(self) -> bool:
        """True without any sample."""
        return self.seconds == 0

    @property
    def has_cache(self) -> bool:
        """True if the volume had a cache at any time of the series."""
        return any(values["cache_size_bytes"] is not None for values in self.values)

    def at(self, n: int) -> datetime:
        """When bucket `n` ends; the last one ends with the series."""
        return min(self.start + timedelta(seconds=(n + 1) * self.step_seconds), self.end)

    def to_json(self, names: Sequence[str] | None = None) -> dict[str, Any]:
        """Columns of the `names`, or of all: `series[name][n]` is a number or null. Bucket n ends
        (n + 1) steps after t0."""
        names = tuple(self.units) if names is None else names
        return {
            "t0": self.start.isoformat(),
            "step_seconds": self.step_seconds,
            "points": len(self.values),
            "series": {name: [_rounded(values[name]) for values in self.values] for name in names},
            "units": {name: self.units[name] for name in names},
            "totals": {
                **{name: _rounded(self.totals[name]) for name in names},
                "covered_seconds": self.seconds,
            },
        }

    def faint_json(self) -> dict[str, list[float | None]]:
        """The columns of `faint`."""
        return {name: [_rounded(values[name]) for values in self.faint] for name in HIT_RATES}


def series(
    volume: Volume,
    start: datetime,
    end: datetime,
    points: int = 600,
    *,
    since: datetime | None = None,
) -> Series:
    """The volume's figures from `start` to `end` in at most `points` buckets; what was before
    `since` is a gap.

    Raises ValueError, with a text for people, for a range that ends before it starts or is longer
    than `longest_range`, and for points outside 1 to 2000.
    """
    step = step_seconds(start, end, points)
    count = ceil((end - start).total_seconds() / step)
    buckets = {
        each.n: _bucket(each, start.timestamp())
        for each in aggregate([volume.pk], start, end, kind=FIGURES, step=step, since=since)
    }
    return in_buckets(buckets, start=start, end=end, step=step, count=count)


def beside(
    measured: Series, columns: Mapping[str, Sequence[float | None]], units: Mapping[str, str]
) -> Series:
    """The series with further figures; a name of `units` without a column is not known. Totals are
    averages over the buckets that are."""
    empty = (None,) * len(measured.values)
    columns = {name: columns.get(name, empty) for name in units}
    known = {
        name: [value for value in values if value is not None] for name, values in columns.items()
    }
    return replace(
        measured,
        values=[
            {**values, **{name: column[n] for name, column in columns.items()}}
            for n, values in enumerate(measured.values)
        ],
        totals={
            **measured.totals,
            **{name: sum(each) / len(each) if each else None for name, each in known.items()},
        },
        units={**measured.units, **units},
    )


def longest_range() -> timedelta:
    """What may be asked for at once: all that is kept, and never less than a year in whole
    buckets."""
    return max(YEAR, kept() + timedelta(days=2))


def step_seconds(start: datetime, end: datetime, points: int, *, least: int = 0) -> int:
    """The length of a bucket: the shortest easy step that gives at most `points` of them and is
    no shorter than `least` and the interval of the samples. Raises ValueError as `series` does."""
    if end <= start:
        raise ValueError("The range must end after it starts.")
    longest = longest_range()
    if end - start > longest:
        raise ValueError(f"The range must be at most {longest.days} days long.")
    if not 1 <= points <= MAX_POINTS:
        raise ValueError(f"The number of points must be from 1 to {MAX_POINTS:,}.")
    shortest = max((end - start).total_seconds() / points, least, settings.TIERCEL_SAMPLE_SECONDS)
    days = ceil(shortest / DAY_SECONDS)
    return next((step for step in STEPS if step >= shortest), days * DAY_SECONDS)


def in_buckets(
    buckets: Mapping[int, Bucket],
    *,
    start: datetime,
    end: datetime,
    step: int,
    count: int,
    units: Mapping[str, str] = UNITS,
) -> Series:
    """The series of `count` buckets of which those with samples are given by their number."""
    values: list[Values] = []
    faint: list[Values] = []
    least: list[Values] = []
    most: list[Values] = []
    unknown = UNKNOWN if units is UNITS else dict.fromkeys(units)
    filled = _filled(buckets, step)
    for n in range(count):
        bucket = filled.get(n)
        values.append(bucket.values() if bucket is not None else unknown)
        faint.append(bucket.faint() if bucket is not None else NOT_FAINT)
        least.append(bucket.least if bucket is not None else NO_BAND)
        most.append(bucket.most if bucket is not None else NO_BAND)
    total = _sum([buckets[n] for n in sorted(buckets)]) if buckets else None
    return Series(
        start=start,
        end=end,
        step_seconds=step,
        values=values,
        faint=faint,
        totals=total.values() if total is not None else unknown,
        seconds=total.sums.dt_ms / 1000 if total is not None else 0.0,
        units=units,
        timed_share=total.timed_share() if total is not None else None,
        least=least,
        most=most,
        histograms=[filled[n].sums.latency_counts if n in filled else None for n in range(count)],
    )


def _filled(buckets: Mapping[int, Bucket], step: int) -> Mapping[int, Bucket]:
    """The same buckets, and those without the end of an interval that one of usual length covers:
    its figures are theirs too. An interval of more than one and a half times the usual length
    leaves a gap.

    Where a volume is sampled less often than the chart has buckets, an interval covers many. Where
    it is not, a round that comes moments late may leave one bucket without an end and two in the
    next; that one is filled only if there were samples before it.
    """
    lengths = sorted(bucket.ended - bucket.began for bucket in buckets.values())
    usual = lengths[(len(lengths) - 1) // 2] if lengths else 0.0
    filled = dict(buckets)
    for n, bucket in buckets.items():
        length = bucket.ended - bucket.began
        if length > MOST_OF_USUAL * step:
            if length <= MOST_OF_USUAL * usual:
                first = max(0, round(bucket.began / step))
                filled |= {each: bucket for each in range(first, n) if each not in buckets}
        elif n - 2 in buckets and n - 1 not in buckets and bucket.covers(n - 1, step):
            filled[n - 1] = bucket
    return filled


def _sum(buckets: Sequence[Bucket]) -> Bucket:
    """All in one; the sizes are the last ones."""
    return replace(
        buckets[-1],
        began=buckets[0].began,
        ended=buckets[0].ended,
        cache_ms=sum(bucket.cache_ms for bucket in buckets),
        moves_ms=sum(bucket.moves_ms for bucket in buckets),
        ssd_ms=sum(bucket.ssd_ms for bucket in buckets),
        ssd_write_sectors=sum(bucket.ssd_write_sectors for bucket in buckets),
        sums=Sums.total([bucket.sums for bucket in buckets]),
    )


def _bucket(of: Aggregate, start: float) -> Bucket:
    return Bucket(
        began=of.began - start,
        ended=of.first_ended - start,
        cache_ms=of.counts["cache_ms"],
        moves_ms=of.ms["promotions"],
        ssd_ms=of.ms["fast_write_sectors"],
        ssd_write_sectors=of.counts["fast_write_sectors"],
        sums=of.sums,
        cache_size_bytes=of.last["cache_size_bytes"],
        used_bytes=of.last["used_bytes"],
        dirty_bytes=of.last["dirty_bytes"],
        least={name: of.least[name] for name in BANDED},
        most={name: of.most[name] for name in BANDED},
    )


def _a_second(count: int, ms: int) -> float | None:
    return count * 1000 / ms if ms else None


def _rounded(value: float | None) -> float | None:
    """Four digits after the point are enough for a chart and a third of the bytes."""
    return value if value is None or isinstance(value, int) else round(value, 4)
