"""hello: the host's identity, its tools, and its problems."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable
from typing import Any

from .. import PROTOCOL, REPLY_LIMIT, VERSION
from ..calls.refusals import Problem, Refusal, problem
from ..guests import guest_lvm_exposure, users
from ..kernel import array_state
from ..kernel.dm import text
from ..kernel.local_host import LocalHost, MissingTool, TimedOut
from ..state import (
    bcache_by_hand,
    boot_state,
    fence,
    heat_files,
    initramfs,
    owner,
    policy,
    udev_links,
)
from . import activation, inventory, orphan_devices, program_versions, recovery, writeback

TOOLS = (
    "lvs",
    "lvcreate",
    "lvconvert",
    "lvchange",
    "lvremove",
    "dmsetup",
    "cache_check",
    "make-bcache",
    "bcache-super-show",
    "blkdiscard",
    "wipefs",
    "lsblk",
    "modprobe",
    "busctl",
    "mdadm",
)
MIB = 1 << 20
LARGE_SHARE = 0.7
ARCHIVE = "/etc/lvm/archive"
ARCHIVE_KIB = 1 << 20
BUS = "/run/dbus/system_bus_socket"


def hello(host: LocalHost) -> dict[str, Any]:
    """Never fails for what is missing on the host: it is reported as a problem."""
    tools = {tool: host.has_tool(tool) for tool in TOOLS}
    named = program_versions.every(host)
    kernel = named["kernel"]
    local = policy.load_policy(host)
    facts, failure = _facts(host, local)
    booted = boot_state.last(host)
    heat = heat_files.shown(host, local)
    problems = [
        *_policy_problems(local),
        *_owner_problems(host),
        *_tool_problems(tools, bus=host.exists(BUS)),
        *program_versions.version_problems(named),
        *guest_lvm_exposure.of_config(host),
        *recovery.of_boot(booted),
        *heat_files.heat_problems(heat),
        *initramfs.initramfs_problems(host),
        *_facts_problems(host, facts),
        *_list_problems(local, facts),
        *_size_problems(facts),
        *_archive_problems(host),
    ]
    if failure is not None:
        problems.append(problem(failure.code, "error", failure.message, failure.correction))
    return {
        "agent": VERSION,
        "protocol": PROTOCOL,
        "hostname": host.hostname(),
        "machine_id": text(host, "/etc/machine-id"),
        "boot_id": text(host, "/proc/sys/kernel/random/boot_id"),
        "kernel": kernel,
        "kernel_version": text(host, "/proc/sys/kernel/version"),
        "os": _os_name(text(host, "/etc/os-release")),
        "python": named["python"],
        "lvm2": named["lvm"] or None,
        "systemd": named["systemd"] or None,
        "util_linux": named["util_linux"] or None,
        "bcache_tools": program_versions.package(host, "bcache-tools") or None,
        "tools": tools,
        "modules": {
            "dm_cache": _module(host, kernel, "dm_cache", "dm-cache"),
            "bcache": _module(host, kernel, "bcache", "bcache"),
        },
        "policy": local.to_json(),
        "boot": booted,
        "heat": heat,
        "benchmarks": {
            "fio": program_versions.fio(host) or None,
            "quota_bytes": local.benchmark_bytes,
        },
        "links": host.exists(udev_links.PATH),
        "owner": owner.shown(host),
        "fences": fence.highest(host),
        "problems": problems,
    }


def _facts(host: LocalHost, local: policy.Policy) -> tuple[dict[str, Any] | None, Refusal | None]:
    if not host.has_tool("lvs"):
        return None, None
    try:
        facts = inventory.storage(host, local)
    except Refusal as refusal:
        return None, refusal
    backings = inventory.bare_backings(host, facts["lvs"])
    return {**facts, "arrays": inventory.arrays(host, facts["lvs"]), "backings": backings}, None


def _size_problems(facts: dict[str, Any] | None) -> Iterable[Problem]:
    """Before nothing of the host can be read any more. What uses its volumes comes on top."""
    size_bytes = len(json.dumps(facts, separators=(",", ":")))
    if size_bytes > LARGE_SHARE * REPLY_LIMIT:
        percent = 100 * size_bytes // REPLY_LIMIT
        yield problem(
            "inventory_large",
            "warning",
            f"The inventory of this host takes {percent} % of the largest reply that is allowed. "
            "Above that, nothing of the host can be read.",
            "Put new volumes on another host, and move some of this one's.",
        )


def _archive_problems(host: LocalHost) -> Iterable[Problem]:
    """LVM writes down the whole group before each command that changes it, and keeps that for a
    month: each job on a large group leaves megabytes on the host's root."""
    try:
        words = host.run(("du", "-sk", ARCHIVE), timeout=5.0).stdout.split()
    except (MissingTool, TimedOut):
        return
    size_kib = int(words[0]) if words and words[0].isdecimal() else 0
    if size_kib > ARCHIVE_KIB:
        yield problem(
            "lvm_archive_large",
            "warning",
            f"{ARCHIVE} holds {size_kib // 1024} MiB of older states of volume groups. On a full "
            "file system the agent can start nothing.",
            f"Remove old ones as root on the host: find {ARCHIVE} -name '*.vg' -mtime +7 -delete. "
            "Set backup/retain_days=7 in /etc/lvm/lvm.conf, and LVM removes them itself.",
        )


