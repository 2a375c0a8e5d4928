"""Writeback caches on an SSD without a mirror: their dirty data is lost with the SSD."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Any

from ..benchmark import scratch
from ..calls.refusals import Problem, problem
from ..commands.command import OURS
from ..kernel import bcache_sysfs
from ..kernel.attachment import redundancy
from ..kernel.local_host import LocalHost
from . import activation


def writeback_facts(host: LocalHost, facts: dict[str, Any]) -> Iterable[Problem]:
    """From the facts of `inventory.storage`, and `backings`."""
    for lv in facts["lvs"]:
        if scratch.key_of(lv) is not None:
            continue
        name = f"{lv['vg_name']}/{lv['name']}"
        cache, backing = lv["cache"], lv["bcache"]
        is_written_back = cache is not None and cache["mode"] == "writeback"
        standing = cache["standing"] if is_written_back else None
        if standing is not None and not (standing["redundant"] or standing["lost"]):
            yield _single(name, _cure(facts, lv, name))
        if (
            backing is not None
            and backing["cache_mode"] == "writeback"
            and _is_set_single(host, facts, backing["cset_uuid"])
        ):
            yield _single(name, _bcache_cure(lv))
    for bare in facts["backings"]:
        if bare["mode"] == "writeback" and _is_set_single(host, facts, bare["cset_uuid"]):
            name = f"{bare['kname'] or 'bcache'} (on {bare['device']})"
            yield _single(name, _by_sysfs(f"/sys/class/block/{bare['device']}/bcache"))


def _single(name: str, cure: str) -> Problem:
    return problem(
        "writeback_single_ssd",
        "warning",
        f"{name} uses writeback on an SSD without a mirror: if it dies, new data is lost.",
        f"Mirror the SSD, or {cure}",
        subject=name,
    )


def _is_set_single(host: LocalHost, facts: dict[str, Any], uuid: str | None) -> bool:
    """Of a cache set: by the PVs of its LV, or by its own device where root made it of a disk, a
    partition or an array."""
    cset = next((each for each in facts["csets"] if each["uuid"] == uuid), None)
    if cset is None:
        return False
    if cset["lv_uuid"] is None:
        return cset["device"] is not None and not redundancy(host, cset["device"])[0]
    lv = next(each for each in facts["lvs"] if each["uuid"] == cset["lv_uuid"])
    return not lv["standing"]["redundant"]


def _cure(facts: dict[str, Any], lv: dict[str, Any], name: str) -> str:
    """Never the mode at once: LVM then flushes all that is dirty under the group's lock, and no
    guest of the group can start for hours. By hand, as the panel's `findings` say it too."""
    obstacle = activation.state_of(facts, lv["vg_uuid"]).obstacle_to_changes
    if obstacle:
        return f"use writethrough. {obstacle}"
    if OURS in lv["tags"]:
        return (
            "set its mode to writethrough on the volume's page: it is flushed first, without the "
            "lock of the group."
        )
    name = shlex.quote(name)
    if not lv["active"]:
        return (
            f"use writethrough. Nothing is written back while it is off: lvchange -ay {name} first."
        )
    return (
        f"first: lvchange --cachepolicy cleaner {name}. Once 0 B are dirty: "
        f"lvchange --cachemode writethrough {name}; lvchange --cachepolicy smq {name}. Never the "
        "mode at once: LVM then flushes under the group's lock, for hours."
    )


def _bcache_cure(lv: dict[str, Any]) -> str:
    if OURS in lv["tags"]:
        return "set its mode to writethrough on the volume's page."
    return _by_sysfs(bcache_sysfs.folder(lv["kname"]))


def _by_sysfs(here: str) -> str:
    return (
        f"echo writethrough > {here}/cache_mode. What is dirty then is written back by and by: "
        f"until {here}/state says clean, it is on the SSD only."
    )
