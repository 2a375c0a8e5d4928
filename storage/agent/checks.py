"""Checks that several verbs share. Each returns a function that raises a Refusal or nothing, so
that a dry run can look at every one of them."""

from __future__ import annotations

import math
from typing import Any, Mapping

from .commands import FORMAT_BCACHE, OURS, ZEROING
from .errors import Refusal
from .policy import check_vg
from .protocol import Call
from .users import of_devices
from .view import LOOK_AGAIN, Check, Facts, View, cset_subject, lv_subject, space_subject

MIB = 1 << 20
METADATA_BASE = 4 * MIB
METADATA_PER_CHUNK = 44
MAX_CHUNKS = 1_000_000
UDEV_TRIES = 6
UDEV_SECONDS = 0.5


def vg(view: View, call: Call) -> Check:
    """The VG is allowed by the local policy and is the one that was meant."""

    def check() -> None:
        name = call.args["vg"]
        check_vg(view.policy, name)
        found = view.vg(name)
        if found["uuid"] != call.expect["vg_uuid"]:
            raise Refusal(
                "stale", f"VG {name} is another one ({found['uuid']}) than was meant.", LOOK_AGAIN
            )

    return check


def vg_whole(view: View, call: Call) -> Check:
    """No PV is missing and none appears twice: LVM would refuse, or pick a side."""

    def check() -> None:
        found = view.vg(call.args["vg"])
        doubles = [
            pv["name"] for pv in view.facts["pvs"]
            if pv["vg_uuid"] == found["uuid"] and pv["duplicate"]
        ]
        if found["missing_pv_count"]:
            raise Refusal(
                "degraded", f"VG {found['name']} misses {found['missing_pv_count']} of its PVs.",
                "Bring the disk back (`pvs` names it), or see the storage runbook.",
            )
        if doubles:
            raise Refusal(
                "degraded", f"The same PV is seen twice: {', '.join(doubles)}.",
                "Detach the copy or exclude it with LVM's filter or devices file.",
            )

    return check


def known_lv(view: View, call: Call, lv: str, *, ours: bool = True) -> Check:
    """The LV is the one that was meant, public (or an idle pool of ours), active, not suspended,
    and carries our tag."""

    def check() -> None:
        name = f"{call.args['vg']}/{lv}"
        subject = lv_subject(call.args["vg"], lv)
        found = view.lv(call.args["vg"], lv)
        _same(found, call.expect, name, subject)
        if "public" not in found["role"] and not is_idle_pool(found):
            raise Refusal(
                "unsupported", f"{name} is a part of another volume.",
                "Name the volume that it belongs to.", subject=subject,
            )
        if ours and OURS not in found["tags"]:
            raise Refusal(
                "not_ours", f"{name} does not carry the tag {OURS}.",
                "Put it under management first (volume.tag).", subject=subject,
            )
        if found["suspended"]:
            raise Refusal(
                "busy", f"{name} is suspended: its I/O is frozen.",
                "Wait for the LVM command at work; if there is none, `dmsetup info` and "
                "`dmesg` tell more.", subject=subject,
            )

    return check


def is_idle_pool(lv: Mapping[str, Any]) -> bool:
    """A cache pool that no volume uses is `private` too."""
    return lv["layout"][:2] == ["cache", "pool"] and not lv["name"].endswith("_cpool")


def active_lv(view: View, call: Call) -> Check:
    def check() -> None:
        vg_name, lv = call.args["vg"], call.args["lv"]
        if not view.lv(vg_name, lv)["active"]:
            raise Refusal(
                "unsupported", f"{vg_name}/{lv} is not active.",
                f"Activate it: lvchange -ay {vg_name}/{lv}", subject=lv_subject(vg_name, lv),
            )

    return check


