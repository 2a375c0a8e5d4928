"""Root's commands on the host about its groups, physical volumes and bcache: allow-vg, deny-vg,
fast-pv, slow-pv, redundant-pv, forget-pv, allow-replacement, deny-replacement, allow-heat,
deny-heat, allow-benchmarks, deny-benchmarks, keep-bcache, policy. The panel cannot run them: sudo
allows the agent only without arguments."""

from __future__ import annotations

import json
from dataclasses import replace

from ..calls.names import vg_name
from ..calls.refusals import Refusal
from ..facts.inventory import storage
from ..facts.logical_volumes import pv_name
from ..kernel import lvm
from ..kernel.local_host import LocalHost, LockBusy
from . import bcache_by_hand, boot_state, heat_files, hot_map_files, policy, udev_links
from .boot_state import FILES, FILES_SECONDS

MOST_BENCHMARK_GIB = 1 << 20


def allow_vg(host: LocalHost, name: str, *, alone: bool = False) -> str:
    """Let the panel change a VG; `alone`: root says that no other machine uses it. Raises
    Refusal(bad_request | not_found | unsupported | vg_not_allowed)."""
    current = _usable(host)
    facts = storage(host, current)
    present = sorted(vg["name"] for vg in facts["vgs"] if vg["uuid"] not in facts["guests"])
    try:
        known = vg_name(name) in present
    except ValueError:
        known = False
    if not known and any(vg["name"] == name for vg in facts["vgs"]):
        raise Refusal(
            "unsupported",
            f"VG {name} lies on a guest's disk: on a logical volume, on a bcache device of one, or "
            "on a disk that a guest has for itself.",
            "Only a VG on disks, partitions or arrays of the host can be managed.",
        )
    if not known:
        raise Refusal(
            "not_found",
            f"There is no VG {name!r} on this host.",
            f"VGs here: {', '.join(present) or 'none'}.",
        )
    for vg in facts["vgs"]:
        if vg["name"] == name and not alone:
            policy.check_alone(current, name, vg["uuid"], vg["sharing"])
    # A guest may have called its own group so: of two, the one that the host has for itself.
    vg = next(vg for vg in facts["vgs"] if vg["name"] == name and vg["uuid"] not in facts["guests"])
    with host.lock(FILES, FILES_SECONDS):
        bcache_by_hand.note_all_of(host, facts, vg["uuid"])
    policy.save(host, policy.with_vg(current, name, vg["uuid"], alone=alone))
    return show_policy(host)


def deny_vg(host: LocalHost, name: str) -> str:
    policy.save(host, policy.without_vg(_usable(host), name))
    return show_policy(host)


def set_replacement(host: LocalHost, *, allowed: bool) -> str:
    """Root says whether the panel may put unused disks in the place of members of arrays."""
    policy.save(host, replace(_usable(host), replace_members=allowed))
    return show_policy(host)


def set_heat(host: LocalHost, *, allowed: bool) -> str:
    """Root says whether the heat of volumes may be observed. Where not, the service ends by itself
    within seconds, and what it has counted is removed now. Raises Refusal(busy) or OSError."""
    policy.save(host, replace(_usable(host), heat=allowed))
    if not allowed:
        heat_files.forget_heat(host)
        _forget_maps(host)
    elif host.has_tool("systemctl"):
        host.run(("systemctl", "start", "--no-block", "tiercel-heat.service"))
    return show_policy(host)


def _forget_maps(host: LocalHost) -> None:
    try:
        hot_map_files.forget_others(host, ())
    except LockBusy:
        raise Refusal(
            "busy", "The most-read parts are being written down.", "Run this again in a minute."
        ) from None


def allow_benchmarks(host: LocalHost, gib: str = "20") -> str:
    """Let the panel run benchmarks on scratch volumes of so much space in all. Raises
    Refusal(bad_request)."""
    if not gib.isdecimal() or not 1 <= int(gib) <= MOST_BENCHMARK_GIB:
        raise Refusal(
            "bad_request",
            f"{gib!r} is no whole number of GiB from 1 to {MOST_BENCHMARK_GIB}.",
            "For 50 GiB: allow-benchmarks 50",
        )
    policy.save(host, replace(_usable(host), benchmark_bytes=int(gib) << 30))
    return show_policy(host)


