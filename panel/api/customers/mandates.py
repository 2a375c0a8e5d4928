"""What a customer lets the provider charge."""

from __future__ import annotations

from django.db import transaction
from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api import bodies
from panel.api.customers.order_shapes import MandateShape, WholeMandate, mandate_json
from panel.api.framework import described
from panel.api.framework.resource import Resource
from panel.models import Mandate, Scope
from storage.access import Right
from storage.models import Customer


class CustomerMandate(Resource):
    """The mandate of a customer."""

    write_scope = Scope.CUSTOMERS

    @extend_schema(
        operation_id="mandate",
        summary="Show a mandate",
        responses={200: MandateShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """404 where the customer gave none."""
        found = Mandate.objects.visible_to(self.user).filter(customer__key=key).first()
        if found is None:
            raise Http404
        return Response(mandate_json(found))

    @extend_schema(
        operation_id="mandate_set",
        summary="Set a mandate",
        request=WholeMandate,
        responses={200: MandateShape, **described.problems(403, 404, 422)},
    )
    def put(self, request: Request, key: str) -> Response:
        """For operators: the whole of it, as the customer gave it. An order that is being taken
        sees the old one or the new one."""
        customer = get_object_or_404(Customer.objects.visible_to(self.user), key=key)
        self.demand(Right.OPERATE)
        values = bodies.read(request, WholeMandate)
        with transaction.atomic():
            Customer.objects.select_for_update(no_key=True).get(pk=customer.pk)
            found = Mandate.objects.filter(customer=customer).first() or Mandate(customer=customer)
            bodies.save(found, values)
        return Response(mandate_json(found))
