"""Orders and mandates in the API: the shapes of answers and of request bodies."""

from __future__ import annotations

from django.urls import reverse
from rest_framework import serializers

from panel.api.framework.fields import Boolean, Choice, DateTime, Integer, Text
from panel.api.framework.shape import Shape, show
from panel.api.request_bodies import Body
from panel.api.resource_json import customer_ref, job_ref, order_ref, plan_ref, volume_ref
from panel.api.response_shapes import Json, Ref
from panel.models import Intent, Mandate, Order, OrderState
from panel.orders.evaluate import Evaluation
from storage import currency
from storage.access import Person, is_staff

ORDER_WHENS = ["now", "period_end"]
MONEY = ("currency", "price_minor", "charge_minor", "credit_minor", "next_invoice_minor")
TIMES = (
    "due_at",
    "authorise_by",
    "trial_until",
    "revert_until",
    "created_at",
    "updated_at",
    "ended_at",
)
CAPS = ("currency", "cap_charge_minor", "cap_period_minor", "earliest_next_at")


class MoneyShape(Shape):
    """Amounts are minor units (cents) of `currency`."""

    currency = Text("ISO 4217. Empty where all amounts are 0.")
    currency_digits = Integer("Decimal places of the currency: with 2, 490 minor units are 4.90.")
    price_minor = Integer("The monthly price from then on.")
    charge_minor = Integer("Charged at completion, for the rest of the month.")
    credit_minor = Integer("Deducted from the next invoice.")
    next_invoice_minor = Integer(
        "The line on the next invoice. Negative if the credit exceeds the price."
    )
    next_invoice_at = DateTime("The day of the next invoice.")


class QuoteShape(MoneyShape):
    """What an order would be. Nothing was ordered."""

    intent = Choice("What kind of change it is.", Intent.values)
    period_end = DateTime("When the period that is paid for ends.")
    due_at = DateTime("When the change begins. Null: at once.", null=True)
    trial_until = DateTime("When a free trial would end; null: it is none.", null=True)


class OrderShape(MoneyShape):
    """One change of plan. A plan that is null is no cache. What follows `ended_at` is for staff."""

    key = Text("Its name in the API; it never changes.")
    url = Text("Where the API shows it.")
    state = Choice("Where it stands now.", OrderState.values)
    intent = Choice("What kind of change it is.", Intent.values)
    volume = Ref("The volume.")
    customer = Ref("The customer.")
    from_plan = Ref("Before it; null: no cache.", null=True)
    to_plan = Ref("After it; null: no cache.", null=True)
    due_at = DateTime("When a scheduled order begins.", null=True)
    authorise_by = DateTime("The billing system must answer before this time.", null=True)
    trial_until = DateTime("When a free trial ends; null: it is none.", null=True)
    revert_until = DateTime("The order can be undone until this time.", null=True)
    reverts = Ref("The order that this order undoes.", null=True)
    reason_code = Text("Why, for programs; empty: neither refused nor failed.")
    reason = Text("Why the order was refused or failed.")
    job = Ref("The job that carries it out; null: none yet.", null=True)
    created_at = DateTime("When it was made.")
    updated_at = DateTime("When it changed last.")
    ended_at = DateTime("When it was over; null: it is not yet.", null=True)
    door = Text("By which way it was asked for, such as page, API or billing.", required=False)
    actor = Text(
        "E-mail address of who did it; null or empty: the panel itself.", required=False, null=True
    )


class MandateShape(Shape):
    """What a customer lets the provider charge. Null is not known: nothing is charged then."""

    currency = Text("ISO 4217, such as EUR.")
    currency_digits = Integer("Decimal places of the currency: with 2, 490 minor units are 4.90.")
    cap_charge_minor = Integer("Maximum for one charge.", null=True)
    cap_period_minor = Integer("Maximum for all charges of a calendar month (UTC).", null=True)
    earliest_next_at = DateTime("Nothing may be charged before this time.", null=True)
    changed_at = DateTime("When the mandate changed last.")


class OrderBody(Body):
    """An order."""

    cache_plan = Text("Key of the plan. Null: no cache.", null=True)
    when = Choice(
        "Default: a lower price begins with the next period, everything else begins now.",
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


class WholeMandate(Body):
    """The whole mandate."""

    currency = Text("ISO 4217, such as EUR.")
    cap_charge_minor = Integer(
        "Maximum for one charge, in minor units; null: not known.", null=True, min_value=0
    )
    cap_period_minor = Integer(
        "Maximum for a calendar month (UTC), in minor units; null: not known.",
        null=True,
        min_value=0,
    )
    earliest_next_at = DateTime("Nothing may be charged earlier; null: not known.", null=True)


def order_json(order: Order, user: Person) -> Json:
    """An order, for `OrderShape`."""
    data: Json = {name: getattr(order, name) for name in (*MONEY, "next_invoice_at", *TIMES)}
    data |= {name: getattr(order, name) for name in ("key", "state", "intent")}
    data |= {name: getattr(order, name) for name in ("reason_code", "reason")}
    data |= {
        "url": order_url(order),
        **currency.with_digits(order.currency),
        "volume": volume_ref(order.volume),
        "customer": customer_ref(order.customer),
        "from_plan": plan_ref(order.from_plan),
        "to_plan": plan_ref(order.to_plan),
        "reverts": order_ref(order.reverts),
        "job": job_ref(order.job),
    }
    if is_staff(user):
        data |= {"door": order.door, "actor": str(order.actor) if order.actor else None}
    return show(OrderShape, data)


def quote_json(evaluation: Evaluation) -> Json:
    """What an order would be, for `QuoteShape`."""
    names = (*MONEY, "next_invoice_at", "period_end")
    data: Json = {name: getattr(evaluation.quote, name) for name in names}
    rest = {name: getattr(evaluation, name) for name in ("intent", "due_at", "trial_until")}
    return show(QuoteShape, data | rest | currency.with_digits(data["currency"]))


def mandate_json(mandate: Mandate) -> Json:
    """A mandate, for `MandateShape`."""
    data: Json = {name: getattr(mandate, name) for name in (*CAPS, "changed_at")}
    return show(MandateShape, data | currency.with_digits(mandate.currency))


def order_url(order: Order) -> str:
    return reverse("api-order", args=[order.key])
