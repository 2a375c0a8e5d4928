"""Orders and mandates in the API: the shapes of answers and of request bodies."""

from __future__ import annotations

from django.urls import reverse
from rest_framework import serializers

from panel.api.framework.shape import Shape
from panel.api.request_bodies import Body, ZonedDateTimeField
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

    currency = serializers.CharField(
        allow_blank=True, help_text="ISO 4217. Empty where all amounts are 0."
    )
    currency_digits = serializers.IntegerField()
    price_minor = serializers.IntegerField(help_text="The monthly price from then on.")
    charge_minor = serializers.IntegerField(
        help_text="Charged at completion, for the rest of the month."
    )
    credit_minor = serializers.IntegerField(help_text="Deducted from the next invoice.")
    next_invoice_minor = serializers.IntegerField(
        help_text="The line on the next invoice. Negative if the credit exceeds the price."
    )
    next_invoice_at = serializers.DateTimeField()


class QuoteShape(MoneyShape):
    """What an order would be. Nothing was ordered."""

    intent = serializers.ChoiceField(choices=Intent.values, help_text="What kind of change it is.")
    period_end = serializers.DateTimeField(help_text="When the period that is paid for ends.")
    due_at = serializers.DateTimeField(
        allow_null=True, help_text="When the change begins. Null: at once."
    )
    trial_until = serializers.DateTimeField(
        allow_null=True, help_text="When a free trial would end; null: it is none."
    )


class OrderShape(MoneyShape):
    """One change of plan. A plan that is null is no cache. What follows `ended_at` is for staff."""

    key = serializers.CharField()
    url = serializers.CharField()
    state = serializers.ChoiceField(choices=OrderState.values)
    intent = serializers.ChoiceField(choices=Intent.values, help_text="What kind of change it is.")
    volume = Ref()
    customer = Ref()
    from_plan = Ref(allow_null=True, help_text="Before it; null: no cache.")
    to_plan = Ref(allow_null=True, help_text="After it; null: no cache.")
    due_at = serializers.DateTimeField(allow_null=True, help_text="When a scheduled order begins.")
    authorise_by = serializers.DateTimeField(
        allow_null=True, help_text="The billing system must answer before this time."
    )
    trial_until = serializers.DateTimeField(
        allow_null=True, help_text="When a free trial ends; null: it is none."
    )
    revert_until = serializers.DateTimeField(
        allow_null=True, help_text="The order can be undone until this time."
    )
    reverts = Ref(allow_null=True, help_text="The order that this order undoes.")
    reason_code = serializers.CharField(
        allow_blank=True, help_text="Why, for programs; empty: neither refused nor failed."
    )
    reason = serializers.CharField(
        allow_blank=True, help_text="Why the order was refused or failed."
    )
    job = Ref(allow_null=True, help_text="The job that carries it out; null: none yet.")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    door = serializers.CharField(required=False)
    actor = serializers.CharField(required=False, allow_null=True)


class MandateShape(Shape):
    """What a customer lets the provider charge. Null is not known: nothing is charged then."""

    currency = serializers.CharField()
    currency_digits = serializers.IntegerField()
    cap_charge_minor = serializers.IntegerField(
        allow_null=True, help_text="Maximum for one charge."
    )
    cap_period_minor = serializers.IntegerField(
        allow_null=True, help_text="Maximum for all charges of a calendar month (UTC)."
    )
    earliest_next_at = serializers.DateTimeField(
        allow_null=True, help_text="Nothing may be charged before this time."
    )
    changed_at = serializers.DateTimeField(help_text="When the mandate changed last.")


class OrderBody(Body):
    """An order."""

    cache_plan = serializers.CharField(
        allow_null=True, help_text="Key of the plan. Null: no cache."
    )
    when = serializers.ChoiceField(
        choices=ORDER_WHENS,
        required=False,
        help_text="Default: a lower price begins with the next period, everything else begins now.",
    )
    trial = serializers.BooleanField(
        default=False, help_text="A free trial, which ends automatically."
    )
    price_minor = serializers.IntegerField(
        required=False,
        min_value=0,
        help_text="The price you saw. The order is refused if the price is different now.",
    )
    currency = serializers.CharField(
        required=False, allow_blank=True, help_text="ISO 4217; with `price_minor`."
    )

    def validate(self, attrs: Json) -> Json:
        """A price is an amount and a currency."""
        if ("price_minor" in attrs) != ("currency" in attrs):
            raise serializers.ValidationError({"currency": "Give both or neither."}, "required")
        return attrs


class WholeMandate(Body):
    """The whole mandate."""

    currency = serializers.CharField(help_text="ISO 4217, such as EUR.")
    cap_charge_minor = serializers.IntegerField(allow_null=True, min_value=0)
    cap_period_minor = serializers.IntegerField(allow_null=True, min_value=0)
    earliest_next_at = ZonedDateTimeField(allow_null=True)


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
    return OrderShape(data).data


def quote_json(evaluation: Evaluation) -> Json:
    """What an order would be, for `QuoteShape`."""
    names = (*MONEY, "next_invoice_at", "period_end")
    data: Json = {name: getattr(evaluation.quote, name) for name in names}
    rest = {name: getattr(evaluation, name) for name in ("intent", "due_at", "trial_until")}
    return QuoteShape(data | rest | currency.with_digits(data["currency"])).data


def mandate_json(mandate: Mandate) -> Json:
    """A mandate, for `MandateShape`."""
    data: Json = {name: getattr(mandate, name) for name in (*CAPS, "changed_at")}
    return MandateShape(data | currency.with_digits(mandate.currency)).data


def order_url(order: Order) -> str:
    return reverse("api-order", args=[order.key])
