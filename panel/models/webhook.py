"""Whose servers events are sent to, and what was sent to each."""

from __future__ import annotations

from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from panel.models.outgoing import Outgoing, OutgoingQuerySet
from storage.access import Person, Right, may
from storage.models import Customer, Event
from storage.name_validators import demand_name
from storage.naming import new_key


class WebhookQuerySet(models.QuerySet["Webhook"]):
    def visible_to(self, user: Person) -> Self:
        """The only way from a request to webhooks: they are for admins."""
        return self if may(user, Right.ADMINISTER) else self.none()

    def in_use(self) -> Self:
        """Those that are switched on and have not said that they are gone."""
        return self.filter(is_on=True, disabled_at=None)


class Webhook(models.Model):
    """An address that events are sent to (`url`, sealed: it may grant access). It receives those of
    `kinds` (`job.*` is a family; all for none) and, with a `customer`, only what their
    people see. `secret` signs (sealed); so does the one before it (`former_secret`) until
    `former_until`. `position` is the place in the list of events up to which messages were written.
    `disabled_at` is when it answered that it is gone (410). After `failures` failed attempts in a
    row it rests until `rests_until`."""

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    name = models.CharField(max_length=60, validators=[demand_name])
    url = models.TextField()
    kinds = ArrayField(models.CharField(max_length=32), blank=True, default=list)
    customer = models.ForeignKey(
        Customer, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    secret = models.TextField()
    former_secret = models.TextField(blank=True)
    former_until = models.DateTimeField(null=True, blank=True)
    is_on = models.BooleanField(default=True)
    position = models.BigIntegerField(default=0)
    disabled_at = models.DateTimeField(null=True, blank=True)
    failures = models.PositiveIntegerField(default=0)
    rests_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = WebhookQuerySet.as_manager()

    class Meta:
        ordering = ("name", "id")

    def __str__(self) -> str:
        return self.name

    def wants(self, event: Event) -> bool:
        """Whether the event is sent there."""
        if self.customer_id is not None and event.customer_id != self.customer_id:
            return False
        family = f"{event.kind.partition('.')[0]}.*"
        return not self.kinds or event.kind in self.kinds or family in self.kinds


class WebhookDeliveryQuerySet(OutgoingQuerySet["WebhookDelivery"]):
    def due(self) -> Self:
        """Those whose time has come, of webhooks that may be tried now, and only the first of each
        subject: what happened to it later waits until this one was taken or given up."""
        earlier = WebhookDelivery.objects.unsent().filter(
            webhook=models.OuterRef("webhook"),
            subject=models.OuterRef("subject"),
            pk__lt=models.OuterRef("pk"),
        )
        may_be_tried = models.Q(webhook__rests_until=None) | models.Q(
            webhook__rests_until__lte=Now()
        )
        return (
            super()
            .due()
            .filter(may_be_tried, webhook__is_on=True, webhook__disabled_at=None)
            .filter(~models.Exists(earlier))
        )

    def visible_to(self, user: Person) -> Self:
        """The only way from a request to what was sent: it is for admins."""
        return self if may(user, Right.ADMINISTER) else self.none()


class WebhookDelivery(Outgoing):
    """One event on its way to one webhook, or a test (`event` null). Messages of one `subject` are
    sent in the order of their ids, which is that of the list. `tried_since` is when it was written,
    or sent again by a person."""

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.ForeignKey(Event, null=True, on_delete=models.CASCADE, related_name="+")
    subject = models.CharField(max_length=40)
    tried_since = models.DateTimeField(db_default=Now(), editable=False)

    objects = WebhookDeliveryQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(fields=("webhook", "event"), name="webhook_event_once"),
        )
        indexes = (
            models.Index(
                fields=("next_at",),
                condition=models.Q(delivered_at=None, given_up_at=None),
                name="webhook_delivery_due",
            ),
            models.Index(
                fields=("webhook", "subject", "id"),
                condition=models.Q(delivered_at=None, given_up_at=None),
                name="webhook_delivery_order",
            ),
        )

    def __str__(self) -> str:
        return f"{self.event or 'test'} to {self.webhook}"

    @property
    def name(self) -> str:
        """Its webhook-id: that of the event."""
        return self.event.key if self.event is not None else f"evt_test_{self.key}"
