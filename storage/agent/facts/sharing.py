"""Why other machines may use a VG too. Two machines that change the same LVM metadata at the same
moment give the same blocks to two volumes."""

from __future__ import annotations

from collections.abc import Sequence

from ..calls.names import printable
from ..guests import guest_configs
from ..kernel import attachment, disks
from ..kernel.dm import text
from ..kernel.local_host import LocalHost
from ..kernel.lvm import Row, flag
from .logical_volumes import pv_name

STORAGES = "/etc/pve/storage.cfg"


def reasons(host: LocalHost, vg: Row, pvs: Sequence[Row]) -> list[str]:
    """One short phrase each; none where all says that this host has the VG for itself. `pvs` are
    LVM's rows of all PVs."""
    sentences = []
    if vg["vg_lock_type"] not in ("", "none"):
        sentences.append(f"its lock type is {printable(vg['vg_lock_type'])}")
    elif flag(vg["vg_shared"]):
        sentences.append("LVM calls it shared")
    if flag(vg["vg_clustered"]):
        sentences.append("it is clustered")
    if flag(vg["vg_exported"]):
        sentences.append("it is exported to another machine")
    if vg["vg_name"] in guest_configs.proxmox_shared(text(host, STORAGES)):
        sentences.append("it is a shared storage of Proxmox")
    for row in pvs:
        if row["vg_uuid"] != vg["vg_uuid"]:
            continue
        kname = disks.kname_of(host, f"{row['pv_major']}:{row['pv_minor']}")
        how = "" if kname is None else attachment.elsewhere(host, kname)
        if how:
            sentences.append(f"{pv_name(row['pv_name'])} is reached by {how}")
    return sentences
