"""What each disk says of its own health, and checks of disks and arrays that a person asks for.

Disks are asked through smartctl where it is installed: seldom, and apart from samples, because a
disk that does not answer costs its own figures alone. Beside each answer stands what the kernel had
written to the disk by then, so that the panel can prove in which unit the disk counts. A check is
begun here, and is then at work in the disk or in the kernel: it reads, changes no data, and yields
to other I/O.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from ..calls.refusals import Refusal
from ..kernel import array_state, disks, dm, smartctl
from ..kernel.diskstats import diskstats
from ..kernel.local_host import LocalHost, MissingTool, TimedOut
from ..state.policy import check_any, load_policy

# All disks together; of a host with more than answer in this time others are asked next time.
TOTAL_SECONDS = 120.0
SECTORS_WRITTEN = 6
SHORT, LONG = "short", "long"
UNASKED = smartctl.SmartAnswer("unasked", "it is there, and its turn to be read comes later")


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
    end_ns = host.boottime_ns() + int(TOTAL_SECONDS * 1e9)
    targets = tuple(target for target in targets if not _is_empty_drive(host, target))
    named = targets[: smartctl.LISTED_LIMIT]
    listed = []
    for n, target in enumerate(_turned(named, host.wall_ns())):
        has_time = n < smartctl.DISKS_LIMIT and host.boottime_ns() < end_ns
        listed.append(_disk(host, target) if has_time else _answer(host, target, UNASKED))
    message = ""
    if len(targets) > len(named):
        message = f"The host has {len(targets)} disks, and only {len(named)} are listed."
    return _reply(True, version, listed, message)


def _is_empty_drive(host: LocalHost, target: smartctl.SmartTarget) -> bool:
    """A drive without a medium in it, such as a server's management offers: it has no health."""
    name = kernel_name(host, target)
    if not name:
        return False
    here = f"/sys/block/{name}"
    return (dm.text(host, f"{here}/removable"), dm.text(host, f"{here}/size")) == ("1", "0")


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
    answer = smartctl.ask_disk(host, target)
    counters = diskstats(dm.text(host, "/proc/diskstats")).get(kernel_name(host, target))
    written = None if counters is None else counters[SECTORS_WRITTEN]
    return _answer(host, target, answer) | {"sectors_written": written}


def _answer(
    host: LocalHost, target: smartctl.SmartTarget, answer: smartctl.SmartAnswer
) -> dict[str, Any]:
    return {
        "device": target.device,
        "type": target.type,
        "name": kernel_name(host, target),
        "state": answer.state,
        "message": answer.message,
        "exit_status": answer.exit_status,
        "sectors_written": None,
        "health": answer.health,
    }


def kernel_name(host: LocalHost, target: smartctl.SmartTarget) -> str:
    """The kernel's name of the disk that was asked; "" where a controller hides it. An NVMe
    controller is named by its only namespace."""
    name = target.device.rpartition("/")[2]
    # "megaraid,3" is one of many disks at that device; "sat,auto" and "sntjmicron" are the device.
    if "," in target.type and not target.type.startswith("sat,"):
        return ""
    if host.exists(f"/sys/block/{name}"):
        return name
    spaces = _namespaces(host, name) if name.startswith("nvme") else []
    return spaces[0] if len(spaces) == 1 else ""


def _namespaces(host: LocalHost, controller: str) -> list[str]:
    """Those of an NVMe controller. With native multipath, the default, a namespace has the number
    of its subsystem, which says nothing of the controller's: their qualified name does. Kernels
    that know none have no multipath."""
    every = [each for each in host.list("/sys/block") if re.fullmatch(r"nvme\d+n\d+", each)]
    subsystem = dm.text(host, f"/sys/class/nvme/{controller}/subsysnqn")
    if not subsystem:
        return [each for each in every if each.startswith(f"{controller}n")]
    return [
        each for each in every if dm.text(host, f"/sys/block/{each}/device/subsysnqn") == subsystem
    ]


