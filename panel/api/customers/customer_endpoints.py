"""Customers and their payment authorisations. Members see their own; staff create and change
them."""

from __future__ import annotations

from typing import ClassVar

from django.db import transaction
from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from panel.accounts import people
from panel.api import request_bodies
from panel.api.customers.order_shapes import MandateShape, WholeMandate, mandate_json
from panel.api.framework import described
from panel.api.framework.api_lists import Listing
from panel.api.framework.resource import Resource
from panel.api.resource_json import customer_json
from panel.api.response_shapes import CustomerShape
from panel.models import Mandate, Scope
from storage.access import Right
from storage.models import Customer


class Customers(Resource):
    """The customers that the person may see."""

    read_scope = Scope.CUSTOMERS_READ
    write_scope = Scope.CUSTOMERS
    listing: ClassVar = Listing(
        "customers",
        CustomerShape,
        sorts={"name": "name_order", "updated_at": "updated_at"},
        searched=("name", "external_id"),
        search_text="Part of the name or the external id.",
        updated="updated_at",
        by_keys=True,
    )
    parameters: ClassVar = {"GET": (*listing.parameters, "external_id")}

    @extend_schema(
        operation_id="customers_list",
        summary="List customers",
        parameters=[
            *listing.described,
            described.query("external_id", "Exact match."),
        ],
        responses={
            200: listing.page_shape("CustomerPage"),
            **described.problems(400, 403),
        },
    )
    def get(self, request: Request) -> Response:
        """Oldest first."""
        rows = Customer.objects.visible_to(self.user)
        if (external_id := request.query_params.get("external_id")) is not None:
            rows = rows.filter(external_id=external_id)
        return self.listing.answer(request, rows, lambda page: map(customer_json, page))

    @extend_schema(
        operation_id="customer_make",
        summary="Make a customer",
        request=request_bodies.CustomerBody,
        responses={201: CustomerShape, **described.problems(400, 403, 409, 422)},
    )
    def post(self, request: Request) -> Response:
        """For operators. An `external_id` belongs to one customer, so a repeated request makes no
        second one."""
        self.demand(Right.OPERATE)
        values = request_bodies.read(request, request_bodies.CustomerBody)
        customer = Customer()
        request_bodies.save(customer, values)
        data = customer_json(customer)
        return Response(data, status=201, headers={"Location": data["url"]})


class OneCustomer(Resource):
    """One customer."""

    read_scope = Scope.CUSTOMERS_READ
    write_scope = Scope.CUSTOMERS
    measured = ("updated_at",)

    @extend_schema(
        operation_id="customer",
        summary="Show a customer",
        responses={200: CustomerShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """Name and external id."""
        return Response(customer_json(self._customer(key)))

    @extend_schema(
        operation_id="customer_change",
        summary="Change a customer",
        request=request_bodies.CustomerBody,
        responses={200: CustomerShape, **described.problems(403, 404, 409, 422)},
    )
    def patch(self, request: Request, key: str) -> Response:
        """For operators."""
        customer = self._customer(key)
        self.demand(Right.OPERATE)
        request_bodies.save(
            customer, request_bodies.read(request, request_bodies.CustomerBody, partial=True)
        )
        customer.refresh_from_db()
        return Response(customer_json(customer))

    @extend_schema(
        operation_id="customer_delete",
        summary="Delete a customer",
        responses={204: None, **described.problems(403, 404, 409)},
    )
    def delete(self, request: Request, key: str) -> Response:
        """For operators. Only a customer without volumes, orders, charges and users can be
        deleted."""
        customer = self._customer(key)
        self.demand(Right.OPERATE)
        people.delete_customer(customer)
        return Response(status=204)

    def _customer(self, key: str) -> Customer:
        return get_object_or_404(Customer.objects.visible_to(self.user), key=key)


class CustomerMandate(Resource):
    """The mandate of a customer."""

    read_scope = Scope.BILLING_READ
    write_scope = Scope.CUSTOMERS

    @extend_schema(
        operation_id="mandate",
        summary="Show a mandate",
        responses={200: MandateShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """404 where the customer gave none."""
        mandate = Mandate.objects.visible_to(self.user).filter(customer__key=key).first()
        if mandate is None:
            raise Http404
        return Response(mandate_json(mandate))

    @extend_schema(
        operation_id="mandate_set",
        summary="Set a mandate",
        request=WholeMandate,
        responses={200: MandateShape, **described.problems(403, 404, 409, 422)},
    )
    def put(self, request: Request, key: str) -> Response:
        """For operators: the whole of it, as the customer gave it. An order that is being taken
        sees the old one or the new one."""
        customer = get_object_or_404(Customer.objects.visible_to(self.user), key=key)
        self.demand(Right.OPERATE)
        values = request_bodies.read(request, WholeMandate)
        with transaction.atomic():
            Customer.objects.select_for_update(no_key=True).get(pk=customer.pk)
            mandate = Mandate.objects.filter(customer=customer).first() or Mandate(
                customer=customer
            )
            request_bodies.save(mandate, values)
        return Response(mandate_json(mandate))
