"""The page of documentation out of one evening."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from panel.operations.local_services import CHECKOUT
from storage.analysis.comparison.benchmark_verdict import BenchmarkVerdict, Unit, compare_units
from storage.benchmarks.summary import RunSeries
from storage.formatting import size
from tests.bench.evening.line_chart import Line, line_chart
from tests.bench.evening.matrix import (
    BCACHE_BYTES,
    DATA_BYTES,
    LVMCACHE_BYTES,
    SWEPT_CACHE_BYTES,
    EveningSize,
    PublishedRun,
)
from tests.bench.evening.played import HDD_IOPS, Played

PAGE: Final = CHECKOUT / "docs" / "benchmark-lab.md"
CHARTS: Final = CHECKOUT / "docs" / "images"
IOPS_CHART, HITS_CHART, SWEEP_CHART = (
    "benchmark-lab-iops.svg",
    "benchmark-lab-hits.svg",
    "benchmark-lab-sweep.svg",
)


@dataclass(frozen=True, slots=True)
class Evening:
    """The six runs by their published ids, the sweep by its shares of the cache, and runs of the
    comparison by name, one for each cache that was made anew."""

    size: EveningSize
    six: Mapping[str, Played]
    sweep: Mapping[float, Played]
    compared: Mapping[str, Sequence[Played]]


def charts(evening: Evening, published: Mapping[str, PublishedRun]) -> dict[str, str]:
    """By name of the file."""
    series = {published[name].label: run.summary.series for name, run in evening.six.items()}
    hits = {
        published[name].label: _line(series, series.hit_rate, 100)
        for name, run in evening.six.items()
        if run.cell.has_cache
        for series in [run.summary.series]
    }
    swept = [(100 * share, run.summary.iops) for share, run in sorted(evening.sweep.items())]
    iops = {name: _line(each, each.iops) for name, each in series.items()}
    return {
        IOPS_CHART: line_chart(iops, "seconds", "IOPS (logarithmic)", is_log=True),
        HITS_CHART: line_chart(hits, "seconds", "reads answered by the SSD, %"),
        SWEEP_CHART: line_chart(
            {"lvmcache, warmed": swept},
            "data, in % of the cache",
            "IOPS (logarithmic)",
            is_log=True,
        ),
    }


def _line(series: RunSeries, values: Sequence[float | None], scale: float = 1) -> Line:
    step = series.step_ms / 1000
    return [(n * step, scale * each) for n, each in enumerate(values) if each is not None]


def page(evening: Evening, published: Mapping[str, PublishedRun], now: datetime) -> str:
    return "\n".join(_lines(evening, published, now)) + "\n"


def _lines(evening: Evening, published: Mapping[str, PublishedRun], now: datetime) -> Iterator[str]:
    conditions = next(iter(evening.six.values())).result
    yield f"""\
# The published evening, on a lab host

`make benchmark-lab` writes this page. It has the benchmark lab of Tiercel repeat a comparison that
was published in 2017: SSD, HDD, bcache and lvmcache under random reads by fio, two jobs with eight
requests each in flight, whose addresses follow a zipf distribution (1.2). The published machine had
4 GiB of data, and SSDs that did 105,000 reads a second. The lab is an emulated host: its "SSD" is a
RAID 1 of two files, its HDD a file with {HDD_IOPS} requests a second.
**Hit rates carry over to other machines, requests a second and times do not.** The emulated
processor ends at the rate of the SSD baseline, so runs with few misses lie closer together than on
a machine.

Played on {now.astimezone(UTC):%d %B %Y}: kernel {conditions.kernel}, fio {conditions.fio_version},
{size(DATA_BYTES)} of data, bcache of {size(BCACHE_BYTES)}, lvmcache of {size(LVMCACHE_BYTES)}: the
published ratios of data to cache. Each of the six runs lasted {evening.size.run_seconds} s, on
volumes and caches made for it.

## The six runs

