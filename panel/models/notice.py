"""E-mail notices to customers, and the kinds that a person unsubscribed from."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_noop as marked

from jobs.models import Alert
from panel.models.order import Order
from panel.models.outgoing import Outgoing, OutgoingQuerySet
from storage.naming import new_key


class NoticeKind(models.TextChoices):
    """What happened."""

    DONE = "done", marked("An order is done")
    FAILED = "failed", marked("An order failed or was refused")
    PROOF = "proof", marked("A before/after report is ready")
    WRONG = "wrong", marked("A volume has a problem")
    MENDED = "mended", marked("A problem of a volume is over")


class Notice(Outgoing):
    """One e-mail to one person about one order, or about an alert of their volume; written with
    what it tells of, sent after it. It is given up unsent where the person is no longer there or
    wants it no more."""

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    order = models.ForeignKey(
        Order, null=True, blank=True, on_delete=models.CASCADE, related_name="notices"
    )
    alert = models.ForeignKey(
        Alert, null=True, blank=True, on_delete=models.CASCADE, related_name="notices"
    )
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=6, choices=NoticeKind.choices)

    objects = OutgoingQuerySet["Notice"].as_manager()

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(
                fields=("order", "user", "kind"), name="notice_once_for_each_person"
            ),
            models.UniqueConstraint(
                fields=("alert", "user", "kind"), name="notice_of_alert_once_for_each_person"
            ),
            models.CheckConstraint(
                condition=models.Q(kind__in=NoticeKind.values), name="notice_kind_known"
            ),
            models.CheckConstraint(
                condition=models.Q(order__isnull=False, alert=None)
                | models.Q(order=None, alert__isnull=False),
                name="notice_about_one_thing",
            ),
        )
        indexes = (
            models.Index(
                fields=("next_at",),
                condition=models.Q(delivered_at=None, given_up_at=None),
                name="notice_waiting",
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
