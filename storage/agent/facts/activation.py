"""What keeps LVM from activating or changing volumes of a group, and what to do about that first.
Pure.

Agent and panel take their advice from here, so that neither tells root to type what LVM refuses, or
what the planner would refuse, in the state that the group is in.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class GroupState:
    """`doubles` says of each physical volume that LVM sees on several devices where it does."""

    name: str
    missing_count: int = 0
    doubles: tuple[str, ...] = ()
    is_exported: bool = False

    @property
    def obstacle_to_activation(self) -> str:
        """Why nothing of the group can be activated, with what to do; "" where nothing is in the
        way."""
        if self.doubles:
            return (
                f"LVM sees {'; '.join(self.doubles)}: it activates and changes nothing of "
                f"{self.name} until it sees only one device. Set up multipath, or exclude the "
                "others by LVM's filter or devices file."
            )
        if self.is_exported:
            return (
                f"{self.name} is exported. If no other machine uses it: "
                f"vgimport {shlex.quote(self.name)}"
            )
        return ""

    @property
    def obstacle_to_changes(self) -> str:
        """The same of changes to its volumes."""
        if self.obstacle_to_activation or not self.missing_count:
            return self.obstacle_to_activation
        return (
            f"A disk of {self.name} is missing, and LVM changes nothing of the group until it is "
            "back, or what lay on it is repaired."
        )


def how_to_activate(group: GroupState, lv_name: str, *, is_lost: bool, is_known: bool) -> str:
    """What to do about a volume that is off. `is_lost`: some of it, or of its cache, is on a
    missing disk. `is_known`: this LVM knows its type."""
    name = f"{group.name}/{lv_name}"
    if group.obstacle_to_activation:
        return group.obstacle_to_activation
    if not is_known:
        return f"LVM on this host does not know the type of {name}. Upgrade LVM."
    if is_lost:
        return (
            f"A part of {name} is on a missing disk, and LVM does not activate it without. "
            "Reconnect the disk first."
        )
    return f"lvchange -ay {shlex.quote(name)}"


def how_to_reconnect(group_name: str, back: Sequence[str]) -> str:
    """What to do about physical volumes that LVM calls missing; those that are `back` (names below
    /dev) it does not use until it is asked to."""
    never = (
        "Never run vgreduce --removemissing --force: it deletes every volume whose cache was on "
        "that disk."
    )
    if not back:
        return f"Reconnect the disk. {never}"
    devices = " ".join(shlex.quote(f"/dev/{name}") for name in back)
    return (
        f"{', '.join(back)} is there again, and LVM does not use it. If it is the disk that went: "
        f"vgextend --restoremissing {shlex.quote(group_name)} {devices}. {never}"
    )


def double(name: str, devices: Sequence[str]) -> str:
    """What LVM sees: the physical volume `name` twice, on these devices."""
    where = f" ({', '.join(devices)})" if devices else ""
    return f"the physical volume {name} twice{where}"


def state_of(facts: Mapping[str, Any], vg_uuid: str) -> GroupState:
    """Of a group in the facts of `inventory.storage`."""
    vg = next(each for each in facts["vgs"] if each["uuid"] == vg_uuid)
    doubles = tuple(
        double(pv["name"], pv["seen_on"])
        for pv in facts["pvs"]
        if pv["vg_uuid"] == vg_uuid and pv["duplicate"]
    )
    return GroupState(vg["name"], vg["missing_pv_count"], doubles, vg["exported"])
