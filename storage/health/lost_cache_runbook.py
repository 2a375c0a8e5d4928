"""Manual instructions for a lost SSD that may have held dirty data. Tiercel runs none of them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from storage.inventory.facts import HostFacts, LogicalVolume
from storage.planner.technologies.lvmcache_loss import Loss


@dataclass(frozen=True, slots=True)
class Instruction:
    """`command` is "" where there is nothing to type."""

    text: str
    command: str = ""


def lvmcache_runbook(lv: LogicalVolume, loss: Loss) -> tuple[Instruction, ...]:
    """For a volume whose dm-cache lies on a missing disk and may hold the only copy of data."""
    name, vg = shlex.quote(f"{lv.vg_name}/{lv.name}"), shlex.quote(lv.vg_name)
    return (
        Instruction(
            "Do not restart the host or the guest: a cached volume is not activated while its "
            "cache is missing."
        ),
        Instruction(
            f"Bring the SSD back: reseat it, reconnect it, or replace its cable. LVM looks for "
            f"{'this PV uuid' if len(loss.pv_uuids) == 1 else 'these PV uuids'}: "
            f"{', '.join(loss.pv_uuids)}.",
            f"pvs -o pv_name,pv_uuid,vg_name {_select(lv)}",
        ),
        Instruction(
            "If it is back, tell the group so, with its new device name. The cache then goes on "
            "with all its data.",
            f"vgextend --restoremissing {vg} /dev/NAME",
        ),
        Instruction(
            "Only if the SSD is dead for good: stop the guest. Data that was written last and "
            "existed only in the cache is lost permanently, and file systems will need a check.",
        ),
        Instruction(
            "LVM asks before it does this; read the volume's name in its question.",
            f"lvconvert --uncache --force {name}",
        ),
        Instruction(
            "Check the file systems inside the guest before you put it back into service, or "
            "restore the volume from a backup."
        ),
        *_afterwards(lv),
    )


def bcache_runbook(
    facts: HostFacts, lv: LogicalVolume, cache_device: str | None
) -> tuple[Instruction, ...]:
    """For a bcache volume that waits for a cache set that is gone, or lost it while dirty.
    `cache_device` is the name of the LV in the volume's group that the cache set lies on, None
    where neither a record nor the host tells."""
    device = "/dev/NAME" if cache_device is None else f"/dev/{lv.vg_name}/{cache_device}"
    uuids = [pv.uuid for pv in facts.pvs if pv.vg_uuid == lv.vg_uuid and pv.missing]
    looked_for = f" LVM looks for the PV uuid {', '.join(uuids)}." if uuids else ""
    return (
        Instruction(
            f"Bring the SSD back and register its cache device: nothing is lost then.{looked_for}",
            f"echo {shlex.quote(device)} > /sys/fs/bcache/register_quiet",
        ),
        Instruction(
            "Only if the SSD is dead for good: see whether the volume was clean (dev.data.cache_"
            "state 1) or dirty (2).",
            f"bcache-super-show {shlex.quote(f'/dev/{lv.vg_name}/{lv.name}')}",
        ),
        Instruction(
            "Clean: the volume may run without its cache, and nothing is lost. Dirty: what was "
            "written last is lost for ever; file systems need a check, or restore a backup.",
            f"echo 1 > /sys/block/{lv.kname or 'dm-N'}/bcache/running",
        ),
        *_afterwards(lv),
    )


def _afterwards(lv: LogicalVolume) -> tuple[Instruction, ...]:
    return (
        Instruction(
            f"When no volume needs the lost disk any more, take it out of {lv.vg_name}. Never add "
            "--force: it deletes every volume whose cache was on that disk, clean ones too.",
            f"vgreduce --removemissing {shlex.quote(lv.vg_name)}",
        ),
    )


def _select(lv: LogicalVolume) -> str:
    return f"-S {shlex.quote(f'vg_name={lv.vg_name}')}"