def test_disk(host: LocalHost, args: Mapping[str, Any]) -> dict[str, Any]:
    """Begin a self-test of the disk with this serial number. Raises Refusal for one that sleeps, is
    tested already, or is needed by an array that is being rebuilt."""
    check_any(load_policy(host))
    target = _target(host, args["device"], args["type"])
    answer = smartctl.ask_disk(host, target)
    if answer.state == "standby":
        raise Refusal(
            "busy",
            f"{target.device} is asleep, and a test would wake it.",
            "Test it while it is in use.",
        )
    if answer.health is None:
        raise Refusal(
            "cmd_failed",
            f"{target.device} cannot be read: {answer.message}.",
            f"On the host, run: smartctl -x {target.device}",
        )
    if args["serial"] not in (answer.health["serial"], answer.health["wwn"]):
        raise Refusal(
            "stale",
            f"{target.device} is another disk now: its serial number is "
            f"{answer.health['serial'] or '(none)'}.",
            "Wait for the next reading of the host's disks.",
        )
    if answer.health["running_test"] is not None:
        raise Refusal(
            "already_exists",
            f"A self-test of {target.device} is running.",
            "Wait until it has ended.",
        )
    _check_not_rebuilding(host, kernel_name(host, target))
    why = smartctl.begin_test(host, target, args["kind"])
    if why:
        raise Refusal(
            "unsupported",
            f"The self-test of {target.device} did not begin: {why}",
            "Some disks, and NVMe disks before smartmontools 7.4, cannot be tested this way.",
        )
    return {"minutes": answer.health["test_minutes"][args["kind"]]}


def _target(host: LocalHost, device: str, kind: str) -> smartctl.SmartTarget:
    """Only what smartctl itself finds is ever named to it."""
    try:
        targets, _ = smartctl.scan(host)
    except MissingTool:
        raise Refusal(
            "missing_tool",
            "smartctl is not installed on this host.",
            "Install the package smartmontools.",
        ) from None
    except TimedOut:
        raise Refusal(
            "timeout", "smartctl --scan did not end in time.", "Look at dmesg on the host."
        ) from None
    wanted = smartctl.SmartTarget(device, kind)
    if wanted not in targets:
        raise Refusal(
            "not_found",
            f"smartctl does not find {device} on this host.",
            "Wait for the next reading of the host's disks.",
        )
    return wanted


def _check_not_rebuilding(host: LocalHost, name: str) -> None:
    for array in disks.arrays(host):
        members = {disks.whole(host, member["name"]) for member in array["members"]}
        if name in members and array["sync_action"] != "idle":
            raise Refusal(
                "busy",
                f"{array['name']} is at work on {name}: {array['sync_action']}.",
                array_state.wait_for(array),
            )


def check_array(host: LocalHost, args: Mapping[str, Any]) -> dict[str, Any]:
    """Have the kernel read an array and compare its copies. Raises Refusal for one that is not
    whole, or is at work."""
    check_any(load_policy(host))
    name = args["array"]
    array = disks.array(host, name) if disks.is_array(host, name) else None
    if array is None or array["uuid"] != args["uuid"]:
        raise Refusal(
            "not_found" if array is None else "stale",
            f"There is no array {name} with this uuid on the host.",
            "Read the host again: the kernel may have named it anew.",
        )
    if disks.stands_on(host, name, {device.kname for device in dm.dm_devices(host)}):
        raise Refusal(
            "in_use",
            f"{name} lies on a logical volume: it is a guest's.",
            f"As root on the host stop it: mdadm --stop /dev/{name}",
        )
    if array["level"] not in disks.COPIES:
        raise Refusal(
            "unsupported",
            f"{name} is {array['level']}: it has nothing to compare.",
            "Only arrays with copies or parity can be checked.",
        )
    trouble = array_state.trouble_of(array)
    if trouble is not None and trouble.code != "array_recovering":
        raise Refusal("degraded", f"{trouble.message}.", trouble.correction)
    if array["sync_action"] != "idle":
        raise Refusal(
            "already_exists" if array["sync_action"] == "check" else "busy",
            f"{name} is at work already: {array['sync_action']}.",
            array_state.wait_for(array),
        )
    try:
        # After an interrupted check the kernel would compare the rest only.
        host.write(f"/sys/block/{name}/md/sync_min", "0")
        host.write(f"/sys/block/{name}/md/sync_action", "check")
    except OSError as error:
        raise Refusal(
            "cmd_failed",
            f"The kernel does not begin the check of {name}: {error.strerror}.",
            "Look at the last lines of `dmesg` on the host.",
        ) from None
    return {}
