"""The oracle of these tests is itself held against a cache that is played step by step."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from storage.analysis.curve.heat import bucket_bounds
from tests.storage.analysis.curve.traces import (
    Trace,
    bucket_index,
    heat,
    hit_rates,
    played,
    zipf_load,
)


@given(chunks=st.lists(st.integers(0, 12), min_size=1, max_size=80), size=st.integers(1, 14))
def test_a_reference_hits_where_its_stack_distance_fits(chunks: list[int], size: int) -> None:
    trace = Trace(np.array(chunks), np.zeros(len(chunks), dtype=bool), 13)
    exact = hit_rates(trace, [size])
    assert exact["both"] == exact["reads"] == [played(trace, size)]


@given(time=st.integers(1, 2**40))
def test_a_reuse_time_lies_within_the_bounds_of_its_bucket(time: int) -> None:
    low, high = bucket_bounds(bucket_index(time))
    assert low <= time < high <= low * 17 / 16


def test_hours_of_heat_hold_every_reference_that_was_observed_once() -> None:
    trace = zipf_load(1.0, 5000, 512)
    whole = next(heat(trace, share=4))
    parts = list(heat(trace, share=4, hours=5))
    assert sum(part.observed for part in parts) == whole.observed
    assert sum(part.reuse.reads.cold for part in parts) == whole.reuse.reads.cold
