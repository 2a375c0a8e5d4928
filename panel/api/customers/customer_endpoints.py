"""Customers, their suspension and their payment authorisations. Members see their own; staff create
and change them."""

from __future__ import annotations

from typing import ClassVar

from django.db import transaction
from django.db.models.functions import Now
from django.http import Http404
from django.shortcuts import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from panel.accounts import people
from panel.api.framework.api_lists import Listing
from panel.api.framework.api_operations import operation
from panel.api.framework.bodies import Body, save, unfit
from panel.api.framework.fields import CurrencyDigits, DateTime, Integer, Text
from panel.api.framework.parameters import Parameter
from panel.api.framework.refs import Noun
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Shape
from panel.models import Mandate, Scope
from storage.access import Person, Right
from storage.models import Customer


class CustomerShape(Noun):
    """A customer; `external_id` is the billing system's name for it."""

    name = Text("Display name.")
    external_id = Text("Its name in your systems; empty if it has none.")
    suspended_at = DateTime("Since when new orders are refused.", null=True)
    created_at = DateTime("When it was created.")
    updated_at = DateTime("When it changed last.")


class SuspensionShape(Shape):
    """The suspension of a customer, whose orders are refused."""

    suspended_at = DateTime("Since when new orders are refused.")


class MandateShape(Shape):
    """The limits for charging a customer. Null is unknown, and nothing is charged then."""

    currency = Text("ISO 4217, such as EUR.")
    currency_digits = CurrencyDigits()
    cap_charge_minor = Integer("Maximum for one charge.", null=True)
    cap_period_minor = Integer("Maximum for all charges of a calendar month (UTC).", null=True)
    earliest_next_at = DateTime("Nothing may be charged before this time.", null=True)
    changed_at = DateTime("When the mandate last changed.")


class CustomerBody(Body):
    """A customer."""

    shows = CustomerShape
    name = Text(max_length=200)
    external_id = Text(required=False, allow_blank=True, max_length=64)


class WholeMandate(Body):
    """The whole mandate."""

    currency = Text("ISO 4217, such as EUR.")
    cap_charge_minor = Integer(
        "Maximum for one charge, in minor units; null: unknown.", null=True, min_value=0
    )
    cap_period_minor = Integer(
        "Maximum for a calendar month (UTC), in minor units; null: unknown.",
        null=True,
        min_value=0,
    )
    earliest_next_at = DateTime(
        "Nothing may be charged before this time; null: unknown.", null=True
    )


class CustomerResource(Resource):
    """Of customers."""

    read_scope = Scope.CUSTOMERS_READ
    write_scope = Scope.CUSTOMERS

    def customer(self, key: str, right: Right | None = None) -> Customer:
        """The customer with this key; demands the right, if one is given."""
        customer = get_object_or_404(Customer.objects.visible_to(self.user), key=key)
        if right is not None:
            self.demand(right)
        return customer


class Customers(CustomerResource):
    """The customers that the person may see."""

    listing: ClassVar = Listing(
        "customers",
        CustomerShape,
        sorts={"name": "name_order", "updated_at": "updated_at"},
        searched=("name", "external_id"),
        search_text="Part of the name or the external id.",
        updated="updated_at",
        by_keys=True,
        filters=(Parameter("external_id", "Exact match.", "external_id"),),
    )

    @operation("customers_list", "List customers", listing)
    def get(self, request: Request) -> Response:
        """Oldest first."""
        return self.page(Customer.objects.visible_to(self.user))

    @operation(
        "customer_make",
        "Create a customer",
        CustomerShape,
        status=201,
        body=CustomerBody,
        problems=(400, 409),
    )
    def post(self, request: Request) -> Response:
        """For operators. An `external_id` belongs to one customer, so a repeated request does not
        create a second one."""
        self.demand(Right.OPERATE)
        customer = Customer()
        save(customer, self.read())
        return self.shown(customer, status=201)


class OneCustomer(CustomerResource):
    """One customer."""

    measured = ("updated_at",)

    @operation("customer", "Show a customer", CustomerShape)
    def get(self, request: Request, key: str) -> Response:
        """Name and external id."""
        return self.shown(self.customer(key))

    @operation(
        "customer_change", "Change a customer", CustomerShape, body=CustomerBody, problems=(409,)
    )
    def patch(self, request: Request, key: str) -> Response:
        """For operators."""
        customer = self.customer(key, Right.OPERATE)
        save(customer, self.read())
        customer.refresh_from_db()
        return self.shown(customer)

    @operation("customer_delete", "Delete a customer", problems=(409,))
    def delete(self, request: Request, key: str) -> Response:
        """For operators. Only a customer without volumes, orders, charges and users can be
        deleted."""
        people.delete_customer(self.customer(key, Right.OPERATE))
        return Response(status=204)


class CustomerSuspension(CustomerResource):
    """A customer who cannot order."""

    staff_only = True

    @operation("customer_suspension", "Show the suspension of a customer", SuspensionShape)
    def get(self, request: Request, key: str) -> Response:
        """404 while there is none."""
        customer = self.customer(key)
        if customer.suspended_at is None:
            raise Http404
        return self.shown(customer)

    @operation("customer_suspend", "Suspend a customer", SuspensionShape)
    def put(self, request: Request, key: str) -> Response:
        """For operators. No new orders; data, caches and running jobs are not affected."""
        customer = self.customer(key, Right.OPERATE)
        Customer.objects.filter(pk=customer.pk, suspended_at=None).update(suspended_at=Now())
        customer.refresh_from_db()
        return self.shown(customer)

    @operation("customer_unsuspend", "End the suspension of a customer")
    def delete(self, request: Request, key: str) -> Response:
        """For operators."""
        customer = self.customer(key, Right.OPERATE)
        Customer.objects.filter(pk=customer.pk).update(suspended_at=None)
        return Response(status=204)


class CustomerMandate(CustomerResource):
    """The mandate of a customer."""

    read_scope = Scope.BILLING_READ

    @operation("mandate", "Show a mandate", MandateShape)
    def get(self, request: Request, key: str) -> Response:
        """404 if the customer gave none."""
        mandates = Mandate.objects.visible_to(self.user)
        return self.shown(get_object_or_404(mandates, customer__key=key))

    @operation("mandate_set", "Set a mandate", MandateShape, body=WholeMandate, problems=(409,))
    def put(self, request: Request, key: str) -> Response:
        """For operators. Replaces the whole mandate. An order that is being placed sees either the
        old or the new one."""
        customer = self.customer(key, Right.OPERATE)
        values = self.read()
        with transaction.atomic():
            Customer.objects.select_for_update(no_key=True).get(pk=customer.pk)
            mandate = Mandate.objects.filter(customer=customer).first() or Mandate(
                customer=customer
            )
            save(mandate, values)
        return self.shown(mandate)


def customer_of(key: str | None, user: Person) -> Customer | None:
    """The customer of a body's `customer`; raises `ApiProblem`."""
    if key is None:
        return None
    customer = Customer.objects.visible_to(user).filter(key=key).first()
    if customer is None:
        raise unfit("customer", "There is no such customer.", "unknown")
    return customer
