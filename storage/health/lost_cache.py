"""What a lost SSD means for one volume, in words and instructions. From a row and its samples."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from storage.formatting import size
from storage.health.leftovers import cache_device_of
from storage.health.lost_cache_runbook import Instruction, bcache_runbook, lvmcache_runbook
from storage.inventory.facts import LogicalVolume
from storage.models import Sample, Volume
from storage.naming import is_pool_name
from storage.planner import Refused
from storage.planner.current_wish import uncached
from storage.planner.technologies.lvmcache_loss import Loss, loss_of
from storage.planner.wish import Bcache, Wish
from storage.volumes.snapshot import VolumeSnapshot


@dataclass(frozen=True, slots=True)
class LostCache:
    """`can_drop`: a job can give the cache up and nothing is lost. `may_lose_data` asks for the
    loud words. `last_dirty` is the last sample that told how much was dirty: (when, bytes)."""

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
            "that the slow disk does not have."
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
    # A record may have lost its cache; then the device that was made for it still tells.
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
    """A device without a cache set; the kernel that let go of a failing one goes on calling the
    volume clean, for as long as it runs."""
    bcache = lv.bcache
    if bcache is None or bcache.cset_uuid is not None:
        return False
    return bcache.state == "no cache" or (bcache.state == "clean" and bcache.device is not None)


def _last_dirty(volume: Volume) -> tuple[datetime, int] | None:
    found = (
        Sample.objects.filter(volume=volume, dirty_bytes__isnull=False)
        .order_by("-ts")
        .values_list("ts", "dirty_bytes")
        .first()
    )
    return None if found is None or found[1] is None else (found[0], found[1])
