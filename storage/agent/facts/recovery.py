"""Unfinished recovery after a restart or a lost disk, as preflight problems. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

from ..calls.refusals import Problem, problem
from ..commands.command import OURS
from ..commands.retirement import is_retired
from . import activation

# How a sentence of the boot unit begins that is about one volume.
_OF_VOLUME = re.compile(r"([^\s/:]+/[^\s/:]+): ")


def of_boot(booted: dict[str, Any]) -> Iterable[Problem]:
    """From `boot.last`."""
    if not booted["unit"]:
        yield problem(
            "no_boot_unit",
            "warning",
            "The unit tiercel-boot is not installed: after a restart of this host bcache volumes "
            "and their settings may not be restored automatically.",
            "Create a new enrolment command (manage.py enrol) and run it on the host. It upgrades "
            "the agent.",
        )
    for line in booted["failed"]:
        named = _OF_VOLUME.match(line)
        yield problem(
            "boot_incomplete",
            "error",
            f"After the restart: {line}",
            "After fixing the cause, run as root on the host: /usr/lib/tiercel/agent.pyz boot",
            subject=named[1] if named else "",
        )


def of_facts(facts: dict[str, Any], resting: Collection[str]) -> Iterable[Problem]:
    """Disks that are away, and volumes of ours that are off though nobody retired them and they are
    not `resting`, by uuid."""
    for pv in facts["pvs"]:
        if pv["missing"] and pv["vg_uuid"] not in facts["guests"]:
            yield problem(
                "pv_missing",
                "error",
                f"VG {pv['vg_name']}: the disk with the PV {pv['uuid']} is missing.",
                "Reconnect the disk. Never run vgreduce --removemissing --force: it deletes every "
                "volume whose cache was on that disk.",
                subject=pv["vg_name"],
            )
        if pv["duplicate"] and pv["vg_uuid"] and pv["vg_uuid"] not in facts["guests"]:
            yield problem(
                "pv_duplicate",
                "error",
                f"VG {pv['vg_name']}: LVM sees {activation.double(pv['name'], pv['seen_on'])}.",
                activation.state_of(facts, pv["vg_uuid"]).obstacle_to_activation,
                subject=pv["vg_name"],
            )
    for lv in facts["lvs"]:
        if _is_off(lv) and lv["uuid"] not in resting:
            name = f"{lv['vg_name']}/{lv['name']}"
            yield problem(
                "volume_inactive",
                "error",
                f"{name} is not active: its guest cannot start.",
                activation.how_to_activate(
                    activation.state_of(facts, lv["vg_uuid"]),
                    lv["name"],
                    is_lost=lv["standing"]["lost"]
                    or (lv["cache"] is not None and lv["cache"]["standing"]["lost"]),
                    is_known=lv["layout"] != ["unknown"],
                ),
                subject=name,
            )


def _is_off(lv: dict[str, Any]) -> bool:
    if lv["active"] or OURS not in lv["tags"] or "public" not in lv["role"]:
        return False
    return not is_retired(lv["tags"])
