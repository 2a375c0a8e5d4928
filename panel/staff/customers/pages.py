"""Pages of customers: their data, volumes and people."""

from __future__ import annotations

from http import HTTPStatus

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from panel.models import Mandate, Order
from panel.staff.change_log import LAST, Edit, edits
from storage.access import Right, staff_view
from storage.models import Customer, Member, Volume
from storage.volumes.snapshot import snapshots_of

PAGE_ROWS = 50
ORDER_ROWS = 20


@staff_view()
@require_safe
def customers(request: HttpRequest) -> HttpResponse:
    """Every customer with counts; `q` searches name and external id."""
    text = request.GET.get("q", "").strip()
    matching = _counted(Customer.objects.visible_to(request.user))
    if text:
        matching = matching.filter(Q(name__icontains=text) | Q(external_id__icontains=text))
    page = Paginator(matching, PAGE_ROWS).get_page(request.GET.get("page"))
    return render(request, "staff/customers/customers.html", {"page": page, "q": text})


@staff_view()
@require_safe
def customer(request: HttpRequest, key: str) -> HttpResponse:
    """One customer: volumes, people, what they may order and did."""
    shown = get_object_or_404(Customer.objects.visible_to(request.user), key=key)
    volumes = Volume.objects.visible_to(request.user).existing().filter(customer=shown)
    volumes = volumes.select_related("cache_plan")
    page = Paginator(volumes, PAGE_ROWS).get_page(request.GET.get("page"))
    mandate = Mandate.objects.visible_to(request.user).filter(customer=shown).first()
    context = {
        "customer": shown,
        "page": page,
        "rows": snapshots_of(page.object_list),
        "members": shown.members.select_related("user").order_by("user__email"),
        "mandate": mandate,
        "edits": _edits(shown, mandate),
        "orders": _orders(request, shown)[:ORDER_ROWS],
    }
    return render(request, "staff/customers/customer.html", context)


def _edits(customer: Customer, mandate: Mandate | None) -> list[Edit]:
    """The last changes of the customer and of its mandate, newest first."""
    theirs = edits(mandate, "payment authorisation") if mandate is not None else []
    return sorted([*edits(customer), *theirs], key=lambda edit: edit.at, reverse=True)[:LAST]


def _orders(request: HttpRequest, customer: Customer) -> QuerySet[Order]:
    orders = Order.objects.visible_to(request.user).filter(customer=customer)
    return orders.select_related("volume", "from_plan", "to_plan", "actor", "job")


@staff_view(Right.OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def new_customer(request: HttpRequest) -> HttpResponse:
    """One more customer."""
    return _form(request, CustomerForm(request.POST or None), None)


@staff_view(Right.OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def edit_customer(request: HttpRequest, key: str) -> HttpResponse:
    """Another name or external id."""
    customer = get_object_or_404(Customer.objects.visible_to(request.user), key=key)
    return _form(request, CustomerForm(request.POST or None, instance=customer), customer)


def _form(request: HttpRequest, form: CustomerForm, customer: Customer | None) -> HttpResponse:
    if request.method == "POST" and form.is_valid():
        saved = form.save()
        messages.success(request, f"{saved.name} is saved.")
        return redirect("customer", saved.key)
    code = HTTPStatus.UNPROCESSABLE_ENTITY if request.method == "POST" else 200
    context = {"form": form, "customer": customer}
    return render(request, "staff/customers/customer_form.html", context, status=code)


def _counted(customers: QuerySet[Customer]) -> QuerySet[Customer]:
    """With volume_count, planned_count (volumes with a cache plan), volume_bytes and member_count;
    one subquery each, since two joins would multiply each other's rows."""
    owned = Volume.objects.existing().filter(customer=OuterRef("pk"))
    volumes = owned.order_by().values("customer")
    members = Member.objects.filter(customer=OuterRef("pk")).order_by().values("customer")
    return customers.annotate(
        volume_count=Coalesce(Subquery(volumes.annotate(n=Count("pk")).values("n")), 0),
        planned_count=Coalesce(Subquery(volumes.annotate(n=Count("cache_plan")).values("n")), 0),
        volume_bytes=Coalesce(Subquery(volumes.annotate(n=Sum("size_bytes")).values("n")), 0),
        member_count=Coalesce(Subquery(members.annotate(n=Count("pk")).values("n")), 0),
    )


class CustomerForm(forms.ModelForm):  # type: ignore[type-arg]
    """Name and external id; an external id belongs to one customer."""

    class Meta:
        model = Customer
        fields = ("name", "external_id")
        help_texts = {"external_id": ("The customer's id in your billing system. Optional.")}  # noqa: RUF012
