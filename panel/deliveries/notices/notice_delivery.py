"""Notices: written for every recipient in the transaction of their event, and sent once when due,
however many workers run (`panel.deliveries`).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import translation

from jobs import notify_workers
from jobs.models import Alert
from panel.accounts import mail_preferences
from panel.deliveries.delivery_loop import DeliveryKind
from panel.deliveries.notices.notice_texts import MailLinks, letter
from panel.languages.choice import spoken_to
from panel.models import Mute, Notice, NoticeKind, Order
from panel.orders import events
from storage.models import Member, Volume

KEPT = timedelta(days=90)
TASK = "panel.tasks.send_notices"
NOT_WANTED = "No longer wanted."


class NoticeDeliveryKind(DeliveryKind[Notice]):
    """Mails to customers' members about their orders and volumes."""

    task = TASK
    pauses = (60, 300, 900, 3600, 14_400, 43_200)

    def due(self) -> QuerySet[Notice]:
        return Notice.objects.due()

    def receiver(self, row: Notice) -> str:
        return "mail server"

    def reason_to_drop(self, row: Notice) -> str:
        return "" if _is_wanted(row) else NOT_WANTED

    def send(self, row: Notice) -> None:
        with translation.override(spoken_to(row.user)):
            message = notice_message(row)
        message.send()


NOTICE_MAILS: Final = NoticeDeliveryKind()


def prune_notices(now: datetime) -> None:
    """Delete notices that were sent, dropped or given up long ago. Those of an alert stay until it
    has long been resolved; otherwise it would notify again, and its end would not."""
    ended = Q(delivered_at__lt=now - KEPT) | Q(given_up_at__lt=now - KEPT)
    lasting = Alert.objects.lasting_after(now - KEPT)
    Notice.objects.filter(ended).exclude(alert__in=lasting).delete()


def notice_message(notice: Notice) -> EmailMessage:
    """The e-mail of a notice, in the active language."""
    written = letter(notice, _links(notice))
    off = mail_preferences.link(
        mail_preferences.MailPreference(notice.user, NoticeKind(notice.kind))
    )
    domain = settings.DEFAULT_FROM_EMAIL.rpartition("@")[2].rstrip(">")
    return EmailMessage(
        written.subject,
        written.text,
        to=[notice.user.email],
        headers={
            "Message-ID": f"<{notice.key}@{domain}>",
            "Auto-Submitted": "auto-generated",
            "List-Unsubscribe": f"<{off}>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        },
    )


def _links(notice: Notice) -> MailLinks:
    base, choice = settings.TIERCEL_PUBLIC_URL, reverse("notices")
    if notice.order is not None:
        order = notice.order.key
        page, report = reverse("my-order", args=[order]), reverse("my-report", args=[order])
    else:
        volume = _volume_of(notice)
        page = report = reverse("my-volume", args=[volume.key]) if volume is not None else choice
    return MailLinks(base + page, base + report, base + choice)


def _is_wanted(notice: Notice) -> bool:
    """Whether the person is active, belongs to the customer, and still wants the notice."""
    volume = _volume_of(notice)
    customer = notice.order.customer_id if notice.order is not None else None
    if volume is not None:
        customer = volume.customer_id
    kind = NoticeKind(notice.kind)
    return (
        notice.user.is_active
        and Member.objects.filter(customer=customer, user=notice.user_id).exists()
        and kind in mail_preferences.wanted(notice.user)
    )


def _volume_of(notice: Notice) -> Volume | None:
    """The volume of the alert; None for a notice about an order, or where the volume is gone."""
    return notice.alert.volume if notice.alert is not None else None


def listen() -> None:
    """Subscribe to the events of orders."""
    events.completed.connect(_done)
    events.failed.connect(_failed)
    events.refused.connect(_failed)
    events.proof_ready.connect(_proof)


def notify(order: Order, kind: NoticeKind) -> None:
    """Write notices to the members of the order's customer who want this kind; existing ones stay
    unchanged."""
    _write(order.customer_id, kind, order=order)


def notify_of_alert(alert: Alert, kind: NoticeKind) -> None:
    """Write notices to the members of the customer of the alert's volume; of its end, only to those
    who were notified of it. The volume may have changed customers meanwhile."""
    if alert.volume is None or alert.volume.customer_id is None:
        return
    notified = Notice.objects.filter(alert=alert, kind=NoticeKind.WRONG).values("user")
    among = Q(user__in=notified) if kind == NoticeKind.MENDED else Q()
    _write(alert.volume.customer_id, kind, among, alert=alert)


def _write(customer_id: int, kind: NoticeKind, among: Q | None = None, **about: Any) -> None:
    muted = Mute.objects.filter(kind=kind).values("user")
    people = Member.objects.filter(
        among or Q(), customer=customer_id, user__is_active=True, user__is_service=False
    )
    recipients = people.exclude(user__in=muted).values_list("user", flat=True)
    rows = [Notice(user_id=pk, kind=kind, **about) for pk in recipients]
    Notice.objects.bulk_create(rows, ignore_conflicts=True)
    if rows:
        transaction.on_commit(_announce, robust=True)


def _announce() -> None:
    notify_workers.send(TASK)


def _done(*, order: Order, **given: object) -> None:
    notify(order, NoticeKind.DONE)


def _failed(*, order: Order, **given: object) -> None:
    notify(order, NoticeKind.FAILED)


def _proof(*, order: Order, **given: object) -> None:
    notify(order, NoticeKind.PROOF)
