"""Pages of customers: their data, volumes and people."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce, NullIf
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from panel.accounts import people
from panel.lists.listing import RIGHT, ListColumn, ListDefinition, csv_of, list_page, wants_csv
from panel.models import Mandate, Order
from panel.staff.change_log import LAST, Edit, edits
from storage.access import Right, staff_view
from storage.models import Customer, Member, Volume
from storage.planner import Refused
from storage.volumes.snapshot import snapshots_of

PAGE_ROWS = 50
ORDER_ROWS = 20
LISTING: Final = ListDefinition(
    name="customers",
    first="customer",
    ties=("name_order", "pk"),
    columns=(
        ListColumn("customer", "Customer", F("name_order")),
        ListColumn("id", "External id", NullIf(F("external_id"), Value(""))),
        ListColumn("volumes", "Volumes", F("volume_count"), True, RIGHT),
        ListColumn("planned", "With a plan", F("planned_count"), True, RIGHT),
        ListColumn("size", "Size", F("volume_bytes"), True, RIGHT),
        ListColumn("people", "People", F("member_count"), True),
    ),
    cells=(
        ("key", lambda customer: customer.key),
        ("customer", lambda customer: customer.name),
        ("external_id", lambda customer: customer.external_id),
        ("volumes", lambda customer: customer.volume_count),
        ("with_a_plan", lambda customer: customer.planned_count),
        ("size_bytes", lambda customer: customer.volume_bytes),
        ("people", lambda customer: customer.member_count),
        ("suspended_at", lambda customer: customer.suspended_at),
        ("created_at", lambda customer: customer.created_at),
    ),
)


@staff_view()
@require_safe
def customers(request: HttpRequest) -> HttpResponse:
    """Every customer with counts; `q` searches name and external id."""
    text = request.GET.get("q", "").strip()
    matching = _counted(Customer.objects.visible_to(request.user))
    if text:
        matching = matching.filter(Q(name__icontains=text) | Q(external_id__icontains=text))
    if wants_csv(request):
        return csv_of(request, LISTING, matching)
    shown = list_page(request, LISTING, matching)
    context = {"list": shown, "page": shown.page, "q": text}
    return render(request, "staff/customers/customers.html", context)


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
        "why_kept": people.why_kept(shown),
    }
    return render(request, "staff/customers/customer.html", context)


def _edits(customer: Customer, mandate: Mandate | None) -> list[Edit]:
    """The last changes of the customer and of its mandate, newest first."""
    theirs = edits(mandate, "payment authorisation") if mandate is not None else []
    return sorted([*edits(customer), *theirs], key=lambda edit: edit.at, reverse=True)[:LAST]


def _orders(request: HttpRequest, customer: Customer) -> QuerySet[Order]:
    orders = Order.objects.visible_to(request.user).filter(customer=customer)
    return orders.select_related("volume", "from_plan", "to_plan", "actor", "job").order_by(
        "-created_at", "-id"
    )


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


@staff_view(Right.OPERATE)
@require_POST
def delete_customer(request: HttpRequest, key: str) -> HttpResponse:
    """Delete a customer who has nothing."""
    customer = get_object_or_404(Customer.objects.visible_to(request.user), key=key)
    try:
        people.delete_customer(customer)
    except Refused as refused:
        text = f"{customer.name} was not deleted. {refused.message} {refused.correction}"
        messages.error(request, text.strip())
        return redirect("customer", customer.key)
    messages.success(request, f"{customer.name} was deleted.")
    return redirect("customers")


class CustomerForm(forms.ModelForm):  # type: ignore[type-arg]
    """Name and external id; an external id belongs to one customer. A name that another customer
    has must be confirmed."""

    is_namesake = forms.BooleanField(required=False, label="Use this name anyway")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self._namesakes():
            del self.fields["is_namesake"]

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if (namesakes := self._namesakes()) and not data.get("is_namesake"):
            others = ", ".join(each.external_id or "without an external id" for each in namesakes)
            self.add_error(
                "name",
                f"This name is taken ({others}). Enter another one, or confirm it below.",
            )
        return data

    def _namesakes(self) -> list[Customer]:
        name = " ".join(str(self.data.get("name", "")).replace("\0", "").split())
        if not name or name.casefold() == (self.initial.get("name") or "").casefold():
            return []
        others = Customer.objects.exclude(pk=self.instance.pk)
        return list(others.filter(name__iexact=name)[:5])

    class Meta:
        model = Customer
        fields = ("name", "external_id")
        help_texts = {"external_id": "The customer's id in your billing system. Optional."}  # noqa: RUF012
