"""Alert recipients: the list, a test of each, and the messages that were sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, cast
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from jobs.models import Alert, AlertEvent
from panel.accounts.authentication.second_factor import unseal
from panel.deliveries import delivery_queue
from panel.deliveries.alerts import alert_routing, saved_routes
from panel.deliveries.alerts.alert_texts import headline_of
from panel.deliveries.alerts.route_forms import OwnRouteForm, RouteForm, initial_of
from panel.models import AlertDelivery, AlertRoute, RouteKind, User
from storage.access import Right, staff_view
from storage.models import Host

PAGE_ROWS: Final = 50
NAMED_ALERTS: Final = 3


@staff_view(Right.ADMINISTER)
@require_safe
def routes(request: HttpRequest) -> HttpResponse:
    """Recipients and the latest messages; `only=open` shows undelivered ones only."""
    shown = AlertRoute.objects.visible_to(request.user).select_related("user")
    shown = shown.prefetch_related("hosts")
    sent = AlertDelivery.objects.visible_to(request.user).about_alerts().order_by("-id")
    is_open = request.GET.get("only") == "open"
    if is_open:
        sent = sent.filter(delivered_at=None)
    page = Paginator(sent, PAGE_ROWS).get_page(request.GET.get("page"))
    context = {
        "without_recipient": alert_routing.hosts_without_recipient() if shown else (),
        "messages_about": [(each, alerts_of(each)) for each in page],
        "routes": [(each, place_of(each), scope_of(each)) for each in shown],
        "page": page,
        "is_open": is_open,
    }
    return render(request, "staff/alerts/routes.html", context)


def place_of(route: AlertRoute) -> str:
    """Where its messages go; of an address only the server: the rest may grant access."""
    if route.user is not None:
        return route.user.email
    try:
        return urlsplit(unseal(route.url)).hostname or "-"
    except ValueError:
        return "unreadable: enter the address again"


@dataclass(frozen=True, slots=True)
class NamedAlerts:
    """The first alerts of a message with their headlines, and the number of the rest."""

    first: tuple[tuple[Alert, str], ...]
    more: int


def alerts_of(message: AlertDelivery) -> NamedAlerts:
    """The alerts of a message that was read with `about_alerts`."""
    events: Sequence[AlertEvent] = getattr(message, "first_events", ())
    alerts = list(dict.fromkeys(event.alert for event in events))[:NAMED_ALERTS]
    first = tuple((each, headline_of(each)) for each in alerts)
    return NamedAlerts(first, getattr(message, "alert_count", 0) - len(first))


def scope_of(route: AlertRoute) -> str:
    """The hosts in its scope, in words."""
    parts = [
        *(host.name for host in route.hosts.all()),
        *(f"site {site}" for site in route.sites),
        *(f"tag {tag}" for tag in route.tags),
    ]
    return ", ".join(parts) or "all hosts"


@staff_view(Right.ADMINISTER)
@require_http_methods(["GET", "HEAD", "POST"])
def new_route(request: HttpRequest) -> HttpResponse:
    """Add a recipient."""
    return _form(request, None)


@staff_view(Right.ADMINISTER)
@require_http_methods(["GET", "HEAD", "POST"])
def route(request: HttpRequest, key: str) -> HttpResponse:
    """Change a recipient."""
    return _form(request, get_object_or_404(AlertRoute.objects.visible_to(request.user), key=key))


def _form(request: HttpRequest, route: AlertRoute | None) -> HttpResponse:
    hosts = Host.objects.visible_to(request.user).without_inventory()
    if request.method != "POST":
        kind = RouteKind.EMAIL if settings.SMTP_HOST else RouteKind.WEBHOOK
        first = {"person": request.user.pk, "kind": kind}
        initial = initial_of(route) if route is not None else first
        form = RouteForm(hosts=hosts, route=route, initial=initial)
        return _shown(request, form, route)
    form = RouteForm(request.POST, hosts=hosts, route=route)
    if not form.is_valid():
        return _shown(request, form, route, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    saved, secret = form.save(cast("User", request.user))
    if secret:
        # Shown once: from now on it is stored encrypted.
        return _shown(request, RouteForm(hosts=hosts, initial=initial_of(saved)), saved, secret)
    messages.success(request, f"Saved. Send a test message to check that {saved.name} gets it.")
    return redirect("alert-route", saved.key)


def _shown(
    request: HttpRequest,
    form: RouteForm,
    route: AlertRoute | None,
    secret: str = "",
    status: int = 200,
) -> HttpResponse:
    context = {
        "form": form,
        "route": route,
        "secret": secret,
        "place": place_of(route) if route is not None else "",
        "sent": [(each, alerts_of(each)) for each in _last_of(route)] if route is not None else (),
    }
    return render(request, "staff/alerts/route.html", context, status=status)


def _last_of(route: AlertRoute) -> QuerySet[AlertDelivery]:
    return AlertDelivery.objects.filter(route=route).about_alerts()[:5]


@staff_view()
@require_safe
def own_routes(request: HttpRequest) -> HttpResponse:
    """Quiet hours and pauses of the alert mails to oneself."""
    return _own(request, {})


@staff_view()
@require_POST
def change_own_route(request: HttpRequest, key: str) -> HttpResponse:
    """Set one's own quiet hours, or pause."""
    route = get_object_or_404(AlertRoute.objects.own(request.user), key=key)
    form = OwnRouteForm(request.POST, prefix=key)
    if not form.is_valid():
        return _own(request, {key: form})
    form.save(route, cast("User", request.user))
    messages.success(request, f"Saved: {route.name}.")
    return redirect("own-alerts")


