"""API tokens, which automation shows instead of a password, and the requests with an
Idempotency-Key and their answers."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Final, Self

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_noop as marked

from storage.access import Person, Right, may
from storage.name_validators import demand_name

KEY_LENGTH = 12


class Scope(models.TextChoices):
    """What a token may do at most; its person's own rights limit it further."""

    READ = "read", marked("read everything you can see")
    VOLUMES_READ = "volumes:read", marked("read volumes and their figures")
    HOSTS_READ = "hosts:read", marked("read hosts and their disks")
    JOBS_READ = "jobs:read", marked("read jobs")
    CUSTOMERS_READ = "customers:read", marked("read customers")
    BILLING_READ = "billing:read", marked("read plans, orders and prices")
    ALERTS_READ = "alerts:read", marked("read alerts and who is notified")
    EVENTS_READ = "events:read", marked("read events and webhooks")
    AUDIT_READ = "audit:read", marked("read the audit trail")
    PEOPLE_READ = "people:read", marked("read people and tokens")
    PREVIEW = "volumes:preview", marked("preview volume changes")
    VOLUMES = "volumes:write", marked("change caches, adopt and rename volumes")
    DESTROY = "volumes:destroy", marked("destroy volumes and give up lost caches")
    HOSTS = "hosts:write", marked("manage hosts")
    BENCHMARKS = "benchmarks:write", marked("order benchmarks, and share what they measured")
    CUSTOMERS = "customers:write", marked("make and change customers")
    ORDERS = "orders:write", marked("order cache plans and take orders back, which costs money")
    PLANS = "plans:write", marked("make and change cache plans")
    ALERTS = "alerts:write", marked("acknowledge alerts and silence them")
    ALERT_ROUTES = "alert-routes:write", marked("change alert recipients")
    WEBHOOKS = "webhooks:write", marked("change where events are sent")
    METRICS = "metrics:read", marked("read metrics for Prometheus, and nothing else")
    PEOPLE = "people:write", marked("invite people and change their roles")
    TOKENS = "tokens:write", marked("make and revoke tokens with at most the same scopes")


READS: Final = (
    Scope.VOLUMES_READ,
    Scope.HOSTS_READ,
    Scope.JOBS_READ,
    Scope.CUSTOMERS_READ,
    Scope.BILLING_READ,
    Scope.ALERTS_READ,
    Scope.EVENTS_READ,
    Scope.AUDIT_READ,
    Scope.PEOPLE_READ,
)
"""Parts of `read`, which covers them all. Metrics are no part of it."""


def covered_by(scopes: Collection[str]) -> set[str]:
    """What a token of these scopes is for."""
    return {*scopes, *READS} if Scope.READ in scopes else {*scopes}


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    def visible_to(self, user: Person) -> Self:
        """The only way from a request to tokens: admins see everybody's, others their own."""
        return self if may(user, Right.ADMINISTER) else self.filter(user=user.pk)

    def live(self) -> Self:
        """Those that neither expired, by the database's clock, nor were revoked."""
        return self.filter(revoked_at=None, expires_at__gt=Now())


class ApiToken(models.Model):
    """Written `tcl_<key>.<secret>`, shown once. Only a keyed digest of the secret is kept.

    The token acts as `user`, within `scopes`, until `expires_at` or `revoked_at`, from anywhere or
    (`networks`, in CIDR notation) only from there. `last_used_at` is written at most once a minute;
    `warned_at` is when its person was notified of this. `made_by` is the key of the token that
    made it, or that it follows; "" where a person or a command did. A key, so that it stays once
    that token is deleted.
    """

    key = models.CharField(max_length=KEY_LENGTH, unique=True, editable=False)
    digest = models.CharField(max_length=64, editable=False)
    name = models.CharField(max_length=64, validators=[demand_name])
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    scopes = ArrayField(models.CharField(max_length=32, choices=Scope.choices))
    networks = ArrayField(models.CharField(max_length=43), default=list, blank=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    last_used_ip = models.GenericIPAddressField(null=True, blank=True)
    warned_at = models.DateTimeField(null=True, blank=True)
    made_by = models.CharField(
        max_length=KEY_LENGTH, blank=True, default="", db_default="", editable=False
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return f"{self.name} (tcl_{self.key})"

    def is_live(self, now: datetime) -> bool:
        """True until it expires or is revoked."""
        return self.revoked_at is None and self.expires_at > now


class IdempotentRequest(models.Model):
    """The same key of the same person on the same route is the same request: it is answered as the
    first time. `request_digest` tells another request under an old key; `status` is null while
    the first one is still being answered."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    route = models.CharField(max_length=200)
    key = models.CharField(max_length=255)
    request_digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    headers = models.JSONField(default=dict)
    body = models.JSONField(default=dict)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("user", "route", "key"), name="idempotency_key_once"),
        )

    def __str__(self) -> str:
        return f"{self.route} {self.key}"
