"""Cache plans for sale. Customers see the plans on offer; administrators create and change them."""

from __future__ import annotations

from typing import ClassVar

from django.db import transaction
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api import request_bodies
from panel.api.framework import described
from panel.api.framework.api_lists import Listing
from panel.api.framework.resource import Resource
from panel.api.resource_json import plan_json
from panel.api.response_shapes import CachePlanShape, Json
from panel.models import Scope
from panel.orders.plan_removal import delete_plan
from storage.access import Right
from storage.models import CachePlan


class CachePlans(Resource):
    """The cache plans that the person may see."""

    read_scope = Scope.BILLING_READ
    write_scope = Scope.PLANS
    listing: ClassVar = Listing(
        "cache-plans",
        CachePlanShape,
        sorts={"name": "name", "price_minor": "price_minor"},
        searched=("name",),
        search_text="Part of the name.",
    )
    parameters: ClassVar = {"GET": listing.parameters}

    @extend_schema(
        operation_id="cache_plans_list",
        summary="List cache plans",
        parameters=listing.described,
        responses={
            200: listing.page_shape("CachePlanPage"),
            **described.problems(400, 403),
        },
    )
    def get(self, request: Request) -> Response:
        """Oldest first."""
        rows = CachePlan.objects.visible_to(self.user).prefetch_related("hosts")
        return self.listing.answer(
            request, rows, lambda page: (plan_json(plan, self.user) for plan in page)
        )

    @extend_schema(
        operation_id="cache_plan_make",
        summary="Make a cache plan",
        request=request_bodies.CachePlanBody,
        responses={201: CachePlanShape, **described.problems(400, 403, 409, 422)},
    )
    def post(self, request: Request) -> Response:
        """For administrators."""
        self.demand(Right.ADMINISTER)
        values = request_bodies.read(request, request_bodies.CachePlanBody)
        plan = CachePlan()
        _save(self, plan, values)
        data = plan_json(plan, self.user)
        return Response(data, status=201, headers={"Location": data["url"]})


class OneCachePlan(Resource):
    """One cache plan."""

    read_scope = Scope.BILLING_READ
    write_scope = Scope.PLANS

    @extend_schema(
        operation_id="cache_plan",
        summary="Show a cache plan",
        responses={200: CachePlanShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """Size, mode and price."""
        return Response(plan_json(self._plan(key), self.user))

    @extend_schema(
        operation_id="cache_plan_change",
        summary="Change a cache plan",
        request=request_bodies.CachePlanBody,
        responses={200: CachePlanShape, **described.problems(403, 404, 409, 422)},
    )
    def patch(self, request: Request, key: str) -> Response:
        """For administrators. A plan is taken off the market by `on_offer: false`."""
        plan = self._plan(key)
        self.demand(Right.ADMINISTER)
        _save(self, plan, request_bodies.read(request, request_bodies.CachePlanBody, partial=True))
        return Response(plan_json(plan, self.user))

    @extend_schema(
        operation_id="cache_plan_delete",
        summary="Delete a cache plan",
        responses={204: None, **described.problems(403, 404, 409)},
    )
    def delete(self, request: Request, key: str) -> Response:
        """For administrators. A plan that a volume has, or had, is kept: retire it."""
        plan = self._plan(key)
        self.demand(Right.ADMINISTER)
        delete_plan(plan)
        return Response(status=204)

    def _plan(self, key: str) -> CachePlan:
        return get_object_or_404(CachePlan.objects.visible_to(self.user), key=key)


@transaction.atomic
def _save(view: Resource, plan: CachePlan, values: Json) -> None:
    hosts = values.pop("hosts", None)
    request_bodies.save(plan, values)
    if hosts is not None:
        plan.hosts.set(request_bodies.hosts_of(hosts, view.user))