def fresh_name(view: View, call: Call, cset: str = "") -> Check:
    """The name is free, or is what an earlier try of the same request made."""

    def check() -> None:
        vg_name, name = call.args["vg"], call.args["name"]
        found = view.find_lv(vg_name, name)
        if found is None:
            return
        tag = f"tiercel.volume={call.args['volume_key']}"
        if not {OURS, tag} <= set(found["tags"]) or found["size_bytes"] != call.args["size_bytes"]:
            raise Refusal(
                "already_exists", f"{vg_name}/{name} exists and is not what was asked for.",
                "Take another name.", subject=lv_subject(vg_name, name),
            )

    return check


def whole_extents(view: View, call: Call) -> Check:
    def check() -> None:
        extent = view.vg(call.args["vg"])["extent_bytes"]
        if call.args["size_bytes"] % extent:
            raise Refusal(
                "bad_request", f"size_bytes must be a multiple of the extent size {extent}.",
                f"Ask for {math.ceil(call.args['size_bytes'] / extent) * extent} bytes.",
            )

    return check


def space(view: View, call: Call, extra_bytes: int = 0) -> Check:
    """The named PVs are usable and have room for the volume and `extra_bytes`."""

    def check() -> None:
        pvs = view.pvs(call.args["vg"], call.args["pvs"])
        free = sum(pv["free_bytes"] for pv in pvs)
        needed = call.args["size_bytes"] + extra_bytes
        if free < needed:
            raise Refusal(
                "no_space",
                f"{needed / MIB:.0f} MiB are needed on {', '.join(call.args['pvs'])}, "
                f"{free / MIB:.0f} MiB are free.",
                "Take less, free a cache nobody needs, or add a device to the VG.",
                subject=space_subject(call.args["vg"]),
            )

    return check


