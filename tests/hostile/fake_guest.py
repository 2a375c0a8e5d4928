"""A scenario, played on the fake host."""

from __future__ import annotations

from tests.fake import FakeHost
from tests.fake.machine import Machine
from tests.fake.parts import GIB, MIB, Disk, Lv, Pv, Signature, Vg, Written
from tests.hostile.scenarios import Group, Scenario, Superblock


def play(host: FakeHost, scenario: Scenario, volume: str, other: str = "") -> Written:
    """The guest of `volume` writes what the scenario says; `other` is another guest's volume,
    which it may have copied."""
    lv = host.root.lv(volume)
    writes = scenario.writes
    if isinstance(writes, Superblock):
        written = _superblock(host.machine, writes)
    else:
        written = _group(host.machine, writes, lv, host.root.lv(other) if other else None)
    host.root.guest_writes(lv, written)
    return written


def _superblock(machine: Machine, writes: Superblock) -> Written:
    signature = Signature(writes.type, machine.uuid4())
    if writes.type == "bcache":
        signature = Signature(
            "bcache", machine.uuid4(), machine.uuid4(), writes.cache_device, 64 << 10, 8192
        )
    return Written(writes.type, writes.partition, signature=signature)


def _group(machine: Machine, writes: Group, lv: Lv, other: Lv | None) -> Written:
    backing = machine.backing(lv)
    name = str(lv.kname) if backing is None else backing.device
    major, minor = (253, lv.minor or 0) if backing is None else (251, backing.number * 128)
    if writes.partition:
        name, minor = f"{name}p1", minor + 1
    disk = Disk(name, GIB, False, major=major, minor=minor)
    copied = None if other is None or other.written is None else other.written.vg
    like = machine.vgs[0] if writes.like == "host" else copied
    uuid = machine.lvm_uuid() if like is None or not writes.like else like.uuid
    pv = Pv(disk, machine.lvm_uuid())
    vg = Vg(writes.name, uuid, [pv], tags=list(writes.tags))
    for number, each in enumerate(writes.volumes):
        same = like.lvs[number].uuid if writes.like and like is not None and like.lvs else ""
        made = Lv(vg, each.uuid or same or machine.lvm_uuid(), each.name, 4 * MIB)
        made.layout, made.tags = each.layout, list(each.tags)
        made.runs = machine.place(vg, 1, [pv]) or []
        vg.lvs.append(made)
    return Written("LVM2_member", writes.partition, vg)