def _own(request: HttpRequest, refused: Mapping[str, OwnRouteForm]) -> HttpResponse:
    rows = [
        (
            each,
            scope_of(each),
            refused.get(each.key) or OwnRouteForm(initial=initial_of(each), prefix=each.key),
        )
        for each in AlertRoute.objects.own(request.user).prefetch_related("hosts")
    ]
    status = HTTPStatus.UNPROCESSABLE_ENTITY if refused else HTTPStatus.OK
    return render(request, "staff/alerts/own.html", {"routes": rows}, status=status)


@staff_view(Right.ADMINISTER)
@require_POST
def test_route(request: HttpRequest, key: str) -> HttpResponse:
    """Send a test message."""
    route = get_object_or_404(AlertRoute.objects.visible_to(request.user), key=key)
    if why := alert_routing.why_no_test(route):
        messages.error(request, f"Nothing was sent. {why}")
    else:
        alert_routing.write_test(route)
        messages.success(request, "The test message is being sent. Reload to see its state.")
    return redirect("alert-route", route.key)


@staff_view(Right.ADMINISTER)
@require_POST
def delete_route(request: HttpRequest, key: str) -> HttpResponse:
    """Delete a recipient."""
    route = get_object_or_404(AlertRoute.objects.visible_to(request.user), key=key)
    saved_routes.delete_route(route, cast("User", request.user))
    messages.success(request, f"{route.name} no longer receives alerts.")
    return redirect("alert-routes")


@staff_view(Right.ADMINISTER)
@require_POST
def no_recipients(request: HttpRequest) -> HttpResponse:
    """Confirm that alerts have no recipients: the overview stops asking."""
    if saved_routes.lacks_recipients():
        saved_routes.note_no_recipients(cast("User", request.user))
    messages.success(request, "No alerts are sent. Change this under Alerts, Recipients.")
    return redirect("home")


@staff_view(Right.ADMINISTER)
@require_POST
def send_again(request: HttpRequest, key: str) -> HttpResponse:
    """Send a message again now."""
    sent = AlertDelivery.objects.visible_to(request.user).filter(route__isnull=False)
    row = get_object_or_404(sent, key=key)
    delivery_queue.again(row)
    alert_routing.announce_alerts()
    messages.success(request, "The message is being sent again under the same id.")
    return redirect("alert-routes")
