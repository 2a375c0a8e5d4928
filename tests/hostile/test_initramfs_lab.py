"""On the lab, with the initramfs hooks that its distribution has: a restart starts nothing of what
guests wrote to their disks, once the initramfs is built with Tiercel's hook."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator

import pytest

from storage.agent.state import initramfs
from tests.contract.client import Agent
from tests.contract.lab_world import LabWorld
from tests.hostile.scenarios import MARK, Group
from tests.hostile.test_lab import LOCAL, RULES, without, write
from tests.lab import distribution_hooks
from tests.lab.vm import Lab

pytestmark = [
    pytest.mark.lab,
    pytest.mark.thorough,
    pytest.mark.xdist_group("lab"),
    pytest.mark.timeout(3600),
]

# A line that an agent of another day wrote by a guest's tag.
LINKS = "/etc/udev/rules.d/69-tiercel.rules"
RAN = f"/run/{MARK}"
RUNS = f'SUBSYSTEM=="block", RUN+="/bin/sh -c \'>{RAN}\'"\n'

# Made by the tools themselves, of which no copy is left at work.
ARRAY = """
mdadm -q --create /dev/md77 --level=1 --raid-devices=1 --force --metadata=1.2 --run {device}
udevadm settle
mdadm -q --stop /dev/md77
"""
BACKING = "make-bcache -B {device} >/dev/null"
SHOW_PARTITION = "udevadm settle; blockdev --rereadpt {device}; udevadm settle"
HOLDERS = """
disk=$(basename $(realpath /dev/vg0/{lv}))
{hop}
ls -d /sys/block/$disk/holders/* /sys/block/$disk/$disk*/holders/* 2>/dev/null || true
"""
HOP = """
[ -e /sys/block/$disk/bcache/dev ] || exit 0
disk=$(basename $(realpath /sys/block/$disk/bcache/dev))
"""


@pytest.fixture
def world() -> Iterator[LabWorld]:
    """A machine of its own, with the initramfs that it had on the day before its enrolment."""
    with Lab(f"hooks-{os.getpid()}", say=warnings.warn) as lab:
        world = LabWorld(lab)
        world.reset()
        with without(world, RULES, LOCAL):
            lab.shell.write(LINKS, RUNS)
            distribution_hooks.install(lab, warnings.warn)
        yield world
        world.close()


def at_work(world: LabWorld, disks: dict[str, bool]) -> list[str]:
    """What the kernel has on guests' disks: by the volume, and whether the guest has its bcache."""
    found = []
    for lv, is_bcache in disks.items():
        script = HOLDERS.format(lv=lv, hop=HOP if is_bcache else "")
        holders = world.lab.run(script).stdout.split()
        found += [f"{lv}: {each.rpartition('/')[2]}" for each in holders]
    return found


def corrections(agent: Agent) -> dict[str, str]:
    return {each["code"]: each["correction"] for each in agent.data("hello")["problems"]}


def guests_disks(world: LabWorld, agent: Agent) -> dict[str, bool]:
    """Volumes on which guests made a group, arrays and bcache devices; whether each is bcache."""
    run = world.lab.run
    group, array, backing = agent.backing(), agent.backing(), agent.backing()
    write(world, group, Group(partition=True))
    run(ARRAY.format(device=world.device(array)))
    # The kernel refuses bcache on all of a bcache device.
    device = write(world, backing)
    run(SHOW_PARTITION.format(device=device))
    run(BACKING.format(device=f"{device}p1"))
    plain_array, plain_backing = agent.volume(), agent.volume()
    run(ARRAY.format(device=world.device(plain_array)))
    run(BACKING.format(device=world.device(plain_backing)))
    return {group: True, array: True, backing: True, plain_array: False, plain_backing: False}


def has_run(world: LabWorld) -> bool:
    """Whether the line was run, since the machine started."""
    return world.lab.run(["test", "-e", RAN], check=False).returncode == 0


def test_no_restart_starts_what_guests_wrote(world: LabWorld) -> None:
    agent = Agent(world)
    # The power goes before the enrolment has built it anew.
    with world.without("update-initramfs"):
        world.install_initramfs()
        rc, said = world.boot()
        assert rc == 0, said
        assert MARK not in world.lab.run(["cat", LINKS]).stdout
        disks = guests_disks(world, agent)
        assert at_work(world, disks) == []
        before = corrections(agent)
        mends = before.pop("initramfs_stale")
        world.restart_by_itself()
        started = at_work(world, disks)
        print("with the initramfs of before the enrolment:", started, flush=True)
        assert len(started) == len(disks), "else the rest of this test shows nothing"
        assert has_run(world), "else the rest of this test shows nothing"
        now = corrections(agent)
        assert now["initramfs_stale"] == mends and "guest_array" in now

    assert mends == f"As root on the host run: {initramfs.COMMAND}"
    timeout_seconds = distribution_hooks.BUILD_SECONDS
    world.lab.run(initramfs.COMMAND, timeout_seconds=timeout_seconds)
    assert "initramfs_stale" not in corrections(agent)
    world.restart_by_itself()
    assert at_work(world, disks) == []
    assert not has_run(world)
    assert corrections(agent) == before
    for lv, is_bcache in disks.items():
        known = agent.lv(lv)
        assert known["users"] == []
        assert (known["bcache"] is not None and known["bcache"]["device"] is not None) == is_bcache
        path = known["kname"] if known["bcache"] is None else known["bcache"]["device"]
        assert world.path_of(lv[2:]) == path is not None
