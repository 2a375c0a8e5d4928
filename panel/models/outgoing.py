"""Base of outgoing messages: written in the transaction of their cause, sent later (outbox)."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, Self, TypeVar

from django.db import models
from django.db.models.functions import Now

Row = TypeVar("Row", bound="Outgoing")


class OutgoingQuerySet(models.QuerySet[Row]):
    """Messages by their state."""

    def unsent(self) -> Self:
        """Those that are still being tried."""
        return self.filter(delivered_at=None, given_up_at=None)

    def due(self) -> Self:
        """Those whose time has come, by the database's clock."""
        return self.unsent().filter(next_at__lte=Now()).order_by("next_at", "id")


class Outgoing(models.Model):
    """The message is tried at `next_at` until it is delivered or given up; until `held_until` a
    sender holds it (null = none), and `next_at` does not change. `last_status` is the HTTP status
    of the last attempt (null = no answer, or no HTTP), `last_error` its error, "" for none."""

    attempts = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField(db_default=Now())
    held_until = models.DateTimeField(null=True, blank=True, editable=False)
    delivered_at = models.DateTimeField(null=True, blank=True)
    given_up_at = models.DateTimeField(null=True, blank=True)
    last_status = models.PositiveSmallIntegerField(null=True, blank=True)
    last_error = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        abstract = True

    @property
    def state(self) -> Literal["delivered", "given_up", "waiting"]:
        """The state of the delivery."""
        if self.delivered_at is not None:
            return "delivered"
        return "given_up" if self.given_up_at is not None else "waiting"

    @property
    def next_try_at(self) -> datetime | None:
        """When the next attempt is due; None where there is none."""
        return self.next_at if self.state == "waiting" else None
