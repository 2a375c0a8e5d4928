"""Recipients of alerts, and the messages to them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Coalesce, Now
from django.utils import timezone

from jobs.models import AlertEvent, AlertEventKind
from jobs.models.alert import AlertQuerySet
from panel.models.outgoing import Outgoing, OutgoingQuerySet
from storage.access import Person, Right, is_staff, may
from storage.models import Host
from storage.models.host import SITE_LIMIT, TAG_LIMIT
from storage.name_validators import demand_name
from storage.naming import new_key

NOTHING_AT_ONCE = -1
"""`AlertRoute.most_rank` of a recipient of the digest only."""
LAST_TIER = 3
SHOWN_EVENTS = 12
"""Of a message in a list: enough to name several different alerts."""


class RouteKind(models.TextChoices):
    """The channel of the messages."""

    EMAIL = "email", "E-mail to a person"
    WEBHOOK = "webhook", "Webhook, signed"
    NTFY = "ntfy", "ntfy"
    SLACK = "slack", "Slack"
    MATRIX = "matrix", "Matrix"


class AlertRouteQuerySet(models.QuerySet["AlertRoute"]):
    def visible_to(self, user: Person) -> Self:
        """The only way from a request to routes: they are for admins."""
        return self if may(user, Right.ADMINISTER) else self.none()

    def switched_on(self) -> Self:
        """Including paused ones; only of people who are still active staff."""
        gone = models.Q(user__isnull=False) & (
            models.Q(user__is_active=False) | models.Q(user__staff_role="")
        )
        return self.filter(is_on=True).exclude(gone)

    def in_use(self) -> Self:
        """Those that receive messages now."""
        return self.switched_on().exclude(paused_until__gt=Now())

    def own(self, user: Person) -> Self:
        """The mails to this person, which they may pause themselves."""
        return self.filter(user=user.pk) if is_staff(user) else self.none()


class AlertRoute(models.Model):
    """An alert recipient: a person by e-mail (`user`), or an address (`url`, sealed: it may grant
    access; `secret`, sealed, signs or authorises). It receives alerts up to the rank `most_rank` (0
    data at risk, 1 errors, 2 warnings too, -1 nothing at once) of the hosts of `hosts`, `sites` and
    `tags` (all where none of these is given), once the alert is in its `tier`. From `quiet_start`
    to `quiet_end` in `zone` messages wait, but for data at risk where `risk_pierces`; until
    `paused_until` only tests are sent. `digest_hour` is when the daily summary is sent, null for
    none."""

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    name = models.CharField(max_length=60, validators=[demand_name])
    kind = models.CharField(max_length=7, choices=RouteKind.choices)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="alert_routes",
    )
    url = models.TextField(blank=True)
    secret = models.TextField(blank=True)
    is_on = models.BooleanField(default=True)
    tier = models.PositiveSmallIntegerField(default=1)
    most_rank = models.SmallIntegerField(default=2)
    hosts = models.ManyToManyField(Host, blank=True, related_name="+")
    sites = ArrayField(models.CharField(max_length=SITE_LIMIT), blank=True, default=list)
    tags = ArrayField(models.CharField(max_length=TAG_LIMIT), blank=True, default=list)
    zone = models.CharField(max_length=64, default="UTC")
    quiet_start = models.TimeField(null=True, blank=True)
    quiet_end = models.TimeField(null=True, blank=True)
    risk_pierces = models.BooleanField(default=True)
    paused_until = models.DateTimeField(null=True, blank=True)
    digest_hour = models.PositiveSmallIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = AlertRouteQuerySet.as_manager()

    class Meta:
        ordering = ("tier", "name")
        constraints = (
            models.CheckConstraint(
                condition=models.Q(kind__in=RouteKind.values), name="alert_route_kind_known"
            ),
            models.CheckConstraint(
                condition=models.Q(kind="email", user__isnull=False)
                | (~models.Q(kind="email") & models.Q(user=None) & ~models.Q(url="")),
                name="alert_route_leads_somewhere",
            ),
            models.CheckConstraint(
                condition=models.Q(tier__gte=1, tier__lte=LAST_TIER), name="alert_route_tier"
            ),
            models.CheckConstraint(
                condition=models.Q(quiet_start=None, quiet_end=None)
                | models.Q(quiet_start__isnull=False, quiet_end__isnull=False),
                name="alert_route_quiet_whole",
            ),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def how(self) -> str:
        """Such as "E-mail to Ada"."""
        if self.kind == RouteKind.EMAIL:
            return f"E-mail to {self.name}"
        return f"{self.get_kind_display().partition(',')[0]} to {self.name}"

    @property
    def is_paused(self) -> bool:
        return self.paused_until is not None and self.paused_until > timezone.now()

    def local(self, at: datetime) -> datetime:
        """The moment in its time zone."""
        return at.astimezone(ZoneInfo(self.zone))


class AlertDeliveryQuerySet(OutgoingQuerySet["AlertDelivery"]):
    def due(self) -> Self:
        """Those whose time has come. The end of an alert waits until its beginning was delivered:
        in the other order it would read as a new alert."""
        ends = AlertEvent.objects.filter(
            deliveries=models.OuterRef(models.OuterRef("pk")), kind=AlertEventKind.RESOLVED
        )
        beginnings = AlertDelivery.objects.unsent().filter(
            route=models.OuterRef("route"),
            pk__lt=models.OuterRef("pk"),
            events__alert__in=ends.values("alert"),
        )
        return super().due().filter(~models.Exists(beginnings), route__isnull=False)

    def visible_to(self, user: Person) -> Self:
        """The only way from a request to the messages: they are for admins."""
        return self if may(user, Right.ADMINISTER) else self.none()

    def visible_to_staff(self, user: Person) -> Self:
        """The recipients of an alert, and whether the messages arrived: all staff may see these,
        but no addresses."""
        return self.select_related("route") if is_staff(user) else self.none()

    def about_alerts(self) -> Self:
        """With its first events (`first_events`) and its number of alerts (`alert_count`)."""
        events = AlertEvent.objects.select_related("alert__host", "alert__volume")
        events = events.defer("alert__host__facts").order_by("id")[:SHOWN_EVENTS]
        return (
            self.select_related("route")
            .annotate(alert_count=models.Count("events__alert", distinct=True))
            .prefetch_related(models.Prefetch("events", events, to_attr="first_events"))
        )


def with_message_counts(alerts: AlertQuerySet) -> AlertQuerySet:
    """With the numbers of messages about each alert: `messages_delivered`, `messages_waiting`
    (including retries) and `messages_given_up`."""

    def counted(**state: Any) -> Coalesce:
        messages = AlertDelivery.objects.filter(events__alert=models.OuterRef("pk"), **state)
        by_alert = messages.order_by().values("events__alert")
        count = by_alert.annotate(count=models.Count("pk", distinct=True)).values("count")
        return Coalesce(models.Subquery(count), 0)

    return alerts.annotate(
        messages_delivered=counted(delivered_at__isnull=False),
        messages_waiting=counted(delivered_at=None, given_up_at=None),
        messages_given_up=counted(given_up_at__isnull=False),
    )


class AlertDelivery(Outgoing):
    """One message to one route about the events of one moment or of its quiet hours; or a digest,
    or a test. Its `key` is the webhook-id and part of the Message-ID. `day` is that of a digest, so
    that there is one a day. `recipient` is the name of a deleted route."""

    class Purpose(models.TextChoices):
        """What it is about."""

        EVENTS = "events", "alerts"
        DIGEST = "digest", "daily digest"
        TEST = "test", "test"

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    route = models.ForeignKey(
        AlertRoute, null=True, on_delete=models.SET_NULL, related_name="deliveries"
    )
    recipient = models.CharField(max_length=120, blank=True, default="", db_default="")
    purpose = models.CharField(max_length=6, choices=Purpose.choices, default=Purpose.EVENTS)
    events = models.ManyToManyField(AlertEvent, related_name="deliveries")
    day = models.DateField(null=True, blank=True)

    objects = AlertDeliveryQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(fields=("route", "day"), name="alert_digest_once_a_day"),
            models.CheckConstraint(
                condition=models.Q(purpose__in=("events", "digest", "test")),
                name="alert_delivery_purpose_known",
            ),
        )
        indexes = (
            models.Index(
                fields=("next_at",),
                condition=models.Q(delivered_at=None, given_up_at=None),
                name="alert_delivery_due",
            ),
        )

    def __str__(self) -> str:
        return f"{self.purpose} to {self.to}"

    @property
    def its_route(self) -> AlertRoute:
        """The route of an unsent message: messages of deleted routes are never sent."""
        if self.route is None:
            raise ValueError("the recipient was deleted")
        return self.route

    @property
    def to(self) -> str:
        """Channel and recipient, also of a deleted route."""
        return self.route.how if self.route is not None else self.recipient
