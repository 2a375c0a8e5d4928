"""Device-mapper devices without a logical volume, left in the kernel by a crashed LVM command or by
a disk that lost its metadata. They are only reported: no verb touches them. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from ..calls.refusals import Problem, problem
from ..kernel.dm import DmDevice
from ..kernel.lvm import Report

Orphan = dict[str, Any]


def orphans(
    report: Report,
    devices: Sequence[DmDevice],
    before: Collection[str],
    left_out: Collection[str] = (),
) -> list[Orphan]:
    """Those of `devices` that the report, which was made after `before` was listed, has no volume
    for. A report without LVM's locks says nothing: a command may be at work. Nor does it of the
    groups that were `left_out` (uuids)."""
    if report.stale or not report.consistent:
        return []
    groups = {row["vg_uuid"]: row["vg_name"] for row in report.vgs}
    volumes = {row["lv_uuid"] for row in report.lvs}
    return [
        {
            "name": device.name,
            "device": device.kname,
            "uuid": device.lv_uuid,
            "why": f"LVM has no such volume in {groups[device.vg_uuid]}"
            if device.vg_uuid in groups
            else "LVM sees no volume group that it is of",
        }
        for device in devices
        if device.lv_uuid not in volumes
        and device.kname in before
        and device.vg_uuid not in left_out
    ]


def orphan_problems(facts: dict[str, Any]) -> Iterable[Problem]:
    """As preflight problems."""
    for orphan in facts["orphans"]:
        name = shlex.quote(orphan["name"])
        yield problem(
            "orphan_device",
            "warning",
            f"{orphan['name']} ({orphan['device']}) is left in the kernel: {orphan['why']}.",
            "Do not write to it: its blocks may belong to another volume now. Where "
            f"`dmsetup info {name}` shows the open count 0 and `pvs` shows every disk, "
            f"run as root: dmsetup remove {name}",
            subject=orphan["name"],
        )
