"""Notices: written for every recipient in the transaction of their event, and sent when due, each
once, however many workers run at the same time.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.urls import reverse
from django.utils import translation

from jobs import notify_workers
from panel.languages.choice import spoken_to
from panel.models import Mute, Notice, NoticeKind, Order
from panel.notices import mail_preferences
from panel.notices.notice_texts import MailLinks, letter
from panel.orders import events
from storage.models import Member

log = logging.getLogger(__name__)

BATCH = 100
HELD = timedelta(minutes=5)
"""So long nobody else tries a notice that somebody is sending."""
PAUSES = (1, 5, 15, 60, 240, 720)
"""Minutes after each failed try; after the last one it is given up."""
ERROR_LENGTH = 300
KEPT = timedelta(days=90)


def sweep() -> None:
    """Send everything that is due."""
    for pk in list(Notice.objects.due().order_by("next_at").values_list("pk", flat=True)[:BATCH]):
        send(pk)


def send(pk: int) -> None:
    """Try one notice, unless somebody else does or it is not due. A worker that dies between the
    mail server's yes and our note of it sends a second time, under the same Message-ID."""
    if not Notice.objects.due().filter(pk=pk).update(next_at=Now() + HELD, tries=F("tries") + 1):
        return
    with_all = Notice.objects.select_related(
        *("user", "order__volume", "order__customer", "order__job"),
        *("order__from_plan", "order__to_plan", "order__reverts"),
    )
    notice = with_all.get(pk=pk)
    if not _is_wanted(notice):
        _end(notice, Notice.DeliveryOutcome.DROPPED)
        return
    try:
        with translation.override(spoken_to(notice.user)):
            message = mail(notice)
        message.send()
    except (OSError, ValueError) as error:  # smtplib's are OSErrors, a bad address is a ValueError
        _send_failed(notice, error)
    else:
        _end(notice, Notice.DeliveryOutcome.SENT)


def prune(now: datetime) -> None:
    """Forget what was sent, dropped or given up long ago."""
    Notice.objects.filter(ended_at__lt=now - KEPT).delete()


def mail(notice: Notice) -> EmailMessage:
    """The message of a notice, in the language spoken now."""
    order, base = notice.order, settings.TIERCEL_PUBLIC_URL
    pages = (reverse("my-order", args=[order.key]), reverse("my-report", args=[order.key]))
    written = letter(notice, MailLinks(*(base + page for page in (*pages, reverse("notices")))))
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


def _is_wanted(notice: Notice) -> bool:
    """Whether the person is still there, still belongs to the customer, and still wants it."""
    member = Member.objects.filter(customer=notice.order.customer_id, user=notice.user_id)
    kind = NoticeKind(notice.kind)
    return (
        notice.user.is_active and member.exists() and kind in mail_preferences.wanted(notice.user)
    )


def _end(notice: Notice, outcome: Notice.DeliveryOutcome) -> None:
    open_ = Notice.objects.filter(pk=notice.pk, ended_at=None)
    open_.update(outcome=outcome, ended_at=Now(), error="")


def _send_failed(notice: Notice, error: OSError | ValueError) -> None:
    text = str(error)[:ERROR_LENGTH]
    log.warning("notice %s to %s was not sent: %s", notice.key, notice.user.email, text)
    open_ = Notice.objects.filter(pk=notice.pk, ended_at=None)
    if notice.tries > len(PAUSES):
        open_.update(outcome=Notice.DeliveryOutcome.FAILED, ended_at=Now(), error=text)
        return
    pause = timedelta(minutes=PAUSES[notice.tries - 1])
    open_.update(next_at=Now() + pause, error=text)


TASK = "panel.tasks.send_notices"


def listen() -> None:
    """From now on what happens to orders is told."""
    events.completed.connect(_done)
    events.failed.connect(_failed)
    events.refused.connect(_failed)
    events.proof_ready.connect(_proof)


def tell(order: Order, kind: NoticeKind) -> None:
    """Write the notices to the members of the order's customer who want this kind; those that are
    written already stay as they are."""
    deaf = Mute.objects.filter(kind=kind).values("user")
    people = Member.objects.filter(customer=order.customer_id, user__is_active=True)
    recipients = people.exclude(user__in=deaf).values_list("user", flat=True)
    rows = [Notice(order=order, user_id=pk, kind=kind) for pk in recipients]
    Notice.objects.bulk_create(rows, ignore_conflicts=True)
    if rows:
        transaction.on_commit(_announce, robust=True)


def _announce() -> None:
    notify_workers.send(TASK)


def _done(*, order: Order, **given: object) -> None:
    tell(order, NoticeKind.DONE)


def _failed(*, order: Order, **given: object) -> None:
    tell(order, NoticeKind.FAILED)


def _proof(*, order: Order, **given: object) -> None:
    tell(order, NoticeKind.PROOF)
