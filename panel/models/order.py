"""A customer's order and the price agreed for it. Only `Order.transition` writes `Order.state`."""

from __future__ import annotations

from typing import Any, Final, Self

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from jobs.models import Job, Origin
from storage.access import Person
from storage.database_clock import touched
from storage.models import CachePlan, Customer, Volume
from storage.naming import new_key
from storage.state_machine import transition


class OrderState(models.TextChoices):
    """scheduled -> authorising <-> pending -> running -> completed | failed; refused by the billing
    system, cancelled by a person. Nothing is charged but by `completed`.

    scheduled: begins at `due_at` (the end of the period). authorising: the billing system is being
    asked. pending: it answered that it will say later. running: the job works.
    """

    SCHEDULED = "scheduled", "scheduled"
    AUTHORISING = "authorising", "being authorised"
    PENDING = "pending", "waiting for payment"
    RUNNING = "running", "running"
    COMPLETED = "completed", "completed"
    FAILED = "failed", "failed"
    REFUSED = "refused", "refused"
    CANCELLED = "cancelled", "cancelled"


TRANSITIONS: Final = {
    OrderState.SCHEDULED: (OrderState.RUNNING, OrderState.CANCELLED, OrderState.FAILED),
    OrderState.AUTHORISING: (
        OrderState.PENDING,
        OrderState.RUNNING,
        OrderState.REFUSED,
        OrderState.CANCELLED,
        OrderState.FAILED,
    ),
    OrderState.PENDING: (
        OrderState.RUNNING,
        OrderState.REFUSED,
        OrderState.CANCELLED,
        OrderState.FAILED,
    ),
    OrderState.RUNNING: (OrderState.COMPLETED, OrderState.FAILED),
}
"""By the state they come from. The other states are final."""

OPEN = (OrderState.AUTHORISING, OrderState.PENDING, OrderState.RUNNING)


class Intent(models.TextChoices):
    """Why: a revert takes back another order within its 14 days; a trial costs nothing and reverts
    automatically at `trial_until`."""

    UPGRADE = "upgrade", "upgrade"
    DOWNGRADE = "downgrade", "downgrade"
    TRIAL = "trial", "trial"
    REVERT = "revert", "revert"


class OrderQuerySet(models.QuerySet["Order"]):
    def visible_to(self, user: Person) -> Self:
        """The only way from a request to orders: staff see all, members their customers'."""
        return self.filter(customer__in=Customer.objects.visible_to(user))

    def open(self) -> Self:
        """Those that hold their volume now."""
        return self.filter(state__in=OPEN)