def _policy_problems(local: policy.Policy) -> Iterable[Problem]:
    """First of all: a broken file looks like one that allows nothing, and allow-vg refuses it."""
    if local.broken:
        yield problem(
            "policy_broken",
            "error",
            f"{policy.PATH} cannot be used, so nothing on this host can be changed: "
            f"{local.broken}.",
            f"Correct the file as root; `{policy.AGENT} policy` prints what is understood.",
        )


def _owner_problems(host: LocalHost) -> Iterable[Problem]:
    try:
        owner.load_owner(host)
    except Refusal as refusal:
        yield problem("owner_broken", "error", refusal.message, refusal.correction)


def _list_problems(local: policy.Policy, facts: dict[str, Any] | None) -> Iterable[Problem]:
    """Which groups and PVs the policy names, is known only where LVM has answered."""
    if facts is None:
        return
    yield from policy.group_problems(local, {vg["uuid"]: vg["name"] for vg in facts["vgs"]})
    yield from policy.policy_problems(local, {pv["uuid"]: pv["name"] for pv in facts["pvs"]})


def _tool_problems(tools: dict[str, bool], *, bus: bool) -> Iterable[Problem]:
    if not (tools["lvs"] and tools["lvcreate"] and tools["lvconvert"]):
        yield problem(
            "no_lvm2",
            "error",
            "lvm2 is not installed, so there is nothing to manage.",
            "Install the package lvm2.",
        )
    if not tools["cache_check"]:
        yield problem(
            "no_thin_provisioning_tools",
            "error",
            "cache_check is missing: LVM could not check or repair a cache pool.",
            "Install the package thin-provisioning-tools.",
        )
    if not (tools["make-bcache"] and tools["bcache-super-show"]):
        yield problem(
            "no_bcache_tools",
            "info",
            "make-bcache is missing: bcache volumes cannot be created.",
            "Install the package bcache-tools, if you want bcache volumes.",
        )
    if not tools["busctl"]:
        yield problem(
            "no_systemd",
            "error",
            "busctl is missing: operations cannot be started.",
            "The agent needs a host that systemd runs.",
        )
    elif not bus:
        yield problem(
            "no_dbus",
            "error",
            f"There is no {BUS}: the agent cannot reach systemd, so no operation can be started.",
            "Install the package dbus (or dbus-broker) and start it: systemctl start dbus.socket",
        )


def _facts_problems(host: LocalHost, facts: dict[str, Any] | None) -> Iterable[Problem]:
    if facts is None:
        return
    for array in facts["arrays"]:
        trouble = array_state.trouble_of(array)
        if array["guests_volume"]:
            trouble = array_state.guests_array(array["name"], array["guests_volume"])
        if trouble is not None:
            far = array_state.how_far(array) if trouble.code == "array_recovering" else ""
            yield problem(
                trouble.code,
                trouble.severity,
                f"{trouble.message}{': ' if far else ''}{far}.",
                trouble.correction,
                subject=array["name"],
            )
    yield from _group_problems(facts)
    yield from recovery.recovery_problems(facts, users.resting(host, facts["lvs"]))
    yield from orphan_devices.orphan_problems(facts)
    yield from _split_vgs(facts)
    yield from guest_lvm_exposure.of_facts(host, facts)
    yield from bcache_by_hand.bcache_problems(host, facts)
    yield from writeback.writeback_facts(host, facts)


