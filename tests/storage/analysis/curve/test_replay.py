"""A volume's heat, replayed: an LRU cache serves both alike."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.agent.benchmark.profiles import own_options, zoned_bytes, zones_of
from storage.analysis.curve.heat import usable
from storage.analysis.curve.miss_ratio import miss_ratio_curve
from storage.analysis.curve.replay import heat_figures
from storage.benchmarks.heat_profile import (
    WHOLE,
    HeatFigures,
    fio_options,
    lru_hit_rate,
)
from storage.byte_sizes import MIB
from tests.storage.analysis.curve.traces import (
    CHUNK_BYTES,
    Trace,
    databases_load,
    heat,
    hit_rates,
    scan_load,
    uniform_load,
    zipf_load,
)

VOLUME, SEEN = 16_384, 60_000
LOADS = {
    "zipf 0.8": lambda: zipf_load(0.8, 2 * SEEN, VOLUME),
    "zipf 1.2": lambda: zipf_load(1.2, 2 * SEEN, VOLUME),
    "uniform": lambda: uniform_load(2 * SEEN, VOLUME),
    "database": lambda: databases_load(2 * SEEN, VOLUME),
    "scan": lambda: scan_load(2 * SEEN, VOLUME),
}
CACHES = tuple(VOLUME * percent // 100 for percent in (1, 5, 10, 20, 40))


@cache
def load(name: str) -> Trace:
    return LOADS[name]()


@cache
def figures(name: str) -> HeatFigures:
    trace = load(name).part(0, SEEN)
    records = usable(heat(trace, share=1))
    curve = miss_ratio_curve(records, trace.volume_bytes)
    assert curve is not None
    return heat_figures(curve, records)


def replayed(name: str) -> Trace:
    """References as fio draws them: a percent, which is a zone, then any chunk of it."""
    random = np.random.default_rng(3)
    value = dict(fio_options(figures(name), load(name).volume_bytes))["random_distribution"]
    zones = [(percent, size // CHUNK_BYTES) for percent, size in zones_of(value)]
    begins = np.cumsum([0, *(chunks for _, chunks in zones)])[:-1]
    of_percent = np.repeat(np.arange(len(zones)), [percent for percent, _ in zones])
    zone = of_percent[random.integers(0, 100, 2 * SEEN)]
    sizes = np.array([chunks for _, chunks in zones])[zone]
    chunks = begins[zone] + random.integers(0, sizes)
    return Trace(chunks, np.zeros(2 * SEEN, dtype=bool), VOLUME)


@pytest.mark.parametrize("name", ["zipf 0.8", "zipf 1.2", "uniform", "database"])
def test_a_cache_of_each_size_serves_the_replay_as_often_as_the_volume(name: str) -> None:
    """Both played through an exact LRU cache."""
    volumes = hit_rates(load(name), CACHES, warm_after=SEEN)["both"]
    replays = hit_rates(replayed(name), CACHES, warm_after=SEEN)["both"]
    assert replays == pytest.approx(volumes, abs=0.02)
    assert figures(name).most_off <= 0.03


def test_a_load_that_is_no_lot_of_independent_references_is_known_by_its_difference() -> None:
    """A loop over the whole volume: a cache that it does not fit serves nothing of it."""
    assert figures("scan").most_off > 0.05


@pytest.mark.parametrize("name", LOADS)
@pytest.mark.parametrize("data_mib", [64, 1000, 1024, 100_000])
def test_fio_gets_zones_of_whole_chunks_that_fit_the_data(name: str, data_mib: int) -> None:
    options = fio_options(figures(name), data_mib * MIB)
    assert own_options([list(pair) for pair in options])
    zones = zones_of(dict(options)["random_distribution"])
    assert sum(percent for percent, _ in zones) == 100
    assert zoned_bytes(options) <= data_mib * MIB
    assert all(size and size % CHUNK_BYTES == 0 for _, size in zones)
    densities = [percent / size for percent, size in zones]
    assert densities[0] == max(densities) or data_mib == 64, "what is hottest lies in front"


def test_the_share_of_reads_and_their_size_are_the_volumes() -> None:
    found = figures("database")
    assert found.read_percent == pytest.approx(70, abs=1)
    assert found.block_bytes == 4096 and found.chunk_bytes == CHUNK_BYTES
    assert dict(fio_options(found, 64 * MIB))["rwmixread"] == str(found.read_percent)


@given(st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=40, deadline=None)
def test_a_larger_cache_serves_no_less(one: float, other: float) -> None:
    zones = ((50, WHOLE // 1000), (30, WHOLE // 50), (20, WHOLE // 2))
    low, high = sorted((one, other))
    assert 0 <= lru_hit_rate(zones, low) <= lru_hit_rate(zones, high) + 1e-9 <= 1 + 1e-6
