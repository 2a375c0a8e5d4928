"""The messages of alerts: how each is written and sent."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.core.mail import EmailMessage
from django.db.models import QuerySet, prefetch_related_objects

from jobs.models import Alert
from panel.accounts.authentication.second_factor import unseal
from panel.deliveries import http_post
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
from panel.deliveries.delivery_loop import GONE, TRY_SECONDS, DeliveryKind, NotTaken
from panel.deliveries.http_post import Answer
from panel.models import AlertDelivery, AlertRoute, RouteKind
from storage.database_clock import database_now

NOT_IN_USE: Final = "The route is switched off, or paused."


class AlertDeliveryKind(DeliveryKind[AlertDelivery]):
    """Messages of alerts and digests: by SMTP to persons, by HTTP to everything else."""

    task = TASK
    pauses = (5, 15, 30, 60, 120, 180, 300, 600, 1800, *(3600,) * 24)
    """Soon at first, for a day and an hour in all."""

    def due(self) -> QuerySet[AlertDelivery]:
        return AlertDelivery.objects.due()

    def receiver(self, row: AlertDelivery) -> str:
        return "mail server" if row.its_route.kind == RouteKind.EMAIL else "receiver"

    def reason_to_drop(self, row: AlertDelivery) -> str:
        # A test shows at once whether the route works, also while the route is paused.
        is_test = row.purpose == AlertDelivery.Purpose.TEST
        routes = AlertRoute.objects.switched_on() if is_test else AlertRoute.objects.in_use()
        return "" if routes.filter(pk=row.its_route.pk).exists() else NOT_IN_USE

    def send(self, row: AlertDelivery) -> Answer | None:
        stories = stories_of(row)
        letter = _letter(row, stories)
        if row.its_route.kind == RouteKind.EMAIL:
            alert_message(row, letter, stories).send()
            return None
        return _posted(row, letter, stories)

    def pause_seconds(self, row: AlertDelivery, failure: NotTaken) -> float | None:
        return None if failure.status == GONE else super().pause_seconds(row, failure)


ALERT_MESSAGES: Final = AlertDeliveryKind()


def _posted(row: AlertDelivery, letter: AlertLetter, stories: Sequence[AlertStory]) -> Answer:
    route = row.its_route
    target = AlertTarget(RouteKind(route.kind), unseal(route.url), _secret(route))
    request = request_of(target, row.key, row.purpose, letter, stories, database_now())
    return http_post.post(
        request.url,
        request.body,
        {"User-Agent": "Tiercel", **request.headers},
        seconds=TRY_SECONDS,
        private_hosts=settings.TIERCEL_ALERT_PRIVATE_HOSTS,
        purpose=http_post.ALERTS,
        method=request.method,
    )


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
    ended = alerts.filter(resolved_at__gt=now - timedelta(days=1), notified_at__isnull=False)
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
