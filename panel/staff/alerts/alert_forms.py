"""Forms of alerts: acknowledge and silence."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final, cast

from django import forms
from django.db.models import QuerySet

from panel.deliveries.alerts.alert_texts import KINDS_BY_SUBJECT
from panel.lists.named_choice import NamedChoiceField
from storage.database_clock import database_now
from storage.models import Host, Volume
from storage.name_validators import demand_plain

REASON_LIMIT: Final = 200
HOURS: Final = (
    ("1", "1 hour"),
    ("4", "4 hours"),
    ("12", "12 hours"),
    ("24", "1 day"),
    ("72", "3 days"),
    ("168", "1 week"),
    ("720", "30 days"),
)
NO_REASON: Final = "Give the reason."


def _end(hours: str) -> datetime:
    return database_now() + timedelta(hours=int(hours))


class AcknowledgeForm(forms.Form):
    """Why the alert needs no further messages, and for how long."""

    reason = forms.CharField(
        max_length=REASON_LIMIT,
        error_messages={"required": NO_REASON},
        label="Reason",
        validators=[demand_plain],
    )
    hours = forms.ChoiceField(
        choices=(("", "Until it is resolved"), *HOURS), required=False, label="For"
    )

    @property
    def until(self) -> datetime | None:
        hours = self.cleaned_data["hours"]
        return _end(hours) if hours else None


class SilenceForm(forms.Form):
    """Which alerts are muted, why, and for how long. A silence needs an end."""

    host = NamedChoiceField("hosts", required=False, help_text="Empty for all hosts.")
    volume = forms.CharField(
        max_length=200, required=False, help_text="Label or key. Empty for all volumes."
    )
    code = forms.ChoiceField(
        choices=(("", "All kinds"), *KINDS_BY_SUBJECT), required=False, label="Kind"
    )
    reason = forms.CharField(
        max_length=REASON_LIMIT, error_messages={"required": NO_REASON}, validators=[demand_plain]
    )
    hours = forms.ChoiceField(choices=HOURS, label="For", initial="4")

    def __init__(
        self, *args: Any, hosts: QuerySet[Host], volumes: QuerySet[Volume], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        cast("NamedChoiceField", self.fields["host"]).queryset = hosts
        self.volumes = volumes

    def clean_volume(self) -> Volume | None:
        """The volume with this key or label."""
        text = self.cleaned_data["volume"].strip()
        if not text:
            return None
        keyed = self.volumes.filter(key=text).first()
        named = list(self.volumes.filter(label=text)[:2]) if keyed is None else [keyed]
        if len(named) == 1:
            return named[0]
        if named:
            raise forms.ValidationError("Several volumes have this label. Enter the key.")
        raise forms.ValidationError(f"There is no volume “{text}”.")

    def clean(self) -> dict[str, Any]:
        """Require a term: a silence of everything would mute the whole panel."""
        data = self.cleaned_data
        if not self.errors and not (data.get("host") or data.get("volume") or data.get("code")):
            raise forms.ValidationError("Choose a host, a volume or a kind.")
        return data

    @property
    def until(self) -> datetime:
        return _end(self.cleaned_data["hours"])
