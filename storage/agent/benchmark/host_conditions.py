"""What makes two runs comparable, as far as the host knows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..facts import program_versions
from ..kernel import bcache_sysfs, disks
from ..kernel.dm import text
from ..kernel.local_host import LocalHost, TimedOut
from .scratch import Args, cset_uuid

CPU = "/sys/devices/system/cpu"
_QUEUE = ("scheduler", "nr_requests", "read_ahead_kb", "rotational", "write_cache")
_CSET = ("congested_read_threshold_us", "congested_write_threshold_us")


def gather_conditions(
    host: LocalHost, args: Args, under: Mapping[str, Iterable[str]]
) -> dict[str, Any]:
    """`under` are the disks below the slow and the fast devices ("slow", "fast")."""
    return {
        "kernel": {
            "release": text(host, "/proc/sys/kernel/osrelease"),
            "version": text(host, "/proc/sys/kernel/version"),
        },
        "boot_id": text(host, "/proc/sys/kernel/random/boot_id"),
        "versions": {
            "lvm2": _version(host, "lvm"),
            "bcache_tools": program_versions.package(host, "bcache-tools"),
            "fio": program_versions.fio(host),
        },
        "cpu": {
            "model": _cpu_model(host),
            "count": len([n for n in host.list(CPU) if re.fullmatch(r"cpu\d+", n)]),
            "governor": text(host, f"{CPU}/cpu0/cpufreq/scaling_governor"),
            "mitigations": {
                name: text(host, f"{CPU}/vulnerabilities/{name}")
                for name in host.list(f"{CPU}/vulnerabilities")
            },
        },
        "memory_kib": _memory_kib(host),
        "disks": [
            _disk(host, name, tier) for tier, names in under.items() for name in sorted(names)
        ],
        "arrays": [
            _array(host, name, tier)
            for tier in ("slow", "fast")
            for name in args.get(f"{tier}_pvs", ())
            if disks.is_array(host, name)
        ],
    }


def cache_settings(host: LocalHost, args: Args) -> dict[str, str]:
    """Of a cache set, as the kernel reads them back; {} without one."""
    here = f"{bcache_sysfs.FS}/{cset_uuid(args['key'])}"
    return {name: value for name in _CSET if (value := text(host, f"{here}/{name}"))}


def _version(host: LocalHost, program: str) -> str:
    try:
        return program_versions.read_version(host, program)
    except TimedOut:
        return ""


def _cpu_model(host: LocalHost) -> str:
    match = re.search(r"(?m)^model name\s*:\s*(.+)$", text(host, "/proc/cpuinfo"))
    return match.group(1) if match else ""


def _memory_kib(host: LocalHost) -> int:
    match = re.search(r"(?m)^MemTotal:\s*(\d+) kB$", text(host, "/proc/meminfo"))
    return int(match.group(1)) if match else 0


def _disk(host: LocalHost, name: str, tier: str) -> dict[str, Any]:
    here = f"/sys/block/{name}"
    queue = {key: text(host, f"{here}/queue/{key}") for key in _QUEUE}
    size = text(host, f"{here}/size")
    return {
        "name": name,
        "tier": tier,
        "model": text(host, f"{here}/device/model"),
        "firmware": text(host, f"{here}/device/rev") or text(host, f"{here}/device/firmware_rev"),
        "size_bytes": int(size) * 512 if size.isdecimal() else 0,
        **{**queue, "scheduler": bcache_sysfs.chosen(queue["scheduler"])},
    }


def _array(host: LocalHost, name: str, tier: str) -> dict[str, Any]:
    here = f"/sys/block/{name}/md"
    keys = ("level", "raid_disks", "chunk_size", "degraded", "sync_action")
    return {"name": name, "tier": tier, **{key: text(host, f"{here}/{key}") for key in keys}}
