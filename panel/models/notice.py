"""E-mail notices to customers, and the kinds that a person unsubscribed from."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_noop as marked

from panel.models.order import Order
from storage.naming import new_key


class NoticeKind(models.TextChoices):
    """What happened."""

    DONE = "done", marked("An order is done")
    FAILED = "failed", marked("An order failed or was refused")
    PROOF = "proof", marked("A before/after report is ready")


class NoticeQuerySet(models.QuerySet["Notice"]):
    def due(self) -> Self:
        """Those to be tried now, by the database's clock."""
        return self.filter(ended_at=None, next_at__lte=Now())


class Notice(models.Model):
    """One e-mail to one person about one order; written with what it tells of, sent after it.

    `next_at` is when it is tried (again). It ends (`ended_at`) sent, dropped because the person
    is no longer there or wants it no more, or given up after too many tries.
    """

    class DeliveryOutcome(models.TextChoices):
        """What became of it."""

        OPEN = "", "waiting"
        SENT = "sent", "sent"
        DROPPED = "dropped", "not wanted any more"
        FAILED = "failed", "given up"

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="notices")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=6, choices=NoticeKind.choices)
    outcome = models.CharField(max_length=7, blank=True, choices=DeliveryOutcome.choices)
    tries = models.PositiveSmallIntegerField(default=0)
    error = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    next_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True, blank=True)

    objects = NoticeQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(
                fields=("order", "user", "kind"), name="notice_once_for_each_person"
            ),
            models.CheckConstraint(
                condition=models.Q(kind__in=NoticeKind.values), name="notice_kind_known"
            ),
        )
        indexes = (
            models.Index(
                fields=("next_at",), condition=models.Q(ended_at=None), name="notice_waiting"
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_kind_display()}, to {self.user}"


class Mute(models.Model):
    """A kind of notice that a person does not want; without a row they get it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=6, choices=NoticeKind.choices)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("user", "kind"), name="mute_once_for_each_kind"),
            models.CheckConstraint(
                condition=models.Q(kind__in=NoticeKind.values), name="mute_kind_known"
            ),
        )

    def __str__(self) -> str:
        return f"{self.user}: no {self.kind}"
