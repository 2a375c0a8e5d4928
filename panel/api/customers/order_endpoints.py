"""Orders: a customer's program changes the plan of a volume, under the same rules as the page."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework.api_lists import Listing
from panel.api.framework.api_operations import operation
from panel.api.framework.bodies import Body, unfit
from panel.api.framework.fields import Boolean, By, Choice, CurrencyDigits, DateTime, Integer, Text
from panel.api.framework.parameters import Parameter, SomeOf, Truth
from panel.api.framework.refs import Ref, url_of
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Json, Shape
from panel.models import Intent, Order, OrderState, Scope
from panel.orders import authorisation, rights
from panel.orders.evaluate import Evaluation
from panel.orders.order_request import OrderRequest
from panel.orders.place_order import place_order, preview
from panel.orders.reversal import reversal_of
from storage.models import CachePlan, Volume

ORDER_WHENS = ["now", "period_end"]
DRY_RUN: Final = Truth(
    "dry_run",
    "Reports what the order would cost, or why it is refused. Orders nothing.",
    is_boolean=True,
)


class MoneyShape(Shape):
    """Amounts are minor units (cents) of `currency`."""

    currency = Text("ISO 4217. Empty where all amounts are 0.")
    currency_digits = CurrencyDigits()
    price_minor = Integer("The monthly price from then on.")
    charge_minor = Integer("Charged at completion, for the rest of the month.")
    credit_minor = Integer("Deducted from the next invoice.")
    next_invoice_minor = Integer(
        "The line on the next invoice. Negative if the credit exceeds the price."
    )
    next_invoice_at = DateTime("The day of the next invoice.")


class QuoteShape(MoneyShape):
    """A quote for an order. Nothing was ordered."""

    intent = Choice("What kind of change it is.", Intent.values, given=True)
    period_end = DateTime("End of the paid period.")
    due_at = DateTime("When the change begins. Null: at once.", null=True, given=True)
    trial_until = DateTime(
        "When the free trial would end; null: not a trial.", null=True, given=True
    )


class OrderShape(MoneyShape):
    """One change of plan. A null plan means no cache. Fields after `ended_at` are for staff."""

    key = Text("Its name in the API; it never changes.")
    url = Text("Where the API shows it.", of=url_of)
    state = Choice("Its current state.", OrderState.values)
    intent = Choice("What kind of change it is.", Intent.values)
    volume = Ref("The volume.")
    customer = Ref("The customer.")
    from_plan = Ref("Before it; null: no cache.", null=True)
    to_plan = Ref("After it; null: no cache.", null=True)
    due_at = DateTime("When a scheduled order begins.", null=True)
    authorise_by = DateTime("The billing system must answer before this time.", null=True)
    trial_until = DateTime("When the free trial ends; null: not a trial.", null=True)
    revert_until = DateTime("The order can be undone until this time.", null=True)
    reverts = Ref("The order that this order undoes.", null=True)
    reason_code = Text("Code of the reason, for programs; empty: neither refused nor failed.")
    reason = Text("Why the order was refused or failed.")
    job = Ref("The job that carries it out; null: none yet.", null=True)
    created_at = DateTime("When it was created.")
    updated_at = DateTime("When it changed last.")
    ended_at = DateTime("When it ended; null: it has not yet.", null=True)
    door = Text(
        "Where the request came from, such as page, API or billing.", of="origin", staff=True
    )
    actor = By("actor.email", null=True, staff=True)


ORDERED: Final[dict[int, Any]] = {
    200: (QuoteShape, "With dry_run: the quote."),
    201: (OrderShape, "Taken."),
}


class OrderBody(Body):
    """An order."""

    cache_plan = Text("Key of the plan. Null: no cache.", null=True)
    when = Choice(
        "Default: a lower price starts with the next period, everything else at once.",
        ORDER_WHENS,
        required=False,
    )
    trial = Boolean("A free trial, which ends automatically.", default=False)
    price_minor = Integer(
        "The price you saw. The order is refused if the price is different now.",
        required=False,
        min_value=0,
    )
    currency = Text("ISO 4217; with `price_minor`.", required=False, allow_blank=True)

    def validate(self, attrs: Json) -> Json:
        """A price is an amount and a currency."""
        if ("price_minor" in attrs) != ("currency" in attrs):
            raise serializers.ValidationError({"currency": "Give both or neither."}, "required")
        return attrs


class OrderResource(Resource):
    """Of orders."""

    read_scope = Scope.BILLING_READ

    def orders(self) -> QuerySet[Order]:
        """Those that the person may see."""
        orders = Order.objects.visible_to(self.user)
        return orders.select_related(
            "volume", "customer", "from_plan", "to_plan", "job", "reverts", "actor"
        )

    def order(self, key: str) -> Order:
        """The one of this key."""
        return get_object_or_404(self.orders(), key=key)


class Ordering(OrderResource):
    """What costs money: once for each `Idempotency-Key`."""

    write_scope = Scope.ORDERS
    preview_scope = Scope.READ
    needs_key = True

    @property
    def request_fields(self) -> dict[str, Any]:
        """How it was asked for."""
        by = self.requester
        return {"origin": by.origin, "token": by.token, "address": by.address}

    def quoted(self, evaluation: Evaluation) -> Response:
        """What it would be; raises `OrderRefused`."""
        if evaluation.refusal is not None:
            raise evaluation.refusal
        return self.shown(
            evaluation.quote,
            intent=evaluation.intent,
            due_at=evaluation.due_at,
            trial_until=evaluation.trial_until,
        )


class VolumeOrders(Ordering):
    """The orders of a volume."""

    @operation(
        "order_make",
        "Order a cache plan",
        ORDERED,
        body=OrderBody,
        parameters=(DRY_RUN,),
        problems=(402, 409),
    )
    def post(self, request: Request, key: str) -> Response:
        """For owners and operators of the customer. A refusal has a `code` and a correction, and
        nothing was ordered: `over_cap`, `too_soon` and `cap_unknown` (402), `suspended` and
        `not_allowed` (403), `order_running` (409), `no_capacity`, `unavailable`, `plan_retired`,
        `same_plan`, `price_changed`, `currency` and `trial` (422)."""
        volume = get_object_or_404(Volume.objects.visible_to(self.user).in_service(), key=key)
        asked = self._asked(volume, self.read())
        if DRY_RUN.of(request):
            return self.quoted(preview(asked))
        return self.shown(place_order(asked), status=201)

    def _asked(self, volume: Volume, body: Json) -> OrderRequest:
        agreed = (body["price_minor"], body["currency"]) if "price_minor" in body else None
        return OrderRequest(
            volume,
            self._plan(volume, body["cache_plan"]),
            self.user,
            agreed=agreed,
            when=body.get("when"),
            trial=body["trial"],
            **self.request_fields,
        )

    def _plan(self, volume: Volume, key: str | None) -> CachePlan | None:
        if key is None:
            return None
        # A plan that is no longer sold is refused as such if the customer can know it.
        own = CachePlan.objects.filter(pk=volume.cache_plan_id or 0)
        plan = (CachePlan.objects.visible_to(self.user) | own).filter(key=key).first()
        if plan is None:
            raise unfit("cache_plan", "There is no such plan.", "unknown")
        return plan


class Orders(OrderResource):
    """The orders of the customers that the person may see."""

    listing: ClassVar = Listing(
        "orders",
        OrderShape,
        newest_first=True,
        sorts={"updated_at": "updated_at", "price_minor": "price_minor"},
        searched=("volume__label", "volume__external_id", "customer__name"),
        search_text="Part of the volume's label or external id, or of the customer's name.",
        updated="updated_at",
        by_keys=True,
        filters=(
            SomeOf("state", "Only these.", "state__in", values=OrderState.values),
            Parameter("volume", "Key of a volume.", "volume__key"),
            Parameter("customer", "Key of a customer.", "customer__key"),
        ),
    )

    @operation("orders_list", "List orders", listing)
    def get(self, request: Request) -> Response:
        """Newest first."""
        return self.page(self.orders())


class OneOrder(OrderResource):
    """One order."""

    @operation("order", "Show an order", OrderShape)
    def get(self, request: Request, key: str) -> Response:
        """Its state, its amounts, and why it was refused or failed."""
        return self.shown(self.order(key))


class OrderCancel(OrderResource):
    """The end of an order before its work."""

    write_scope = Scope.ORDERS
    needs_key = True

    @operation("order_cancel", "Cancel an order", OrderShape, problems=(400, 409, 422))
    def post(self, request: Request, key: str) -> Response:
        """While it is scheduled, being authorised or waiting for payment; otherwise `too_late`."""
        order = self.order(key)
        if (outsider := rights.outsider(self.user, order.volume)) is not None:
            raise outsider
        authorisation.cancel_order(order, self.requester)
        return self.shown(self.order(key))


class OrderRevert(Ordering):
    """The way back."""

    @operation(
        "order_revert",
        "Undo an order",
        ORDERED,
        parameters=(DRY_RUN,),
        problems=(402, 409, 422),
    )
    def post(self, request: Request, key: str) -> Response:
        """Orders the former plan at the former price. Only for the last order of a volume, until
        its `revert_until`; otherwise refused (`too_late`, `changed_since`)."""
        order = self.order(key)
        if DRY_RUN.of(request):
            return self.quoted(preview(reversal_of(order, self.user)))
        made = place_order(reversal_of(order, self.user, **self.request_fields))
        return self.shown(made, status=201)
