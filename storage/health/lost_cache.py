"""What a lost SSD means for one volume, in words and instructions. From a row and its samples."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from storage.formatting import size
from storage.health.leftovers import cache_device_of
from storage.inventory.facts import HostFacts, LogicalVolume
from storage.metrics.samples.aggregate import last_known
from storage.models import Volume
from storage.naming import is_pool_name
from storage.planner import Refused
from storage.planner.current_wish import uncached
from storage.planner.technologies.lvmcache_loss import Loss, loss_of
from storage.planner.wish import Bcache, Wish
from storage.volumes.snapshot import VolumeSnapshot


@dataclass(frozen=True, slots=True)
class Instruction:
    """`command` is "" where there is nothing to type."""

    text: str
    command: str = ""


def lvmcache_runbook(lv: LogicalVolume, loss: Loss) -> tuple[Instruction, ...]:
    """For a volume whose dm-cache lies on a missing disk and may hold the only copy of data."""
    vg = shlex.quote(lv.vg_name)
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
        *_given_up(lv, loss),
        *_afterwards(lv),
    )


def _given_up(lv: LogicalVolume, loss: Loss) -> tuple[Instruction, ...]:
    """What is left to do once the SSD is dead for good."""
    name = shlex.quote(f"{lv.vg_name}/{lv.name}")
    if loss.is_origin_lost:
        return (
            Instruction(
                "A part of the volume itself is on a missing disk too. Give up nothing of its "
                "cache: bring the disks back, or restore the volume from a backup."
            ),
        )
    if loss.kind == "clean":
        return (
            Instruction(
                "Only if the SSD is dead for good: the cache held copies only, and LVM can drop "
                "it. If LVM refuses because of dirty data, stop there.",
                f"lvconvert --uncache {name}",
            ),
        )
    return (
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
    )


def bcache_runbook(
    facts: HostFacts, lv: LogicalVolume, cache_device: str | None
) -> tuple[Instruction, ...]:
    """For a bcache volume that waits for a cache set that is gone, or lost it while dirty.
    `cache_device` is the name of the LV in the volume's group that the cache set lies on, None
    where neither a record nor the host knows."""
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


@dataclass(frozen=True, slots=True)
class LostCache:
    """`can_drop`: a job can give the cache up and nothing is lost. `may_lose_data` demands a
    prominent warning. `last_dirty` is the last sample with a dirty figure: (when, bytes)."""

    sentence: str
    can_drop: bool
    may_lose_data: bool
    instructions: tuple[Instruction, ...]
    last_dirty: tuple[datetime, int] | None


def loss_of_row(row: VolumeSnapshot) -> LostCache | None:
    """None while no SSD of the volume is missing."""
    if row.facts is None or row.lv is None:
        return None
    loss = loss_of(row.facts, row.lv)
    if loss is not None:
        return _lvmcache(row, loss)
    return _bcache(row)


def dropped(row: VolumeSnapshot, loss: LostCache | None) -> Wish:
    """The wish of a job that gives the lost cache up; raises `Refused` where that may lose data."""
    now = row.wish
    if now is None or loss is None or not loss.can_drop:
        raise Refused(
            "unsupported",
            f"{row.volume} has no lost cache that can be dropped safely.",
            "See the volume's page for what is lost and what to do by hand.",
        )
    return uncached(row.facts, row.lv, now)


def _lvmcache(row: VolumeSnapshot, loss: Loss) -> LostCache | None:
    if row.lv is None:
        return None
    last = _last_dirty(row.volume)
    was_dirty = last is not None and last[1] > 0
    if loss.kind == "clean" and not was_dirty and is_pool_name(loss.cache):
        return LostCache(
            f"The SSD under the cache {loss.cache} is missing. The cache only held copies "
            "(writethrough, 0 B dirty): dropping it loses no data and ends the guest's errors.",
            True,
            False,
            (),
            last,
        )
    if loss.kind == "mixed":
        sentence = (
            f"The missing disk carried the cache {loss.cache} and also data of "
            f"{', '.join(loss.others)}."
        )
    elif loss.kind == "unknown":
        sentence = (
            f"The SSD under the cache {loss.cache} is missing, and the kernel can no longer tell "
            "whether the cache held data that exists nowhere else."
        )
    elif loss.kind == "clean" and not was_dirty:
        sentence = (
            f"The SSD under the cache {loss.cache} is missing. Tiercel did not create this cache "
            "and does not drop it automatically."
        )
    else:
        held = f"held {size(loss.dirty_bytes)}" if loss.dirty_bytes else "may have held new data"
        sentence = (
            f"The SSD under the cache {loss.cache} ({loss.mode}) is missing, and the cache {held} "
            "that the HDD does not have."
        )
    return LostCache(sentence, False, True, lvmcache_runbook(row.lv, loss), last)


def _bcache(row: VolumeSnapshot) -> LostCache | None:
    recorded, lv = row.volume.current_wish, row.lv
    if lv is None or row.facts is None or row.volume.layout != "bcache":
        return None
    had_cache = recorded is not None and isinstance(recorded.cache, Bcache)
    last = _last_dirty(row.volume)
    if _runs_uncached(lv):
        if not had_cache or row.vg is None or not row.vg.missing_pv_count:
            return None
        return LostCache(
            "The SSD of its cache is missing. The cache was clean, so the volume goes on without "
            "it and nothing is lost. Accept that it has no cache, or bring the SSD back.",
            False,
            False,
            (),
            last,
        )
    waits = lv.bcache is not None and (lv.bcache.state == "inconsistent" or not lv.bcache.device)
    # A record may have lost its cache; then the device that was made for it still shows it.
    misses = row.vg is not None and row.vg.missing_pv_count
    stopped = lv.bcache is None and misses and (had_cache or cache_device_of(row) is not None)
    if not waits and not stopped:
        return None
    return LostCache(
        "The SSD of its cache is missing while the volume may have needed it: new data may be on "
        "that SSD alone, and bcache keeps the volume stopped.",
        False,
        True,
        bcache_runbook(row.facts, lv, _cache_device(row)),
        last,
    )


def _cache_device(row: VolumeSnapshot) -> str | None:
    """What the LV under its cache set is called: as recorded, else as the host has one for it."""
    recorded = row.volume.current_wish
    cache = recorded.cache if recorded is not None else None
    name = cache.name if isinstance(cache, Bcache) else ""
    return name or cache_device_of(row)


def _runs_uncached(lv: LogicalVolume) -> bool:
    """A device without a cache set; a kernel that detached a failing one calls the volume clean for
    as long as it runs."""
    bcache = lv.bcache
    if bcache is None or bcache.cset_uuid is not None:
        return False
    return bcache.state == "no cache" or (bcache.state == "clean" and bcache.device is not None)


def _last_dirty(volume: Volume) -> tuple[datetime, int] | None:
    return last_known(volume.pk, "dirty_bytes", timezone.now())
