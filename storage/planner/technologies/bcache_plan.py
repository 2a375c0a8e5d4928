"""The steps of bcache on a volume that was created bcache-ready; attach and detach are online."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

from storage.inventory.facts import BcacheBacking, CacheSet, HostFacts, LogicalVolume
from storage.naming import FORMAT_TAG, is_cache_device_name
from storage.planner.allocation import (
    LONG_WINDOW,
    WINDOW,
    demand_present,
    demand_redundant,
    fast_room,
    is_redundant,
    not_this_cache,
    room,
    same_sectors,
    unnamed,
)
from storage.planner.draft import Draft, Refused, demand_mark, title_of_settings
from storage.planner.lvm_sizes import round_up
from storage.planner.wish import BUCKET_KIB, WRITEBACK_PERCENT, Bcache, Tier

STAYS_WRITETHROUGH = "; writeback asks for SSDs that are redundant and healthy"


def shape(draft: Draft) -> None:
    """Add the steps that bring the volume's bcache to the wish."""
    current = draft.lv.bcache if draft.lv is not None else None
    wanted = draft.wish.cache if isinstance(draft.wish.cache, Bcache) else None
    unformatted = draft.lv is None or FORMAT_TAG in draft.lv.tags
    if current is None or unformatted:
        # Also where a broken attempt formatted it and left the tag: the verb does the rest.
        _format(draft)
    elif current.state == "inconsistent":
        raise Refused(
            "degraded",
            f"bcache says {draft.vg.name}/{draft.lv_name} is inconsistent: its SSD was lost "
            "while it held unwritten data.",
            "Restore the volume from a backup; nothing was changed.",
        )
    elif current.device is None:
        raise Refused(
            "degraded",
            f"The bcache device of {draft.vg.name}/{draft.lv_name} does not run: its cache set "
            "is missing.",
            "Bring the SSD with the cache set back and register it; nothing was changed.",
        )
    attached = current.cset_uuid if current is not None else None
    if wanted is None:
        if current is not None and attached is not None:
            # 0 is also what a flush that was broken off left.
            percent = current.writeback_percent or WRITEBACK_PERCENT
            _detach(draft, current, attached, percent)
        _remove_csets(draft, attached, keep=None)
    elif attached is None:
        # The room of a leftover counts for the new device; one that is made already is not kept
        # waiting for the leftover's end.
        is_made = _is_made(draft, wanted)
        if not is_made:
            _remove_csets(draft, attached, keep=wanted)
            _make(draft, wanted)
        _attach(draft, current, wanted)
        if is_made:
            _remove_csets(draft, attached, keep=wanted)
    elif current is not None and attached != wanted.cset_uuid:
        _replace(draft, current, attached, wanted)
    elif current is not None:
        _set(draft, current, wanted)
        _remove_csets(draft, attached, keep=wanted)


def flushed(facts: HostFacts, wanted: Bcache) -> Bcache:
    """The cache as a flush leaves it."""
    if wanted.cache_mode != "writeback" or _is_safe(facts, wanted):
        return wanted
    return replace(wanted, cache_mode="writethrough")


def _is_safe(facts: HostFacts, wanted: Bcache) -> bool:
    device = device_below(facts, wanted.cset_uuid)
    return device is not None and is_redundant(facts, device.pvs)


def device_below(facts: HostFacts, cset_uuid: str) -> LogicalVolume | None:
    """The LV that a registered cache set lies on."""
    cset = facts.cset(cset_uuid)
    return facts.lv(cset.lv_uuid) if cset is not None and cset.lv_uuid is not None else None


def _format(draft: Draft) -> None:
    """Only what was born for it: on any other LV the superblock would overwrite data."""
    if draft.lv is not None and FORMAT_TAG not in draft.lv.tags:
        if cache_devices(draft):
            raise Refused(
                "degraded",
                f"{draft.vg.name}/{draft.lv_name} does not run as a bcache device, though a cache "
                "was made for it: its SSD may be lost.",
                "The volume's page says what can be done; nothing was changed.",
            )
        raise Refused(
            "not_fresh",
            f"{draft.vg.name}/{draft.lv_name} was not created bcache-ready; formatting it "
            "would overwrite its data.",
            "Create a new bcache-ready volume and copy the data inside the guest, "
            "or use lvmcache, which works on existing volumes.",
        )
    draft.add("bcache.format", "Format the fresh volume for bcache")


def _replace(draft: Draft, current: BcacheBacking, attached: str, wanted: Bcache) -> None:
    """The new cache set is made first where both have room, else the old one goes first. In
    between the volume runs without a cache, and every stop on the way is sound."""
    try:
        if not _is_made(draft, wanted):
            _make(draft, wanted)
        has_room = True
    except Refused as refused:
        if refused.code != "no_space":
            raise
        has_room = False
    if current.dirty_bytes:
        current = replace(current, writeback_percent=wanted.writeback_percent)
    window = WINDOW if has_room else LONG_WINDOW
    _detach(draft, current, attached, wanted.writeback_percent, window)
    if has_room:
        _attach(draft, current, wanted)
        _remove_csets(draft, attached, keep=wanted)
    else:
        _remove_csets(draft, attached, keep=wanted)
        _make(draft, wanted)
        _attach(draft, current, wanted)


