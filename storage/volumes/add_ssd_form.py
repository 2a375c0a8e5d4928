"""The form that adds an SSD to a volume group, with its serial number typed."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError

from storage.formatting import size
from storage.inventory.facts import HostFacts
from storage.naming import AGENT_PATH
from storage.planner import Refused
from storage.planner.ssd_wish import Preparation, spares_of


class PreparationForm(forms.Form):
    """What is on offer is as of the last inventory; the host looks again."""

    device = forms.ChoiceField(label="SSD")
    vg = forms.ChoiceField(label="Volume group")
    serial = forms.CharField(
        max_length=128,
        label="Serial number",
        help_text="As printed on the drive. For an array, enter its uuid from mdadm --detail.",
    )

    def __init__(self, facts: HostFacts, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.wanted: Preparation | None = None
        self._spares = {spare.device: spare for spare in spares_of(facts)}
        self._groups = {vg.name: vg for vg in facts.vgs if vg.allowed}
        cast("forms.ChoiceField", self.fields["device"]).choices = [
            (name, f"{name} · {size(spare.size_bytes)} {spare.model}".rstrip())
            for name, spare in self._spares.items()
        ]
        cast("forms.ChoiceField", self.fields["vg"]).choices = [
            (name, name) for name in self._groups
        ]

    @property
    def refusal(self) -> Refused | None:
        """Why no SSD can be added now; None where one can."""
        if not self._groups:
            return Refused(
                "observe_only",
                "Root on the host has not allowed any volume group.",
                f"As root on the host: {AGENT_PATH} allow-vg NAME",
            )
        if not self._spares:
            return Refused(
                "not_found",
                "No unused SSD found on this host.",
                "Install an SSD, or create an array of two with mdadm. Then refresh the host. An "
                "SSD without a serial number is not listed.",
            )
        return None

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if self.errors:
            return data
        spare, group = self._spares[data["device"]], self._groups[data["vg"]]
        if data["serial"] != spare.serial:
            error = ValidationError(
                f"This is not the serial number of {spare.device}.", code="wrong_serial"
            )
            self.add_error("serial", error)
        else:
            self.wanted = Preparation(spare.device, spare.serial, group.uuid, group.name)
        return data