def deny_benchmarks(host: LocalHost) -> str:
    """Let the panel run none. One at work goes on to its end."""
    policy.save(host, replace(_usable(host), benchmark_bytes=0))
    return show_policy(host)


def keep_bcache(host: LocalHost, name: str) -> str:
    """Root says that the bcache at work on VG/LV is the host's own. Raises what byhand.by_root
    raises."""
    facts = storage(host, _usable(host))
    with host.lock(FILES, FILES_SECONDS):
        bcache_by_hand.by_root(host, facts, name)
        udev_links.refresh(host, facts, boot_state.load_boot_state(host))
    return f"The bcache on {name} is the host's own: it starts after a restart as before."


def list_pv(host: LocalHost, list_name: str, name: str) -> str:
    """Say of a PV, by its name below /dev or its uuid, what the kernel cannot know. Raises
    Refusal(not_found | unsupported)."""
    current = _usable(host)
    pvs = _pvs(host)
    plain = pv_name(name)
    uuid = next((each for each, known in pvs.items() if plain in (known, each)), None)
    if uuid is None:
        raise Refusal(
            "not_found",
            f"There is no physical volume {name!r} on this host.",
            f"Physical volumes here: {', '.join(sorted(pvs.values())) or 'none'}.",
        )
    policy.save(host, policy.with_pv(current, list_name, uuid, pvs[uuid]))
    return show_policy(host)


def forget_pv(host: LocalHost, name: str) -> str:
    """Say nothing of a PV any more, by its name or its uuid; it need not be there."""
    plain = pv_name(name)
    uuids = (uuid for uuid, known in _pvs(host).items() if known == plain)
    policy.save(host, policy.without_pv(_usable(host), plain, *uuids))
    return show_policy(host)


def _pvs(host: LocalHost) -> dict[str, str]:
    rows = lvm.read(host).pvs
    return {row["pv_uuid"]: pv_name(row["pv_name"]) for row in rows if row["pv_uuid"]}


def show_policy(host: LocalHost) -> str:
    """The policy as understood, and what it means."""
    current = policy.load_policy(host)
    if current.broken:
        return (
            f"{policy.PATH} cannot be used: {current.broken}. Nothing on this host can be changed."
        )
    meaning = (
        f"The panel may change: {', '.join(current.vgs)}."
        if current.vgs
        else "Observe-only: the panel cannot change anything."
    )
    destroying = (
        f"Of these volumes it may destroy {current.destroy_per_hour} in an hour, each at the "
        f"earliest {current.undo_hours} h after it was retired."
    )
    beside = (
        "While it zeroes or moves, the p95 latency of the other volumes on those disks may rise by "
        f"{current.others_rise_percent} %. What a volume leaves behind after a move, or in a cache "
        f"that is removed, is {'' if current.clear_freed else 'not '}cleared."
    )
    may = "may" if current.replace_members else "may not"
    replacing = f"In arrays below these groups it {may} put an unused disk in a member's place."
    observed = "may" if current.heat else "may not"
    heat = f"What volumes read and write again {observed} be counted (heat)."
    gib = current.benchmark_bytes / (1 << 30)
    run = (
        f"may run benchmarks on scratch volumes of {gib:g} GiB in all"
        if gib
        else "may not run benchmarks"
    )
    lines = (
        json.dumps(current.to_json()),
        meaning,
        destroying,
        beside,
        replacing,
        heat,
        f"It {run}.",
    )
    return "\n".join(lines)


def _usable(host: LocalHost) -> policy.Policy:
    current = policy.load_policy(host)
    if current.broken:
        raise Refusal(
            "unsupported",
            f"{policy.PATH} cannot be used: {current.broken}.",
            "Correct or remove the file first.",
        )
    return current