ALLOCATIONS = {
    "contiguous": "a new volume, a cache or a moved volume needs free space in one piece, and a "
    "volume cannot be extended.",
    "cling": "a volume can be extended only on the disk where it ends.",
    "cling_by_tags": "a volume can be extended only on the disk where it ends.",
}


def _group_problems(facts: dict[str, Any]) -> Iterable[Problem]:
    """What keeps the panel from using a group, or soon will."""
    own = [vg for vg in facts["vgs"] if vg["uuid"] not in facts["guests"]]
    for vg in own:
        others = [each for each in own if each["name"] == vg["name"] and each is not vg]
        if vg["uuid"] in facts["named"] and others:
            yield problem(
                "two_groups_named",
                "error",
                f"{len(others) + 1} volume groups are named {vg['name']}: LVM takes no command by "
                "this name.",
                f"Find out whose disk the other one ({others[0]['uuid']}) lies on: pvs -o "
                "+vg_uuid. If a guest has that disk, keep LVM away from it (global_filter in "
                "/etc/lvm/lvm.conf); only if the group is the host's: vgrename "
                f"{others[0]['uuid']} NEWNAME",
                subject=vg["name"],
            )
    for vg in facts["vgs"]:
        obstacle = activation.state_of(facts, vg["uuid"]).obstacle_to_changes
        if vg["sharing"] and not vg["alone"]:
            permission = f"{policy.AGENT} allow-vg {vg['name']} --alone"
            if vg["exported"]:
                permission = f"vgimport {shlex.quote(vg['name'])}"
            yield problem(
                "vg_shared",
                "warning",
                f"Other machines may use {vg['name']} too: {'; '.join(vg['sharing'])}. Tiercel "
                "changes nothing there.",
                f"If no other machine ever uses it, as root on the host: {permission}",
                subject=vg["name"],
            )
        if vg["allowed"] and vg["allocation"] in ALLOCATIONS:
            yield problem(
                "vg_allocation",
                "info",
                f"{vg['name']} has the allocation policy {vg['allocation']}: "
                f"{ALLOCATIONS[vg['allocation']]}",
                obstacle
                or "If nothing needs it, as root on the host: vgchange --alloc normal "
                f"{vg['name']}",
            )
    for pv in facts["pvs"]:
        if pv["vg_uuid"] and not pv["allocatable"] and not pv["missing"]:
            obstacle = activation.state_of(facts, pv["vg_uuid"]).obstacle_to_changes
            yield problem(
                "pv_not_allocatable",
                "info",
                f"{pv['name']} of {pv['vg_name']} takes no new volumes: its "
                f"{pv['unusable_bytes'] // MIB} MiB free are not counted.",
                obstacle or f"To use it again: pvchange -xy /dev/{pv['name']}",
            )


def _split_vgs(facts: dict[str, Any]) -> Iterable[Problem]:
    tiers: dict[str, set[str]] = {vg["uuid"]: set() for vg in facts["vgs"]}
    for pv in facts["pvs"]:
        if pv["vg_uuid"] in tiers:
            tiers[pv["vg_uuid"]].add(pv["tier"])
    every = set().union(*tiers.values()) if tiers else set()
    if every == {"fast", "slow"} and not any(
        tiers_of_vg == every for tiers_of_vg in tiers.values()
    ):
        yield problem(
            "split_vgs",
            "warning",
            "SSD and HDD are in different VGs: a cache and its volume must lie in one VG.",
            "Add an SSD to the HDDs' VG (a button on the host's page, or vgextend), or merge the "
            "VGs with vgmerge, offline.",
        )


def _os_name(release: str) -> str:
    match = re.search(r'(?m)^PRETTY_NAME="?([^"\n]*)', release)
    return match.group(1) if match else ""


def _module(host: LocalHost, kernel: str, name: str, file: str) -> bool:
    """Loaded, built in, or there to be loaded."""
    if host.exists(f"/sys/module/{name}"):
        return True
    for listing in ("modules.dep", "modules.builtin"):
        modules = text(host, f"/lib/modules/{kernel}/{listing}")
        if re.search(rf"(?m)/{re.escape(file)}\.ko", modules):
            return True
    return False