class Order(models.Model):
    """One change of plan. `from_plan` and `to_plan` are null for no cache. Amounts are minor units
    of `currency`: `from_price_minor` is a month's price before, `price_minor` from then on,
    `charge_minor` due at completion (what is left of the period on the new plan less the same of
    the old one; never negative; from the order on until it is completed, then from completion on),
    `credit_minor` what the next invoice is less by, `next_invoice_minor` at `next_invoice_at`.
    `replaces_trial`: `from_plan` was on trial. `from_cache` is the cache that the volume had when
    the work began, sold or not, as in a wish (null for none): undoing the order restores it.

    `reason_code` and `reason` say why it was refused or failed, in the customer's words. `reverts`
    is the order this one takes back; `revert_until` until when this one may be. `authorise_by` is
    when the billing system must have answered. What the panel begins on its own is not tried again
    before `again_at`, while `obstacle` (a reason's code) is in the way. `expected` is what was
    promised before (`storage.analysis.forecast`), for the proof and the ledger. `idempotency_key`
    is the requester's name for the request ("" = none): the same one again is the same order.
    `updated_at` is kept by the database.
    """

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    customer = models.ForeignKey(Customer, on_delete=models.PROTECT, related_name="orders")
    volume = models.ForeignKey(Volume, on_delete=models.PROTECT, related_name="orders")
    job = models.OneToOneField(
        Job, null=True, blank=True, on_delete=models.PROTECT, related_name="order"
    )
    intent = models.CharField(max_length=9, choices=Intent.choices)
    state = models.CharField(max_length=11, choices=OrderState.choices)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    origin = models.CharField(max_length=8, choices=Origin.choices, default=Origin.PORTAL)
    address = models.GenericIPAddressField(null=True, blank=True)
    idempotency_key = models.CharField(max_length=255, blank=True)
    from_plan = models.ForeignKey(
        CachePlan, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    to_plan = models.ForeignKey(
        CachePlan, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    replaces_trial = models.BooleanField(default=False, db_default=False)
    from_cache = models.JSONField(null=True, blank=True)
    currency = models.CharField(max_length=3)
    from_price_minor = models.BigIntegerField(default=0, db_default=0)
    price_minor = models.BigIntegerField()
    charge_minor = models.BigIntegerField()
    credit_minor = models.BigIntegerField(default=0)
    next_invoice_minor = models.BigIntegerField()
    next_invoice_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True, blank=True)
    authorise_by = models.DateTimeField(null=True, blank=True)
    trial_until = models.DateTimeField(null=True, blank=True)
    revert_until = models.DateTimeField(null=True, blank=True)
    reverts = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="reverted_by"
    )
    again_at = models.DateTimeField(null=True, blank=True)
    obstacle = models.CharField(max_length=32, blank=True, default="", db_default="")
    reason_code = models.CharField(max_length=32, blank=True)
    reason = models.CharField(max_length=500, blank=True)
    expected = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)
    ended_at = models.DateTimeField(null=True, blank=True)

    objects = OrderQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        triggers = (touched("order_touched"),)
        indexes = (
            models.Index(fields=("updated_at",), name="order_updated"),
            # Asked every few seconds: whose trial is over?
            models.Index(
                fields=("trial_until",),
                condition=models.Q(intent=Intent.TRIAL, state=OrderState.COMPLETED),
                name="order_trial_over",
            ),
        )
        constraints = (
            models.CheckConstraint(
                condition=models.Q(state__in=OrderState.values), name="order_state_known"
            ),
            models.CheckConstraint(
                condition=models.Q(intent__in=Intent.values), name="order_intent_known"
            ),
            models.CheckConstraint(
                condition=models.Q(charge_minor__gte=0, credit_minor__gte=0, price_minor__gte=0),
                name="order_amounts_not_negative",
            ),
            models.CheckConstraint(
                condition=~models.Q(state=OrderState.SCHEDULED) | models.Q(due_at__isnull=False),
                name="order_scheduled_has_time",
            ),
            models.CheckConstraint(
                condition=~models.Q(state__in=OPEN) | models.Q(job__isnull=False),
                name="order_open_has_job",
            ),
            models.UniqueConstraint(
                fields=("volume",), condition=models.Q(state__in=OPEN), name="order_one_open"
            ),
            models.UniqueConstraint(
                fields=("volume",),
                condition=models.Q(state=OrderState.SCHEDULED),
                name="order_one_scheduled",
            ),
            models.UniqueConstraint(
                fields=("customer", "idempotency_key"),
                condition=~models.Q(idempotency_key=""),
                name="order_idempotency_once",
            ),
        )

    def __str__(self) -> str:
        return f"{self.purpose} of {self.volume}, {self.get_state_display()}"

    @property
    def purpose(self) -> str:
        """The intent, for staff; a cache for a volume that had none is no upgrade."""
        had_none = self.from_plan_id is None and not self.from_cache
        if self.intent == Intent.UPGRADE and had_none:
            return "new cache"
        return self.get_intent_display()

    def transition(self, from_: OrderState, to: OrderState, **fields: Any) -> bool:
        """Bring the order from one state to another and set `fields`: `storage.state_machine`."""
        return transition(self, from_, to, TRANSITIONS, **fields)

    @property
    def plan_back(self) -> CachePlan | None:
        """What taking it back leads to. Before a trial there was no cache, and a trial that another
        plan replaced is over: its plan would have to be paid for now."""
        return None if self.replaces_trial else self.from_plan

    @property
    def cache_back(self) -> dict[str, Any] | None:
        """The cache that taking it back restores, as in a wish; None for none, or for that of the
        plan."""
        return None if self.replaces_trial else self.from_cache

    @property
    def had_free_cache(self) -> bool:
        """Whether the provider's own cache was there before, without a plan."""
        return self.from_plan_id is None and self.from_cache is not None

    @property
    def restores_free_cache(self) -> bool:
        """Whether that cache comes back with this order."""
        return self.reverts is not None and self.to_plan_id is None and self.reverts.had_free_cache

    @property
    def costs_more(self) -> bool:
        """Whether a month costs more than before: then it is paid for from its completion on. A
        lower price holds from the order on, however long the work takes."""
        return self.price_minor > self.from_price_minor

    @property
    def is_open(self) -> bool:
        return self.state in OPEN
