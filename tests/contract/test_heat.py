"""Heat on a real kernel: what a volume's guest reads is seen above its cache, its RAID and its
bcache, and the service leaves nothing behind. (The fake host has no trace events: of it, see
tests/storage/agent/heat.)"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import log
from typing import Any

import pytest

from storage.analysis.curve.heat import HeatRecord, bucket_bounds, heat_record
from tests.contract.client import MIB, Agent
from tests.contract.lab_world import LabWorld

pytestmark = [
    pytest.mark.lab,
    pytest.mark.thorough,
    pytest.mark.xdist_group("lab"),
    pytest.mark.timeout(900),
]

INSTANCE = "/sys/kernel/tracing/instances/tiercel-heat"
READ_BYTES = 16 * MIB
"""Reads are scattered over so much of a volume: 256 chunks."""
READS = 3000
LOOK_SECONDS = 15
"""Within these the service follows what is wanted."""
SHORTEST_SECONDS = 62
"""A record of less says nothing."""
Maker = Callable[[Agent], str]


@pytest.fixture
def agent(lab_world: LabWorld) -> Iterator[Agent]:
    lab_world.reset()
    yield Agent(lab_world)
    stop(lab_world)
    lab_world.reset()


def plain(agent: Agent) -> str:
    return agent.volume()


def with_lvm_cache(agent: Agent) -> str:
    return agent.cached()[0]


def with_bcache(agent: Agent) -> str:
    volume = agent.backing()
    _, uuid = agent.cset(volume)
    wished = {"cache_mode": "writethrough", "sequential_cutoff_bytes": 0}
    agent.do("bcache.attach", {"lv": volume, "cset_uuid": uuid, **wished})
    return volume


def on_raid(agent: Agent) -> str:
    world = agent.world
    assert isinstance(world, LabWorld)
    pvs = [f"/dev/{name}" for name in world.slow]
    mirrored = ["--type", "raid1", "-m", "1", "-n", "mirrored", "-L", "64m"]
    world.lab.run(["lvcreate", "-qy", *mirrored, "vg0", *pvs])
    world.lab.run(["udevadm", "settle"])
    return "mirrored"


def state(agent: Agent) -> Mapping[str, Any]:
    heat: Mapping[str, Any] = agent.data("hello")["heat"]
    return heat


def wait_until(holds: Callable[[], bool], what: str, seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(1)


@contextmanager
def counted(agent: Agent, world: LabWorld, volume: str) -> Iterator[None]:
    """All I/Os of a volume until the end of the block, and as long as a record needs."""
    uuid = agent.lv(volume)["uuid"]
    agent.data("heat.observe", {"lv_uuids": [uuid]})
    world.install_heat()
    wait_until(lambda: state(agent)["volumes"] == 1, "the volume is observed")
    agent.data("heat.trace", {"lv_uuid": uuid, "minutes": 10, "chunk_kib": 64})
    time.sleep(LOOK_SECONDS)
    wait_until(lambda: kernel_filter(world).count("dev ==") > 1, "all I/Os of it are seen")
    begun = time.monotonic()
    yield
    time.sleep(max(0.0, SHORTEST_SECONDS - (time.monotonic() - begun)))
    stop(world)


def kernel_filter(world: LabWorld) -> str:
    return world.lab.run(["cat", f"{INSTANCE}/events/block/block_bio_queue/filter"]).stdout


def stop(world: LabWorld) -> None:
    """The service writes what it has."""
    world.lab.run("systemctl disable -q --now tiercel-heat.service", check=False)
    assert not is_tracing(world)


def is_tracing(world: LabWorld) -> bool:
    return world.lab.run(["test", "-d", INSTANCE], check=False).returncode == 0


def records(agent: Agent, volume: str) -> list[HeatRecord]:
    found, uuid = agent.data("heat.records", {"after": 0})["records"], agent.lv(volume)["uuid"]
    return [heat_record(each) for each in found if each["lv_uuid"] == uuid]


@pytest.mark.parametrize("make", [plain, with_lvm_cache, with_bcache, on_raid])
def test_reads_of_a_guest_are_seen_and_give_the_size_that_holds_them(
    agent: Agent, lab_world: LabWorld, make: Maker
) -> None:
    volume = make(agent)
    with counted(agent, lab_world, volume):
        lab_world.read_scattered(volume, READ_BYTES, READS)
    kept = records(agent, volume)
    assert {record.lost for record in kept} == {0}
    (always,) = (record for record in kept if record.share == 64)
    fine = {record.chunk_bytes: record for record in kept if record.share == 4}
    assert set(fine) == {4096, 65536, MIB}
    for record in (always, *fine.values()):
        # Others look at a volume too: udev, LVM, the test itself.
        assert READS <= record.reads <= READS * 1.1
        assert 4096 * READS <= record.read_bytes <= 4096 * READS * 1.5
    reuse = fine[65536].reuse.reads
    # Of 256 chunks a quarter is observed, and each of these is cold once.
    assert 56 <= reuse.cold <= 80
    assert READS / 5 <= reuse.total <= READS / 3
    # At random, half of the chunks are touched while the clock moves by this, and so is a chunk
    # that is touched again: half of the reads would come from a cache that holds half of the data.
    half = READ_BYTES / 65536 * log(2)
    again = sum(number for index, number in reuse.buckets if bucket_bounds(index)[0] <= half)
    assert 0.42 <= again / (reuse.total - reuse.cold) <= 0.58


def test_a_service_that_is_killed_leaves_nothing_in_the_kernel(
    agent: Agent, lab_world: LabWorld
) -> None:
    volume = agent.volume()
    agent.data("heat.observe", {"lv_uuids": [agent.lv(volume)["uuid"]]})
    lab_world.install_heat()
    wait_until(lambda: state(agent)["volumes"] == 1, "the volume is observed")
    assert is_tracing(lab_world)
    lab_world.lab.run("systemctl kill -s KILL tiercel-heat")
    wait_until(lambda: not is_tracing(lab_world), "the instance is removed")
