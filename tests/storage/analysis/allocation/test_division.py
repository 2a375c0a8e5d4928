"""The division of SSD, held against the best of all on small cases, and on simulated caches."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.analysis.allocation.division import (
    CHANGE_SECONDS,
    Room,
    SizeOption,
    VolumeChoices,
    divide,
    next_ssds,
)
from storage.analysis.curve.cache_policy import lvmcache
from storage.analysis.curve.prospects import HostRates, VolumeWaits, prospects
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

HOUR = 3600.0
NOTHING = SizeOption(size_bytes=0, ssd_bytes=0)


def cache(size: int, hours: float, wear: float = 0.0, *, writeback: bool = False) -> SizeOption:
    return SizeOption(
        size_bytes=size,
        ssd_bytes=size,
        saved_low=hours * HOUR,
        saved_high=hours * HOUR,
        written_bytes_per_day=wear,
        writeback=writeback,
    )


def worth(candidates: list[VolumeChoices], chosen: tuple[SizeOption, ...]) -> float:
    """As the division counts it: a change costs a minute."""
    return sum(
        each.saved - (CHANGE_SECONDS if each is not candidate.now else 0)
        for candidate, each in zip(candidates, chosen, strict=True)
    )


def possible(candidates: list[VolumeChoices], room: Room) -> Iterator[tuple[SizeOption, ...]]:
    for chosen in product(*(each.permitted(room) for each in candidates)):
        if sum(each.ssd_bytes for each in chosen) <= room.ssd_bytes:
            yield chosen


def best_of_all(candidates: list[VolumeChoices], room: Room) -> float:
    return max(worth(candidates, chosen) for chosen in possible(candidates, room))


@st.composite
def small_cases(draw: st.DrawFn) -> tuple[list[VolumeChoices], Room]:
    """A few volumes, some with a cache; saved is any number, so that no curve is concave."""
    candidates = []
    for _ in range(draw(st.integers(1, 4))):
        sizes = draw(st.lists(st.integers(1, 40), min_size=1, max_size=4, unique=True))
        choices = [
            cache(
                size,
                draw(st.floats(-2, 20)),
                draw(st.integers(0, 50)),
                writeback=draw(st.booleans()),
            )
            for size in sizes
        ]
        now = draw(st.sampled_from([NOTHING, cache(draw(st.integers(1, 20)), 0.0)]))
        candidates.append(VolumeChoices(now, [NOTHING, *choices] if now.size_bytes else choices))
    free = draw(st.integers(0, 60))
    taken = sum(each.now.ssd_bytes for each in candidates)
    return candidates, Room(taken + free, is_redundant=draw(st.booleans()))


@given(case=small_cases())
def test_where_the_units_are_exact_nothing_saves_more(
    case: tuple[list[VolumeChoices], Room],
) -> None:
    candidates, room = case
    found = divide(candidates, room)
    assert found.ssd_bytes <= room.ssd_bytes
    assert worth(candidates, found.chosen) == pytest.approx(best_of_all(candidates, room), abs=1e-6)


@given(case=small_cases())
def test_one_ssd_alone_takes_no_writeback(
    case: tuple[list[VolumeChoices], Room],
) -> None:
    candidates, room = case
    for candidate, choice in zip(candidates, divide(candidates, room).chosen, strict=True):
        assert choice is candidate.now or room.is_redundant or not choice.writeback


@given(case=small_cases(), budget=st.integers(0, 150))
def test_a_budget_of_wear_is_kept_where_any_division_keeps_it(
    case: tuple[list[VolumeChoices], Room], budget: int
) -> None:
    candidates, room = case
    held = Room(room.ssd_bytes, room.is_redundant, float(budget))
    found = divide(candidates, held)
    least = min(
        sum(each.written_bytes_per_day for each in chosen) for chosen in possible(candidates, held)
    )
    assert found.written_bytes_per_day <= max(budget, least)
    assert found.ssd_bytes <= held.ssd_bytes


def test_a_loop_that_just_fits_gets_its_size_although_its_first_step_saves_little() -> None:
    loop = VolumeChoices(NOTHING, [cache(10, 0.1), cache(60, 30)])
    zipf = VolumeChoices(NOTHING, [cache(10, 4), cache(20, 6), cache(40, 8), cache(60, 9)])
    found = divide([loop, zipf], Room(70))
    assert [each.size_bytes for each in found.chosen] == [60, 10]


def test_a_change_that_saves_less_than_a_minute_is_not_made() -> None:
    now = cache(20, 0.0)
    candidate = VolumeChoices(now, [NOTHING, cache(40, 50 / HOUR)])
    assert divide([candidate], Room(100)).chosen == (now,)


def test_ssd_that_saves_too_little_stays_free() -> None:
    candidate = VolumeChoices(NOTHING, [cache(10, 1), cache(50, 1.1)])
    oversized = VolumeChoices(cache(50, 0.0), [cache(20, -0.05)])
    room = Room(200, least_seconds_per_byte=10.0)
    assert divide([candidate], Room(200)).chosen[0].size_bytes == 50
    assert divide([candidate], room).chosen[0].size_bytes == 10
    assert divide([oversized], room).chosen[0].size_bytes == 20


def test_a_cache_that_does_little_is_cut_for_a_volume_that_waits() -> None:
    idle = VolumeChoices(cache(50, 0.0), [cache(0, -5), cache(10, -0.01)])
    waiting = VolumeChoices(NOTHING, [cache(40, 7)])
    found = divide([idle, waiting], Room(50))
    assert [each.size_bytes for each in found.chosen] == [10, 40]


def test_a_division_of_sizes_that_are_no_multiples_of_a_unit_stays_close_to_the_best() -> None:
    random = np.random.default_rng(7)
    candidates = []
    for _ in range(40):
        sizes = np.cumsum(random.integers(10**9 + 1, 40 * 10**9, 6)).tolist()
        saved = np.sort(random.random(6) * 20).tolist()
        steps = zip(sizes, saved, strict=True)
        candidates.append(VolumeChoices(NOTHING, [cache(size, hours) for size, hours in steps]))
    room = Room(960 * 10**9)
    found = divide(candidates, room)
    assert found.ssd_bytes <= room.ssd_bytes
    assert found.saved >= 0.99 * _relaxed(candidates, room)


def _relaxed(candidates: list[VolumeChoices], room: Room) -> float:
    """An upper bound: with parts of the last step (the linear relaxation, by a price of SSD)."""
    prices = np.geomspace(1e-12, 1, 4000)
    return min(
        price * room.ssd_bytes
        + sum(
            max(each.saved - price * each.ssd_bytes for each in candidate.permitted(room))
            for candidate in candidates
        )
        for price in (prices * HOUR).tolist()
    )


def test_one_more_ssd_says_what_it_saves_and_on_which_volumes() -> None:
    small = VolumeChoices(NOTHING, [cache(100, 5)])
    large = VolumeChoices(NOTHING, [cache(400, 9)])
    without = VolumeChoices(NOTHING)
    candidates, room = [small, large, without], Room(100)
    first = divide(candidates, room)
    assert first.saved == 5 * HOUR
    found = next_ssds(candidates, room, first, [200, 400, 800])
    assert [(each.ssd_bytes, each.saved_seconds_per_day, each.numbers) for each in found] == [
        (400, 9 * HOUR, (1,))
    ]


VOLUME = 8192
REFERENCES = 60_000
WARM_AFTER = 30_000
SHARES = (64, 32, 16, 8, 6, 4, 3, 2, 1)
"""Sizes on offer: a volume's chunks by these."""


