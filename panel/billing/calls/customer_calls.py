"""Calls about customers: create, payment authorisation, suspend, unsuspend, login link, usage
lines."""

from __future__ import annotations

from datetime import UTC, datetime

from django.db.models.functions import Now
from django.urls import reverse

from panel.accounts import people
from panel.accounts.authentication import login_links
from panel.api.framework import bodies
from panel.api.framework.problem import ApiProblem
from panel.api.framework.shape import Json
from panel.billing.calls.calling import Caller, CallResult, customer_of, missing, volume_of
from panel.billing.payload import line_json
from panel.models import Mandate, UsageLine, User
from panel.orders.pricing.quote import period
from storage.access import MemberRole
from storage.models import Customer, Member


def create_customer(body: Json, _: Caller) -> CallResult:
    """Creates the customer of an `external_id`, or finds the existing one and adds the given owner
    and mandate. An existing name is not changed."""
    customer = Customer.objects.filter(external_id=body["external_id"]).first()
    is_new = customer is None
    if customer is None:
        customer = Customer()
        bodies.save(customer, {"name": body["name"], "external_id": body["external_id"]})
    if "email" in body:
        _own(customer, body["email"], body.get("person_name", ""))
    if "mandate" in body:
        _mandate(customer, body["mandate"])
    return CallResult({"customer": customer.key, "is_new": is_new})


def set_mandate(body: Json, _: Caller) -> CallResult:
    """Replaces the mandate; omitted fields become unknown."""
    customer = customer_of(body)
    _mandate(customer, body["mandate"])
    return CallResult({"customer": customer.key})


def suspend(body: Json, _: Caller) -> CallResult:
    """No new orders; data, caches and running jobs are not affected."""
    customer = customer_of(body)
    Customer.objects.filter(pk=customer.pk, suspended_at=None).update(suspended_at=Now())
    return CallResult({"customer": customer.key, "is_suspended": True})


def unsuspend(body: Json, _: Caller) -> CallResult:
    """The customer may order again."""
    customer = customer_of(body)
    Customer.objects.filter(pk=customer.pk).update(suspended_at=None)
    return CallResult({"customer": customer.key, "is_suspended": False})


def login_link(body: Json, _: Caller) -> CallResult:
    """A one-time address that signs in one of the customer's people."""
    customer = customer_of(body)
    people_of = Member.objects.filter(customer=customer, user__is_active=True)
    people_of = people_of.select_related("user").order_by("id")
    if "email" in body:
        member = people_of.filter(user__email__iexact=body["email"]).first()
    else:
        member = people_of.filter(role=MemberRole.OWNER).first()
    if member is None:
        raise missing("person", "First give the owner's address with create-customer.")
    path = reverse("my-volumes")
    if body.get("volume") or body.get("volume_external_id"):
        volume = volume_of(body)
        if volume.customer_id != customer.pk:
            raise missing("volume", "First bind it with bind-volume.")
        path = reverse("my-plan", args=[volume.key])
    url = login_links.make_link(member.user, path, body["seconds"])
    return CallResult({"url": url, "seconds": body["seconds"]})


def _own(customer: Customer, email: str, name: str) -> None:
    """Make the person an owner; a new person has no password and signs in by a link."""
    person = User.objects.filter(email__iexact=email).first()
    if person is None:
        person = people.add(email=email, password=None, name=name)
    if person.is_staff:
        raise ApiProblem(
            422,
            "is_staff",
            "This address belongs to a member of the provider's staff.",
            "Give the customer's own address.",
        )
    Member.objects.get_or_create(
        customer=customer, user=person, defaults={"role": MemberRole.OWNER}
    )


def _mandate(customer: Customer, body: Json) -> None:
    names = ("cap_charge_minor", "cap_period_minor", "earliest_next_at")
    values = {name: body.get(name) for name in names}
    mandate = Mandate.objects.filter(customer=customer).first() or Mandate(customer=customer)
    bodies.save(mandate, {"currency": body["currency"], **values})


def usage_lines(body: Json, _: Caller) -> CallResult:
    """The lines written in a month (UTC), as `usage.line` messages reported them, oldest first."""
    customer = customer_of(body)
    year, month = map(int, body["month"].split("-"))
    begin, end = period(datetime(year, month, 1, tzinfo=UTC))
    lines = UsageLine.objects.filter(customer=customer, created_at__gte=begin, created_at__lt=end)
    in_order = lines.select_related("customer", "volume", "order").order_by("id")
    return CallResult({"customer": customer.key, "lines": [line_json(line) for line in in_order]})
