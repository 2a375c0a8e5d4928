"""Unfinished recovery after a restart or a lost disk, as preflight problems. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable
from typing import Any

from ..commands.command import OURS
from ..commands.retirement import is_retired

Problem = dict[str, str]


def of_boot(booted: dict[str, Any]) -> Iterable[Problem]:
    """From `boot.last`."""
    if not booted["unit"]:
        yield {
            "code": "no_boot_unit",
            "severity": "warning",
            "message": "The unit tiercel-boot is not installed: after a restart of this host "
            "bcache volumes and their settings may not be restored automatically.",
            "correction": (
                "Create a new enrolment command (manage.py enrol) and run it on the host. It "
                "upgrades the agent."
            ),
        }
    for line in booted["failed"]:
        yield {
            "code": "boot_incomplete",
            "severity": "error",
            "message": f"After the restart: {line}",
            "correction": (
                "After fixing the cause, run as root on the host: /usr/lib/tiercel/agent.pyz boot"
            ),
        }


def of_facts(facts: dict[str, Any], resting: Collection[str]) -> Iterable[Problem]:
    """Disks that are away, and volumes of ours that are off though nobody retired them and they are
    not `resting`, by uuid."""
    for pv in facts["pvs"]:
        if pv["missing"] and pv["vg_uuid"] not in facts["guests"]:
            yield {
                "code": "pv_missing",
                "severity": "error",
                "message": f"VG {pv['vg_name']}: the disk with the PV {pv['uuid']} is missing.",
                "correction": "Reconnect the disk. Never run vgreduce --removemissing --force: it "
                "deletes every volume whose cache was on that disk.",
            }
    for lv in facts["lvs"]:
        if _is_off(lv) and lv["uuid"] not in resting:
            name = f"{lv['vg_name']}/{lv['name']}"
            yield {
                "code": "volume_inactive",
                "severity": "error",
                "message": f"{name} is not active: its guest cannot start.",
                "correction": f"lvchange -ay {shlex.quote(name)}",
            }


def _is_off(lv: dict[str, Any]) -> bool:
    if lv["active"] or OURS not in lv["tags"] or "public" not in lv["role"]:
        return False
    return not is_retired(lv["tags"])
