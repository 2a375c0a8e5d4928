"""Guests' disks that LVM on the host scans: a guest's volume group would become the host's."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ..calls.refusals import Problem, Refusal, problem
from ..facts import guests_disks
from ..kernel import bcache_sysfs, disks, dm
from ..kernel.local_host import LocalHost
from ..state.policy import HIDE
from . import hiding


def of_config(host: LocalHost) -> Iterable[Problem]:
    """What LVM's settings let it look into."""
    text = hiding.settings(host)
    if re.search(r"(?m)^\s*scan_lvs=1\s*$", text):
        yield problem(
            "scan_lvs",
            "error",
            "LVM looks inside logical volumes (scan_lvs=1): it can take a guest's own VG for the "
            "host's.",
            "Set devices/scan_lvs=0 in /etc/lvm/lvm.conf.",
        )
    if host.exists(bcache_sysfs.FS) and text and _may_see(host):
        try:
            hiding.demand_hiding(host)
        except Refusal as refusal:
            yield problem(
                "bcache_scanned",
                "warning",
                f"{refusal.message} No bcache volume is made or restored here.",
                refusal.correction,
            )


def _may_see(host: LocalHost) -> bool:
    """There are guests' bcache devices, or there may be: the host has none of its own."""
    own = {each.device for each in hiding.own_backings(host)}
    return not own or bool(set(bcache_sysfs.bcache_devices(host)) - own)


def of_facts(host: LocalHost, facts: dict[str, Any]) -> Iterable[Problem]:
    """Volume groups that are not the host's, and those that are left out."""
    lvs = frozenset(device.kname for device in dm.dm_devices(host))
    theirs = guests_disks.disks_of_guests(host) if facts["guests"] else {}
    for pv in facts["pvs"]:
        real = host.real(f"/dev/{pv['name']}") if pv["vg_uuid"] in facts["guests"] else None
        kname = None if real is None else real.rsplit("/", 1)[-1]
        volume = None if kname is None else disks.stands_on(host, kname, lvs)
        guest = guests_disks.whose(host, kname, theirs)
        if volume is None and guest:
            yield problem(
                "foreign_vg_on_guest_disk",
                "error",
                f"VG {pv['vg_name']} lies on {kname}, which {guest} has for itself. Nothing of a "
                "group of this name is managed until LVM looks away from it.",
                HIDE,
                subject=pv["vg_name"],
            )
        if kname is None or volume is None:
            continue
        mapped = dm.text(host, f"/sys/block/{volume}/dm/name")
        yield problem(
            "foreign_vg_on_guest_disk",
            "error",
            f"VG {pv['vg_name']} lies on {kname}, which is a guest's disk. Its volume is {mapped}. "
            "Groups of this name are not managed until LVM ignores that disk.",
            "Set devices/scan_lvs=0 in /etc/lvm/lvm.conf."
            if disks.whole(host, kname) in lvs
            else HIDE,
            subject=pv["vg_name"],
        )
    for each in facts["unsound"]:
        yield problem(
            "vg_unsound",
            "error",
            f"VG {each['name'] or each['vg_uuid']} is left out: {each['why']}.",
            "LVM writes no such metadata: look at the disk that it lies on (pvs -o +vg_uuid). The "
            "other groups of this host are not concerned.",
            subject=each["name"] or each["vg_uuid"],
        )
