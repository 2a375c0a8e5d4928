"""Unfinished recovery after a restart or a lost disk, as preflight problems. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

from ..benchmark import scratch
from ..calls.names import printable
from ..calls.refusals import Problem, problem
from ..commands.command import OURS
from ..commands.retirement import is_retired
from ..kernel import bcache_sysfs
from . import activation
from .logical_volumes import MISSING

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


def recovery_problems(facts: dict[str, Any], resting: Collection[str]) -> Iterable[Problem]:
    """Disks that are away, and volumes of ours that are off though they were not retired and are
    not `resting`, by uuid."""
    for pv in facts["pvs"]:
        if pv["missing"] and pv["vg_uuid"] not in facts["guests"]:
            yield problem(
                "pv_missing",
                "error",
                f"VG {pv['vg_name']}: the disk with the PV {pv['uuid']} is missing.",
                activation.how_to_reconnect(
                    pv["vg_name"], [pv["name"]] if pv["name"] != MISSING else []
                ),
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
    yield from _of_backings(facts)
    for lv in facts["lvs"]:
        if lv["bcache"] is not None and lv["bcache"]["state"] not in bcache_sysfs.STATES:
            yield _unknown(lv["bcache"]["state"], f"{lv['vg_name']}/{lv['name']}")
    for lv in facts["lvs"]:
        if lv["layout"] == ["unknown"]:
            types = ", ".join(dict.fromkeys(segment["type"] for segment in lv["segments"]))
            yield problem(
                "lv_unknown_type",
                "warning",
                f"LVM on this host does not know the type of {lv['vg_name']}/{lv['name']} "
                f"({types}): a newer LVM made it. The other volumes of the group are sound.",
                "Upgrade LVM on the host. Until then it can neither activate nor change it.",
                subject=f"{lv['vg_name']}/{lv['name']}",
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


def _of_backings(facts: dict[str, Any]) -> Iterable[Problem]:
    """bcache devices that root made of disks, partitions or arrays, and that lack their cache."""
    there = {each["uuid"] for each in facts["csets"]}
    for backing in facts["backings"]:
        device, state = backing["device"], backing["state"]
        here = f"/sys/class/block/{device}/bcache"
        is_away = backing["kname"] is None
        if state not in bcache_sysfs.STATES:
            yield _unknown(state, device)
        elif is_away and state == "clean":
            yield problem(
                "bcache_waiting",
                "error",
                f"The bcache on {device} waits for its cache set, so its bcache device is not "
                "there. It was clean when it was last used.",
                "Reconnect the SSD and register it: echo /dev/SSD > /sys/fs/bcache/register_quiet. "
                "Only if the SSD is dead for good, and bcache-super-show says that the device is "
                f"clean: echo 1 > {here}/running",
                subject=device,
            )
        elif is_away and state != "no cache":
            yield problem(
                "bcache_waiting",
                "error",
                f"The bcache on {device} waits for its cache set, so its bcache device is not "
                f"there. Its state is {state}: what was written last is on the missing SSD alone.",
                "Reconnect the SSD and register it: echo /dev/SSD > /sys/fs/bcache/register_quiet. "
                f"Do not write to {here}/running as long as the SSD may come back: that gives up "
                "what it holds.",
                subject=device,
            )
        elif not is_away and _has_lost_its_set(backing, there):
            yield problem(
                "bcache_waiting",
                "error",
                f"{backing['kname']} on {device} runs without its cache set, and its state is "
                f"{state}: what was written before that may be on the missing SSD alone.",
                "Stop what uses it, check its file systems, or restore a backup. Keep the SSD.",
                subject=device,
            )
    for cset in facts["csets"]:
        if cset["device"] is None:
            yield problem(
                "cset_without_device",
                "warning",
                f"The bcache cache set {cset['uuid']} has no cache device: it is being registered, "
                "or its start failed.",
                "If this lasts, look at dmesg. Its SSD may be failing: keep it, and do not make a "
                "new cache set on it.",
                subject=cset["uuid"],
            )


def _unknown(state: str, device: str) -> Problem:
    return problem(
        "bcache_state_unknown",
        "warning",
        f"The kernel calls the state of the bcache on {device} “{printable(state)}”, which Tiercel "
        "does not know: its newest data may be on the SSD alone.",
        f"Look at it: bcache-super-show /dev/{device}; dmesg",
        subject=device,
    )


def _has_lost_its_set(backing: dict[str, Any], there: Collection[str]) -> bool:
    is_attached = backing["cset_uuid"] in there
    return backing["state"] == "inconsistent" or (backing["state"] == "dirty" and not is_attached)


def _is_off(lv: dict[str, Any]) -> bool:
    if lv["active"] or OURS not in lv["tags"] or "public" not in lv["role"]:
        return False
    if scratch.key_of(lv) is not None:
        return False
    return not is_retired(lv["tags"])
