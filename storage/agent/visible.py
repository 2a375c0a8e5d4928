"""Guests' disks that LVM on the host looks into: a guest's volume group would become the host's."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from . import bcache, disks, dm
from .dm import text
from .host import Host, MissingTool, TimedOut
from .problems import Problem, problem

CONFIG = (
    "lvmconfig",
    "--type",
    "full",
    "devices/scan_lvs",
    "devices/global_filter",
    "devices/filter",
)
# In front: the first entry that fits a name decides. And never instead: Proxmox has its own there.
_WHERE = "to devices/global_filter in /etc/lvm/lvm.conf, in front of the entries that stay there"
_NAMED = 8


def of_config(host: Host) -> Iterable[Problem]:
    """What LVM's settings let it look into."""
    try:
        result = host.run(CONFIG, timeout=10.0)
    except (MissingTool, TimedOut):
        return
    if re.search(r"(?m)^\s*scan_lvs=1\s*$", result.stdout):
        yield problem(
            "scan_lvs",
            "error",
            "LVM looks inside logical volumes (scan_lvs=1): it can take a guest's own VG for the "
            "host's.",
            "Set devices/scan_lvs=0 in /etc/lvm/lvm.conf.",
        )
    if host.exists(bcache.FS) and not re.search(r"filter=\[.*bcache", result.stdout):
        yield from _scanned(host)


def _scanned(host: Host) -> Iterable[Problem]:
    lvs = frozenset(device.kname for device in dm.devices(host))
    own = [backing.kname for backing in bcache.other_backings(host, lvs)]
    if not own:
        yield problem(
            "bcache_scanned",
            "warning",
            "LVM scans /dev/bcache*: a guest's PV on a bcache volume would become the host's.",
            f'Add "r|^/dev/bcache.*|" {_WHERE}.',
        )
        return
    # The host's own VG may lie on one of those, or will once it is whole again: a filter that it
    # falls under takes every volume away at the next start.
    guests = [name for name in bcache.devices(host) if bcache.below(host, name) in lvs]
    if guests:
        yield problem(
            "bcache_scanned",
            "warning",
            "LVM scans guests' bcache volumes: a guest's PV on one would become the host's. Filter "
            f"only these: {_listed(guests)}.",
            f'Add "{_by_uuid("UUID")}" {_WHERE}, for each of them; the UUID is what '
            f"/sys/block/{guests[0]}/bcache/backing_dev_uuid has. Never by their numbers, which "
            f"change at a restart, nor all of /dev/bcache*: what lies on {_listed(own)} is no "
            "guest's disk, and a VG there would be gone at the next start.",
        )


def of_facts(host: Host, facts: dict[str, Any]) -> Iterable[Problem]:
    """PVs inside of logical volumes, by what `inventory.storage` tells."""
    lvs = frozenset(lv["kname"] for lv in facts["lvs"] if lv["kname"] is not None)
    for pv in facts["pvs"]:
        real = host.real(f"/dev/{pv['name']}")
        cure = None if real is None else _cure(host, disks.whole(host, _last(real)), lvs)
        if cure is not None:
            yield problem(
                "foreign_vg_on_guest_disk",
                "error",
                f"VG {pv['vg_name'] or '(none)'} lies on {pv['name']}, which is a guest's disk.",
                f"{cure} But not where you made this VG for the host itself: it would be gone at "
                "the next start.",
            )


def _cure(host: Host, kname: str, lvs: Collection[str]) -> str | None:
    """How LVM looks away from a guest's disk; None for any other device. A bcache on a disk, a
    partition or an array is none: many hosts have their only VG on such a one."""
    if kname in lvs:
        return "Set devices/scan_lvs=0 in /etc/lvm/lvm.conf."
    if bcache.below(host, kname) in lvs:
        uuid = text(host, f"/sys/block/{kname}/bcache/backing_dev_uuid")
        return f'Add "{_by_uuid(uuid)}" {_WHERE}.'
    return None


def _by_uuid(uuid: str) -> str:
    """The numbers of bcache devices change at a restart: by them the filter could take away the
    host's own."""
    return f"r|^/dev/bcache/by-uuid/{uuid}|"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _last(path: str) -> str:
    return path.rsplit("/", 1)[-1]
