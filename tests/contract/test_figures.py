"""What becomes of a volume's counters while its cache comes and goes, it grows, and a person sets
the clock: no spike, nothing negative, gaps where they are due, and the kernel's own sums."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from storage.metrics.counters import DiskCounters, decode_counters, decode_sample, decode_stamp
from storage.metrics.rates import (
    CacheDelta,
    CounterReading,
    Delta,
    Gap,
    GapReason,
    Sums,
    delta,
    figures,
)
from tests.contract.client import MIB, VOLUME_BYTES, Agent
from tests.contract.world import World

WITHIN = 0.01
OF_THE_DISK = 0.05
OTHERS = 400
"""So many I/Os of a volume may be udev's and LVM's own, which look at what changed."""


class Rounds:
    """Rounds of samples of one volume, each compared with the one before."""

    def __init__(self, agent: Agent, volume: str) -> None:
        self.agent = agent
        self.uuid = agent.lv(volume)["uuid"]
        self.last = self._read()
        self.data: Any = None

    def _read(self) -> CounterReading:
        reply = self.agent.ask("sample")
        self.data = reply["data"]
        stamp = decode_stamp(reply["host"])
        (counters,) = (each for each in decode_counters(self.data) if each.lv_uuid == self.uuid)
        return CounterReading(1, stamp.boot_id, stamp.boottime_ns, counters)

    def change(self, most_io: int) -> Delta:
        """What happened since the last round: at most so many I/Os of ours."""
        self.agent.world.pause()
        before, self.last = self.last, self._read()
        change = delta(before, self.last)
        assert isinstance(change, Delta), change
        assert 0 < change.dt_ms < 300_000
        for name, value in (*asdict(change).items(), *asdict(change.cache).items()):
            if type(value) is int:
                assert value >= 0, name
        assert change.reads + change.writes <= most_io + OTHERS
        if change.latency_counts is not None:
            assert sum(change.latency_counts) <= most_io + OTHERS
        return change

    def gap(self) -> GapReason:
        """Why nothing is known of what happened since the last round."""
        before, self.last = self.last, self._read()
        gap = delta(before, self.last)
        assert isinstance(gap, Gap), gap
        return gap.reason


def readings(reply: Any) -> dict[str, CounterReading]:
    """The counters of each volume in a `sample`, by uuid."""
    stamp = decode_stamp(reply["host"])
    return {
        each.lv_uuid: CounterReading(n, stamp.boot_id, stamp.boottime_ns, each)
        for n, each in enumerate(decode_counters(reply["data"]))
    }


def issued(world: World, size_bytes: int) -> int:
    """The most I/Os of a `read`; the fake host reads as long, and so more where a cache is warm."""
    return 3 * size_bytes // 4096 * (1 if world.name == "lab" else 4)


def extend(agent: Agent, world: World, volume: str, by: int) -> Any:
    """The reply; an LVM that cannot extend a cached volume refuses."""
    args = {
        "lv": volume,
        "from_bytes": VOLUME_BYTES,
        "size_bytes": VOLUME_BYTES + by,
        "pvs": [world.slow[0]],
        "volume_key": volume[2:],
    }
    return agent.ask("volume.extend", *agent.call("volume.extend", args))


@pytest.mark.thorough
def test_an_lvm_cache_comes_works_and_goes_without_a_spike(agent: Agent, world: World) -> None:
    volume = agent.volume()
    rounds = Rounds(agent, volume)
    rounds.change(OTHERS)
    world.read(volume, 4 * MIB)
    assert rounds.change(issued(world, 4 * MIB)).reads >= 1000
    pool = agent.pool(volume)
    agent.do("cache.attach", {"lv": volume, "pool": pool, "mode": "writethrough"})
    attached = rounds.change(OTHERS)
    assert (attached.cache_gap, attached.cache) == (GapReason.CACHE_ATTACHED, CacheDelta())
    rounds.change(OTHERS)
    total = 0
    counted = world.cache_accesses(volume)
    for _ in range(3):
        world.read(volume, 8 * MIB)
        warm = rounds.change(issued(world, 8 * MIB))
        assert warm.cache_gap is None and warm.cache.slow_reads is not None
        total += warm.columns["read_hits"] + warm.columns["read_misses"]
        total += warm.columns["write_hits"] + warm.columns["write_misses"]
        accesses = warm.columns["read_hits"] + warm.columns["read_misses"]
        assert accesses == pytest.approx(warm.reads, rel=WITHIN, abs=32)
    assert total == pytest.approx(world.cache_accesses(volume) - counted, rel=WITHIN)
    assert total >= 3000
    agent.do("cache.detach", {"lv": volume, "pool": pool, "dirty_limit_bytes": 0})
    detached = rounds.change(OTHERS)
    assert detached.cache == CacheDelta()
    world.read(volume, 4 * MIB)
    assert rounds.change(issued(world, 4 * MIB)).reads >= 1000


@pytest.mark.thorough
def test_a_volume_grows_with_one_gap_in_its_latencies_alone(agent: Agent, world: World) -> None:
    volume = agent.volume()
    rounds = Rounds(agent, volume)
    rounds.change(OTHERS)
    world.read(volume, 4 * MIB)
    op = extend(agent, world, volume, 8 * MIB)["data"]["op"]
    assert agent.outcome(op)["state"] == "done"
    grown = rounds.change(issued(world, 4 * MIB) + OTHERS)
    assert grown.reads >= 1000
    assert (grown.latency_counts, grown.read_us, grown.flushes) == (None, None, None)
    world.read(volume, 4 * MIB)
    rounds.change(issued(world, 4 * MIB))
    world.read(volume, 4 * MIB)
    after = rounds.change(issued(world, 4 * MIB))
    assert after.latency_counts is not None and after.read_us is not None
    assert sum(after.latency_counts) == pytest.approx(after.reads, rel=0.05, abs=32)


@pytest.mark.thorough
def test_a_cached_volume_grows_without_a_spike(agent: Agent, world: World) -> None:
    volume, _ = agent.cached()
    world.read(volume, 4 * MIB)
    rounds = Rounds(agent, volume)
    rounds.change(OTHERS)
    reply = extend(agent, world, volume, 8 * MIB)
    if not reply["ok"]:
        assert reply["error"]["code"] == "unsupported"
        pytest.skip(reply["error"]["message"])
    assert agent.outcome(reply["data"]["op"])["state"] == "done"
    rounds.change(OTHERS)
    rounds.change(OTHERS)
    world.read(volume, 8 * MIB)
    after = rounds.change(issued(world, 8 * MIB))
    accesses = after.columns["read_hits"] + after.columns["read_misses"]
    assert after.cache_gap is None
    assert accesses == pytest.approx(after.reads, rel=WITHIN, abs=32)


@pytest.mark.thorough
def test_a_restart_of_the_host_is_one_gap_and_no_spike(agent: Agent, world: World) -> None:
    volume = agent.volume()
    rounds = Rounds(agent, volume)
    world.read(volume, 4 * MIB)
    rounds.change(issued(world, 4 * MIB))
    world.restart()
    assert rounds.gap() == GapReason.REBOOTED
    rounds.change(OTHERS)
    world.read(volume, 4 * MIB)
    assert rounds.change(issued(world, 4 * MIB)).reads >= 1000


@pytest.mark.thorough
def test_the_share_of_a_bcache_is_that_of_the_sectors_its_disk_had_to_read(
    agent: Agent, world: World
) -> None:
    volume = agent.backing()
    rounds = Rounds(agent, volume)
    _, uuid = agent.cset(volume)
    wished = {"cache_mode": "writethrough", "sequential_cutoff_bytes": 0}
    agent.do("bcache.attach", {"lv": volume, "cset_uuid": uuid, **wished})
    assert rounds.change(OTHERS).cache_gap == GapReason.CACHE_ATTACHED
    bcache = rounds.last.counters.bcache
    assert bcache is not None
    rounds.change(OTHERS)
    devices = bcache.device, rounds.last.counters.kname
    before = [world.sectors_read(each) for each in devices]
    shares = []
    for _ in range(3):
        world.read(volume, 8 * MIB)
        warm = rounds.change(issued(world, 8 * MIB))
        shares.append(figures(Sums.of(warm.columns)).hit_rate)
        moved = [world.sectors_read(each) - was for each, was in zip(devices, before, strict=True)]
        before = [world.sectors_read(each) for each in devices]
        assert shares[-1] == pytest.approx(1 - moved[1] / moved[0], abs=WITHIN)
        legs = (warm.cache.slow_read_sectors or 0) + (warm.cache.fast_read_sectors or 0)
        assert legs >= 0.95 * moved[0], "each sector came from one of the two"
    assert shares[-1] is not None and shares[-1] > 0.6
    agent.do("bcache.detach", {"lv": volume, "cset_uuid": uuid})
    detached = rounds.change(OTHERS)
    assert detached.cache == CacheDelta()


@pytest.mark.thorough
def test_a_step_of_the_clock_is_nothing_to_the_counters(agent: Agent, world: World) -> None:
    volume = agent.volume()
    rounds = Rounds(agent, volume)
    rounds.change(OTHERS)
    with world.clock_stepped(3600):
        world.read(volume, 4 * MIB)
        assert rounds.change(issued(world, 4 * MIB)).reads >= 1000
    world.read(volume, 4 * MIB)
    back = rounds.change(issued(world, 4 * MIB))
    assert back.reads >= 1000 and back.latency_counts is not None


@pytest.mark.thorough
def test_what_the_volumes_did_below_is_what_their_disks_did(agent: Agent, world: World) -> None:
    plain, (cached, _), behind = agent.volume(), agent.cached(), agent.backing()
    _, cset_uuid = agent.cset(behind)
    wished = {"cache_mode": "writethrough", "sequential_cutoff_bytes": 0}
    agent.do("bcache.attach", {"lv": behind, "cset_uuid": cset_uuid, **wished})
    volumes = {name: agent.lv(name)["uuid"] for name in (plain, cached, behind)}
    for name in volumes:
        world.read(name, MIB)
    agent.ask("sample")
    world.pause()
    first = agent.ask("sample")
    for name in volumes:
        world.read(name, 24 * MIB)
    last = agent.ask("sample")

    before, after = readings(first), readings(last)
    changes = {uuid: delta(before[uuid], after[uuid]) for uuid in volumes.values()}
    legs = [each for each in changes.values() if isinstance(each, Delta)]
    assert len(legs) == len(volumes), changes
    alone = legs[0].read_sectors
    below_slow = alone + sum(each.cache.slow_read_sectors or 0 for each in legs[1:])
    below_fast = [
        sum(getattr(each.cache, f"fast_{what}_sectors") or 0 for each in legs[1:])
        for what in ("read", "write")
    ]
    disks = [_devices(reply["data"]) for reply in (first, last)]
    of_disks = sum(disks[1][name].read_sectors - disks[0][name].read_sectors for name in world.slow)
    of_array = [
        getattr(disks[1]["md0"], name) - getattr(disks[0]["md0"], name)
        for name in ("read_sectors", "write_sectors")
    ]
    assert alone >= 24 * MIB // 512
    assert below_slow == pytest.approx(of_disks, rel=OF_THE_DISK)
    assert sum(below_fast) == pytest.approx(sum(of_array), rel=OF_THE_DISK)
    assert sum(below_fast) >= 24 * MIB // 512


def _devices(data: Any) -> dict[str, DiskCounters]:
    """The counters of disks and arrays, by name."""
    devices = decode_sample(data).devices
    return {each.name: each.disk for each in (*devices.disks, *devices.arrays) if each.disk}
