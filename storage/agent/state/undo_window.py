"""The undo window: how long a retired volume can still be restored.

The tag on the volume has the time of the host's wall clock, which may have been wrong then, or may
be wrong now. So the host also records the start of the retirement by the monotonic clock, and the
window is over only if both clocks say so.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from ..calls import names
from ..calls.refusals import Refusal
from ..commands.retirement import Retired, is_retired
from ..facts.view import Facts
from ..kernel.dm import text
from ..kernel.local_host import LocalHost
from .policy import AGENT, PATH, Policy

HOUR = 3600
RETIREMENTS = "/var/lib/tiercel/retired.json"
BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Since(NamedTuple):
    """When a retirement began: seconds of CLOCK_BOOTTIME in the boot `boot_id`."""

    boot_id: str
    boottime_s: int


def over(host: LocalHost, policy: Policy, marks: Retired, lv_uuid: str, subject: str) -> None:
    """Raises Refusal(too_early) while the window that root set is open by either clock. A mark from
    the future keeps it open: the clock was set back, or the mark is forged. Over a restart of
    the host only the wall clock counts on; the panel keeps the time by its database too."""
    since = _load(host).get(lv_uuid)
    if since is None and policy.undo_hours:
        raise Refusal(
            "too_early",
            f"This host did not note by its boot clock when {marks.name} was retired.",
            f"As root on the host run: {AGENT} boot. The window of {policy.undo_hours} h counts "
            "from then.",
            subject=subject,
        )
    age = _age(host, marks, since)
    left_seconds = policy.undo_hours * HOUR - age
    if age < 0 or left_seconds > 0:
        hours = max(1, -(-left_seconds // HOUR))
        raise Refusal(
            "too_early",
            f"The volume {marks.name} was retired {max(0, age) // HOUR} h ago; this host keeps "
            f"retired volumes for {policy.undo_hours} h.",
            f"Try again in {hours} h, or restore the volume. Root sets undo_hours in {PATH}.",
            subject=subject,
        )


def is_fresh(host: LocalHost, marks: Retired, lv_uuid: str) -> bool:
    """Whether the retirement began within the hour, by both clocks."""
    since = _load(host).get(lv_uuid)
    if since is None:
        return False
    wall = host.wall_ns() // 1_000_000_000 - marks.at
    return wall <= HOUR and since.boot_id == text(host, BOOT_ID) and _waited(host, since) <= HOUR


def note_retirement(host: LocalHost, lv_uuid: str, facts: Facts) -> None:
    """The retirement of a volume begins now. Raises Refusal or OSError: then it must not begin."""
    _save(host, {**_load(host), lv_uuid: _now(host)}, facts)


def note_all(host: LocalHost, facts: Facts) -> list[str]:
    """The window of each retired volume that has no note begins now. Returns a sentence each;
    raises Refusal or OSError."""
    known = _load(host)
    new = [lv for lv in facts["lvs"] if is_retired(lv["tags"]) and lv["uuid"] not in known]
    if new:
        _save(host, {**known, **{lv["uuid"]: _now(host) for lv in new}}, facts)
    return [f"The undo window of {lv['vg_name']}/{lv['name']} counts from now." for lv in new]


def _age(host: LocalHost, marks: Retired, since: Since | None) -> int:
    """Seconds since the retirement, by the clock that says less."""
    wall = host.wall_ns() // 1_000_000_000 - marks.at
    in_this_boot = since is not None and since.boot_id == text(host, BOOT_ID)
    return min(wall, _waited(host, since)) if since and in_this_boot else wall


def _waited(host: LocalHost, since: Since) -> int:
    return host.boottime_ns() // 1_000_000_000 - since.boottime_s


def _now(host: LocalHost) -> Since:
    return Since(text(host, BOOT_ID), host.boottime_ns() // 1_000_000_000)


def _load(host: LocalHost) -> dict[str, Since]:
    """By uuid of the LV. Raises Refusal(unsupported) for a file that is there and cannot be
    understood."""
    data = host.read(RETIREMENTS)
    if data is None and not host.exists(RETIREMENTS):
        return {}
    try:
        document = json.loads((data or b"").decode("utf-8"))
        return {
            names.lvm_uuid(lv_uuid): Since(names.uuid(each["boot_id"]), _seconds(each))
            for lv_uuid, each in document.items()
        }
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise Refusal(
            "unsupported",
            f"{RETIREMENTS} cannot be used: {error}.",
            f"Move the file away and run as root: {AGENT} boot. The undo windows of all retired "
            "volumes count from then.",
        ) from None


def _seconds(each: dict[str, object]) -> int:
    return names.integer(0, 1 << 40)(each["boottime_s"])


def _save(host: LocalHost, noted: dict[str, Since], facts: Facts) -> None:
    """Without volumes that are gone, where every group is whole and none is left out."""
    left_out = facts["guests"] or facts["unsound"]
    whole = not left_out and not any(vg["missing_pv_count"] for vg in facts["vgs"])
    lv_uuids = {lv["uuid"] for lv in facts["lvs"]}
    kept = {uuid: each._asdict() for uuid, each in noted.items() if uuid in lv_uuids or not whole}
    host.save(RETIREMENTS, json.dumps(kept, indent=1).encode() + b"\n")
