"""Variables available in every template."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db.models import Count
from django.http import HttpRequest

from jobs.alerts.alert_rules import WARNING_RANK
from jobs.models import Alert, Halt
from panel.accounts.authentication import second_factor
from panel.help import tour as tours
from panel.help.tour import TourCard
from storage.access import Right, is_staff, may


def notice(request: HttpRequest) -> dict[str, str]:
    """Return `notice`, the text shown on every page ('' for none)."""
    return {"notice": settings.TIERCEL_NOTICE}


def rights(request: HttpRequest) -> dict[str, bool]:
    """Return `may_operate` and `may_administer`: what the staff role of the person allows. Pages
    of errors have no person."""
    user = getattr(request, "user", AnonymousUser())
    return {
        "may_operate": may(user, Right.OPERATE),
        "may_administer": may(user, Right.ADMINISTER),
    }


def factors(request: HttpRequest) -> dict[str, Callable[[], bool]]:
    """Return `needs_factor`: whether the person must set up a second factor first. It asks the
    database only where a template shows it."""
    user = getattr(request, "user", AnonymousUser())
    return {"needs_factor": cache(lambda: second_factor.is_missing(user))}


def tour(request: HttpRequest) -> dict[str, Callable[[], TourCard | None]]:
    """Return `tour`, the step that the person is at, if any. It asks the database only where a
    template shows it, and there is one."""
    return {"tour": cache(lambda: tours.card(request) if hasattr(request, "user") else None)}


def halt(request: HttpRequest) -> dict[str, Callable[[], Halt | None]]:
    """Return `halt`, the global stop while there is one; for staff. It asks the database only where
    a template shows it."""
    user = getattr(request, "user", AnonymousUser())
    return {"halt": cache(lambda: Halt.objects.active() if is_staff(user) else None)}


@dataclass(frozen=True, slots=True)
class WaitingAlerts:
    """How many alerts are unacknowledged, and whether one is more than a warning."""

    count: int
    is_grave: bool


def alerts(request: HttpRequest) -> dict[str, Callable[[], WaitingAlerts | None]]:
    """Return `alerts_waiting`, for staff. It asks the database only where a template shows it."""
    user = getattr(request, "user", AnonymousUser())
    return {"alerts_waiting": cache(lambda: _waiting() if is_staff(user) else None)}


def _waiting() -> WaitingAlerts:
    ranks = Alert.objects.waiting().order_by().values_list("rank").annotate(count=Count("pk"))
    counts = dict(ranks)
    return WaitingAlerts(sum(counts.values()), any(rank < WARNING_RANK for rank in counts))
