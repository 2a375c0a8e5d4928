"""Sends the messages of alerts that are due: mails by SMTP, everything else by HTTP."""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import InterfaceError, OperationalError
from django.db.models import prefetch_related_objects

from jobs.models import Alert
from panel.accounts.authentication.second_factor import unseal
from panel.deliveries import delivery_queue, http_post
from panel.deliveries.alerts.alert_mail import (
    AlertLetter,
    AlertStory,
    digest_of,
    letter_of,
    test_letter,
    things_of,
)
from panel.deliveries.alerts.alert_routing import TASK, is_about
from panel.deliveries.alerts.alert_shapes import AlertTarget, request_of
from panel.deliveries.failure_words import failure_words
from panel.deliveries.http_post import Forbidden, NoResponse
from panel.models import AlertDelivery, AlertRoute, RouteKind
from storage.database_clock import database_now

log = logging.getLogger(__name__)

SENDERS: Final = 2
AT_ONCE: Final = 100
TRY_SECONDS: Final = 10
PAUSES: Final = (5, 15, 30, 60, 120, 180, 300, 600, 1800, *(3600,) * 24)
"""Seconds after each failed attempt: soon at first, 25 hours in all."""
GONE: Final = 410
NOT_IN_USE: Final = "The route is switched off, or paused."
INTERNAL: Final = "The panel itself failed with this message. See the worker's log."


class NotTaken(Exception):
    """The receiver refused the message; `status` is that of its answer, and `pause_seconds` the
    pause that it asks for."""

    def __init__(self, status: int, pause_seconds: float | None = None) -> None:
        super().__init__(f"The answer was {status}.")
        self.status = status
        self.pause_seconds = pause_seconds


def send_due_alerts() -> int:
    """Try each due message, at most `AT_ONCE`; returns the number of attempts."""
    with delivery_queue.turn(TASK, SENDERS) as is_ours:
        if not is_ours:
            return 0
        for tried in range(AT_ONCE):
            row = delivery_queue.claim(AlertDelivery.objects.due())
            if row is None:
                return tried
            _try(row)
    return AT_ONCE


def _try(row: AlertDelivery) -> None:
    route = row.its_route
    # A test shows now whether the route works, also while it is paused.
    is_test = row.purpose == AlertDelivery.Purpose.TEST
    routes = AlertRoute.objects.switched_on() if is_test else AlertRoute.objects.in_use()
    if not routes.filter(pk=route.pk).exists():
        delivery_queue.given_up(row, None, NOT_IN_USE)
        return
    try:
        status = send_alert(row)
    except NotTaken as refusal:
        _retry(row, refusal.status, str(refusal), refusal.pause_seconds)
    except (NoResponse, Forbidden, OSError, ValueError) as error:
        # smtplib's are OSErrors; a bad address, or a secret that no key opens, is a ValueError.
        _retry(row, None, failure_words(error, "mail server"))
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        # An unexpected error of one message must not block the others.
        log.exception("alert message %s", row.key)
        _retry(row, None, INTERNAL)
    else:
        delivery_queue.delivered(row, status)


def _retry(row: AlertDelivery, status: int | None, error: str, asked: float | None = None) -> None:
    chance = random.random()  # noqa: S311 - spreads the tries, guards nothing
    pause = delivery_queue.wait_seconds(row.attempts, PAUSES, chance, asked)
    log.warning("alert message %s to %s was not sent: %s", row.key, row.to, error)
    if pause is None or status == GONE:
        delivery_queue.given_up(row, status, error)
    else:
        delivery_queue.later(row, status, error, pause)


def send_alert(row: AlertDelivery) -> int | None:
    """Send one message now; returns the status of the answer, None for an e-mail. Raises where it
    was not accepted."""
    stories = stories_of(row)
    letter = _letter(row, stories)
    route = row.its_route
    if route.kind == RouteKind.EMAIL:
        alert_message(row, letter, stories).send()
        return None
    target = AlertTarget(RouteKind(route.kind), unseal(route.url), _secret(route))
    at = database_now()
    request = request_of(target, row.key, row.purpose, letter, stories, at)
    answer = http_post.post(
        request.url,
        request.body,
        {"User-Agent": "Tiercel", **request.headers},
        seconds=TRY_SECONDS,
        private_hosts=settings.TIERCEL_ALERT_PRIVATE_HOSTS,
        purpose=http_post.ALERTS,
        method=request.method,
    )
    if not 200 <= answer.status < 300:
        raise NotTaken(answer.status, delivery_queue.pause_asked(answer))
    return answer.status


def _secret(route: AlertRoute) -> str:
    return unseal(route.secret) if route.secret else ""


def stories_of(row: AlertDelivery) -> tuple[AlertStory, ...]:
    """The message's events by their alerts."""
    events = list(
        row.events.select_related("alert__host", "alert__volume")
        .defer("alert__host__facts")
        .order_by("id")
    )
    by_alert: dict[int, list[int]] = {}
    for n, event in enumerate(events):
        by_alert.setdefault(event.alert_id, []).append(n)
    effects: dict[int, list[Alert]] = {}
    following = Alert.objects.filter(cause__in=by_alert, opened_at__isnull=False)
    following = following.select_related("volume", "host").defer("host__facts")
    for each in following.order_by("pk"):
        effects.setdefault(each.cause_id or 0, []).append(each)
    stories = []
    for pk, places in by_alert.items():
        things, count = things_of(effects.get(pk, ()))
        own = tuple(events[n] for n in places)
        stories.append(AlertStory(own[-1].alert, own, things, count))
    return tuple(stories)


def _letter(row: AlertDelivery, stories: Sequence[AlertStory]) -> AlertLetter:
    if row.purpose == AlertDelivery.Purpose.TEST:
        return test_letter(row.its_route.name)
    if row.purpose == AlertDelivery.Purpose.EVENTS:
        return letter_of(stories)
    return _digest(row.its_route)


def _digest(route: AlertRoute) -> AlertLetter:
    """Open and just resolved alerts of the hosts in the route's scope. An effect is listed where
    its cause is on none of them."""
    prefetch_related_objects([route], "hosts")
    now = database_now()
    alerts = Alert.objects.with_names()
    ended = alerts.filter(resolved_at__gt=now - timedelta(days=1), told_at__isnull=False)
    open_now = [
        each
        for each in alerts.open().order_by("rank", "opened_at")
        if is_about(route, each.host)
        and (each.cause is None or not is_about(route, each.cause.host))
    ]
    return digest_of(open_now, sum(is_about(route, each.host) for each in ended), now)


def alert_message(
    row: AlertDelivery, letter: AlertLetter, stories: Sequence[AlertStory]
) -> EmailMessage:
    """The e-mail; those of one alert form one thread."""
    user = row.its_route.user
    if user is None:
        raise ValueError("the route has no person")
    domain = settings.DEFAULT_FROM_EMAIL.rpartition("@")[2].rstrip(">")
    headers = {"Message-ID": f"<alert-{row.key}@{domain}>", "Auto-Submitted": "auto-generated"}
    if stories:
        named = " ".join(f"<alert-of-{each.alert.key}@{domain}>" for each in stories[:5])
        headers["References"] = named
    if letter.rank == 0:
        headers["Importance"] = "high"
    return EmailMessage(letter.subject, letter.text, to=[user.email], headers=headers)
