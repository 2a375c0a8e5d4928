"""In the lab: what Tiercel writes beside a guest keeps that guest's latency within the budget."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from storage.agent.pace import percentile_ns
from storage.agent.stats import BOUNDS_NS
from tests.contract.client import MIB, Agent
from tests.contract.lab_world import LabWorld
from tests.lab import load

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("lab"), pytest.mark.thorough]

NEIGHBOUR_BYTES = 256 * MIB
VICTIM_BYTES = 1024 * MIB
ALONE_SECONDS = 30.0
LIMIT_SECONDS = 900.0
FREELY, WITHIN = 1000, 20
# The classes of a histogram are coarse, and an emulated machine is uneven.
TOLERANCE_PERCENT = 15


@dataclass(frozen=True)
class Felt:
    """What the neighbour felt for a while: its p95, and its I/Os a second."""

    seconds: float
    p95_ms: float
    iops: float


@pytest.fixture
def world(lab_world: LabWorld, monkeypatch: pytest.MonkeyPatch) -> LabWorld:
    lab_world.reset()
    # Zeros are written, as to a disk that has no command for them, in pieces of 64 KiB: the lab's
    # disks take 300 requests a second, however large. `zeroing_mode` does not do that: BLKZEROOUT
    # sends WRITE SAME whatever it says. And who asks often, keeps the CPU busy.
    lab_world.lab.run(
        "for each in /sys/class/scsi_disk/*/max_write_same_blocks; do echo 0 > $each; done; "
        "for each in /sys/block/sd*/queue/max_sectors_kb; do echo 64 > $each; done"
    )
    monkeypatch.setattr(lab_world, "poll_seconds", 3.0)
    return lab_world


def counts(agent: Agent, volume: str) -> list[int]:
    for each in agent.data("sample")["volumes"]:
        if each["name"] == f"vg0-{volume.replace('-', '--')}" and each["latency"]:
            return list(each["latency"]["counts"])
    raise AssertionError(f"{volume} has no histogram")


@contextmanager
def loaded(world: LabWorld, volume: str) -> Iterator[None]:
    work = load.read_hot(world.lab, "neighbour", world.device(volume), limit_iops=100)
    try:
        load.wait_until_reading(world.lab, world.device(volume))
        yield
    finally:
        work.stop()


def between(before: list[int], after: list[int], seconds: float) -> Felt:
    ios = [b - a for a, b in zip(before, after, strict=True)]
    assert len(ios) == len(BOUNDS_NS) + 1
    return Felt(seconds, percentile_ns(ios) / 1e6, sum(ios) / seconds)


def alone(agent: Agent, volume: str) -> Felt:
    before, began = counts(agent, volume), time.monotonic()
    time.sleep(ALONE_SECONDS)
    return between(before, counts(agent, volume), time.monotonic() - began)


def ended(agent: Agent, verb: str, args: dict[str, Any]) -> Any:
    outcome = agent.outcome(agent.start(verb, args), LIMIT_SECONDS)
    assert outcome["state"] == "done", outcome
    return outcome


def felt(agent: Agent, volume: str, verb: str, args: dict[str, Any]) -> tuple[Felt, Any]:
    """What the neighbour felt from the first look at the disk's work to the last: LVM's commands
    before and after it take an emulated processor, not a disk."""
    op, looks = agent.start(verb, args), list[tuple[float, list[int]]]()
    while (found := agent.data("op.get", {"op": op, "after": 0}))["state"] == "running":
        progress = found["progress"] or {}
        if 0 < progress.get("done_bytes", 0) < progress["total_bytes"]:
            looks.append((time.monotonic(), counts(agent, volume)))
        time.sleep(agent.world.poll_seconds)
    assert found["state"] == "done", found
    (began, before), (over, after) = looks[0], looks[-1]
    return between(before, after, over - began), found


def allow(world: LabWorld, percent: int) -> None:
    world.allow(["vg0"], undo_hours=0, others_rise_percent=percent)


def move(world: LabWorld, volume: str) -> tuple[str, dict[str, Any]]:
    args = {"lv": volume, "from_pvs": [world.slow[0]], "to_pvs": ["md0"]}
    return "volume.move", args


def destroy(agent: Agent, volume: str) -> tuple[str, dict[str, Any]]:
    """The volume is retired for it first."""
    key = volume[2:]
    names = {"lv": volume, "retired_name": f"del-{key}", "volume_key": key, "layout": "plain"}
    agent.do("volume.retire", names)
    lv = agent.lv(f"del-{key}")
    args = {"lv": lv["name"], "lv_uuid": lv["uuid"], "size_bytes": lv["size_bytes"]}
    return "volume.destroy", {**args, "volume_key": key, "layout": "plain"}


@pytest.mark.parametrize("what", ["destroy", "move"])
def test_a_loaded_neighbour_keeps_its_latency(
    world: LabWorld, what: str, record_property: Callable[[str, object], None]
) -> None:
    """Alone, beside our I/O without regard for it, and beside the same within the budget: all in
    one run, because only then they can be compared."""
    agent = Agent(world)
    neighbour = agent.volume(size_bytes=NEIGHBOUR_BYTES)
    victims = [agent.volume(size_bytes=VICTIM_BYTES) for _ in range(2)]
    found: dict[str, Felt] = {}
    with loaded(world, neighbour):
        agent.data("sample")
        found["alone"] = alone(agent, neighbour)
        for name, percent in (("freely", FREELY), ("within", WITHIN)):
            allow(world, percent)
            volume = victims.pop()
            verb, args = destroy(agent, volume) if what == "destroy" else move(world, volume)
            found[name], outcome = felt(agent, neighbour, verb, args)
            found_others = outcome["progress"]["others"]
            print(what, name, found[name], json.dumps(found_others))
            if what == "move":
                ended(agent, *destroy(agent, volume))
        again = alone(agent, neighbour)
    for name, each in {**found, "alone again": again}.items():
        print(f"{what}: neighbour {name}: p95 {each.p95_ms:.1f} ms, {each.iops:.0f} IOPS, "
              f"{each.seconds:.0f} s")  # fmt: skip
        record_property(f"{what}_{name}", [round(each.p95_ms, 1), round(each.seconds)])
    alone_ms = max(found["alone"].p95_ms, again.p95_ms)
    assert found["within"].p95_ms <= alone_ms * (1 + (WITHIN + TOLERANCE_PERCENT) / 100)
    assert found["within"].p95_ms < found["freely"].p95_ms
    assert found["freely"].seconds < found["within"].seconds, "the guest's latency has its price"
    throttle = "/sys/module/dm_mirror/parameters/raid1_resync_throttle"
    assert world.lab.run(f"cat {throttle} 2>/dev/null || echo 100").stdout.strip() == "100"
