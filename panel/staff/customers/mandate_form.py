"""A customer's payment authorisation as staff write it where no billing system does."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator

from panel.models import Mandate
from storage.money import BadAmount, major_of, minor_of

CAPS = (("cap_charge", "cap_charge_minor"), ("cap_period", "cap_period_minor"))
"""Fields in major units, and the columns in minor ones."""


class MandateForm(forms.ModelForm):  # type: ignore[type-arg]
    """Caps in major units of the currency and a time in UTC; an empty field is "unknown"."""

    currency = forms.CharField(
        max_length=3,
        validators=[RegexValidator("^[A-Z]{3}$", "Enter three capital letters, for example EUR.")],
        help_text="For example EUR. This authorisation does not cover plans in another currency.",
    )
    cap_charge = forms.CharField(
        max_length=20,
        required=False,
        label="Limit per charge",
        help_text="For example 20.00. Leave empty if unknown: paid orders are then rejected.",
    )
    cap_period = forms.CharField(
        max_length=20,
        required=False,
        label="Limit per calendar month",
        help_text=(
            "For example 50.00, for all charges together. Leave empty if unknown: paid orders are "
            "then rejected."
        ),
    )
    earliest_next_at = forms.DateTimeField(
        required=False,
        label="No charges before (UTC)",
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        help_text=(
            "A past time allows charges at once. Leave empty if unknown: paid orders are then "
            "rejected."
        ),
    )

    class Meta:
        model = Mandate
        fields = ("currency", "earliest_next_at")

    field_order = ("currency", "cap_charge", "cap_period", "earliest_next_at")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, column in CAPS:
            minor = getattr(self.instance, column)
            if minor is not None:
                self.initial[name] = major_of(minor, self.instance.currency)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        for name, column in CAPS:
            if "currency" in data and name in data:
                setattr(self.instance, column, self._minor(name, data[name], data["currency"]))
        return data

    def _minor(self, name: str, text: str, currency: str) -> int | None:
        if not text.strip():
            return None
        try:
            return minor_of(text, currency)
        except BadAmount as error:
            self.add_error(name, ValidationError(str(error)))
            return None