def _is_made(draft: Draft, wanted: Bcache) -> bool:
    """Whether the wished cache set is there, on the device that was made for it."""
    if not is_cache_device_name(wanted.name):
        raise unnamed(wanted.name)
    made = draft.facts.lv_named(draft.vg.uuid, wanted.name)
    cset = draft.facts.cset(wanted.cset_uuid)
    on_made = cset is not None and made is not None and cset.lv_uuid == made.uuid
    if (made is not None and made not in cache_devices(draft)) or (cset and not on_made):
        raise not_this_cache(draft, wanted.name)
    if made is not None:
        if made.size_bytes < wanted.size_bytes:
            raise not_this_cache(draft, wanted.name)
        same_sectors(draft, made.pvs)
        if wanted.cache_mode == "writeback":
            demand_redundant(draft, made.pvs)
        demand_present(draft, made.pvs)
    return cset is not None


def _make(draft: Draft, wanted: Bcache) -> None:
    _create_cset(draft, wanted, draft.facts.lv_named(draft.vg.uuid, wanted.name))


def _attach(draft: Draft, current: BcacheBacking | None, wanted: Bcache) -> None:
    draft.add(
        "bcache.attach",
        f"Attach the cache {wanted.name}: empty at first, it fills as the guest reads",
        cset_uuid=wanted.cset_uuid,
        cache_mode=wanted.cache_mode,
        sequential_cutoff_bytes=wanted.sequential_cutoff_bytes,
    )
    percent = current.writeback_percent if current is not None else WRITEBACK_PERCENT
    if percent != wanted.writeback_percent:
        _tune(draft, {"writeback_percent": wanted.writeback_percent})


def _create_cset(draft: Draft, wanted: Bcache, made: LogicalVolume | None) -> None:
    """The LV and the cache set on it; where the LV is `made` already, the rest of that."""
    if made is not None:
        size_bytes, pvs = made.size_bytes, made.pvs
    else:
        size_bytes = round_up(wanted.size_bytes, draft.vg.extent_bytes)
        writeback = wanted.cache_mode == "writeback"
        pvs = fast_room(draft, "cset.create", size_bytes, writeback=writeback)
        same_sectors(draft, pvs)
    draft.add_beside(
        "cset.create",
        f"Create the cache device {wanted.name} on SSD",
        uuid=made.uuid if made is not None else None,
        name=wanted.name,
        size_bytes=size_bytes,
        pvs=list(pvs),
        cset_uuid=wanted.cset_uuid,
        bucket_kib=BUCKET_KIB,
        volume_key=draft.target.volume_key,
    )


def _set(draft: Draft, current: BcacheBacking, wanted: Bcache) -> None:
    if draft.wish.flushed:
        wanted = flushed(draft.facts, wanted)
    device = device_below(draft.facts, wanted.cset_uuid)
    if device is not None and device.size_bytes < wanted.size_bytes:
        raise Refused(
            "unsupported",
            f"The cache {device.name} is smaller than requested, and bcache cannot resize a cache.",
            "Ask for the new size without naming a cache: a new one then replaces it.",
        )
    changes: dict[str, Any] = {}
    if current.cache_mode != wanted.cache_mode:
        if wanted.cache_mode == "writeback":
            demand_redundant(draft, device.pvs if device is not None else ())
        changes["cache_mode"] = wanted.cache_mode
    if current.sequential_cutoff_bytes != wanted.sequential_cutoff_bytes:
        changes["sequential_cutoff_bytes"] = wanted.sequential_cutoff_bytes
    if draft.wish.flushed and current.dirty_bytes:
        _flush(draft, wanted.writeback_percent)
        if wanted.cache_mode != "writethrough":
            changes["cache_mode"] = wanted.cache_mode
    elif current.writeback_percent != wanted.writeback_percent:
        # Also what a flush that was broken off left at 0.
        changes["writeback_percent"] = wanted.writeback_percent
    if changes:
        stays = draft.wish.flushed and changes.get("cache_mode") == "writethrough"
        is_weak = stays and not _is_safe(draft.facts, wanted)
        _tune(draft, changes, STAYS_WRITETHROUGH if is_weak else "")


def _tune(draft: Draft, changes: dict[str, Any], why: str = "") -> None:
    draft.add("bcache.set", f"{title_of_settings(changes)}{why}", **changes)


def _flush(draft: Draft, writeback_percent: int) -> None:
    draft.add(
        "bcache.flush",
        "Write dirty data back to the HDD, in writethrough meanwhile",
        dirty_limit_bytes=0,
        writeback_percent=writeback_percent,
    )


