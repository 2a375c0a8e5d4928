"""Intervals and buckets of them are added up to the same, however they are cut and packed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.metrics.counters import BUCKETS
from storage.metrics.rates.figure_columns import percentiles_ms
from storage.metrics.samples.aggregate import columns_of
from storage.metrics.samples.chunk_store import (
    FORMAT,
    SECONDS,
    VOLUMES,
    chunk_start,
    from_chunk,
    to_chunk,
)
from storage.metrics.samples.codec import NULL
from storage.metrics.samples.columns import AT, BAND, ENDED, LEAST, MOST, code
from storage.metrics.samples.interval_table import (
    BAND_STEP,
    IntervalTable,
    bucket_start,
    bucketed,
    joined,
    measured,
    microseconds,
    rate_of,
    time_of_microseconds,
)
from storage.models import Resolution

START = datetime(2026, 10, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)
KEPT_AT = st.sampled_from([Resolution.RAW, Resolution.FIVE_MINUTES, Resolution.HOUR])
QUANTILES = [0.5, 0.95, 0.99]
Histogram = list[int]


@st.composite
def intervals(draw: st.DrawFn) -> list[tuple[int, Histogram]]:
    """The seconds after `START` at which intervals of two days ended, and their histograms."""
    ended = draw(st.sets(st.integers(1, 2 * 86_400), min_size=1, max_size=60))
    counts = st.one_of(st.integers(0, 3), st.integers(0, 10**9))
    histogram = st.lists(counts, min_size=BUCKETS, max_size=BUCKETS)
    return [(each, draw(histogram)) for each in sorted(ended)]


def table(rows: list[tuple[int, Histogram]]) -> IntervalTable:
    codes = VOLUMES.rows.raw_codes.tolist()
    raw = np.full((len(codes), len(rows)), NULL, np.int64)
    for name in ("dt_ms", "reads", "writes", "read_ms", "write_ms", "technology"):
        raw[codes.index(code(name))] = 1000 if name == "dt_ms" else 0
    for n, (ended, histogram) in enumerate(rows):
        raw[codes.index(AT), n] = microseconds(START + timedelta(seconds=ended))
        for bucket, count in enumerate(histogram):
            raw[codes.index(code("latency_counts", bucket)), n] = count
    return measured(VOLUMES.rows, np.ones(len(rows), np.int64), raw)


def stored(part: IntervalTable, resolution: Resolution) -> IntervalTable:
    """As it comes back from its chunks at that resolution, each made of the shorter ones."""
    for each in Resolution:
        if Resolution.RAW < each <= resolution:
            part = bucketed(part, SECONDS[each])
    starts = part.line(AT) - (resolution is Resolution.RAW)
    chunks = [chunk_start(resolution, time_of_microseconds(int(each))) for each in starts]
    read = []
    for start in sorted(set(chunks)):
        data = to_chunk(part.where(np.array([each == start for each in chunks])), resolution, start)
        read.append(from_chunk(VOLUMES.rows, resolution, start, 1, FORMAT, data))
    return joined(VOLUMES.rows, read)


@settings(deadline=None)
@given(
    rows=intervals(),
    kept_at=st.lists(KEPT_AT, min_size=48, max_size=48),
    whole_days=st.sets(st.integers(0, 1)),
    data=st.data(),
)
def test_the_p95_of_any_merged_range_equals_the_p95_of_the_raw_histograms_exactly(
    rows: list[tuple[int, Histogram]],
    kept_at: list[Resolution],
    whole_days: set[int],
    data: st.DataObject,
) -> None:
    """And so do all other percentiles: from hours and days of which each is kept at a resolution of
    its own."""
    whole = table(rows)
    hours = (bucket_start(whole.line(ENDED), 3600) - microseconds(START)) // microseconds_of(HOUR)
    pieces = []
    for day in range(2):
        if day in whole_days:
            pieces.append(((hours // 24) == day, Resolution.DAY, 24 * day, 24 * day + 24))
        else:
            pieces += [
                (hours == hour, kept_at[hour], hour, hour + 1)
                for hour in range(24 * day, 24 * day + 24)
            ]
    first = data.draw(st.integers(0, len(pieces) - 1))
    last = data.draw(st.integers(first, len(pieces) - 1))
    merged = joined(
        VOLUMES.rows,
        [
            stored(whole.where(inside), resolution)
            for inside, resolution, _begin, _end in pieces[first : last + 1]
            if inside.any()
        ],
    )
    begin, end = (hour * 3600 for hour in (pieces[first][2], pieces[last][3]))
    counted = [histogram for ended, histogram in rows if begin < ended <= end]
    if not counted:
        assert not len(merged)
        return
    summed = np.array([counted]).sum(axis=1).T
    histogram = columns_of(merged, START, None).histograms["latency_counts"]
    assert histogram.tolist() == summed.tolist()
    of_raw, shown = percentiles_ms(summed, QUANTILES), percentiles_ms(histogram, QUANTILES)
    assert [each.tobytes() for each in shown] == [each.tobytes() for each in of_raw]


def microseconds_of(length: timedelta) -> int:
    return length // timedelta(microseconds=1)


def with_rates(rows: int) -> IntervalTable:
    """Five-minute intervals of a volume whose load is noise."""
    rng = np.random.default_rng(1)
    codes = VOLUMES.rows.raw_codes.tolist()
    raw = np.full((len(codes), rows), NULL, np.int64)
    for name, most in (("dt_ms", 1), ("reads", 90_000), ("writes", 9_000)):
        raw[codes.index(code(name))] = 300_000 + rng.integers(0, most, rows)
    for name in ("read_ms", "write_ms"):
        raw[codes.index(code(name))] = rng.integers(1, 2_000_000, rows)
    raw[codes.index(AT)] = microseconds(START) + 300_000_000 * np.arange(1, rows + 1)
    return measured(VOLUMES.rows, np.ones(rows, np.int64), raw)


def test_the_least_and_the_most_enclose_a_rate_within_two_percent() -> None:
    intervals = with_rates(288)
    rate = 1000 * intervals["reads"] / intervals["dt_ms"]
    least, most = (rate_of(intervals.line(code("read_iops", part))) for part in (LEAST, MOST))
    assert (least <= rate).all() and (rate <= most).all()
    assert (rate - least < 0.016 * rate).all() and (most - rate < 0.016 * rate).all()


def test_no_more_of_a_band_is_stored_than_a_shade_shows() -> None:
    intervals = with_rates(288)
    for name in BAND:
        for part in (LEAST, MOST):
            column = intervals.line(code(name, part))
            # A chunk divides by what divides all of a column.
            assert not (column % BAND_STEP).any()
