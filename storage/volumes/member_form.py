"""The form that puts a disk into an array, with its serial number typed."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError

from storage.formatting import size
from storage.inventory.facts import Array, HostFacts
from storage.planner import Refused
from storage.planner.member_wish import (
    Replacement,
    disks_for,
    group_on,
    member_serial,
    members_to_replace,
    refusal_of,
)


class NewMemberForm(forms.Form):
    """What is on offer is as of the last inventory; the host looks again. Where the array is
    missing a disk, its place is filled, and no member is named."""

    member = forms.ChoiceField(label="Disk to replace")
    device = forms.ChoiceField(label="New disk")
    serial = forms.CharField(
        max_length=128,
        label="Serial number of the new disk",
        help_text="As printed on the drive.",
    )

    def __init__(
        self, facts: HostFacts, array: Array, allowed: bool | None, *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.wanted: Replacement | None = None
        self._array, self._group = array, group_on(facts, array)
        self.refusal: Refused | None = refusal_of(facts, array, allowed=allowed)
        self._facts = facts
        self._disks = {disk.name: disk for disk in disks_for(facts, array)}
        members = members_to_replace(array)
        if members:
            cast("forms.ChoiceField", self.fields["member"]).choices = [
                (
                    member.name,
                    f"{member.name} ({member_serial(facts, member.name)}, {member.state})",
                )
                for member in members
            ]
        else:
            del self.fields["member"]
        cast("forms.ChoiceField", self.fields["device"]).choices = [
            (name, f"{name} · {size(disk.size_bytes)} {disk.model}".rstrip())
            for name, disk in self._disks.items()
        ]

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if self.errors or self._group is None:
            return data
        disk = self._disks[data["device"]]
        if data["serial"] != disk.serial:
            error = ValidationError(
                f"This is not the serial number of {disk.name}.", code="wrong_serial"
            )
            self.add_error("serial", error)
        else:
            self.wanted = Replacement(
                self._array.name,
                self._array.uuid,
                data.get("member", ""),
                disk.name,
                disk.serial,
                self._group.uuid,
                self._group.name,
                member_serial(self._facts, data.get("member", "")),
            )
        return data
