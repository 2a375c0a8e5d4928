"""In the lab: caches come, change and go while a guest holds the volume and its data is checked.

That of bcache runs all its verbs, also in `make test`; tests/integration/test_lab.py does it there
for lvmcache.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from storage.naming import new_key
from tests.contract.client import MIB, POOL_BYTES, Agent, cset_args, pool_args
from tests.contract.lab_world import LabWorld
from tests.lab import load

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("lab")]

SECONDS_BETWEEN = 1.0
REAL_SECONDS = 10.0, 2.0
FACTOR = 3.0


@pytest.fixture
def world(lab_world: LabWorld) -> LabWorld:
    lab_world.reset()
    return lab_world


@contextmanager
def checked(world: LabWorld, volume: str) -> Iterator[None]:
    """A guest holds the volume, and a load writes to it and checks all it reads, to the end."""
    with (
        world.guest("web12", volume),
        load.losing_nothing(world.lab, "contract", world.device(volume)),
    ):
        yield
        time.sleep(SECONDS_BETWEEN)


@pytest.mark.thorough
def test_no_data_is_lost_while_an_lvm_cache_comes_changes_and_goes(
    agent: Agent, world: LabWorld
) -> None:
    volume = agent.volume()
    pool = f"c-{volume[2:]}"
    with checked(world, volume):
        agent.do("pool.create", pool_args(volume[2:]))
        op = agent.start("cache.attach", {"lv": volume, "pool": pool, "mode": "writethrough"})
        world.hang_up()
        assert agent.outcome(op)["state"] == "done", "the operation outlives its connection"
        time.sleep(SECONDS_BETWEEN)
        agent.do("cache.set", {"lv": volume, "mode": "writeback"})
        time.sleep(SECONDS_BETWEEN)
        bigger = f"c-{new_key()}"
        made = pool_args(volume[2:], size_bytes=2 * POOL_BYTES) | {"name": bigger}
        agent.do("pool.create", made)
        agent.do("cache.flush", {"lv": volume, "dirty_limit_bytes": 64 * MIB})
        agent.do("cache.detach", {"lv": volume, "pool": pool, "dirty_limit_bytes": 64 * MIB})
        agent.do("cache.attach", {"lv": volume, "pool": bigger, "mode": "writeback"})
        time.sleep(SECONDS_BETWEEN)
        agent.do("cache.set", {"lv": volume, "mode": "writethrough"})
        agent.do("cache.detach", {"lv": volume, "pool": bigger, "dirty_limit_bytes": 64 * MIB})
    lv = agent.lv(volume)
    assert lv["cache"] is None and any(tag.startswith("tiercel.left=") for tag in lv["tags"])
    agent.do("volume.clear", {"lv": volume, "volume_key": volume[2:]})
    lv = agent.lv(volume)
    assert sorted(lv["tags"]) == ["tiercel", f"tiercel.volume={volume[2:]}"]
    assert agent.names() == {volume}


def test_no_data_is_lost_while_a_bcache_comes_changes_and_goes(
    agent: Agent, world: LabWorld
) -> None:
    volume = agent.backing()
    with checked(world, volume):
        name, uuid = agent.cset(volume)
        wished = {"cache_mode": "writethrough", "sequential_cutoff_bytes": 0}
        agent.do("bcache.attach", {"lv": volume, "cset_uuid": uuid, **wished})
        time.sleep(SECONDS_BETWEEN)
        agent.do("bcache.set", {"lv": volume, "cache_mode": "writeback"})
        time.sleep(SECONDS_BETWEEN)
        flush = {"lv": volume, "dirty_limit_bytes": 0, "writeback_percent": 20}
        agent.do("bcache.flush", flush)
        assert agent.lv(volume)["bcache"]["writeback_percent"] == 20
        agent.do("bcache.detach", {"lv": volume, "cset_uuid": uuid})
        agent.do("cset.remove", {"name": name, "cset_uuid": uuid})
        assert agent.refused("bcache.stop", {"lv": volume}) == "in_use"
    assert agent.lv(volume)["bcache"]["state"] == "no cache"
    agent.do("bcache.stop", {"lv": volume})
    assert agent.lv(volume)["bcache"] is None


@pytest.mark.thorough
def test_no_data_is_lost_while_another_cache_set_takes_over(agent: Agent, world: LabWorld) -> None:
    volume = agent.backing()
    with checked(world, volume):
        name, uuid = agent.cset(volume)
        wished = {"cache_mode": "writeback", "sequential_cutoff_bytes": 0}
        agent.do("bcache.attach", {"lv": volume, "cset_uuid": uuid, **wished})
        time.sleep(SECONDS_BETWEEN)
        made = cset_args(volume[2:]) | {"name": f"s-{new_key()}"}
        agent.do("cset.create", made)
        agent.do("bcache.detach", {"lv": volume, "cset_uuid": uuid})
        agent.do("bcache.attach", {"lv": volume, "cset_uuid": made["cset_uuid"], **wished})
        agent.do("cset.remove", {"name": name, "cset_uuid": uuid})
        time.sleep(SECONDS_BETWEEN)
        agent.do("bcache.detach", {"lv": volume, "cset_uuid": made["cset_uuid"]})
    assert agent.lv(volume)["bcache"]["state"] == "no cache"


@pytest.mark.thorough
def test_no_other_job_waits_for_a_long_flush(
    agent: Agent, world: LabWorld, record_property: Callable[[str, object], None]
) -> None:
    """A guest that goes on writing keeps its cache dirty: this flush cannot end before it stops.

    On a real machine the attachment is to end within 10 s and the activation within 2 s; how long
    that is on an emulated one, the same two show without a flush, under the same guest's writes.
    """
    volume, _ = agent.cached("writeback")
    other, first = agent.volume(), agent.volume()
    for each in (other, first):
        agent.do("pool.create", pool_args(each[2:]))
    world.add_lv("third", 16 * MIB)
    world.make_dirty(volume)
    writing = load.write(world.lab, "long-flush", world.device(volume))
    usual = attached_and_activated(agent, world, first)
    flush = agent.start("cache.flush", {"lv": volume, "dirty_limit_bytes": 0})
    until_flushing(agent, flush)
    beside = attached_and_activated(agent, world, other)
    for name, seconds in (("without", usual), ("beside", beside)):
        print(f"{name} a flush: attached in {seconds[0]:.1f} s, activated in {seconds[1]:.1f} s")
        record_property(f"{name}_a_flush_seconds", [round(each, 1) for each in seconds])
    found = agent.data("op.get", {"op": flush, "after": 0})
    assert found["state"] == "running", "neither waited for the flush"
    assert found["progress"]["done_bytes"] < found["progress"]["total_bytes"]
    assert beside[0] < max(REAL_SECONDS[0], FACTOR * usual[0])
    assert beside[1] < max(REAL_SECONDS[1], FACTOR * usual[1])
    writing.stop()
    assert agent.outcome(flush)["state"] == "done"
    assert agent.lv(volume)["cache"]["dirty_bytes"] == 0


def attached_and_activated(agent: Agent, world: LabWorld, volume: str) -> tuple[float, float]:
    """Seconds until the pool of a volume is attached to it, and until another LV is active."""
    world.lab.run(["lvchange", "-an", "vg0/third"])
    began = time.monotonic()
    agent.do("cache.attach", {"lv": volume, "pool": f"c-{volume[2:]}", "mode": "writethrough"})
    attached = time.monotonic()
    world.lab.run(["lvchange", "-ay", "vg0/third"])
    return attached - began, time.monotonic() - attached


def until_flushing(agent: Agent, op: str) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        found = agent.data("op.get", {"op": op, "after": 0})
        assert found["state"] == "running", found
        if found["progress"] and found["progress"]["label"] == "flushed":
            return
        time.sleep(agent.world.poll_seconds)
    raise AssertionError(f"{op} does not flush")
