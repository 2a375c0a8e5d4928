"""A scenario, played on the lab's kernel: what a guest writes, and the events that follow."""

from __future__ import annotations

from dataclasses import dataclass

from tests.contract.client import Agent
from tests.contract.lab_world import LabWorld
from tests.hostile.lvm2 import MIB, Identity, header, identity, partition_table
from tests.hostile.scenarios import MARK, Group, Scenario, Superblock

TYPES = {"bcache": "bcache", "linux_raid_member": "linux_raid_member"}

# All that follows by itself when a guest's disk is closed, when the host restarts, and when someone
# activates what there is.
EVENTS = """
udevadm trigger --action=change /sys/block/{kname}
udevadm settle
udevadm trigger --action=add /sys/block/{kname} $(ls -d /sys/block/{kname}/{kname}p* 2>/dev/null)
udevadm settle
vgchange -aay >/dev/null 2>&1
udevadm settle
"""

# Each line is a harm.
HARM = f"""
ls -d /{MARK} /root/{MARK} 2>/dev/null
grep -rl {MARK} /etc /run/udev/rules.d /run/tiercel /var/lib/tiercel/*.json 2>/dev/null
ls /sys/block/{{kname}}/holders
for part in /sys/block/{{kname}}/{{kname}}p*; do ls $part/holders 2>/dev/null; done
sed -n 's/^\\(md[^ ]*\\) : .*/\\1/p' /proc/mdstat | grep -vx md0
ls -d /sys/fs/bcache/*-* 2>/dev/null
ls -d /dev/tiercel/*{MARK}* 2>/dev/null
true
"""


@dataclass(frozen=True)
class Written:
    """The device a guest wrote to, and the group it forged there."""

    kname: str
    group: Identity | None


def play(
    world: LabWorld, agent: Agent, scenario: Scenario, volume: str, like: Identity | None = None
) -> Written:
    """The guest of `volume` writes what the scenario says; `like` are the uuids it takes over."""
    device = world.device(volume)
    kname = world.lab.run(f"basename $(realpath {device})").stdout.strip()
    writes, group = scenario.writes, None
    if isinstance(writes, Superblock):
        world.lab.run(_superblock(writes, device))
    else:
        group = identity(writes, _of_host(agent) if writes.like == "host" else like)
        _write(world, device, writes, group)
    world.lab.run(EVENTS.format(kname=kname), check=False)
    written = device + ("p1" if writes.partition else "")
    script = f"blkid -p -o value -s TYPE {written}"
    expected = "LVM2_member" if isinstance(writes, Group) else TYPES[writes.type]
    assert world.lab.run(script).stdout.strip() == expected, "the guest's write is no such thing"
    return Written(kname, group)


def harm(world: LabWorld, written: Written) -> list[str]:
    """What of the guest is at work or written down on the host."""
    return world.lab.run(HARM.format(kname=written.kname)).stdout.split("\n")[:-1]


def _of_host(agent: Agent) -> Identity:
    vg = agent.vg()
    lvs = [lv["uuid"] for lv in agent.inventory()["lvs"] if lv["vg_uuid"] == vg["uuid"]]
    return Identity(vg["uuid"], tuple(lvs))


def _write(world: LabWorld, device: str, group: Group, known: Identity) -> None:
    size_bytes = int(world.lab.run(["blockdev", "--getsize64", device]).stdout)
    image = header(group, size_bytes, known)
    if group.partition:
        table = partition_table(size_bytes).ljust(MIB, b"\0")
        image = table + header(group, size_bytes - MIB, known)
    world.lab.shell.write("/tmp/guest", image)
    world.lab.run(f"dd if=/tmp/guest of={device} bs=1M conv=fsync 2>/dev/null; rm /tmp/guest")
    if group.partition:
        world.lab.run(f"udevadm settle; blockdev --rereadpt {device}; udevadm settle")


def _superblock(writes: Superblock, device: str) -> str:
    """Made by the tools themselves, of which no copy is left at work."""
    if writes.type == "linux_raid_member":
        return (
            f"mdadm -q --create /dev/md77 --level=1 --raid-devices=2 --metadata=1.2 --run {device} "
            "missing </dev/null; udevadm settle; mdadm -q --stop /dev/md77; udevadm settle"
        )
    # The kernel takes no set of fewer than 512 buckets.
    kind = "--bucket 64k -C" if writes.cache_device else "-B"
    return f"make-bcache {kind} {device} >/dev/null; udevadm settle"
