"""Disks that a guest, or another machine, has for itself, and the volume groups on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from ..guests import users
from ..kernel import disks
from ..kernel.dm import text
from ..kernel.local_host import LocalHost
from ..kernel.lvm import Row
from ..state.policy import Policy

# Users of a device that read and write it as their own. Any other user is of the host itself: a
# mount, a daemon that looks at disks.
_GUESTS = frozenset(("qemu", "libvirt", "proxmox", "xen", "lio", "nvmet", "rnbd"))


def strangers(policy: Policy, vgs: Sequence[Row]) -> frozenset[str]:
    """Uuids of the groups that share their name with another one and that root never named by
    their uuid: LVM takes no command by that name."""
    counts = Counter(row["vg_name"] for row in vgs)
    return frozenset(
        row["vg_uuid"]
        for row in vgs
        if counts[row["vg_name"]] > 1 and row["vg_uuid"] not in policy.vg_uuids.values()
    )


def groups_of_guests(
    host: LocalHost, pvs: Sequence[Row], vg_uuids: Collection[str]
) -> frozenset[str]:
    """Those of `vg_uuids` with a PV on a disk of a guest's. Nothing is asked for none."""
    if not vg_uuids:
        return frozenset()
    theirs = disks_of_guests(host)
    return frozenset(
        row["vg_uuid"]
        for row in pvs
        if row["vg_uuid"] in vg_uuids
        and whose(host, disks.kname_of(host, f"{row['pv_major']}:{row['pv_minor']}"), theirs)
    )


def disks_of_guests(host: LocalHost) -> dict[str, str]:
    """By the kernel name of a disk or partition: the guest that has it."""
    names = {
        text(host, f"/sys/class/block/{each}/dev"): each
        for each in host.list("/sys/class/block")
        if not each.startswith(disks.VIRTUAL)
    }
    names.pop("", None)
    guests = {}
    for dev, of_device in users.of_devices(host, names).items():
        guest = next((each for each in of_device if each["kind"] in _GUESTS), None)
        if guest is not None:
            guests[names[dev]] = f"{guest['kind']} {guest['name']}"
    return guests


def whose(host: LocalHost, kname: str | None, theirs: Mapping[str, str]) -> str:
    """The guest that has a device, or a disk that the device is a part of or stands on; "" for
    none."""
    if kname is None:
        return ""
    disk = kname if kname in theirs else disks.stands_on(host, kname, theirs)
    return "" if disk is None else theirs[disk]
