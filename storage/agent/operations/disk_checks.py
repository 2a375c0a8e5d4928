"""Checks of disks and arrays that a person asks for: begun here, and then at work in the disk or in
the kernel. They read, change no data, and stop for whoever needs the disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..calls.refusals import Refusal
from ..facts.disk_health import kernel_name
from ..kernel import disks, smartctl
from ..kernel.local_host import LocalHost, MissingTool, TimedOut

SHORT, LONG = "short", "long"
COPIES = frozenset(("raid1", "raid4", "raid5", "raid6", "raid10"))


def test_disk(host: LocalHost, args: Mapping[str, Any]) -> dict[str, Any]:
    """Begin a self-test of the disk with this serial number. Raises Refusal for one that sleeps, is
    tested already, or is needed by an array that is being rebuilt."""
    target = _target(host, args["device"], args["type"])
    answer = smartctl.ask(host, target)
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
                "Wait until the array is idle: cat /proc/mdstat",
            )


def check_array(host: LocalHost, args: Mapping[str, Any]) -> dict[str, Any]:
    """Have the kernel read an array and compare its copies. Raises Refusal for one that is not
    whole, or is at work."""
    name = args["array"]
    array = disks.array(host, name) if disks.is_array(host, name) else None
    if array is None or array["uuid"] != args["uuid"]:
        raise Refusal(
            "not_found" if array is None else "stale",
            f"There is no array {name} with this uuid on the host.",
            "Read the host again: the kernel may have named it anew.",
        )
    if array["level"] not in COPIES:
        raise Refusal(
            "unsupported",
            f"{name} is {array['level']}: it has nothing to compare.",
            "Only arrays with copies or parity can be checked.",
        )
    if array["degraded_count"]:
        raise Refusal(
            "degraded",
            f"{name} is missing disks: {array['degraded_count']}.",
            f"Replace the disk first: mdadm --manage /dev/{name} --add /dev/NEW",
        )
    if array["sync_action"] != "idle":
        raise Refusal(
            "already_exists" if array["sync_action"] == "check" else "busy",
            f"{name} is at work already: {array['sync_action']}.",
            "Wait until it is idle: cat /proc/mdstat",
        )
    try:
        host.write(f"/sys/block/{name}/md/sync_action", "check")
    except OSError as error:
        raise Refusal(
            "cmd_failed",
            f"The kernel does not begin the check of {name}: {error.strerror}.",
            "Look at the last lines of `dmesg` on the host.",
        ) from None
    return {}
