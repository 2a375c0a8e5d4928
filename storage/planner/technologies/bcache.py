"""bcache: a cache set of its own on an SSD volume, for volumes that were created bcache-ready."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from storage.agent.kernel.bcache_sysfs import STATES
from storage.byte_sizes import KIB, MIB
from storage.formatting import size
from storage.inventory.facts import (
    BareBacking,
    BcacheBacking,
    HostFacts,
    LogicalVolume,
    VolumeGroup,
)
from storage.naming import AGENT_PATH, FORMAT_TAG, MANAGED_TAG
from storage.planner.draft import Draft
from storage.planner.lvm_sizes import round_up
from storage.planner.technologies import bcache_plan
from storage.planner.technologies.bcache_plan import cache_devices, device_below, is_on
from storage.planner.technologies.technology import Cache, Difference, Risk, Setting
from storage.planner.wish import (
    BCACHE_MIN_BYTES,
    BUCKET_KIB,
    WRITEBACK_PERCENT,
    WRITEBACK_PERCENT_MAX,
    Bcache,
    CacheWish,
    Layout,
    TechnologyName,
    Tier,
)

KERNEL_CUTOFF_BYTES = 4 * MIB
KERNEL_UNITS_BELOW = 1000
"""The kernel shows the cutoff back in at most three digits and a unit: anything finer could not be
compared with what was asked for."""
WRITTEN_BACK_BYTES = 64 * KIB
INCONSISTENT, UNREGISTERED = "inconsistent", "bcache does not run it"
NOT_REPORTED = "bcache does not report it"
CUTOFF, PERCENT = "Sequential cutoff", "Writeback percent"


def _cutoff_problem(cutoff_bytes: int) -> str:
    rest = cutoff_bytes
    while rest >= KERNEL_UNITS_BELOW and rest % KIB == 0:
        rest //= KIB
    if cutoff_bytes and (rest >= KERNEL_UNITS_BELOW or cutoff_bytes % KIB):
        return f"0, or a whole number below {KERNEL_UNITS_BELOW} of KiB, MiB or GiB, in bytes."
    return ""


def _percent(value: int) -> str:
    return f"{value} %"


class BcacheTechnology:
    """Its answers, as `Technology` describes them."""

    name: TechnologyName = "bcache"
    layout: Layout = "bcache"
    layout_label = "bcache-ready"
    layout_promise = "bcache-ready: can get a bcache cache later"
    about = (
        "the volume is bcache-ready. Its cache is a cache set of its own on the SSD. The guest "
        "keeps running while the cache set is attached."
    )
    made_label = "cache device"
    wish: type[CacheWish] = Bcache
    modes: tuple[str, ...] = Bcache.modes
    settings: tuple[Setting, ...] = (
        Setting(
            "sequential_cutoff_bytes",
            CUTOFF,
            size,
            "Sequential cutoff, bytes",
            "Sequential I/O longer than this many bytes bypasses the cache. 0 caches everything.",
            "longer reads go past the cache; 0 = none.",
            2**32,
            _cutoff_problem,
        ),
        Setting(
            "writeback_percent",
            PERCENT,
            _percent,
            "Writeback percent",
            f"Share of the cache that may stay dirty, 0 to {WRITEBACK_PERCENT_MAX} %. Below this "
            "share, writeback slows down. 0 writes back at once.",
            f"share that may stay dirty, 0 to {WRITEBACK_PERCENT_MAX}.",
            WRITEBACK_PERCENT_MAX,
        ),
    )
    least_bytes = BCACHE_MIN_BYTES
    least_offered_bytes = BCACHE_MIN_BYTES
    header_bytes = 4 * MIB
    """make-bcache --data-offset 8192 sectors: RAID-aligned, and more than the 8 KiB it needs."""
    has_latency_histogram = False
    tells_fill_seldom = True
    counts_write_hits = False
    counts_promotions = False
    unknown_content: Mapping[str, str] = {
        INCONSISTENT: "One that is inconsistent: its page says what is left to do.",
        UNREGISTERED: f"One that bcache does not run: as root on the host {AGENT_PATH} boot, then "
        "read the host again; see its page if its SSD is lost.",
        NOT_REPORTED: "One that bcache does not report: look at state and dirty_data in its folder "
        "below /sys/block, and at dmesg.",
    }

    def is_there(self, lv: LogicalVolume) -> bool:
        return lv.bcache is not None

    def has_cache(self, lv: LogicalVolume) -> bool:
        return lv.bcache is not None and lv.bcache.cset_uuid is not None

    def is_born_for(self, lv: LogicalVolume) -> bool:
        return lv.bcache is not None or FORMAT_TAG in lv.tags

    def device_of(self, lv: LogicalVolume) -> str | None:
        return lv.bcache.device if lv.bcache is not None else None

    def hides_volume(self, lv: LogicalVolume) -> bool:
        return lv.bcache is not None

    def why_not_running(self, lv: LogicalVolume) -> str:
        if lv.bcache is None:
            return "not registered"
        return "" if lv.bcache.device is not None else "waiting for its cache set"

    def cache_of(self, facts: HostFacts, lv: LogicalVolume) -> Cache | None:
        backing = lv.bcache
        if backing is None or backing.cset_uuid is None:
            return None
        cset, device = facts.cset(backing.cset_uuid), device_below(facts, backing.cset_uuid)
        trouble = ""
        if backing.state == "inconsistent":
            trouble = (
                "bcache lost its SSD while it held unwritten data. Restore the volume from a "
                "backup."
            )
        elif cset is None:
            trouble = "The cache's SSD device is not registered on the host."
        used_bytes = None
        if cset is not None and cset.unused_percent is not None:
            used_bytes = cset.size_bytes * (100 - cset.unused_percent) // 100
        return Cache(
            self.name,
            device.name if device is not None else backing.cset_uuid,
            backing.cache_mode,
            cset.size_bytes if cset is not None else None,
            used_bytes,
            backing.dirty_bytes,
            trouble,
            "cache_lost" if cset is not None else "cache_unregistered",
            device.pvs if device is not None else (),
            cset.lv_uuid if cset is not None else None,
        )

    def wish_of(self, facts: HostFacts, lv: LogicalVolume) -> CacheWish | None:
        backing = lv.bcache
        if backing is None or backing.cset_uuid is None:
            return None
        cset, device = facts.cset(backing.cset_uuid), device_below(facts, backing.cset_uuid)
        return Bcache(
            name=device.name if device is not None else "",
            cset_uuid=backing.cset_uuid,
            size_bytes=cset.size_bytes if cset is not None else BCACHE_MIN_BYTES,
            cache_mode=backing.cache_mode,  # type: ignore[arg-type]  # Bcache refuses others
            sequential_cutoff_bytes=backing.sequential_cutoff_bytes,
            writeback_percent=backing.writeback_percent,
        )

    def dirty_bytes(self, lv: LogicalVolume) -> int:
        return lv.bcache.dirty_bytes if lv.bcache is not None else 0

    def block_bytes(self, lv: LogicalVolume) -> int:
        return WRITTEN_BACK_BYTES

    def is_lost(self, facts: HostFacts, lv: LogicalVolume) -> bool:
        # The kernel keeps the volume stopped, or goes on without the set: both show as drift.
        return False

    def why_content_is_unknown(self, lv: LogicalVolume) -> str:
        backing = lv.bcache
        if backing is None:
            return UNREGISTERED
        if backing.state == "inconsistent":
            return INCONSISTENT
        if not is_reported(backing):
            return NOT_REPORTED
        # The kernel keeps it waiting for a cache set that it had.
        waits = backing.cset_uuid is not None or backing.state == "dirty"
        return UNREGISTERED if waits and backing.device is None else ""

    def is_part(self, facts: HostFacts, lv: LogicalVolume, other: LogicalVolume) -> bool:
        attached = lv.bcache.cset_uuid if lv.bcache is not None else None
        cset = facts.cset(attached) if attached is not None else None
        return cset is not None and cset.lv_uuid == other.uuid

    def plan(self, draft: Draft) -> None:
        bcache_plan.shape(draft)

    def release(self, draft: Draft, lv: LogicalVolume) -> None:
        if lv.bcache is not None:
            bcache_plan.shape(draft)

    def held_as(self, draft: Draft, lv: LogicalVolume) -> str | None:
        """bcache only once it was formatted: before that there is no superblock to register. What a
        guest wrote into a plain volume counts while the host has it registered."""
        is_ready = draft.wish.layout == self.layout
        if not is_ready and lv.bcache is not None:
            return "bcache"
        if any(cset.lv_uuid == lv.uuid for cset in draft.facts.csets):
            return "cset"
        return "bcache" if is_ready and FORMAT_TAG not in lv.tags else None

    def refuse_growth(self, draft: Draft, lv: LogicalVolume, size_bytes: int, tier: Tier) -> None:
        if draft.wish.layout == self.layout:
            raise bcache_plan.guest_off(draft, lv, size_bytes, tier)

    def unused(self, draft: Draft, caches: Sequence[CacheWish]) -> Iterator[LogicalVolume]:
        ours = [cache for cache in caches if isinstance(cache, Bcache)]
        devices = cache_devices(draft)
        return (lv for lv in devices if not any(is_on(draft, lv, cache) for cache in ours))

    def needed_bytes(self, facts: HostFacts, vg: VolumeGroup, size_bytes: int) -> int:
        return round_up(size_bytes, vg.extent_bytes)

    def rounded_bytes(self, cache: Bcache, size_bytes: int, extent_bytes: int) -> int:
        return round_up(size_bytes, extent_bytes)

    def flushed(self, facts: HostFacts, cache: Bcache) -> CacheWish:
        """A flush leaves writethrough behind, and what lies on SSDs that are not redundant or not
        healthy does not get its writeback back."""
        is_registered = facts.cset(cache.cset_uuid) is not None
        return bcache_plan.flushed(facts, cache) if is_registered else cache

    def removal(self, cache: Bcache) -> Iterator[tuple[str, dict[str, Any]]]:
        yield "bcache.detach", {}
        yield "cset.remove", {"name": cache.name, "cset_uuid": cache.cset_uuid}

    def differences(self, recorded: Bcache, now: Bcache, extent_bytes: int) -> Iterator[Difference]:
        bucket = BUCKET_KIB * KIB
        if not -bucket <= now.size_bytes - recorded.size_bytes < extent_bytes:
            yield Difference("Cache size", size(recorded.size_bytes), size(now.size_bytes))
        if recorded.cset_uuid != now.cset_uuid:
            yield Difference("Cache set", recorded.cset_uuid, now.cset_uuid)
        if recorded.mode != now.mode:
            yield Difference("Cache mode", recorded.mode, now.mode)
        for setting in self.settings:
            values = getattr(recorded, setting.name), getattr(now, setting.name)
            if values[0] != values[1]:
                yield Difference(setting.label, setting.text(values[0]), setting.text(values[1]))

    def is_only_writing_back(self, lv: LogicalVolume) -> bool:
        return False

    def risks(self, facts: HostFacts, lv: LogicalVolume) -> Iterator[Risk]:
        backing = lv.bcache
        if backing is None or backing.cset_uuid is None or MANAGED_TAG in lv.tags:
            # The agent restores the settings of Tiercel's own at boot.
            return
        settings = _set_by_hand(backing)
        if settings:
            yield Risk(
                "info",
                f"{lv.vg_name}/{lv.name} ({backing.device or 'bcache'}) runs with "
                f"{' and '.join(settings)}, which bcache resets at reboot.",
                "Restore it with a udev rule or a boot script: see /sys/block/bcacheN/bcache/.",
            )

    def way_out_of_writeback(self, lv: LogicalVolume, *, on_page: bool) -> str:
        """A bcache that is not running has no switch."""
        device = self.device_of(lv)
        if device is None:
            return "Replace the failed SSD."
        switch = f"echo writethrough > /sys/block/{device}/bcache/cache_mode"
        return f"Replace the failed SSD, or: {switch}"


def is_reported(backing: BcacheBacking | BareBacking) -> bool:
    """Whether the kernel reports, in words known here, how much of it the SSD alone holds."""
    return backing.dirty_known and backing.state in STATES


def _set_by_hand(backing: BcacheBacking) -> list[str]:
    """The settings that are not the kernel's own."""
    settings = []
    if backing.sequential_cutoff_bytes != KERNEL_CUTOFF_BYTES:
        settings.append(f"sequential_cutoff {size(backing.sequential_cutoff_bytes)}")
    if backing.writeback_percent != WRITEBACK_PERCENT:
        settings.append(f"writeback_percent {backing.writeback_percent}")
    return settings
