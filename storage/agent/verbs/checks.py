"""Checks that several verbs share. Each returns a function that raises a Refusal or nothing, so
that a dry run can show the result of every check."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..calls.call import VerbCall
from ..calls.refusals import Refusal
from ..commands.command import FORMAT_BCACHE, OURS, ZEROING, Args
from ..facts import lvm_activity
from ..facts.view import LOOK_AGAIN, Check, Facts, View, cset_subject, lv_subject
from ..kernel import mirror
from ..state.policy import AGENT, HIDE, check_alone, check_vg


def volume(view: View, call: VerbCall) -> Facts:
    """The volume that the call names. Raises Refusal(not_found)."""
    return view.lv(call.args["vg"], call.args["lv"])


def subject(call: VerbCall) -> str:
    """The volume that the call names, for `Refusal.subject`."""
    return lv_subject(call.args["vg"], call.args["lv"])


def touches_volume(args: Args) -> frozenset[str]:
    """Of a verb that changes the volume that it names, and nothing else."""
    return frozenset([lv_subject(args["vg"], args["lv"])])


def usable_volume(view: View, call: VerbCall) -> list[Check]:
    """The volume is the one that was meant, managed and active, in a group that is whole."""
    return [
        vg(view, call),
        vg_whole(view, call),
        known_lv(view, call, call.args["lv"]),
        active_lv(view, call),
    ]


def vg(view: View, call: VerbCall) -> Check:
    """The VG is allowed by the local policy and is the one that was meant."""

    def check() -> None:
        name = call.args["vg"]
        check_vg(view.policy, name)
        group = view.vg(name)
        if not view.policy.allows(name, group["uuid"]):
            raise Refusal(
                "vg_not_allowed",
                f"Root allowed another VG under the name {name}, not the one with the uuid "
                f"{group['uuid']}.",
                f"As root on the host run: {AGENT} allow-vg {name}",
            )
        check_alone(view.policy, name, group["uuid"], group["sharing"])
        if not group["allowed"]:
            on_guest = group["uuid"] in view.facts["guests"]
            where = "is, or is in part, on the disk of a guest" if on_guest else "is left out"
            raise Refusal(
                "unsupported",
                f"VG {name} {where}: what LVM says of it may not be the host's.",
                HIDE if on_guest else "The problems of this host say why.",
            )
        if group["uuid"] != call.expect["vg_uuid"]:
            raise Refusal(
                "stale",
                f"VG {name} has a different uuid ({group['uuid']}) from the expected one.",
                LOOK_AGAIN,
            )

    return check


def vg_whole(view: View, call: VerbCall) -> Check:
    """No PV is missing and none appears twice: LVM would refuse, or pick a side."""

    def check() -> None:
        group = view.vg(call.args["vg"])
        doubles = [
            pv["name"]
            for pv in view.facts["pvs"]
            if pv["vg_uuid"] == group["uuid"] and pv["duplicate"]
        ]
        if group["missing_pv_count"]:
            raise Refusal(
                "degraded",
                f"VG {group['name']} has missing PVs: {group['missing_pv_count']}.",
                "Reconnect the disk (`pvs` names it), or see the storage runbook.",
            )
        if doubles:
            raise Refusal(
                "degraded",
                f"The same PV is seen twice: {', '.join(doubles)}.",
                "Detach the copy or exclude it with LVM's filter or devices file.",
            )

    return check


def known_lv(view: View, call: VerbCall, lv: str, *, ours: bool = True) -> Check:
    """The LV is the one that was meant, public (or an idle pool of ours), active, not suspended,
    and carries our tag."""

    def check() -> None:
        name = f"{call.args['vg']}/{lv}"
        subject = lv_subject(call.args["vg"], lv)
        volume = view.lv(call.args["vg"], lv)
        _same(volume, call.expect, name, subject)
        if "public" not in volume["role"] and not is_idle_pool(volume):
            raise Refusal(
                "unsupported",
                f"{name} is a part of another volume.",
                "Name the volume that it belongs to.",
                subject=subject,
            )
        if ours and OURS not in volume["tags"]:
            raise Refusal(
                "not_ours",
                f"{name} does not carry the tag {OURS}.",
                "Put it under management first (volume.tag).",
                subject=subject,
            )
        if volume["suspended"]:
            raise Refusal(
                "busy",
                f"{name} is suspended: its I/O is frozen.",
                "Wait for the LVM command at work; if there is none, `dmsetup info` and "
                "`dmesg` tell more.",
                subject=subject,
            )

    return check


def is_idle_pool(lv: Mapping[str, Any]) -> bool:
    """A cache pool that no volume uses is `private` too."""
    return lv["layout"][:2] == ["cache", "pool"] and not lv["name"].endswith("_cpool")


def no_cache_of(view: View, pool: Mapping[str, Any]) -> None:
    """Raises Refusal(in_use) for a pool at work. LVM before 2.03.08 did not rename it then, and
    lvremove of it would uncache its volume."""
    for lv in view.facts["lvs"]:
        if lv["cache"] is not None and lv["cache"]["pool_uuid"] == pool["uuid"]:
            raise Refusal(
                "in_use",
                f"The pool {pool['name']} is the cache of {lv['vg_name']}/{lv['name']}.",
                "Detach it from its volume first: that removes it (cache.detach).",
                subject=lv_subject(pool["vg_name"], pool["name"]),
            )


def active_lv(view: View, call: VerbCall) -> Check:
    def check() -> None:
        vg_name, lv = call.args["vg"], call.args["lv"]
        if not view.lv(vg_name, lv)["active"]:
            raise Refusal(
                "unsupported",
                f"{vg_name}/{lv} is not active.",
                f"Activate it: lvchange -ay {vg_name}/{lv}",
                subject=lv_subject(vg_name, lv),
            )

    return check


def fresh_name(view: View, call: VerbCall, mark: str | None = None) -> Check:
    """The name is free, or is what an earlier try of the same request made, as `mark` proves."""

    def check() -> None:
        vg_name, name = call.args["vg"], call.args["name"]
        volume = view.find_lv(vg_name, name)
        if volume is None:
            return
        subject = lv_subject(vg_name, name)
        _same(volume, call.expect, f"{vg_name}/{name}", subject)
        marks = {OURS, f"tiercel.volume={call.args['volume_key']}"} | ({mark} if mark else set())
        if not marks <= set(volume["tags"]) or volume["size_bytes"] != call.args["size_bytes"]:
            raise Refusal(
                "already_exists",
                f"{vg_name}/{name} exists and is not the requested volume.",
                "Choose another name.",
                subject=subject,
            )

    return check


def plain_volume(view: View, call: VerbCall) -> Check:
    """The volume is finished and no bcache device: an LVM cache may go in front of it."""

    def check() -> None:
        vg_name, lv = call.args["vg"], call.args["lv"]
        volume = view.lv(vg_name, lv)
        subject = lv_subject(vg_name, lv)
        if volume["bcache"] is not None or FORMAT_BCACHE in volume["tags"]:
            raise Refusal(
                "unsupported",
                f"{vg_name}/{lv} is a bcache volume.",
                "Give it a bcache cache instead.",
                subject=subject,
            )
        if volume["writecache"] is not None:
            raise Refusal(
                "unsupported",
                f"{vg_name}/{lv} has a dm-writecache ({volume['writecache']['name']}).",
                f"Remove that first, which writes back what is in it: lvconvert --splitcache "
                f"{vg_name}/{lv}",
                subject=subject,
            )
        if ZEROING in volume["tags"]:
            raise Refusal(
                "not_fresh",
                f"{vg_name}/{lv} is not fully zeroed yet.",
                "Finish volume.create first: repeat it.",
                subject=subject,
            )

    return check


def backing(view: View, call: VerbCall) -> Facts:
    """bcache facts of the volume."""
    vg_name, lv = call.args["vg"], call.args["lv"]
    bcache = view.lv(vg_name, lv)["bcache"]
    if bcache is None:
        raise Refusal(
            "unsupported",
            f"{vg_name}/{lv} is no registered bcache device.",
            f"Format it first (bcache.format), or register it: echo /dev/{vg_name}/{lv} > "
            "/sys/fs/bcache/register_quiet",
            subject=lv_subject(vg_name, lv),
        )
    return dict(bcache)


def cset(view: View, uuid: str) -> Facts:
    registered = view.cset(uuid)
    if registered is None:
        raise Refusal(
            "not_found",
            f"No cache set {uuid} is registered on this host.",
            LOOK_AGAIN,
            subject=cset_subject(uuid),
        )
    return registered


def _same(volume: Facts, expect: Mapping[str, Any], name: str, subject: str) -> None:
    for key, actual in (
        ("lv_uuid", volume["uuid"]),
        ("lv_name", volume["name"]),
        ("size_bytes", volume["size_bytes"]),
    ):
        if key in expect and expect[key] != actual:
            raise Refusal(
                "stale",
                f"{name} has {key} {actual}, not {expect[key]}.",
                LOOK_AGAIN,
                subject=subject,
            )


def not_hosts_own(view: View, call: VerbCall, lv: str) -> Check:
    """The host does not live on it: else it might not start again, and with it all its guests."""

    def check() -> None:
        volume = view.lv(call.args["vg"], lv)
        if volume["host_use"]:
            raise Refusal(
                "in_use",
                f"{volume['vg_name']}/{lv} belongs to the host itself: {volume['host_use']}.",
                "Leave it to the host; Tiercel only takes a cache off it.",
            )

    return check


def undisturbed(view: View, call: VerbCall) -> Check:
    """No one at a terminal has LVM at work on the volume. Our own move is allowed."""

    def check() -> None:
        left_alone(view.lv(call.args["vg"], call.args["lv"]))

    return check


def left_alone(lv: Mapping[str, Any], *, ours: bool = True) -> None:
    """Raises Refusal(occupied) while something is at work on it; `ours`: not our own move. No
    earlier step of a dry run ends that, so that it has no subject."""
    work = lv["work"]
    if work is not None and not (ours and work["ours"]):
        raise Refusal(
            "occupied",
            lvm_activity.sentence(f"{lv['vg_name']}/{lv['name']}", work),
            "Wait until it has ended (`lvs -a` shows it); nothing was touched.",
        )


def moves_freely(view: View, lv: Mapping[str, Any]) -> None:
    """Raises Refusal unless the volume may grow or move: linear, or a cache over a linear one,
    finished, without classic snapshots, and nothing at work on it."""
    name = f"{lv['vg_name']}/{lv['name']}"
    subject = lv_subject(lv["vg_name"], lv["name"])
    left_alone(lv, ours=False)
    bottom = view.find_lv(lv["vg_name"], f"{lv['name']}_corig") if lv["cache"] else lv
    if bottom is None or any(seg["type"] != "linear" for seg in bottom["segments"]):
        raise Refusal(
            "unsupported",
            f"{name} is {', '.join(lv['layout'])}, not linear.",
            "Do it on the host by hand, with the stripes or mirrors in mind.",
            subject=subject,
        )
    if {"origin", "snapshot", "thickorigin"} & set(lv["role"]):
        many = ", ".join(lv["snapshots"])
        raise Refusal(
            "occupied",
            f"{name} has the snapshot {many}: LVM neither grows nor moves it while that is there."
            if many
            else f"{name} is or has a classic snapshot: LVM neither grows nor moves it.",
            "Wait until the snapshot is removed, or remove it.",
        )
    if ZEROING in lv["tags"]:
        raise Refusal(
            "not_fresh",
            f"{name} is not fully zeroed yet.",
            "Finish volume.create first: repeat it.",
            subject=subject,
        )


def redundant(view: View, subject: str, lv: Facts | None, what: str) -> None:
    """Raises Refusal(not_redundant) unless a pool or cache set survives the loss of a disk, and has
    lost none. `lv` is None while it is only planned."""
    by_name = {pv["name"]: pv for pv in view.facts["pvs"]}
    if subject in view.planned.pvs:
        names: list[str] = list(view.planned.pvs[subject])
    elif lv is None:
        names = []
    else:
        standing, names = lv["standing"], view.pvs_under(lv)
        if standing["redundant"] and not standing["degraded"]:
            if not all(name in by_name and by_name[name]["redundant"] for name in names):
                _demand_copied(view, lv, what)
            return
        if standing["redundant"]:
            raise _degraded(what, names)
    weak = [name for name in names if not (name in by_name and by_name[name]["redundant"])]
    sick = [name for name in names if name not in weak and not by_name[name]["healthy"]]
    if weak or not names:
        raise Refusal(
            "not_redundant",
            f"writeback keeps the only copy of new data on {what}, and "
            f"{', '.join(weak) or 'its device'} is no redundant array: a dead SSD would lose it.",
            "Use writethrough, or put the cache on an md RAID1 of two SSDs. If a controller "
            f"mirrors the SSD: {AGENT} redundant-pv DEVICE",
        )
    if sick:
        raise _degraded(what, sick)


def _demand_copied(view: View, lv: Facts, what: str) -> None:
    """Raises Refusal(not_redundant) while LVM fills a copy of it, or of a part of it."""
    name = lvm_activity.dm_name(lv["vg_name"], lv["name"])
    for each, percent in mirror.percents(view.host, raids=True).items():
        if percent < 100 and (each == name or each.startswith(f"{name}_")):
            raise Refusal(
                "not_redundant",
                f"LVM is still copying {what} to another disk ({percent} % done): until then a "
                "dead SSD would lose new data.",
                "Wait until it has ended (`lvs -a` shows it), or use writethrough.",
            )


def _degraded(what: str, names: Iterable[str]) -> Refusal:
    return Refusal(
        "not_redundant",
        f"The array under {what} is degraded: {', '.join(names)}.",
        "Replace the failed disk and let the array recover, or use writethrough.",
    )
