"""In the lab: a warm start against a cache that fills by itself, beside a neighbour on its disk."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from storage.naming import new_key
from tests.contract.client import MIB, Agent, pool_args
from tests.contract.lab_world import LabWorld
from tests.contract.test_polite import (
    NEIGHBOUR_BYTES,
    TOLERANCE_PERCENT,
    WITHIN,
    Meter,
    allow,
    alone,
    between,
    loaded,
    volume_on,
)
from tests.contract.test_polite import disk as disk  # a fixture
from tests.contract.test_polite import world as world  # a fixture
from tests.lab import load

pytestmark = [
    pytest.mark.lab,
    pytest.mark.xdist_group("lab"),
    pytest.mark.thorough,
    pytest.mark.timeout(2700),
]

READ_MIB = 64
VOLUME_BYTES, CACHE_BYTES = 256 * MIB, 128 * MIB
"""All that the guest reads fits into its cache: the steady hit rate is 1."""
GUEST_IOPS = 6
"""Of a disk of 100 I/Os a second: its own reads fill the cache in some eight minutes."""
UNAIDED_SECONDS, WINDOW_SECONDS, WINDOWS = 600, 20, 3
REACHED = 0.9


class Hits:
    """Reads of the guest that its cache answered, and all of them, from one look to the next."""

    def __init__(self, world: LabWorld, volume: str) -> None:
        self._lab = world.lab
        self._name = f"vg0-{volume.replace('-', '--')}"
        self._last = self._counts()

    def _counts(self) -> tuple[int, int]:
        words = self._lab.run(["dmsetup", "status", "--noflush", self._name]).stdout.split()
        return int(words[7]), int(words[8])

    def rate(self) -> float:
        before, self._last = self._last, self._counts()
        hits, misses = (b - a for a, b in zip(before, self._last, strict=True))
        return hits / max(1, hits + misses)


@pytest.fixture
def counting(world: LabWorld) -> Iterator[None]:
    with world.counting():
        yield


def attach(agent: Agent, volume: str) -> str:
    """A new cache; its name."""
    args = pool_args(volume[2:], size_bytes=CACHE_BYTES) | {"name": f"c-{new_key()}"}
    agent.do("pool.create", args)
    threshold = {"migration_threshold": 16384}
    attached = {"lv": volume, "pool": args["name"], "mode": "writethrough", **threshold}
    agent.do("cache.attach", attached)
    return str(args["name"])


def seconds_alone(hits: Hits) -> float:
    """After how long the cache that its guest's reads fill has reached it."""
    rates, began = list[float](), time.monotonic()
    while (seconds := time.monotonic() - began) < UNAIDED_SECONDS:
        if sum(rates[-WINDOWS:]) >= WINDOWS * REACHED:
            break
        time.sleep(WINDOW_SECONDS)
        rates.append(hits.rate())
    print("unaided", [round(rate, 2) for rate in rates])
    return seconds


@pytest.mark.usefixtures("counting")
def test_a_warm_start_takes_a_fraction_of_the_time_and_its_neighbour_hardly_feels_it(
    world: LabWorld, disk: str, record_property: Callable[[str, object], None]
) -> None:
    agent = Agent(world)
    neighbour = volume_on(agent, disk, NEIGHBOUR_BYTES)
    volume = volume_on(agent, disk, VOLUME_BYTES)
    meter = Meter(world, neighbour)
    allow(world, WITHIN)
    agent.data("heat.observe", {"lv_uuids": [agent.lv(volume)["uuid"]]})
    guest = load.read_hot(
        world.lab,
        "guest",
        world.device(volume),
        limit_iops=GUEST_IOPS,
        first_mib=READ_MIB,
        at_random=True,
    )
    try:
        with loaded(world, neighbour):
            pool = attach(agent, volume)
            unaided_seconds = seconds_alone(Hits(world, volume))
            agent.do("cache.detach", {"lv": volume, "pool": pool, "dirty_limit_bytes": 0})
            before = alone(meter)
            # Counted in the service's turns so far.
            asked = {"lv": volume, "cache": pool}
            agent.do("volume.count", asked)
            attach(agent, volume)
            began, counts = time.monotonic(), meter.counts()
            op = agent.start("cache.warm", {"lv": volume, "limit_seconds": 600})
            outcome = agent.outcome(op, 700)
            seconds = time.monotonic() - began
            beside = between(counts, meter.counts(), seconds)
            hits = Hits(world, volume)
            time.sleep(WINDOWS * WINDOW_SECONDS)
            warm = hits.rate()
    finally:
        guest.stop()
    said = outcome["lines"][-1]["text"]
    print(said, outcome["progress"])
    print(f"unaided {unaided_seconds:.0f} s, warm start {seconds:.0f} s: {warm:.3f}; "
          f"neighbour {before.p95_ms:.1f} ms alone, {beside.p95_ms:.1f} ms beside it")  # fmt: skip
    record_property("warm_start", [round(unaided_seconds), round(seconds), round(warm, 3)])
    assert warm >= REACHED and seconds < unaided_seconds / 5
    assert beside.p95_ms <= before.p95_ms * (1 + (WITHIN + TOLERANCE_PERCENT) / 100)
