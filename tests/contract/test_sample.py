"""One round of counters."""

from __future__ import annotations

from typing import Any

from tests.contract.client import CSET_BYTES, MIB, Agent
from tests.contract.world import World

COUNTERS = 17
READS, SECTORS_READ = 0, 2


def volume_of(agent: Agent, name: str) -> Any:
    uuid = agent.lv(name)["uuid"]
    return next(v for v in agent.data("sample")["volumes"] if v["lv_uuid"] == uuid)


def test_a_sample_has_every_public_volume_and_every_disk(agent: Agent, world: World) -> None:
    world.add_lv("web--12.x", 16 * MIB)
    volume, _ = agent.cached()
    reply = agent.ask("sample")
    assert reply["host"]["boottime_ns"] > 0 and len(reply["host"]["boot_id"]) == 36
    sample = reply["data"]
    uuids = {agent.lv("web--12.x")["uuid"], agent.lv(volume)["uuid"]}
    assert {each["lv_uuid"] for each in sample["volumes"]} == uuids
    assert {"sda", "sdb", "sdc", "sdd"} <= {disk["name"] for disk in sample["disks"]}
    for each in [*sample["volumes"], *sample["disks"]]:
        assert len(each["disk"]) == COUNTERS
        assert all(isinstance(count, int) and count >= 0 for count in each["disk"])


def test_reads_of_a_plain_volume_are_counted(agent: Agent, world: World) -> None:
    volume = agent.volume()
    before = volume_of(agent, volume)
    world.read(volume, 4 * MIB)
    after = volume_of(agent, volume)
    assert after["name"] == f"vg0-{volume.replace('-', '--')}"
    assert (after["cache"], after["bcache"], after["suspended"]) == (None, None, False)
    assert after["disk"][READS] - before["disk"][READS] >= 1000
    assert after["disk"][SECTORS_READ] - before["disk"][SECTORS_READ] >= 4 * MIB // 512


def test_latency_classes_add_up_to_the_reads(agent: Agent, world: World) -> None:
    volume = agent.volume()
    assert volume_of(agent, volume)["latency"] is None, "the region is only just made"
    before = volume_of(agent, volume)["latency"]
    world.read(volume, 4 * MIB)
    after = volume_of(agent, volume)["latency"]
    assert len(after["counts"]) == len(after["bounds_ns"]) + 1
    assert after["bounds_ns"] == sorted(after["bounds_ns"])
    assert sum(after["counts"]) - sum(before["counts"]) >= 1000


def test_a_cached_volume_has_every_field_of_its_cache(agent: Agent, world: World) -> None:
    volume, _ = agent.cached()
    before = volume_of(agent, volume)["cache"]
    world.read(volume, 8 * MIB)
    cache = volume_of(agent, volume)["cache"]
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
    assert cache["origin"][READS] > 0 and cache["cdata"][READS] > 0


def test_a_region_of_latencies_outlives_attach_and_detach(agent: Agent, world: World) -> None:
    volume = agent.volume()
    volume_of(agent, volume)
    world.read(volume, 4 * MIB)
    before = sum(volume_of(agent, volume)["latency"]["counts"])
    pool = agent.pool(volume)
    agent.do("cache.attach", {"lv": volume, "pool": pool, "mode": "writethrough"})
    attached = sum(volume_of(agent, volume)["latency"]["counts"])
    agent.do("cache.detach", {"lv": volume, "pool": pool, "dirty_limit_bytes": 0})
    detached = sum(volume_of(agent, volume)["latency"]["counts"])
    assert before <= attached <= detached


def test_a_bcache_volume_has_both_sides_of_its_cache(agent: Agent, world: World) -> None:
    volume = agent.backing()
    plain = volume_of(agent, volume)
    assert plain["bcache"]["cset_uuid"] is None
    assert plain["bcache"]["available_percent"] is None
    _, uuid = agent.cset(volume)
    args = {"lv": volume, "cset_uuid": uuid, "cache_mode": "writethrough"}
    agent.do("bcache.attach", {**args, "sequential_cutoff_bytes": 0})
    before = volume_of(agent, volume)
    world.read(volume, 4 * MIB)
    after = volume_of(agent, volume)
    bcache = after["bcache"]
    assert after["latency"] is None and after["cache"] is None
    assert (bcache["state"], bcache["cache_mode"]) == ("clean", "writethrough")
    assert bcache["uuid"] == agent.lv(volume)["bcache"]["uuid"]
    assert bcache["cset_uuid"] == uuid and bcache["cset_size_bytes"] == CSET_BYTES
    assert 0 <= bcache["available_percent"] <= 100 and bcache["dirty_bytes"] == 0
    read = bcache["disk"][SECTORS_READ] - before["bcache"]["disk"][SECTORS_READ]
    from_disk = after["disk"][SECTORS_READ] - before["disk"][SECTORS_READ]
    assert read >= 4 * MIB // 512
    assert 0 <= from_disk < read, "what is read again comes from the SSD"
    counts = ("hits", "misses", "bypass_hits", "bypass_misses")
    assert all(bcache[count] >= 0 for count in counts)


def test_a_sample_is_answered_while_a_group_is_locked(agent: Agent, world: World) -> None:
    agent.volume()
    with world.vg_lock():
        assert agent.ask("sample")["ok"]
