"""What a customer may order: the mandate and the suspension, as staff see and set them."""

from __future__ import annotations

from django.contrib import messages
from django.db import transaction
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from panel.models import Mandate
from panel.staff.customers.mandate_form import MandateForm
from storage.access import Right, staff_view
from storage.models import Customer

UNPROCESSABLE = 422


@staff_view(Right.OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def mandate(request: HttpRequest, key: str) -> HttpResponse:
    """The mandate of a customer: form, then the customer's page."""
    found = _customer(request, key)
    with transaction.atomic():
        if request.method == "POST":
            # Of two who save the first one at once, the second one changes it.
            Customer.objects.select_for_update(no_key=True).get(pk=found.pk)
        before = Mandate.objects.visible_to(request.user).filter(customer=found).first()
        form = MandateForm(request.POST or None, instance=before or Mandate(customer=found))
        is_saved = request.method == "POST" and form.is_valid()
        if is_saved:
            form.save()
    if is_saved:
        messages.success(request, f"The payment authorisation of {found.name} is saved.")
        return redirect("customer", found.key)
    code = UNPROCESSABLE if request.method == "POST" else 200
    return render(
        request, "staff/customers/mandate.html", {"form": form, "customer": found}, status=code
    )


@staff_view(Right.OPERATE)
@require_POST
def suspend(request: HttpRequest, key: str) -> HttpResponse:
    """No new orders from now on; data, caches and what runs already stay."""
    found = _customer(request, key)
    Customer.objects.filter(pk=found.pk, suspended_at=None).update(suspended_at=Now())
    messages.success(request, f"{found.name} is suspended and cannot order. Data is kept.")
    return redirect("customer", found.key)


@staff_view(Right.OPERATE)
@require_POST
def unsuspend(request: HttpRequest, key: str) -> HttpResponse:
    """The customer may order again."""
    found = _customer(request, key)
    Customer.objects.filter(pk=found.pk).update(suspended_at=None)
    messages.success(request, f"{found.name} can order again.")
    return redirect("customer", found.key)


def _customer(request: HttpRequest, key: str) -> Customer:
    return get_object_or_404(Customer.objects.visible_to(request.user), key=key)
