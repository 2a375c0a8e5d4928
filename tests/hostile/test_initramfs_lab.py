"""On the lab, with the initramfs hooks that its distribution has: a restart starts nothing of what
guests wrote to their disks, once the initramfs is built with Tiercel's hook."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contract.client import Agent
from tests.contract.lab_world import LabWorld
from tests.hostile.scenarios import Group
from tests.hostile.test_lab import LOCAL, RULES, without, write
from tests.lab import distribution_hooks

pytestmark = [
    pytest.mark.lab,
    pytest.mark.thorough,
    pytest.mark.xdist_group("lab"),
    pytest.mark.timeout(3600),
]

# Made by the tools themselves, of which no copy is left at work.
ARRAY = """
mdadm -q --create /dev/md77 --level=1 --raid-devices=2 --metadata=1.2 --run {device} missing \\
    </dev/null
udevadm settle
mdadm -q --stop /dev/md77
"""
BACKING = "make-bcache -B {device} >/dev/null"
HOLDERS = """
disk=$(basename $(realpath /dev/vg0/{lv}))
{hop}
ls /sys/block/$disk/holders
for part in /sys/block/$disk/$disk*; do ls $part/holders 2>/dev/null; done
true
"""
HOP = "disk=$(basename $(realpath /sys/block/$disk/bcache/dev)) || exit 0"


@pytest.fixture
def world(lab_world: LabWorld) -> Iterator[LabWorld]:
    lab_world.reset()
    with without(lab_world, RULES, LOCAL):
        distribution_hooks.install(lab_world.lab)
    yield lab_world
    lab_world.hang_up()
    distribution_hooks.remove(lab_world.lab)
    lab_world.reset()


def at_work(world: LabWorld, disks: dict[str, bool]) -> list[str]:
    """What the kernel has on guests' disks: by the volume, and whether the guest has its bcache."""
    found = []
    for lv, is_bcache in disks.items():
        script = HOLDERS.format(lv=lv, hop=HOP if is_bcache else "")
        found += [f"{lv}: {each}" for each in world.lab.run(script).stdout.split()]
    return found


def codes(agent: Agent) -> set[str]:
    return {each["code"] for each in agent.data("hello")["problems"]}


def test_no_restart_starts_what_guests_wrote(world: LabWorld) -> None:
    agent = Agent(world)
    disks: dict[str, bool] = {}
    volume = agent.backing()
    write(world, volume, Group(partition=True))
    disks[volume] = True
    for write_superblock in (ARRAY, BACKING):
        for volume in (agent.volume(), agent.backing()):
            disks[volume] = world.device(volume) != f"/dev/vg0/{volume}"
            world.lab.run(write_superblock.format(device=world.device(volume)))
    assert at_work(world, disks) == []

    world.restart_by_itself()
    started = at_work(world, disks)
    print("with the initramfs of before the enrolment:", started, flush=True)
    assert started, "else the rest of this test shows nothing"
    told = codes(agent)
    assert "initramfs_stale" in told
    assert "guest_array" in told or not any(": md" in each for each in started)

    world.hide_in_initramfs()
    assert "initramfs_stale" not in codes(agent)
    world.restart_by_itself()
    assert at_work(world, disks) == []
    for lv, is_bcache in disks.items():
        known = agent.lv(lv)
        assert known["users"] == []
        assert (known["bcache"] is not None and known["bcache"]["device"] is not None) == is_bcache
        assert world.path_of(lv[2:]) is not None
    assert not codes(agent) & {
        "initramfs_stale", "guest_array", "foreign_vg_on_guest_disk", "bcache_unclear",
        "boot_incomplete", "orphan_device",
    }  # fmt: skip