def pool_overhead(size_bytes: int, chunk_bytes: int, extent_bytes: int, spare_bytes: int) -> int:
    """Bytes LVM takes beside a cache pool's data: metadata of 4 MiB and 44 bytes a chunk in whole
    extents (two at least of the usual 4 MiB), and as much again where the VG's spare for repairs
    is smaller."""
    metadata = METADATA_BASE + METADATA_PER_CHUNK * (size_bytes // chunk_bytes)
    metadata = max(math.ceil(metadata / extent_bytes) * extent_bytes, 8 * MIB)
    metadata = math.ceil(metadata / extent_bytes) * extent_bytes
    return metadata + max(0, metadata - spare_bytes)


def redundant(view: View, subject: str, lv: "Facts | None", what: str) -> None:
    """Raises Refusal(not_redundant) unless every PV under a pool or cache set survives the loss
    of a disk, and has lost none. `lv` is None while it is only planned."""
    if subject in view.planned.pvs:
        names: "list[str]" = list(view.planned.pvs[subject])
    elif lv is None:
        return
    elif _mirrored(view, lv):
        return
    else:
        names = view.pvs_under(lv)
    by_name = {pv["name"]: pv for pv in view.facts["pvs"]}
    weak = [name for name in names if not (name in by_name and by_name[name]["redundant"])]
    sick = [name for name in names if name not in weak and not by_name[name]["healthy"]]
    if weak or not names:
        raise Refusal(
            "not_redundant",
            f"writeback keeps the only copy of new data on {what}, and "
            f"{', '.join(weak) or 'its device'} is no redundant array: a dead SSD would lose it.",
            "Use writethrough, or put the cache on an md RAID1 of two SSDs.",
        )
    if sick:
        raise Refusal(
            "not_redundant", f"The array under {what} is degraded: {', '.join(sick)}.",
            "Replace the failed disk and let the array recover, or use writethrough.",
        )


def _mirrored(view: View, lv: Facts) -> bool:
    """A RAID LV, or a pool whose data and metadata both are, with nothing wrong."""
    parts = [
        part for part in view.facts["lvs"]
        if part["vg_uuid"] == lv["vg_uuid"]
        and part["name"] in (f"{lv['name']}_cdata", f"{lv['name']}_cmeta")
    ]
    levels = {"raid1", "raid5", "raid6", "raid10", "raid4"}
    return all(
        levels & set(part["layout"]) and part["health"] == "" for part in parts or [lv]
    )


def unused(view: View, call: Call) -> Check:
    """Nobody holds the volume: no open descriptor, mount, swap, holder, guest configuration. What
    udev opens for a moment gets a few tries."""

    def check() -> None:
        vg_name, lv = call.args["vg"], call.args["lv"]
        found: "list[dict[str, Any]]" = []
        opened = False
        for attempt in range(UDEV_TRIES):
            if attempt:
                view.host.sleep(UDEV_SECONDS)
                view.refresh()
            found, opened = _use(view, view.lv(vg_name, lv))
            if not found and not opened:
                return
        names = ", ".join(
            f"{user['kind']} {user['name']}" + (f" (pid {user['pid']})" if user["pid"] else "")
            for user in found
        )
        raise Refusal(
            "in_use", f"{vg_name}/{lv} is in use: {names or 'something holds the device open'}.",
            "Stop the guest, unmount it, or take it out of the guest's configuration.",
            subject=lv_subject(vg_name, lv),
        )

    return check


def _use(view: View, lv: Facts) -> "tuple[list[dict[str, Any]], bool]":
    device = lv["bcache"]["device"] if lv["bcache"] else None
    if lv["bcache"] and device is None:
        return [], False
    dev = lv["dev"]
    path = f"/dev/{lv['vg_name']}/{lv['name']}"
    if device is not None:
        path = f"/dev/{device}"
        dev = (view.host.read(f"/sys/block/{device}/dev") or b"").decode().strip()
    users = of_devices(view.host, [dev])[dev] if dev else []
    opened = device is None and lv["open_count"] > 0
    return users, opened or (not users and not view.host.exclusive(path))


def plain_volume(view: View, call: Call) -> Check:
    """The volume is finished and no bcache device: an LVM cache may go in front of it."""

    def check() -> None:
        vg_name, lv = call.args["vg"], call.args["lv"]
        found = view.lv(vg_name, lv)
        subject = lv_subject(vg_name, lv)
        if found["bcache"] is not None or FORMAT_BCACHE in found["tags"]:
            raise Refusal(
                "unsupported", f"{vg_name}/{lv} is a bcache volume.",
                "Give it a bcache cache instead.", subject=subject,
            )
        if ZEROING in found["tags"]:
            raise Refusal(
                "not_fresh", f"{vg_name}/{lv} is not zeroed to its end yet.",
                "Finish volume.create first: repeat it.", subject=subject,
            )

    return check


def backing(view: View, call: Call) -> Facts:
    """bcache facts of the volume."""
    vg_name, lv = call.args["vg"], call.args["lv"]
    found = view.lv(vg_name, lv)["bcache"]
    if found is None:
        raise Refusal(
            "unsupported", f"{vg_name}/{lv} is no registered bcache device.",
            f"Format it first (bcache.format), or register it: echo /dev/{vg_name}/{lv} > "
            "/sys/fs/bcache/register_quiet", subject=lv_subject(vg_name, lv),
        )
    return dict(found)


def cset(view: View, uuid: str) -> Facts:
    found = view.cset(uuid)
    if found is None:
        raise Refusal(
            "not_found", f"No cache set {uuid} is registered on this host.", LOOK_AGAIN,
            subject=cset_subject(uuid),
        )
    return found


def _same(found: Facts, expect: Mapping[str, Any], name: str, subject: str) -> None:
    for key, actual in (
        ("lv_uuid", found["uuid"]), ("lv_name", found["name"]), ("size_bytes", found["size_bytes"])
    ):
        if key in expect and expect[key] != actual:
            raise Refusal(
                "stale", f"{name} has {key} {actual}, not {expect[key]}.", LOOK_AGAIN,
                subject=subject,
            )
