"""Orders: a customer's program changes the plan of a volume, under the same rules as the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import Origin
from panel.accounts.client_address import address_of
from panel.api import request_bodies
from panel.api.customers.order_shapes import (
    OrderBody,
    OrderShape,
    QuoteShape,
    order_json,
    order_url,
    quote_json,
)
from panel.api.framework import described, idempotent_requests
from panel.api.framework.api_lists import Listing
from panel.api.framework.problem import ApiProblem, flat
from panel.api.framework.resource import Resource, chosen_values, truth
from panel.models import Order, OrderState, Scope
from panel.orders import authorisation, rights
from panel.orders.evaluate import Evaluation
from panel.orders.order_request import OrderRequest
from panel.orders.place_order import place_order, preview
from panel.orders.reversal import reversal_of
from storage.models import CachePlan, Volume

DRY_RUN = OpenApiParameter(
    "dry_run",
    OpenApiTypes.BOOL,
    description="Reports what the order would cost, or why it is refused. Orders nothing.",
)
ORDERED: dict[Any, Any] = {
    200: OpenApiResponse(QuoteShape, "With dry_run: what it would be."),
    201: OpenApiResponse(OrderShape, "Taken."),
    **described.problems(400, 402, 403, 404, 409, 422),
}


class VolumeOrders(Resource):
    """The orders of a volume."""

    write_scope = Scope.ORDERS
    preview_scope = Scope.READ
    parameters: ClassVar = {"POST": ("dry_run",)}
    keeps_key = True

    @extend_schema(
        operation_id="order_make",
        summary="Order a cache plan",
        request=OrderBody,
        parameters=[described.IDEMPOTENCY_KEY, DRY_RUN],
        responses=ORDERED,
    )
    def post(self, request: Request, key: str) -> Response:
        """For owners and operators of the customer. A refusal has a `code` and a correction, and
        nothing was ordered: `over_cap`, `too_soon` and `cap_unknown` (402), `suspended` and
        `not_allowed` (403), `order_running` (409), `no_capacity`, `unavailable`, `plan_retired`,
        `same_plan`, `price_changed`, `currency` and `trial` (422)."""
        volume = get_object_or_404(Volume.objects.visible_to(self.user).in_service(), key=key)
        body = request_bodies.read(request, OrderBody)
        if truth(request, "dry_run"):
            return _quoted(self, request, lambda: preview(self._ask(request, volume, body)))
        return _once(self, request, lambda: place_order(self._ask(request, volume, body)))

    def _ask(self, request: Request, volume: Volume, body: dict[str, Any]) -> OrderRequest:
        agreed = (body["price_minor"], body["currency"]) if "price_minor" in body else None
        return OrderRequest(
            volume,
            self._plan(volume, body["cache_plan"]),
            self.user,
            agreed=agreed,
            when=body.get("when"),
            trial=body["trial"],
            door=Origin.API,
            token=self.token.key if self.token is not None else "",
            address=address_of(request),
        )

    def _plan(self, volume: Volume, key: str | None) -> CachePlan | None:
        if key is None:
            return None
        # One that is sold no more is refused as such where the customer could know it.
        own = CachePlan.objects.filter(pk=volume.cache_plan_id or 0)
        plan = (CachePlan.objects.visible_to(self.user) | own).filter(key=key).first()
        if plan is None:
            detail = serializers.ErrorDetail("There is no such plan.", "unknown")
            errors = list(flat([detail], "/cache_plan"))
            raise ApiProblem(422, "invalid", "The request has errors.", errors=errors)
        return plan


class Orders(Resource):
    """The orders of the customers that the person may see."""

    read_scope = Scope.BILLING_READ
    listing: ClassVar = Listing(
        "orders",
        OrderShape,
        newest_first=True,
        sorts={"updated_at": "updated_at", "price_minor": "price_minor"},
        searched=("volume__label", "volume__external_id", "customer__name"),
        search_text="Part of the volume's label or external id, or of the customer's name.",
        updated="updated_at",
        by_keys=True,
    )
    parameters: ClassVar = {"GET": (*listing.parameters, "state", "volume", "customer")}
    repeatable: ClassVar = ("state",)

    @extend_schema(
        operation_id="orders_list",
        summary="List orders",
        parameters=[
            *listing.described,
            described.choice("state", "Only these.", OrderState.values),
            described.query("volume", "Key of a volume."),
            described.query("customer", "Key of a customer."),
        ],
        responses={200: listing.page_shape("OrderPage"), **described.problems(400, 403)},
    )
    def get(self, request: Request) -> Response:
        """Newest first."""
        rows = _orders(self)
        if states := chosen_values(request, "state", OrderState.values):
            rows = rows.filter(state__in=states)
        for name in ("volume", "customer"):
            if (key := request.query_params.get(name)) is not None:
                rows = rows.filter(**{f"{name}__key": key})
        return self.listing.answer(
            request, rows, lambda page: (order_json(order, self.user) for order in page)
        )


class OneOrder(Resource):
    """One order."""

    read_scope = Scope.BILLING_READ

    @extend_schema(
        operation_id="order",
        summary="Show an order",
        responses={200: OrderShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """Its state, its money, and why it was refused or failed."""
        return Response(order_json(_order(self, key), self.user))


class OrderCancel(Resource):
    """The end of an order before its work."""

    write_scope = Scope.ORDERS
    takes_no_body = True
    keeps_key = True

    @extend_schema(
        operation_id="order_cancel",
        summary="Cancel an order",
        request=None,
        parameters=[described.REQUIRED_KEY],
        responses={200: OrderShape, **described.problems(400, 403, 404, 409, 422)},
    )
    def post(self, request: Request, key: str) -> Response:
        """While it is scheduled, being authorised or waits for payment; else `too_late`."""
        order = _order(self, key)

        def act() -> Response:
            if (outsider := rights.outsider(self.user, order.volume)) is not None:
                raise outsider
            authorisation.cancel_order(order, self.requester)
            return Response(order_json(_order(self, key), self.user))

        return idempotent_requests.once(request, self.user, act)


class OrderRevert(Resource):
    """The way back."""

    write_scope = Scope.ORDERS
    preview_scope = Scope.READ
    takes_no_body = True
    parameters: ClassVar = {"POST": ("dry_run",)}
    keeps_key = True

    @extend_schema(
        operation_id="order_revert",
        summary="Undo an order",
        request=None,
        parameters=[described.IDEMPOTENCY_KEY, DRY_RUN],
        responses=ORDERED,
    )
    def post(self, request: Request, key: str) -> Response:
        """Orders the former plan at the former price. Only for the last order of a volume, until
        its `revert_until`; otherwise refused (`too_late`, `changed_since`)."""
        order = _order(self, key)
        if truth(request, "dry_run"):
            return _quoted(self, request, lambda: preview(reversal_of(order, self.user)))
        origin_fields = {"door": Origin.API, "address": address_of(request)}
        origin_fields["token"] = self.token.key if self.token is not None else ""
        return _once(
            self, request, lambda: place_order(reversal_of(order, self.user, **origin_fields))
        )


def _once(view: Resource, request: Request, act: Callable[[], Order]) -> Response:
    def made() -> Response:
        order = act()
        data = order_json(order, view.user)
        return Response(data, status=201, headers={"Location": order_url(order)})

    return idempotent_requests.once(request, view.user, made)


def _quoted(view: Resource, request: Request, evaluate: Callable[[], Evaluation]) -> Response:
    def quote() -> Response:
        evaluation = evaluate()
        if evaluation.refusal is not None:
            raise evaluation.refusal
        return Response(quote_json(evaluation))

    return idempotent_requests.once_if_named(request, view.user, quote)


def _orders(view: Resource) -> QuerySet[Order]:
    orders = Order.objects.visible_to(view.user)
    return orders.select_related(
        "volume", "customer", "from_plan", "to_plan", "job", "reverts", "actor"
    )


def _order(view: Resource, key: str) -> Order:
    return get_object_or_404(_orders(view), key=key)
