"""One round of counters."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.client import CSET_BYTES, MIB, Agent
from tests.contract.world import World

COUNTERS = 17
READS, SECTORS_READ, WRITES = 0, 2, 4


def volume_of(agent: Agent, uuid: str) -> Any:
    return next(v for v in agent.data("sample")["volumes"] if v["lv_uuid"] == uuid)


@pytest.mark.thorough
def test_a_volume_is_counted_before_with_and_after_its_cache(agent: Agent, world: World) -> None:
    volume = agent.volume()
    uuid = agent.lv(volume)["uuid"]
    assert volume_of(agent, uuid)["latency"] is None, "the region is only just made"
    before = volume_of(agent, uuid)
    assert before["name"] == f"vg0-{volume.replace('-', '--')}"
    assert (before["cache"], before["bcache"], before["suspended"]) == (None, None, False)
    world.read(volume, 4 * MIB)
    after = volume_of(agent, uuid)
    assert after["disk"][READS] - before["disk"][READS] >= 1000
    assert after["disk"][SECTORS_READ] - before["disk"][SECTORS_READ] >= 4 * MIB // 512
    bounds, counts = after["latency"]["bounds_ns"], after["latency"]["counts"]
    assert len(counts) == len(bounds) + 1 and bounds == sorted(bounds)
    assert sum(counts) - sum(before["latency"]["counts"]) >= 1000

    pool = agent.pool(volume)
    agent.do("cache.attach", {"lv": volume, "pool": pool, "mode": "writethrough"})
    before = volume_of(agent, uuid)["cache"]
    world.read(volume, 8 * MIB)
    reply = agent.ask("sample")
    assert reply["host"]["boottime_ns"] > 0 and len(reply["host"]["boot_id"]) == 36
    sample = reply["data"]
    (cached,) = sample["volumes"]
    assert set(world.slow) < {disk["name"] for disk in sample["disks"]}
    (array,) = sample["arrays"]
    assert (array["name"], array["degraded_count"], array["sync_action"]) == ("md0", 0, "idle")
    assert [each["state"] for each in array["members"]] == ["in_sync", "in_sync"]
    assert array["disk"][READS] > 0
    for each in [cached, array, *sample["disks"]]:
        assert len(each["disk"]) == COUNTERS
        assert all(isinstance(count, int) and count >= 0 for count in each["disk"])
    cache = cached["cache"]
    assert cache["chunk_sectors"] == 128
    assert cache["total"] == 64 * MIB // 65536
    assert 0 < cache["used"] <= cache["total"]
    assert 0 < cache["metadata_used"] <= cache["metadata_total"] == 8 * MIB // 4096
    assert cache["read_hits"] > before["read_hits"]
    assert cache["read_misses"] > before["read_misses"]
    assert (cache["mode"], cache["policy"]) == ("writethrough", "smq")
    assert not (cache["read_only"] or cache["needs_check"] or cache["failed"])
    assert cache["promotions"] > 0 and cache["demotions"] >= 0 and cache["dirty"] == 0
    assert cache["write_hits"] >= 0 and cache["write_misses"] >= 0
    assert len(cache["origin"]) == len(cache["cdata"]) == COUNTERS
    assert len(cache["cmeta"]) == COUNTERS
    assert cache["origin"][READS] > 0 and cache["cdata"][READS] > 0
    assert before["origin_counts"] is None, "the region is only just made"
    world.read(volume, 8 * MIB)
    again = volume_of(agent, uuid)["cache"]
    for leg in ("origin", "cdata"):
        counted = sum(again[f"{leg}_counts"]) - sum(cache[f"{leg}_counts"])
        done = sum(again[leg][at] - cache[leg][at] for at in (READS, WRITES))
        assert abs(counted - done) <= max(16, done // 20), leg
    # The region of latencies lives on through attach and detach.
    assert sum(cached["latency"]["counts"]) > sum(counts)
    agent.do("cache.detach", {"lv": volume, "pool": pool, "dirty_limit_bytes": 0})
    last = volume_of(agent, uuid)
    assert last["cache"] is None
    assert sum(last["latency"]["counts"]) >= sum(cached["latency"]["counts"])


@pytest.mark.thorough
def test_a_bcache_volume_has_both_sides_of_its_cache(agent: Agent, world: World) -> None:
    volume = agent.backing()
    lv = agent.lv(volume)
    plain = volume_of(agent, lv["uuid"])
    assert plain["bcache"]["cset_uuid"] is None
    assert plain["bcache"]["available_percent"] is None
    assert plain["bcache"]["unused_percent"] is None
    _, uuid = agent.cset(volume)
    args = {"lv": volume, "cset_uuid": uuid, "cache_mode": "writethrough"}
    agent.do("bcache.attach", {**args, "sequential_cutoff_bytes": 0})
    world.read(volume, 48 * MIB)
    before = volume_of(agent, lv["uuid"])
    # What is read is there: not unused, though it becomes available again with the next gc.
    assert 50 <= before["bcache"]["unused_percent"] <= 95
    world.read(volume, 4 * MIB)
    after = volume_of(agent, lv["uuid"])
    bcache = after["bcache"]
    assert after["latency"] is None and after["cache"] is None
    assert (bcache["state"], bcache["cache_mode"]) == ("clean", "writethrough")
    assert bcache["uuid"] == lv["bcache"]["uuid"]
    assert bcache["cset_uuid"] == uuid and bcache["cset_size_bytes"] == CSET_BYTES
    assert 0 <= bcache["available_percent"] <= 100 and bcache["dirty_bytes"] == 0
    read = bcache["disk"][SECTORS_READ] - before["bcache"]["disk"][SECTORS_READ]
    from_disk = after["disk"][SECTORS_READ] - before["disk"][SECTORS_READ]
    assert read >= 4 * MIB // 512
    assert 0 <= from_disk < read, "what is read again comes from the SSD"
    counts = ("hits", "misses", "bypass_hits", "bypass_misses")
    assert all(bcache[count] >= 0 for count in counts)
    from_ssd = bcache["cset_disk"][SECTORS_READ] - before["bcache"]["cset_disk"][SECTORS_READ]
    assert from_ssd + from_disk >= read * 95 // 100, "each sector was read from one of them"
    assert sum(bcache["cset_counts"]) > 0 and sum(bcache["backing_counts"]) >= 0


@pytest.mark.thorough
def test_reads_writes_and_flushes_are_distinguished(agent: Agent, world: World) -> None:
    volume = agent.volume()
    uuid = agent.lv(volume)["uuid"]
    volume_of(agent, uuid)
    before = volume_of(agent, uuid)
    world.read(volume, 4 * MIB)
    middle = volume_of(agent, uuid)["latency"]
    world.write_synced(volume, 64)
    last = volume_of(agent, uuid)
    after = last["latency"]
    first = before["latency"]
    assert middle["reads"] - first["reads"] >= 1000 and middle["read_ns"] > first["read_ns"]
    assert middle["writes"] == first["writes"] and middle["flushes"] == first["flushes"]
    assert after["writes"] - middle["writes"] == 64 and after["write_ns"] > middle["write_ns"]
    assert 1 <= after["flushes"] - middle["flushes"] <= 80
    written = last["disk"][WRITES] - before["disk"][WRITES]
    assert written == 64 + after["flushes"] - middle["flushes"]
