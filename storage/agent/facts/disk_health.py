"""What each disk says of its own health, asked through smartctl where it is installed.

Seldom, and apart from samples: a disk that does not answer costs its own figures alone. Beside each
answer stands what the kernel had written to the disk by then, so that the panel can prove in which
unit the disk counts.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from ..kernel import dm, smartctl
from ..kernel.local_host import LocalHost, MissingTool, TimedOut
from .counter_sample import diskstats

# All disks together; a host with more than answer in this time has the rest asked first next time.
TOTAL_SECONDS = 120.0
SECTORS_WRITTEN = 6


def smart(host: LocalHost) -> dict[str, Any]:
    """`installed` is False without smartctl, which is no error."""
    try:
        targets, version = smartctl.scan(host)
    except MissingTool:
        return _reply(False)
    except TimedOut:
        return _reply(True, message="smartctl --scan did not end in time.")
    if not version:
        old = "This smartctl prints no JSON: smartmontools 7.0 or newer is needed."
        return _reply(True, message=old)
    listed, late_count = [], 0
    end_ns = host.boottime_ns() + int(TOTAL_SECONDS * 1e9)
    for target in _turned(targets, host.wall_ns()):
        if host.boottime_ns() >= end_ns:
            late_count += 1
            continue
        listed.append(_disk(host, target))
    message = f"There was no time for {late_count} disks." if late_count else ""
    return _reply(True, version, listed, message)


def _reply(
    installed: bool,
    version: str = "",
    listed: Sequence[Mapping[str, Any]] = (),
    message: str = "",
) -> dict[str, Any]:
    return {
        "installed": installed,
        "version": version,
        "message": message,
        "disks": sorted(listed, key=lambda disk: (disk["device"], disk["type"])),
    }


def _turned(
    targets: Sequence[smartctl.SmartTarget], wall_ns: int
) -> Sequence[smartctl.SmartTarget]:
    """Another one first each time, so that slow disks do not always cost the same others. The
    panel asks in a steady rhythm, which may be one of the number of disks as well."""
    minute = b"%d" % (wall_ns // 60_000_000_000)
    first = zlib.crc32(minute) % len(targets) if targets else 0
    return [*targets[first:], *targets[:first]]


def _disk(host: LocalHost, target: smartctl.SmartTarget) -> dict[str, Any]:
    kname = kernel_name(host, target)
    answer = smartctl.ask(host, target)
    counters = diskstats(dm.text(host, "/proc/diskstats")).get(kname)
    return {
        "device": target.device,
        "type": target.type,
        "name": kname,
        "state": answer.state,
        "message": answer.message,
        "exit_status": answer.exit_status,
        "sectors_written": None if counters is None else counters[SECTORS_WRITTEN],
        "health": answer.health,
    }


def kernel_name(host: LocalHost, target: smartctl.SmartTarget) -> str:
    """The kernel's name of the disk that was asked; "" where a controller hides it. An NVMe
    controller is named by its only namespace."""
    name = target.device.rpartition("/")[2]
    if (target.type and not target.type.startswith(("nvme", "sat"))) or "," in target.type:
        return ""
    if host.exists(f"/sys/block/{name}"):
        return name
    spaces = [each for each in host.list("/sys/block") if each.startswith(f"{name}n")]
    return spaces[0] if name.startswith("nvme") and len(spaces) == 1 else ""