| run | IOPS published | here | HDDs published | here | hit rate published | here | at the end |
|---|---|---|---|---|---|---|---|"""
    hdd, theirs = evening.six["hdd"].summary.iops, published["hdd"].iops
    for name, run in evening.six.items():
        known, found = published[name], run.summary
        yield (
            f"| {known.label} | {known.iops:,.0f} | {found.iops:,.0f} | {known.iops / theirs:.1f} "
            f"| {found.iops / hdd:.1f} | {_percent(known.hit_rate)} | {_percent(found.hit_rate)} "
            f"| {_percent(found.end_hit_rate)} |"
        )
    yield f"""
![IOPS of the six runs over time](images/{IOPS_CHART})

![Share of reads that the SSD answered, over time](images/{HITS_CHART})

How to read it:

- *HDDs* is how many HDDs would do as many requests. *At the end* is the last tenth of the run.
- The hit rate decides everything. 97.6 % and 99.6 % look alike, but the first misses six times as
  often, and a miss takes the time of the HDD: 12,700 and 68,800 IOPS.
- An average over a run hides its beginning: a new cache is empty, and the line shows for how long
  it fills.
- *Full of unrelated data* is a cache whose chunks all belong to other data. With the published
  kernel (4.11) it stayed so. The line shows whether, and when, this kernel replaces them.
"""
    yield from _endings(evening, published)
    if evening.sweep:
        yield f"""
## Data that outgrow the cache

The same load on a warmed lvmcache of {size(SWEPT_CACHE_BYTES)}, on data of other sizes.

| data, in % of the cache | IOPS | hit rate |
|---|---|---|"""
        for share, run in sorted(evening.sweep.items()):
            found = run.summary
            yield f"| {share:.0%} | {found.iops:,.0f} | {_percent(found.hit_rate)} |"
        yield f"\n![IOPS over the size of the data](images/{SWEEP_CHART})"
    if evening.compared:
        yield from _verdicts(evening)


def _endings(evening: Evening, published: Mapping[str, PublishedRun]) -> Iterator[str]:
    yield "| run | first 30 s | 90 % of the end reached after | at the end |\n|---|---|---|---|"
    for name, run in evening.six.items():
        found = run.summary
        first = "unknown" if found.first_30s_iops is None else f"{found.first_30s_iops:,.0f} IOPS"
        reached = "not within the run"
        if found.seconds_to_90 is not None:
            reached = f"{found.seconds_to_90:,.0f} s"
        yield f"| {published[name].label} | {first} | {reached} | {found.ending or 'unknown'} |"


def _verdicts(evening: Evening) -> Iterator[str]:
    names = list(evening.compared)
    count = len(evening.compared[names[0]])
    yield f"""
## How sure that is

One run says little: the next cache lies elsewhere on the SSD, and holds other blocks. So each of
these was made anew {count} times, in turns, warmed for {evening.size.compared_seconds} s and then
measured for as long. Each against *{names[0]}*:

| target | IOPS of each | IOPS | mean latency |
|---|---|---|---|"""
    for name in names:
        runs = evening.compared[name]
        each = ", ".join(f"{run.summary.iops:,.0f}" for run in runs)
        if name == names[0]:
            yield f"| {name} | {each} | | |"
            continue
        base = evening.compared[names[0]]
        more = _verdict(_iops(base), _iops(runs), more_is_better=True)
        later = _verdict(_latency(base), _latency(runs), more_is_better=False)
        yield f"| {name} | {each} | {more.sentence} | {later.sentence} |"


def _iops(runs: Sequence[Played]) -> list[float]:
    return [run.summary.iops for run in runs]


def _latency(runs: Sequence[Played]) -> list[float]:
    return [(run.summary.read.mean_ns or 0) if run.summary.read is not None else 0 for run in runs]


def _verdict(a: list[float], b: list[float], *, more_is_better: bool) -> BenchmarkVerdict:
    sides = ([Unit(runs=(figure,)) for figure in side] for side in (a, b))
    return compare_units(*sides, more_is_better=more_is_better, noun="cache")


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"


def write(evening: Evening, published: Mapping[str, PublishedRun], now: datetime) -> Path:
    for name, drawn in charts(evening, published).items():
        (CHARTS / name).write_text(drawn)
    PAGE.write_text(page(evening, published, now))
    return PAGE