@pytest.fixture(scope="module")
def unlike() -> dict[str, tuple[Trace, float]]:
    """Five loads, and how many reads a day go to each."""
    return {
        "zipf 0.8": (zipf_load(0.8, REFERENCES, VOLUME, 11), 3e6),
        "zipf 1.2": (zipf_load(1.2, REFERENCES, VOLUME, 12), 2e6),
        "uniform": (uniform_load(REFERENCES, VOLUME, 13), 3e6),
        "scan and hot set": (scan_load(REFERENCES, VOLUME, 14), 2e6),
        "database": (databases_load(REFERENCES, VOLUME, 15), 4e6),
    }


def test_five_unlike_loads_at_a_tenth_of_ssd_save_nine_tenths_of_the_best_possible(
    unlike: dict[str, tuple[Trace, float]],
) -> None:
    """The division sees one chunk in four of the first half, as heat; what it saves is counted by
    playing an LRU cache over the second half. The best possible knows the second half."""
    sizes = sorted({VOLUME // share for share in SHARES})
    room = 5 * VOLUME // 10
    forecast, true = [], []
    for trace, reads in unlike.values():
        forecast.append(_forecast(trace.part(0, WARM_AFTER), reads, sizes))
        exact = hit_rates(trace, sizes, WARM_AFTER)["reads"]
        true.append({0: 0.0} | dict(zip(sizes, (reads * hit for hit in exact), strict=True)))
    found = divide(forecast, Room(room * CHUNK_BYTES))
    got = sum(
        saved[each.size_bytes // CHUNK_BYTES]
        for saved, each in zip(true, found.chosen, strict=True)
    )
    best = max(
        sum(saved[size] for saved, size in zip(true, chosen, strict=True))
        for chosen in product([0, *sizes], repeat=len(true))
        if sum(chosen) <= room
    )
    equal = sum(saved[max(size for size in sizes if size <= room // 5)] for saved in true)
    assert got >= 0.9 * best
    assert got > equal


def _forecast(trace: Trace, reads: float, sizes: list[int]) -> VolumeChoices:
    waits = VolumeWaits(
        volume_bytes=trace.volume_bytes,
        read_ms=10.0,
        slow_reads=1.0,
        slow_read_ms=10.0,
        read_seconds_per_day=reads * 0.01,
    )
    rates = HostRates(ssd_read_ms=0.2, hdd_iops=335.0, hdd_utilisation=0.2)
    found = prospects(
        list(heat(trace, share=4, hours=12)),
        waits,
        rates,
        lvmcache(writeback=False),
        [size * CHUNK_BYTES for size in sizes],
    )
    return VolumeChoices(
        NOTHING,
        [
            SizeOption(
                size_bytes=each.size_bytes,
                ssd_bytes=each.size_bytes,
                saved_low=each.saved_seconds_per_day.low,
                saved_high=each.saved_seconds_per_day.high,
            )
            for each in found
        ],
    )
