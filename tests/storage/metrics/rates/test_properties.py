"""Whatever the counters do, deltas add up to the truth or are not given."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from storage.metrics.rates import CounterReading, Delta, Gap, GapReason, Sums, delta
from tests.storage import wire

U32, U64 = 2**32, 2**64
CACHE = ("read_hits", "read_misses", "write_hits", "write_misses")
DISK = ("reads", "writes", "read_sectors", "write_sectors", "read_ms", "write_ms")

# One interval of true increments: what the guest did, and how its accesses fell.
STEPS = st.fixed_dictionaries(
    {
        "seconds": st.floats(0.5, 600),
        "read_hits": st.integers(0, 40_000),
        "read_misses": st.integers(0, 40_000),
        "write_hits": st.integers(0, 40_000),
        "write_misses": st.integers(0, 40_000),
        "read_ms": st.integers(0, 2**31 - 1),
        "write_ms": st.integers(0, 2**31 - 1),
    }
)
STARTS = st.fixed_dictionaries(
    {
        **{name: st.integers(0, U32 - 1) for name in (*CACHE, "read_ms", "write_ms")},
        **{name: st.integers(0, 2**60) for name in ("reads", "writes")},
        **{name: st.integers(0, 2**60) for name in ("read_sectors", "write_sectors")},
    }
)


def advance(state: dict[str, int], step: dict[str, Any]) -> dict[str, int]:
    """The true totals after a step, unbounded; all I/O is 4 KiB."""
    reads = step["read_hits"] + step["read_misses"]
    writes = step["write_hits"] + step["write_misses"]
    moved = {"reads": reads, "read_sectors": 8 * reads, "writes": writes}
    moved |= {"write_sectors": 8 * writes, "read_ms": step["read_ms"]}
    moved |= {"write_ms": step["write_ms"], **{name: step[name] for name in CACHE}}
    return {name: total + moved[name] for name, total in state.items()}


def read(state: dict[str, int], seconds: float) -> CounterReading:
    """The totals as the kernel prints them."""
    disk = {name: state[name] % (U32 if name.endswith("_ms") else U64) for name in DISK}
    cache = {name: state[name] % U32 for name in CACHE}
    return wire.reading(seconds, disk=wire.disk(**disk), cache=wire.cache(**cache))


@settings(deadline=None)
@given(start=STARTS, steps=st.lists(STEPS, min_size=1, max_size=12))
def test_deltas_of_true_counters_sum_to_the_truth(
    start: dict[str, int], steps: list[dict[str, Any]]
) -> None:
    state, now = start, 100.0
    readings = [read(state, now)]
    for step in steps:
        state, now = advance(state, step), now + step["seconds"]
        readings.append(read(state, now))
    total = Sums()
    for before, after in pairwise(readings):
        found = delta(before, after)
        assert isinstance(found, Delta), found
        assert found.cache_gap is None
        total += Sums.of(found.columns)
    for name in (*DISK, *CACHE):
        assert getattr(total, name) == state[name] - start[name], name
    assert abs(total.dt_ms - (now - 100) * 1000) <= len(steps)


NUMBERS = st.lists(st.integers(0, U64 - 1), min_size=17, max_size=17)
VALUES = st.integers(0, U32 - 1)
CACHES = st.none() | st.builds(
    wire.cache,
    **{name: VALUES for name in (*CACHE, "promotions", "demotions", "used", "dirty")},
    origin=st.none() | NUMBERS,
    cdata=st.none() | NUMBERS,
)
BCACHES = st.none() | st.builds(wire.bcache, disk=NUMBERS)
READINGS = st.builds(
    wire.reading,
    st.floats(0, 10**6),
    boot_id=st.sampled_from(["boot-1", "boot-2"]),
    disk=NUMBERS,
    cache=CACHES,
    bcache=BCACHES,
    latency=st.none() | st.builds(wire.latency, st.integers(0, U64 - 1), st.integers(0, 9)),
)


def sane(found: Delta) -> None:
    """Nothing negative, nothing faster than any disk, everything fits its column."""
    assert found.dt_ms > 0
    slack = 2_000_000 * found.dt_ms // 1000 + 1024
    assert 0 <= found.reads <= slack and 0 <= found.writes <= slack
    for name in ("reads", "writes", "read_ms", "write_ms", "busy_ms", "weighted_ms"):
        assert 0 <= getattr(found, name) < 2**31, name
    for name, value in found.columns.items():
        assert value is None or isinstance(value, tuple) or 0 <= value < 2**63, name
    assert found.latency_counts is None or min(found.latency_counts) >= 0


@settings(deadline=None)
@given(before=READINGS, after=READINGS)
def test_two_unrelated_readings_never_give_absurd_figures(
    before: CounterReading, after: CounterReading
) -> None:
    found = delta(before, after)
    if isinstance(found, Gap):
        assert found.reason != GapReason.FIRST
    else:
        sane(found)


@settings(deadline=None)
@given(
    start=st.lists(st.integers(0, U32), min_size=17, max_size=17),
    more=st.lists(st.integers(0, 400), min_size=17, max_size=17),
    seconds=st.floats(1, 600),
    caches=st.tuples(CACHES, CACHES),
)
def test_unrelated_caches_of_a_busy_disk_never_give_absurd_figures(
    start: list[int], more: list[int], seconds: float, caches: tuple[Any, Any]
) -> None:
    end = [before + step for before, step in zip(start, more, strict=True)]
    before, after = (
        wire.reading(at, disk=disk, cache=cache)
        for at, disk, cache in zip((100, 100 + seconds), (start, end), caches, strict=True)
    )
    found = delta(before, after)
    assert isinstance(found, Delta), found
    sane(found)


@settings(deadline=None)
@given(start=STARTS, step=STEPS, name=st.sampled_from(CACHE), back=st.integers(1, U32 // 2))
def test_a_rewind_is_a_gap_of_the_cache_and_never_a_spike(
    start: dict[str, int], step: dict[str, Any], name: str, back: int
) -> None:
    before = read(start, 100)
    state = advance(start, step)
    state[name] = max(0, start[name] - back)
    found = delta(before, read(state, 100 + step["seconds"]))
    assert isinstance(found, Delta)
    sane(found)
    if start[name]:
        assert found.cache_gap == GapReason.CACHE_REWOUND
    assert found.reads == step["read_hits"] + step["read_misses"]


@settings(deadline=None)
@given(start=STARTS, step=STEPS)
def test_a_reboot_is_always_a_gap(start: dict[str, int], step: dict[str, Any]) -> None:
    before = read(start, 100)
    after = read(advance(start, step), 100 + step["seconds"])
    booted = CounterReading(after.host_id, "boot-2", after.boottime_ns, after.counters)
    assert delta(before, booted) == Gap(GapReason.REBOOTED)
