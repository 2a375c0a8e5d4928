"""What a new panel still lacks, as one list for its admins."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.urls import reverse

from panel.accounts.authentication import second_factor
from panel.deliveries.alerts import saved_routes
from panel.models import SecurityEntry, SecurityKind
from storage.access import Person, Right, may
from storage.models import Host


@dataclass(frozen=True, slots=True)
class SetupStep:
    """One thing to set up, and the page where that is done or explained."""

    name: str
    url: str
    is_done: bool


@dataclass(frozen=True, slots=True)
class GetStarted:
    """`has_no_recipient`: alerts have no recipient, and no admin chose to have none."""

    steps: tuple[SetupStep, ...]
    has_no_recipient: bool


def get_started(user: Person) -> GetStarted | None:
    """None for those who cannot do it, and once all of it is done. Five queries at most."""
    if not may(user, Right.ADMINISTER):
        return None
    has_no_recipient = saved_routes.lacks_recipients()
    backups = SecurityEntry.objects.filter(kind=SecurityKind.BACKUP)
    own_settings = reverse("settings")
    steps = (
        SetupStep("First host", reverse("host-new"), Host.objects.active().exists()),
        SetupStep("Second factor", reverse("mfa_index"), not second_factor.is_advised(user)),
        SetupStep("Alert recipients", reverse("alert-route-new"), not has_no_recipient),
        SetupStep("E-mail", f"{own_settings}#mail", bool(settings.SMTP_HOST)),
        SetupStep("Backup", f"{own_settings}#backup", backups.exists()),
    )
    is_done = all(each.is_done for each in steps)
    return None if is_done else GetStarted(steps, has_no_recipient)
