"""Problems of volume groups for hello: what keeps the panel from using a group, or soon will."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..state.policy import AGENT
from .problems import Problem, problem

MIB = 1 << 20
FULL_PERCENT = 70


def of_facts(facts: dict[str, Any]) -> Iterator[Problem]:
    """By what `inventory.storage` tells."""
    for vg in facts["vgs"]:
        if vg["sharing"] and not vg["alone"]:
            yield problem(
                "vg_shared",
                "warning",
                f"Other machines may use {vg['name']} too: {'; '.join(vg['sharing'])}. Tiercel "
                "changes nothing there.",
                f"If no other machine ever uses it, as root on the host: {AGENT} allow-vg "
                f"{vg['name']} --alone",
            )
        used_bytes = vg["metadata_bytes"] - vg["metadata_free_bytes"]
        if 100 * used_bytes >= FULL_PERCENT * vg["metadata_bytes"] > 0:
            yield problem(
                "vg_metadata_full",
                "warning",
                f"The metadata area of {vg['name']} is {100 * used_bytes // vg['metadata_bytes']} "
                "% full: once it is full, LVM can no longer create a cache, volume or tag there.",
                "The metadata area cannot be extended in place. Move volumes to another group, or "
                "add a PV made with "
                "pvcreate --metadatasize 16m and take the metadata off the small ones: "
                "pvchange --metadataignore y",
            )
    for pv in facts["pvs"]:
        if pv["vg_uuid"] and not pv["allocatable"]:
            yield problem(
                "pv_not_allocatable",
                "info",
                f"{pv['name']} of {pv['vg_name']} takes no new volumes: its "
                f"{pv['unusable_bytes'] // MIB} MiB free are not counted.",
                f"To use it again: pvchange -xy /dev/{pv['name']}",
            )
