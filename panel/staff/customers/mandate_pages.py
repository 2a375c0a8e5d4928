"""Staff pages for a customer's mandate and suspension."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from panel.models import Mandate
from storage.access import Right, staff_view
from storage.currency import BadAmount, major_of, minor_of
from storage.models import Customer

CAPS = (("cap_charge", "cap_charge_minor"), ("cap_period", "cap_period_minor"))
"""Fields in major units, and the columns in minor ones."""


@staff_view(Right.OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def mandate(request: HttpRequest, key: str) -> HttpResponse:
    """The mandate of a customer: form, then the customer's page."""
    customer = _customer(request, key)
    with transaction.atomic():
        if request.method == "POST":
            # Of two who save the first one at once, the second one changes it.
            Customer.objects.select_for_update(no_key=True).get(pk=customer.pk)
        before = Mandate.objects.visible_to(request.user).filter(customer=customer).first()
        form = MandateForm(request.POST or None, instance=before or Mandate(customer=customer))
        is_saved = request.method == "POST" and form.is_valid()
        if is_saved:
            form.save()
    if is_saved:
        messages.success(request, f"The payment authorisation of {customer.name} is saved.")
        return redirect("customer", customer.key)
    code = HTTPStatus.UNPROCESSABLE_ENTITY if request.method == "POST" else 200
    return render(
        request, "staff/customers/mandate.html", {"form": form, "customer": customer}, status=code
    )


@staff_view(Right.OPERATE)
@require_POST
def suspend(request: HttpRequest, key: str) -> HttpResponse:
    """No new orders from now on; data, caches and what runs already stay."""
    customer = _customer(request, key)
    Customer.objects.filter(pk=customer.pk, suspended_at=None).update(suspended_at=Now())
    messages.success(request, f"{customer.name} is suspended and cannot order. Data is kept.")
    return redirect("customer", customer.key)


@staff_view(Right.OPERATE)
@require_POST
def unsuspend(request: HttpRequest, key: str) -> HttpResponse:
    """The customer may order again."""
    customer = _customer(request, key)
    Customer.objects.filter(pk=customer.pk).update(suspended_at=None)
    messages.success(request, f"{customer.name} can order again.")
    return redirect("customer", customer.key)


def _customer(request: HttpRequest, key: str) -> Customer:
    return get_object_or_404(Customer.objects.visible_to(request.user), key=key)


class MandateForm(forms.ModelForm):  # type: ignore[type-arg]
    """Caps in major units of the currency and a time; an empty field is "unknown"."""

    currency = forms.CharField(
        max_length=3,
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
        label="No charges before",
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
        zone = timezone.get_current_timezone_name()
        self.fields["earliest_next_at"].label = f"No charges before ({zone})"
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
