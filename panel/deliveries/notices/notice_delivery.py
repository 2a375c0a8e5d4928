"""Notices: written for every recipient in the transaction of their event, and sent once when due,
however many workers run (`panel.deliveries`).
"""

from __future__ import annotations

import logging
import random
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Q
from django.urls import reverse
from django.utils import translation

from jobs import notify_workers
from jobs.models import Alert
from panel.accounts import mail_preferences
from panel.deliveries import delivery_queue
from panel.deliveries.failure_words import failure_words
from panel.deliveries.notices.notice_texts import MailLinks, letter
from panel.languages.choice import spoken_to
from panel.models import Mute, Notice, NoticeKind, Order
from panel.orders import events
from storage.models import Member, Volume

log = logging.getLogger(__name__)

BATCH = 100
PAUSES = (60, 300, 900, 3600, 14_400, 43_200)
"""Seconds after each failed attempt; after the last one the notice is given up."""
SENDERS = 2
KEPT = timedelta(days=90)
TASK = "panel.tasks.send_notices"
NOT_WANTED = "No longer wanted."


def send_due_notices() -> None:
    """Send all due notices."""
    with delivery_queue.turn(TASK, SENDERS) as is_ours:
        for _ in range(BATCH if is_ours else 0):
            notice = delivery_queue.claim(Notice.objects.due())
            if notice is None:
                return
            _try(notice)


def _try(claimed: Notice) -> None:
    with_all = Notice.objects.select_related(
        "user",
        "order__volume",
        "order__customer",
        "order__job",
        "order__from_plan",
        "order__to_plan",
        "order__reverts",
        "alert__volume__customer",
    )
    notice = with_all.get(pk=claimed.pk)
    if not _is_wanted(notice):
        delivery_queue.given_up(notice, None, NOT_WANTED)
        return
    try:
        with translation.override(spoken_to(notice.user)):
            message = notice_message(notice)
        message.send()
    except (OSError, ValueError) as error:  # smtplib's are OSErrors, a bad address is a ValueError
        _retry(notice, failure_words(error, "mail server"))
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        # An unexpected error of one notice must not block the others.
        log.exception("notice %s", notice.key)
        _retry(notice, "The panel itself failed with this notice. See the worker's log.")
    else:
        delivery_queue.delivered(notice)


def _retry(notice: Notice, error: str) -> None:
    log.warning("notice %s to %s was not sent: %s", notice.key, notice.user.email, error)
    chance = random.random()  # noqa: S311 - spreads the tries, guards nothing
    pause = delivery_queue.wait_seconds(notice.attempts, PAUSES, chance)
    if pause is None:
        delivery_queue.given_up(notice, None, error)
    else:
        delivery_queue.later(notice, None, error, pause)


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
