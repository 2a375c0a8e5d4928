"""A guest's volume group in a partition of its bcache volume, on a real kernel: with the host's own
settings of LVM the host would make it its own. With Tiercel's rules and filter it does not."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from storage.agent.state.policy import AGENT
from tests.contract.client import Agent
from tests.contract.lab_world import LabWorld
from tests.hostile import lvm2
from tests.hostile.scenarios import CRAFTED, MARK, Group

pytestmark = [pytest.mark.lab, pytest.mark.thorough, pytest.mark.xdist_group("lab")]

RULES = "/etc/udev/rules.d/61-tiercel.rules"
LOCAL = "/etc/lvm/lvmlocal.conf"
# Without our rules the distribution's own registers the device at once, maybe before we look.
AGAIN = """
set -e
disk=$(basename $(realpath /dev/vg0/{volume}))
bcache=/sys/block/$disk/bcache
before=$(stat -c %i $bcache)
echo 1 > $bcache/stop
# A late event of udev may have activated what is on it: as long as that is open, it stays, and as
# long as LVM has it written down as complete, it does not activate it a second time.
until [ "$(stat -c %i $bcache 2>/dev/null)" != $before ]; do
    vgchange -qq -an guestvg 2> /dev/null || true
    rm -rf /run/lvm/*
    sleep 0.1
done
udevadm settle
[ -e $bcache ] || echo /dev/vg0/{volume} > /sys/fs/bcache/register_quiet
until [ -e $bcache/dev ]; do sleep 0.1; done
udevadm settle
sleep 4
"""


@pytest.fixture
def world(lab_world: LabWorld) -> Iterator[LabWorld]:
    lab_world.reset()
    yield lab_world
    # Without the filter the host's LVM wrote the guest's group down. That is no harm to others.
    lab_world.lab.run(
        "dmsetup remove guestvg-root 2>/dev/null; "
        "rm -f /etc/lvm/backup/guestvg /etc/lvm/archive/guestvg_*"
    )
    lab_world.reset()


def write(world: LabWorld, volume: str, group: Group | None = None) -> str:
    """The guest writes a partition table, and in the partition its group; the device it has."""
    device = world.device(volume)
    size_bytes = int(world.lab.run(["blockdev", "--getsize64", device]).stdout)
    image = lvm2.partition_table(size_bytes).ljust(lvm2.MIB, b"\0")
    if group is not None:
        image += lvm2.header(group, size_bytes - lvm2.MIB)
    world.lab.shell.write("/tmp/guest", image, 0o600)
    world.lab.run(f"dd if=/tmp/guest of={shlex.quote(device)} bs=1M conv=fsync 2>/dev/null")
    return device


def started(world: LabWorld, *, tries: int = 1) -> bool:
    """A volume of the guest is active on the host; LVM's unit for it takes a while to run."""
    look = "dmsetup ls | grep -q ^guestvg-root"
    script = f"for try in $(seq {tries}); do {look} && exit 0; sleep 1; done; exit 1"
    return world.lab.run(script, check=False, timeout_seconds=120).returncode == 0


def listed(world: LabWorld) -> str:
    return world.lab.run("pvs -a --noheadings -o pv_name,vg_name 2>&1").stdout


@contextmanager
def without(world: LabWorld, *paths: str) -> Iterator[None]:
    for path in paths:
        world.lab.run(f"[ ! -e {path} ] || mv {path} {path}.off")
    world.lab.run("udevadm control --reload; rm -rf /run/lvm/*; udevadm settle")
    try:
        yield
    finally:
        for path in paths:
            world.lab.run(f"[ ! -e {path}.off ] || mv {path}.off {path}")
        world.lab.run("udevadm control --reload; rm -rf /run/lvm/*; udevadm settle")


def again(world: LabWorld, volume: str) -> None:
    """The bcache device comes anew, as at a start of the host."""
    world.lab.run(AGAIN.replace("{volume}", volume), timeout_seconds=120)


def taken(world: LabWorld, volume: str) -> bool:
    """LVM takes the guest's group at one of three starts: its event may meet a rest of the last."""
    for _ in range(3):
        again(world, volume)
        if started(world, tries=20):
            return True
    return False


def test_a_guests_group_is_neither_activated_nor_listed(world: LabWorld) -> None:
    agent = Agent(world)
    volume = agent.backing()
    group = Group(volumes=CRAFTED[0].writes.volumes, partition=True)  # type: ignore[union-attr]
    write(world, volume, group)
    with without(world, RULES, LOCAL):
        assert taken(world, volume), "by default LVM takes it for the host's own"
        assert "guestvg" in listed(world)
        rc, said = world.boot()
        assert (rc, MARK in said) == (0, False)
        assert world.lab.run(["ls", "/root"]).stdout.find(MARK) < 0
        assert MARK not in world.lab.run("cat /etc/udev/rules.d/*").stdout
        codes = {each["code"] for each in agent.data("hello")["problems"]}
        assert "foreign_vg_on_guest_disk" in codes
        world.lab.run("vgchange -an guestvg")
        world.lab.run(f"rm -f {RULES}")
    world.lab.run(["/usr/lib/tiercel/agent.pyz", "boot"])
    with without(world, LOCAL):
        again(world, volume)
        assert not started(world), "the rules alone keep it off"
    again(world, volume)
    assert not started(world)
    assert "bcache" not in listed(world) and "guestvg" not in listed(world)
    assert {vg["name"] for vg in agent.inventory()["vgs"]} == {"vg0"}
    other = agent.volume()
    assert world.path_of(other[2:]) == agent.lv(other)["kname"]
    assert world.path_of(volume[2:]) == agent.lv(volume)["bcache"]["device"]


def test_a_plain_volumes_superblocks_start_nothing(world: LabWorld) -> None:
    agent = Agent(world)
    array, backing = agent.volume(), agent.volume()
    world.lab.run(
        f"mdadm --create /dev/md77 --run --metadata=1.2 --level=1 --raid-devices=2 "
        f"/dev/vg0/{array} missing >/dev/null 2>&1; mdadm --stop /dev/md77 2>/dev/null; "
        f"make-bcache -B /dev/vg0/{backing} >/dev/null; udevadm settle"
    )
    for volume in (array, backing):
        world.lab.run(f"udevadm trigger --settle --action=change /dev/vg0/{volume}")
    assert "md77" not in world.lab.run(["cat", "/proc/mdstat"]).stdout
    assert "md127" not in world.lab.run(["cat", "/proc/mdstat"]).stdout
    assert agent.lv(backing)["bcache"] is None
    assert agent.lv(array)["users"] == []
    world.allow(["vg0"], undo_hours=0)
    for volume in (array, backing):
        end = {"volume_key": volume[2:], "layout": "plain"}
        name = f"del-{volume[2:]}"
        agent.do("volume.retire", {"lv": volume, "retired_name": name, **end})
        lv = agent.lv(name)
        sizes = {"lv_uuid": lv["uuid"], "size_bytes": lv["size_bytes"]}
        agent.do("volume.destroy", {"lv": name, **sizes, **end}, lv_uuid=lv["uuid"])


MADE_BY_HAND = """
set -e
make-bcache --wipe-bcache -b 64k -C /dev/vg0/handcache >/dev/null
make-bcache --wipe-bcache -B /dev/vg0/hand >/dev/null
udevadm settle
for each in handcache hand; do
    [ -e /sys/block/$(basename $(realpath /dev/vg0/$each))/bcache ] ||
        echo /dev/vg0/$each > /sys/fs/bcache/register_quiet
done
disk=$(basename $(realpath /dev/vg0/hand))
until [ -e /sys/block/$disk/bcache/dev ]; do sleep 0.1; done
set=$(basename $(realpath /sys/block/$(basename $(realpath /dev/vg0/handcache))/bcache/set))
[ -e /sys/block/$disk/bcache/cache ] || echo $set > /sys/block/$disk/bcache/attach
bcache=/dev/$(basename $(realpath /sys/block/$disk/bcache/dev))
systemd-run -q --unit=guest-hand --collect sh -c "exec 3<$bcache; sleep 900"
udevadm settle
"""
# Tiercel hides nothing yet: the distribution's rule registers what the guest wrote.
MADE_BY_A_GUEST = """
set -e
make-bcache --wipe-bcache -B /dev/vg0/guests >/dev/null
udevadm settle
systemd-run -q --unit=guest-guests --collect sh -c "exec 3</dev/vg0/guests; sleep 900"
"""
TAKEN_AWAY = """
set -e
systemctl stop guest-hand guest-guests
set=$(realpath /sys/block/$(basename $(realpath /dev/vg0/handcache))/bcache/set)
for each in hand guests; do
    bcache=/sys/block/$(basename $(realpath /dev/vg0/$each))/bcache
    [ ! -e $bcache ] || echo 1 > $bcache/stop
    while [ -e $bcache ]; do sleep 0.1; done
done
echo 1 > $set/unregister
while [ -e $set ]; do sleep 0.1; done
udevadm settle
lvchange -an vg0/hand vg0/handcache vg0/guests
"""


# A busy machine is that late with what udev is to start.
LATEST_SECONDS = 60


def at_work(world: LabWorld, lv: str, seconds: int = 5) -> bool:
    """The kernel has a bcache device on it: at once, or within the seconds after udev has come to
    rest."""
    disk = f"/sys/block/$(basename $(realpath /dev/vg0/{lv}))/bcache"
    script = (
        f"udevadm settle; for try in $(seq {seconds}); do "
        f"[ -e {disk}/dev ] && exit; sleep 1; done; false"
    )
    return world.lab.run(script, check=False, timeout_seconds=180 + seconds).returncode == 0


def test_bcache_that_root_made_by_hand_comes_back_and_a_guests_does_not(world: LabWorld) -> None:
    """By udev alone, early enough for what is mounted from it; the boot unit is the safety net."""
    # As before the group was allowed: another test may have hidden it.
    world.allow([])
    world.lab.run(f"rm -f {RULES}; udevadm control --reload")
    for name in ("hand", "guests"):
        world.add_lv(name, 64 * lvm2.MIB)
    # The kernel takes no cache device of fewer than 1,024 buckets.
    world.add_lv("handcache", 128 * lvm2.MIB, "md0")
    world.lab.run(MADE_BY_HAND, timeout_seconds=120)
    world.lab.run(MADE_BY_A_GUEST, timeout_seconds=120)
    assert at_work(world, "guests", LATEST_SECONDS), "else the end of this test shows nothing"
    world.lab.run([AGENT, "allow-vg", "vg0"], timeout_seconds=120)
    rc, said = world.boot()
    assert rc == 0, said
    world.lab.run(TAKEN_AWAY, timeout_seconds=120)
    world.lab.run("lvchange -ay vg0/handcache vg0/hand vg0/guests")
    assert at_work(world, "hand", LATEST_SECONDS), "udev alone brings it"
    assert not at_work(world, "guests")
    rc, said = world.boot()
    assert rc == 0, said
    assert at_work(world, "hand", LATEST_SECONDS) and not at_work(world, "guests")
    lv = Agent(world).lv("hand")
    assert lv["bcache"]["cset_uuid"], lv["bcache"]