def _detach(
    draft: Draft, current: BcacheBacking, cset_uuid: str, writeback_percent: int, window: str = ""
) -> None:
    """A detach cannot be called off: what takes long is done before it, by what can be, and leaves
    `writeback_percent` behind."""
    if current.dirty_bytes:
        _flush(draft, writeback_percent)
    draft.add(
        "bcache.detach",
        f"Detach the cache{window}",
        cset_uuid=cset_uuid,
    )


def cache_devices(draft: Draft) -> tuple[LogicalVolume, ...]:
    """LVs that we made for this volume as cache devices."""
    return tuple(lv for lv in draft.ours() if is_cache_device_name(lv.name) and lv.is_public)


def _cset_on(draft: Draft, lv: LogicalVolume) -> CacheSet | None:
    return next((cset for cset in draft.facts.csets if cset.lv_uuid == lv.uuid), None)


def _remove_csets(draft: Draft, attached: str | None, keep: Bcache | None) -> None:
    """Cache devices of this volume that it does not use (any more). The set on one may not be
    registered, after a removal that was broken off: then the agent looks whose it is."""
    for lv in cache_devices(draft):
        cset = _cset_on(draft, lv)
        if keep is not None and is_on(draft, lv, keep):
            continue
        if cset is not None and cset.backing_count > (cset.uuid == attached):
            raise Refused(
                "in_use",
                f"Another volume uses the cache set on {draft.vg.name}/{lv.name}.",
                "Detach that volume from it first: it may hold data that is only there.",
            )
        demand_mark(lv, "cset")
        clearing = "Write zeros over" if draft.vg.clears_freed else "Remove"
        named: dict[str, Any] = {} if cset is None else {"cset_uuid": cset.uuid}
        draft.add_beside(
            "cset.remove",
            f"{clearing} the cache device {lv.name} and free its SSD space",
            uuid=lv.uuid,
            name=lv.name,
            **named,
        )
        draft.free(lv)


def is_on(draft: Draft, lv: LogicalVolume, wanted: Bcache) -> bool:
    """Whether the wished cache set is on `lv`; by its name where the set is not registered."""
    device = device_below(draft.facts, wanted.cset_uuid)
    return lv.uuid == device.uuid if device is not None else lv.name == wanted.name


def guest_off(draft: Draft, lv: LogicalVolume, size_bytes: int, tier: Tier) -> Refused:
    """Why a bcache volume does not grow online, with the commands that do it."""
    name = shlex.quote(f"{draft.vg.name}/{lv.name}")
    commands = " &&\n".join(by_hand(draft, lv, size_bytes, tier))
    return Refused(
        "needs_guest_off",
        f"{name} is a bcache volume: it cannot grow while its guest runs.",
        "# Remove the cache and stop the guest. Then, as root on the host:\n"
        f"{commands}\n"
        "# If a command fails, the rest does not run: leave the guest off and read the error.\n"
        "# At the end start the guest and refresh the host.",
    )


def by_hand(draft: Draft, lv: LogicalVolume, size_bytes: int, tier: Tier) -> tuple[str, ...]:
    """The shell commands that make a bcache volume `size_bytes` large, to be joined by `&&`.

    udev may register the volume as soon as it has grown, whatever comes next. So the new extents
    are zeroed while they belong to a volume of their own, and given over without a discard."""
    vg, more = draft.vg.name, size_bytes - lv.size_bytes
    pvs = room(draft, "volume.extend", tier, more, lv.pvs)
    name, new = shlex.quote(f"{vg}/{lv.name}"), shlex.quote(f"{vg}/{lv.name}-room")
    path, new_path = shlex.quote(f"/dev/{vg}/{lv.name}"), shlex.quote(f"/dev/{vg}/{lv.name}-room")
    disks = " ".join(shlex.quote(f"/dev/{pv}") for pv in pvs)
    stop: tuple[str, ...] = ()
    if lv.bcache is not None and lv.bcache.device:
        device = shlex.quote(f"/sys/block/{lv.bcache.device}")
        stop = (f"echo 1 > {device}/bcache/stop", f"while [ -e {device} ]; do sleep 1; done")
    return (
        f"lvcreate -y -Wy -Zy -n {shlex.quote(f'{lv.name}-room')} -L {more}b "
        f"{shlex.quote(vg)} {disks}",
        f"blkdiscard --zeroout --step 16MiB {new_path}",
        f"cmp -n {more} {new_path} /dev/zero",
        f"PLACE=$(lvs --noheadings --segments -o seg_pe_ranges {new})",
        *stop,
        f"lvremove -y --config devices/issue_discards=0 {new}",
        f"lvextend -L {size_bytes}b {name} $PLACE",
        f"cmp -n {more} -i {lv.size_bytes}:0 {path} /dev/zero",
        f"echo {path} > /sys/fs/bcache/register_quiet",
    )
