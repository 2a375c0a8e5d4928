"""The panel's own record of a volume: its name, its note and its customer. Nothing on a host
changes."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.db import transaction
from django.forms.models import model_to_dict
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from jobs.queue.submit import holder_of
from panel.lists.named_choice import NamedChoiceField
from panel.staff.job_requests import row_of, show_form, show_refusal
from storage.access import Person, Right, staff_view
from storage.models import Customer, Volume
from storage.models.volume import NOTE_LIMIT
from storage.name_validators import demand_lines, demand_name
from storage.planner import Refused
from storage.row_locks import hold_one
from storage.volumes.ownership import disown, give, refusal_to_give, refusal_to_take
from storage.volumes.snapshot import VolumeSnapshot


class LinesField(forms.CharField):
    """A text of several lines, which end as everywhere but in forms of browsers."""

    widget = forms.Textarea

    def to_python(self, value: Any) -> str:
        """Before its characters are counted."""
        return "\n".join((super().to_python(value) or "").splitlines())


class RecordForm(forms.Form):
    """What staff say of a volume, each field by the name that it has there."""

    label = forms.CharField(
        validators=[demand_name],
        max_length=200,
        label="Name",
        show_hidden_initial=True,
        help_text="Commands never contain it.",
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    note = LinesField(
        required=False,
        validators=[demand_lines],
        max_length=NOTE_LIMIT,
        show_hidden_initial=True,
        help_text="Customers never see it.",
        widget=forms.Textarea({"rows": 6}),
    )

    def is_stale(self, volume: Volume) -> bool:
        """Whether a field that the form changes was changed since it was shown, by another person
        or in another tab. The form then says what the field has now; the next attempt saves."""
        shown = dict(self.data.items())
        for name in self.changed_data:
            initial_name, now = self[name].html_initial_name, getattr(volume, name)
            before = self.fields[name].to_python(shown.get(initial_name, now))
            if now not in (before, self.cleaned_data[name]):
                text = f"It now reads “{now}”." if now else "It is empty now."
                self.add_error(
                    name,
                    f"This was changed after the page was loaded. {text} Save again to replace it.",
                )
                shown[initial_name] = now
        self.data = shown
        return bool(self.errors)


class OwnerForm(forms.Form):
    """A customer, or none."""

    customer = NamedChoiceField(
        "customers", required=False, help_text="Empty: the volume has no customer."
    )

    def __init__(self, user: Person, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        customers = cast("NamedChoiceField", self.fields["customer"])
        customers.queryset = Customer.objects.visible_to(user)


@staff_view(Right.OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def edit_record(request: HttpRequest, key: str) -> HttpResponse:
    """Another name or note for the volume. Only what was changed in the form is written: another
    person may have changed the rest since it was shown."""
    row = row_of(request, key)
    form = RecordForm(request.POST or None, initial=model_to_dict(row.volume))
    if request.method == "POST" and form.is_valid():
        with transaction.atomic():
            volume = hold_one(row.volume)
            if not form.is_stale(volume):
                for name in form.changed_data:
                    setattr(volume, name, form.cleaned_data[name])
                volume.save(update_fields=form.changed_data)
                messages.success(request, f"The record of {volume.label} is saved.")
                return redirect("volume", key)
    return show_form(request, row, form, "Name and note", "staff/volumes/_record_form.html")


@staff_view(Right.OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def change_customer(request: HttpRequest, key: str) -> HttpResponse:
    """Another customer for the volume, or none. Its figures and orders from before stay with the
    customer who had it."""
    row = row_of(request, key)
    owner = row.volume.customer
    initial = {"customer": owner.key if owner is not None else ""}
    form = OwnerForm(request.user, request.POST or None, initial=initial)
    refusal = _refusal(row)
    if request.method == "POST" and refusal is None and form.is_valid():
        refused = _change(row.volume, form.cleaned_data["customer"])
        if refused is not None:
            return show_refusal(request, refused, row.volume)
        chosen = form.cleaned_data["customer"]
        whose = f"belongs to {chosen.name}" if chosen is not None else "has no customer"
        messages.success(request, f"{row.volume.label} now {whose}.")
        return redirect("volume", key)
    template = "staff/volumes/_owner_form.html"
    return show_form(request, row, form, "Change customer", template, refusal=refusal)


def _refusal(row: VolumeSnapshot) -> Refused | None:
    """Why the volume cannot leave the customer it has; whether another may have it depends on the
    choice."""
    if row.volume.customer_id is None:
        return None
    return refusal_to_take(row.volume, is_busy=_is_busy(row.volume))


@transaction.atomic
def _change(unlocked: Volume, customer: Customer | None) -> Refused | None:
    """Why not, None once it is done. A volume that passes from one customer to another has no
    customer in between, so that the new one sees nothing from before."""
    volume = hold_one(unlocked, against_jobs=True)
    if volume.customer_id == (customer.pk if customer is not None else None):
        return None
    is_busy = _is_busy(volume)
    if volume.customer_id is not None:
        if (refused := refusal_to_take(volume, is_busy=is_busy)) is not None:
            return refused
        disown(volume)
    if customer is None:
        return None
    if (refused := refusal_to_give(volume, customer, is_busy=is_busy)) is not None:
        transaction.set_rollback(True)
        return refused
    give(volume, customer, timezone.now())
    return None


def _is_busy(volume: Volume) -> bool:
    return holder_of(volume) is not None
