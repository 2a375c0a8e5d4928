"""What passes between the panel and a billing system: messages out, usage lines, calls in, and each
customer's payment authorisation."""

from __future__ import annotations

from typing import Self

import pghistory
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Now

from panel.models.order import Order
from panel.models.outgoing import Outgoing, OutgoingQuerySet
from storage.access import Person, Right, may
from storage.currency import not_iso
from storage.models import Customer, Volume


class MessageType(models.TextChoices):
    """What a message reports or, for `order.authorise`, asks."""

    AUTHORISE = "order.authorise", "order.authorise"
    COMPLETED = "order.completed", "order.completed"
    FAILED = "order.failed", "order.failed"
    REFUSED = "order.refused", "order.refused"
    CANCELLED = "order.cancelled", "order.cancelled"
    USAGE = "usage.line", "usage.line"
    PROOF = "proof.ready", "proof.ready"
    TEST = "test", "test"


class MessageQuerySet(OutgoingQuerySet["Message"]):
    def visible_to(self, user: Person) -> Self:
        """The only way from a request to messages: they are for admins."""
        return self if may(user, Right.ADMINISTER) else self.none()

    def due(self) -> Self:
        """Those whose time has come, by the database's clock; questions first, since a customer
        waits for the answer."""
        first = models.Case(
            models.When(type=MessageType.AUTHORISE, then=0),
            default=1,
            output_field=models.IntegerField(),
        )
        return self.unsent().filter(next_at__lte=Now()).order_by(first, "next_at", "id")


class Message(Outgoing):
    """One message to the billing system, written in the transaction that it reports. `name` is its
    webhook-id and names its subject, so that nothing is reported twice."""

    name = models.CharField(max_length=100, unique=True, editable=False)
    type = models.CharField(max_length=16, choices=MessageType.choices)
    order = models.ForeignKey(
        Order, null=True, blank=True, on_delete=models.CASCADE, related_name="messages"
    )
    payload = models.JSONField()

    objects = MessageQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(type__in=MessageType.values), name="message_type_known"
            ),
        )
        indexes = (
            models.Index(
                fields=("next_at",),
                condition=models.Q(delivered_at=None, given_up_at=None),
                name="message_due",
            ),
        )

    def __str__(self) -> str:
        return self.name


class Endpoint(models.Model):
    """An address that messages went to. `created_at` is since when: monthly lines begin with the
    month after that of the oldest one. `disabled_at` is when it said that it is gone (410); nothing
    is sent there until an admin enables it again."""

    url = models.CharField(max_length=500, unique=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    disabled_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.url


class LineKind(models.TextChoices):
    """charge: due for the rest of the month at an order's completion. credit: what the next invoice
    is less by. recurring: a month of a plan, at its beginning."""

    CHARGE = "charge", "charge"
    CREDIT = "credit", "credit"
    RECURRING = "recurring", "recurring"


class UsageLineQuerySet(models.QuerySet["UsageLine"]):
    def visible_to(self, user: Person) -> Self:
        """The only way from a request to usage lines: those of the customers the person sees."""
        return self.filter(customer__in=Customer.objects.visible_to(user))


class UsageLine(models.Model):
    """One line for an invoice, written once under its `name`: `<order>-charge`, `<order>-credit`
    or `<volume>-<YYYY-MM>`. The amount is in minor units and never negative, also of a credit."""

    name = models.CharField(max_length=64, unique=True, editable=False)
    kind = models.CharField(max_length=9, choices=LineKind.choices)
    customer = models.ForeignKey(Customer, on_delete=models.PROTECT, related_name="usage_lines")
    volume = models.ForeignKey(Volume, on_delete=models.PROTECT, related_name="usage_lines")
    order = models.ForeignKey(
        Order, null=True, blank=True, on_delete=models.PROTECT, related_name="usage_lines"
    )
    description = models.CharField(max_length=200)
    currency = models.CharField(max_length=3)
    amount_minor = models.BigIntegerField()
    period_start = models.DateTimeField()
    period_end = models.DateTimeField()
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = UsageLineQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(amount_minor__gt=0), name="usage_line_amount_positive"
            ),
            models.CheckConstraint(
                condition=models.Q(kind__in=LineKind.values), name="usage_line_kind_known"
            ),
        )

    def __str__(self) -> str:
        return self.name


class BillingCall(models.Model):
    """A signed call of the billing system, and its answer. The same `name` (its webhook-id) is the
    same call: it is answered as the first time and done once. `digest` tells another one under an
    old name."""

    name = models.CharField(max_length=100, unique=True)
    call = models.CharField(max_length=32)
    digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    body = models.JSONField(default=dict)
    address = models.GenericIPAddressField(null=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.call} {self.name}"


class MandateQuerySet(models.QuerySet["Mandate"]):
    def visible_to(self, user: Person) -> Self:
        """The only way from a request to mandates: those of the customers the person sees."""
        return self.filter(customer__in=Customer.objects.visible_to(user))


@pghistory.track(
    pghistory.InsertEvent(),
    pghistory.UpdateEvent(row=pghistory.Old),
    pghistory.DeleteEvent(),
    # The event says when.
    exclude=["changed_at"],
    context_field=pghistory.ContextJSONField(),
    append_only=True,
)
class Mandate(models.Model):
    """The payment authorisation a customer gave, as the billing system last reported it: amounts in
    minor units of `currency`, `cap_charge_minor` for one charge, `cap_period_minor` for all charges
    of a calendar month (UTC); nothing may be charged before `earliest_next_at`. Null is "unknown",
    never "no limit": nothing may be charged against an unknown cap.
    """

    customer = models.OneToOneField(Customer, on_delete=models.CASCADE, related_name="mandate")
    currency = models.CharField(max_length=3)
    cap_charge_minor = models.BigIntegerField(null=True, blank=True)
    cap_period_minor = models.BigIntegerField(null=True, blank=True)
    earliest_next_at = models.DateTimeField(null=True, blank=True)
    changed_at = models.DateTimeField(auto_now=True)

    objects = MandateQuerySet.as_manager()

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=models.Q(currency__regex="^[A-Z]{3}$"),
                name="mandate_currency_iso",
                violation_error_message="Enter a currency as three capital letters.",
            ),
            models.CheckConstraint(
                condition=(models.Q(cap_charge_minor=None) | models.Q(cap_charge_minor__gte=0))
                & (models.Q(cap_period_minor=None) | models.Q(cap_period_minor__gte=0)),
                name="mandate_caps_not_negative",
                violation_error_message="Enter caps of 0 or more.",
            ),
        )

    def __str__(self) -> str:
        return f"mandate of {self.customer}"

    def clean(self) -> None:
        """Caps are held against prices, so their currency must be one that prices may have."""
        if self.currency and (why := not_iso(self.currency)):
            raise ValidationError({"currency": ValidationError(why, code="not_iso")})
