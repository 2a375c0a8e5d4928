"""What is wrong with an md array, and what to do about it: in one place for agent and panel. Pure.

What the kernel does not say is not well: an array that is not started has no `degraded` file, and
one that lost more disks than it can may call itself clean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .disks import has_failed

WORKING_STATES = frozenset(("clean", "active", "active-idle", "write-pending", "read-auto"))
"""Of `array_state`: data can be read, and written now or at the first write."""
NO_ARRAY = frozenset(("clear", ""))
"""A name that has been opened, and no array behind it."""
STOPPED = "inactive"
LOSABLE: Mapping[str, int] = {"raid4": 1, "raid5": 1, "raid6": 2, "raid10": 1}
"""How many members an array may lose, whichever they are; of raid1 all but one."""
WITHOUT_COPIES = frozenset(("raid0", "linear"))
REBUILDING = ("recover", "resync")
IDLE = ("idle", "")
GUESTS = "guest_array"
"""The trouble with an array that is none of the host's."""


@dataclass(frozen=True)
class ArrayTrouble:
    """`message` is a sentence without its full stop, for what a caller may know of progress."""

    code: str
    severity: str
    message: str
    correction: str


def may_lose(level: str, disk_count: int | None) -> int:
    """How many members the array may lose in all before data is lost."""
    if level == "raid1":
        return max(0, (disk_count or 2) - 1)
    return LOSABLE.get(level, 0)


def is_container(level: str, state: str) -> bool:
    """Firmware's RAID (imsm, ddf): what holds the metadata of arrays is always inactive."""
    return level == "container" or (level == "" and state in NO_ARRAY)


def is_failed(array: Mapping[str, Any]) -> bool:
    """More members are gone than the array can lose."""
    if array["state"] == "broken":
        return True
    level, missing = array["level"], array["degraded_count"] or 0
    if level in WITHOUT_COPIES:
        return any(has_failed(member) for member in array["members"])
    if level == "raid10":
        # Two may be gone of two pairs: the kernel stops the array where they are one pair.
        return False
    return level in ("raid1", *LOSABLE) and missing > may_lose(level, array["disk_count"])


def is_well(array: Mapping[str, Any]) -> bool:
    """All members are there, and the array takes writes. Unknown is not well."""
    return trouble_of(array) is None


def how_far(array: Mapping[str, Any]) -> str:
    """What of a rebuild or check is done, and about how long the rest takes at its present speed;
    "" where the kernel does not say."""
    done, total = array["sync_done_sectors"], array["sync_total_sectors"]
    if done is None or not total:
        return ""
    percent = f"{100 * min(done, total) // total} % is done"
    if not array["sync_speed_kib"]:
        return percent
    minutes = max(1, round(max(0, total - done) / 2 / array["sync_speed_kib"] / 60))
    left = f"{minutes} min" if minutes < 120 else f"{round(minutes / 60)} h"
    return f"{percent}, and about {left} are left at the present speed"


def wait_for(array: Mapping[str, Any]) -> str:
    """What to do about an array that is at work."""
    far = how_far(array)
    return f"Wait until it is idle{': ' if far else ''}{far}."


def trouble_of(array: Mapping[str, Any]) -> ArrayTrouble | None:
    """The worst that is wrong with the array; None where nothing is."""
    name, level, state = array["name"], array["level"], array["state"]
    members = [member["name"] for member in array["members"]]
    if is_container(level, state):
        return None
    if state == STOPPED or state in NO_ARRAY:
        return _stopped(name, level, members)
    if is_failed(array):
        return _failed(array, members)
    if array["degraded_count"]:
        return _degraded(array)
    if any(has_failed(member) and "journal" in _words(member) for member in array["members"]):
        return ArrayTrouble(
            "array_read_only",
            "error",
            f"The write journal of {name} ({level}) has failed, so the array takes no writes",
            f"With a new SSD: mdadm --manage /dev/{name} --add-journal /dev/NEW",
        )
    if state == "readonly":
        return ArrayTrouble(
            "array_read_only",
            "error",
            f"{name} ({level}) is read-only: guests on it cannot write",
            f"Look at dmesg for the reason. If root set it so: mdadm --readwrite /dev/{name}",
        )
    if state not in WORKING_STATES:
        return ArrayTrouble(
            "array_unclear",
            "warning",
            f"{name} ({level}) is in the state “{state}”, in which it may take no I/O",
            _look(array),
        )
    is_known = level in WITHOUT_COPIES or level in ("raid1", *LOSABLE)
    if (array["degraded_count"] is None and level not in WITHOUT_COPIES) or not is_known:
        return ArrayTrouble(
            "array_unclear",
            "warning",
            f"The kernel does not say whether {name} ({level or 'of unknown level'}) is missing a "
            "disk",
            _look(array),
        )
    return None


