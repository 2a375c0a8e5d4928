"""What can be done with a host's empty disks, and the wish for one of them, or an error at the
choice that is wrong. As of the last inventory: the host looks again. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from django.core.exceptions import ValidationError

from storage.inventory.facts import Array, Disk, HostFacts
from storage.naming import AGENT_PATH
from storage.planner import Refused
from storage.planner.host_wish import HostWish
from storage.planner.member_wish import (
    Replacement,
    disks_for,
    group_on,
    member_serial,
    members_to_replace,
    refusal_of,
)
from storage.planner.ssd_wish import Preparation, Spare, spares_of


@dataclass(frozen=True, slots=True)
class DiskOffer:
    """Empty `disks` by name, and the `places` that one of them can take, with their labels: a
    volume group, or a member of an array. Without places there is only one. `refusal` is why
    nothing can be chosen now."""

    place: Literal["vg", "member"]
    disks: Mapping[str, Disk | Spare]
    places: Mapping[str, str]
    refusal: Refused | None
    build: Callable[[Disk | Spare, str], HostWish]

    def wish(self, device: str, serial: str, place: str) -> HostWish:
        """What is chosen, with the serial number typed, so that no one takes the wrong drive;
        raises Django's `ValidationError`, with the names of the choices."""
        errors, disk = {}, self.disks.get(device)
        if disk is None:
            errors["device"] = ValidationError("Select a valid choice.", code="invalid_choice")
        elif serial != disk.serial:
            text = f"This is not the serial number of {device}."
            errors["serial"] = ValidationError(text, code="wrong_serial")
        if self.places and not place:
            errors[self.place] = ValidationError("This field is required.", code="required")
        elif self.places and place not in self.places:
            errors[self.place] = ValidationError("Select a valid choice.", code="invalid_choice")
        if disk is None or errors:
            raise ValidationError(errors)
        return self.build(disk, place)


def preparations(facts: HostFacts) -> DiskOffer:
    """SSDs for the volume groups that root allows Tiercel to change."""
    groups = {vg.name: vg for vg in facts.vgs if vg.allowed}
    spares = {spare.name: spare for spare in spares_of(facts)}

    def build(spare: Disk | Spare, vg: str) -> HostWish:
        return Preparation(spare.name, spare.serial, groups[vg].uuid, vg)

    refusal = None
    if not groups:
        refusal = Refused(
            "observe_only",
            "Root on the host has not allowed any volume group.",
            f"As root on the host: {AGENT_PATH} allow-vg NAME",
        )
    elif not spares:
        refusal = Refused(
            "not_found",
            "No unused SSD found on this host.",
            "Install an SSD, or create an array of two with mdadm. Then refresh the host. An "
            "SSD without a serial number is not listed.",
        )
    return DiskOffer("vg", spares, {name: name for name in groups}, refusal, build)


def replacements(facts: HostFacts, array: Array, *, allowed: bool | None) -> DiskOffer:
    """Disks for an array. Where it is missing one, that place is filled, and no member is named.
    `allowed` as in `refusal_of`."""
    group = group_on(facts, array)

    def build(disk: Disk | Spare, member: str) -> HostWish:
        if group is None:
            raise ValueError("an array without a group is refused")
        return Replacement(
            array.name,
            array.uuid,
            member,
            disk.name,
            disk.serial,
            group.uuid,
            group.name,
            member_serial(facts, member),
        )

    members = {
        each.name: f"{each.name} ({member_serial(facts, each.name)}, {each.state})"
        for each in members_to_replace(array)
    }
    disks = {disk.name: disk for disk in disks_for(facts, array)}
    return DiskOffer("member", disks, members, refusal_of(facts, array, allowed=allowed), build)
