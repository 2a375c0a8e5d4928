"""The security log: sign-ins, failed attempts, and every change of a credential."""

from __future__ import annotations

from datetime import datetime
from typing import Self

from django.db import models
from django.db.models.functions import Now

from storage.access import Person, Right, may


class SecurityKind(models.TextChoices):
    """What happened."""

    SIGNED_IN = "signed_in", "signed in"
    FAILED = "failed", "sign-in or proof failed"
    LOCKED_OUT = "locked_out", "too many attempts"
    PASSWORD = "password", "password changed"
    FACTOR_ADDED = "factor_added", "second factor added"
    FACTOR_REMOVED = "factor_removed", "second factor removed"
    CODES = "codes", "recovery codes renewed"
    ADDRESS = "address", "e-mail address changed"
    TOKEN_MADE = "token_made", "API token made"
    TOKEN_REVOKED = "token_revoked", "API token revoked"
    LINK_MADE = "link_made", "one-time link made"
    LINK_USED = "link_used", "one-time link used"
    LINK_REVOKED = "link_revoked", "one-time link revoked"
    ROLE = "role", "role changed"
    DEACTIVATED = "deactivated", "deactivated"
    REACTIVATED = "reactivated", "reactivated"
    SESSION_ENDED = "session_ended", "session ended"
    BACKUP = "backup", "backup made"
    EXPORTED = "exported", "data exported"
    ALERT_ROUTE = "alert_route", "alert recipients changed"
    WEBHOOK = "webhook", "webhook changed"
    KIOSK_LINK = "kiosk_link", "kiosk link changed"


class SecurityQuerySet(models.QuerySet["SecurityEntry"]):
    def visible_to(self, user: Person) -> Self:
        """The only way from a request to the log: it names everybody, so it is for admins."""
        return self if may(user, Right.ADMINISTER) else self.none()

    def about(
        self,
        *,
        who: str = "",
        kind: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Self:
        """Entries that match all that is given; `who` is a part of either person's address, or an
        IP address; before `until`."""
        entries = self
        if who:
            person = models.Q(person__icontains=who) | models.Q(actor__icontains=who)
            entries = entries.filter(person | models.Q(address__startswith=who))
        if kind:
            entries = entries.filter(kind=kind)
        if since is not None:
            entries = entries.filter(at__gte=since)
        return entries if until is None else entries.filter(at__lt=until)


class SecurityEntry(models.Model):
    """One event. `person` is whose access it concerns, `actor` who did it ("" for the panel itself,
    or without sign-in). Text, so that it outlives the account; the database refuses to change or
    delete entries."""

    at = models.DateTimeField(db_default=Now(), editable=False)
    kind = models.CharField(max_length=16, choices=SecurityKind.choices)
    person = models.CharField(max_length=254, blank=True)
    actor = models.CharField(max_length=254, blank=True)
    address = models.GenericIPAddressField(null=True, blank=True)
    detail = models.CharField(max_length=200, blank=True)

    objects = SecurityQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(kind__in=SecurityKind.values), name="security_kind_known"
            ),
        )
        indexes = (
            models.Index(fields=("person", "-id"), name="security_person"),
            models.Index(fields=("kind", "-id"), name="security_kind"),
        )

    def __str__(self) -> str:
        return f"{self.person or 'unknown user'}: {self.get_kind_display()}"