def guests_array(name: str, volume: str) -> ArrayTrouble:
    """An array that was started on the host from what a guest wrote into `volume`: whatever its
    state is, the host must not repair it."""
    return ArrayTrouble(
        GUESTS,
        "error",
        f"{name} is an array of a guest: it was started on this host from {volume}",
        f"Add no disk to it. As root on the host stop it: mdadm --stop /dev/{name}",
    )


def _words(member: Mapping[str, Any]) -> list[str]:
    return [*str(member["state"]).split(","), str(member["slot"])]


def _look(array: Mapping[str, Any]) -> str:
    far = how_far(array)
    at_work = f" It is at work ({array['sync_action']}): {far}." if far else ""
    return f"Look at it: mdadm --detail /dev/{array['name']}; dmesg.{at_work}"


def _disks(count: int) -> str:
    return "1 disk" if count == 1 else f"{count} disks"


def _stopped(name: str, level: str, members: list[str]) -> ArrayTrouble:
    # Before it is started the kernel knows the number alone.
    level = f"raid{level}" if level.isdecimal() else level or "an array"
    there = f" It has only {', '.join(members)}." if members else ""
    return ArrayTrouble(
        "array_inactive",
        "error",
        f"{name} ({level}) is not started: nothing on it can be read.{there} A member may be away",
        f"Look first: mdadm --detail /dev/{name}, and mdadm --examine for each member. Reconnect "
        "what is missing. Start it without that only if enough members have the same event count: "
        f"mdadm --run /dev/{name}",
    )


def _failed(array: Mapping[str, Any], members: list[str]) -> ArrayTrouble:
    name, level, missing = array["name"], array["level"], array["degraded_count"] or 0
    limit = may_lose(level, array["disk_count"])
    how = (
        f"it is missing {_disks(missing)} and can lose {limit}"
        if missing > limit
        else "a member is gone that it cannot do without"
    )
    examined = " ".join(f"/dev/{member}" for member in members) or "each member"
    if level in WITHOUT_COPIES:
        return ArrayTrouble(
            "array_failed",
            "error",
            f"{name} ({level}) has failed: {how}",
            "It has no second copy. Bring the disk back and start the host's array again, or "
            "restore its volumes from a backup. Write nothing to its disks.",
        )
    return ArrayTrouble(
        "array_failed",
        "error",
        f"{name} ({level}) has failed: {how}",
        "Put no disk into it now: that overwrites what the members know of the array, and only "
        f"that brings it back. Look at all members (mdadm --examine {examined}, and those that "
        f"fell out), stop it (mdadm --stop /dev/{name}), then mdadm --assemble --force with the "
        "members of the newest event counts; or restore a backup.",
    )


def _degraded(array: Mapping[str, Any]) -> ArrayTrouble:
    name, level, missing = array["name"], array["level"], array["degraded_count"]
    what = f"{name} ({level}) is missing {_disks(missing)}"
    if array["sync_action"] in REBUILDING:
        return ArrayTrouble(
            "array_recovering",
            "warning",
            f"{what} and is being rebuilt",
            "Wait until the array has recovered.",
        )
    left = may_lose(level, array["disk_count"]) - missing
    code = "array_weakened" if left > 0 else "array_degraded"
    spares = [
        member["name"]
        for member in array["members"]
        if "spare" in _words(member) and not has_failed(member)
    ]
    if spares and array["state"] in ("read-auto", "readonly"):
        how = (
            f"The spare {', '.join(spares)} is filled once the array is written to: "
            f"mdadm --readwrite /dev/{name}"
        )
    elif spares and array["sync_action"] == "frozen":
        how = (
            f"The rebuild onto {', '.join(spares)} is frozen. Unless it was stopped on purpose: "
            f"echo idle > /sys/block/{name}/md/sync_action"
        )
    elif array["state"] == "readonly":
        how = (
            f"It is read-only, and takes no disk. Look at dmesg for the reason; then "
            f"mdadm --readwrite /dev/{name}"
        )
    else:
        how = _replacement(array)
    return ArrayTrouble(code, "error", what, how)


def _replacement(array: Mapping[str, Any]) -> str:
    """A new disk, as the array takes it in its present state. Firmware's RAID takes disks into its
    container alone."""
    action = array["sync_action"]
    manage = f"mdadm --manage /dev/{array['container'] or array['name']}"
    is_taken = not array["container"] and any(has_failed(member) for member in array["members"])
    removed = f"{manage} --remove failed; " if is_taken else ""
    replaced = f"{removed}{manage} --add /dev/NEW"
    if action == "frozen":
        return (
            f"Replace the disk: {replaced}. The array is frozen, and fills no disk before: "
            f"echo idle > /sys/block/{array['name']}/md/sync_action"
        )
    if action not in IDLE:
        return f"Wait until it is idle ({action}). Then replace the disk: {replaced}"
    return f"Replace the disk: {replaced}"
