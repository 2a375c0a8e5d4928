"""Saves alert recipients, for pages and API alike: who is notified, when, and where."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.shortcuts import get_object_or_404

from panel.accounts.authentication.second_factor import seal, unseal
from panel.accounts.security_log import security_entries
from panel.deliveries import http_post
from panel.deliveries.signature import is_secret, new_secret
from panel.models import AlertDelivery, AlertRoute, RouteKind, SecurityEntry, SecurityKind, User
from storage.database_clock import database_now
from storage.models import Host
from storage.planner.daily_window import zones

Values = Mapping[str, Any]
QUIET: Final = ("zone", "quiet_start", "quiet_end", "risk_pierces")
OWN: Final = (*QUIET, "paused_until")
STORED: Final = (
    "name",
    "kind",
    "is_on",
    "tier",
    "most_rank",
    "sites",
    "tags",
    "digest_hour",
    *QUIET,
)
"""Fields that are stored as given; `person`, `url`, `secret` and `hosts` are not."""
HEADER_WORD: Final = re.compile(r"[\x21-\x7e]*")
LONGEST_PAUSE: Final = timedelta(weeks=2)
NO_HEADER: Final = "A secret must be ASCII without spaces."
NO_ACCESS: Final = "Enter the access token for this server."
NO_SIGNATURE: Final = "A secret is whsec_ followed by base64 of 24 to 64 bytes."
NO_RECIPIENTS: Final = "No alerts are to be sent"


def recipients() -> QuerySet[User]:
    """The people who can be recipients."""
    return User.objects.filter(is_active=True, is_service=False).exclude(staff_role="")


def recipient_of(text: str) -> User | None:
    """The person with this key or address; raises ValidationError where there is none."""
    if not text:
        return None
    person = recipients().filter(Q(key=text) | Q(email__iexact=text)).first()
    if person is None:
        raise ValidationError({"person": "No active staff account has this key or address."})
    return person


def hosts_of(names: Iterable[str], visible: QuerySet[Host]) -> list[Host]:
    """The hosts by their keys or names; a key takes precedence over an equal name. Raises
    ValidationError where there is none."""
    names = list(names)
    named = visible.filter(Q(key__in=names) | Q(name__in=names))
    hosts = {host.name: host for host in named} | {host.key: host for host in named}
    if missing := [name for name in names if name not in hosts]:
        raise ValidationError({"hosts": f"There is no host “{missing[0]}”."})
    return list(dict.fromkeys(hosts[name] for name in names))


def quiet_faults(values: Values) -> dict[str, str]:
    """What is wrong with quiet hours, by field."""
    faults = {}
    start, end = values.get("quiet_start"), values.get("quiet_end")
    if "zone" in values and values["zone"] not in zones():
        faults["zone"] = "There is no such time zone. Enter one like Europe/Berlin."
    if (start is None) != (end is None):
        faults["quiet_end"] = "Enter both times, or leave both empty."
    elif start is not None and start == end:
        faults["quiet_end"] = "Start and end must differ."
    return faults


def route_faults(values: Values, route: AlertRoute | None) -> dict[str, str]:
    """What is wrong with the values of a route, new or `route` so far, by field."""
    faults = quiet_faults(values)
    kind, url, secret = values.get("kind"), values.get("url"), values.get("secret") or ""
    if kind == RouteKind.EMAIL:
        if not values.get("person"):
            faults["person"] = "Choose a recipient."
    elif kind and not url and (route is None or not route.url):
        faults["url"] = "Enter the address."
    if url:
        try:
            http_post.target_of(url, settings.TIERCEL_ALERT_PRIVATE_HOSTS, http_post.ALERTS)
        except http_post.Forbidden as error:
            faults["url"] = str(error)
    if HEADER_WORD.fullmatch(secret) is None:
        faults["secret"] = NO_HEADER
    elif kind == RouteKind.MATRIX and not (secret or _keeps_secret(values, route)):
        faults["secret"] = NO_ACCESS
    elif kind == RouteKind.WEBHOOK and secret and not is_secret(secret):
        faults["secret"] = NO_SIGNATURE
    return faults


def values_of(route: AlertRoute) -> dict[str, Any]:
    """The values of the route, without its secrets."""
    stored = {name: getattr(route, name) for name in STORED}
    return {**stored, "person": route.user, "hosts": list(route.hosts.all())}


@transaction.atomic
def save_route(values: Values, by: User, route: AlertRoute | None = None) -> tuple[AlertRoute, str]:
    """The stored route, and its generated secret, "" for none. Values that are not given stay. An
    empty address or secret stays, too; a secret that is sent to the server is dropped when the
    server changes. Raises ValidationError."""
    if route is not None:
        values = {**values_of(route), **values}
    if faults := route_faults(values, route):
        raise ValidationError(faults)
    row = AlertRoute() if route is None else locked(AlertRoute.objects.all(), route)
    url, secret, made = values.get("url") or "", values.get("secret") or "", ""
    if not _keeps_secret(values, row):
        row.secret = ""
    for name in set(STORED) & set(values):
        setattr(row, name, values[name])
    row.sites, row.tags = list(dict.fromkeys(row.sites)), list(dict.fromkeys(row.tags))
    row.clean_fields(exclude=("user", "url", "secret"))
    if row.kind == RouteKind.EMAIL:
        row.user, row.url, row.secret = values["person"], "", ""
    else:
        row.user = None
        row.url = seal(url) if url else row.url
        if row.kind == RouteKind.WEBHOOK and not secret and not _signs(row):
            secret = made = new_secret()
        row.secret = seal(secret) if secret else row.secret
    verb = "changed" if row.pk else "added"
    if url:
        verb += f", to {http_post.server_name(url)}"
    row.save()
    row.hosts.set(values.get("hosts", ()))
    note_route(row, verb, by)
    return row, made


@transaction.atomic
def save_own_route(route: AlertRoute, values: Values, by: User) -> None:
    """Save one's own quiet hours and pause; values that are not given stay. Raises
    ValidationError."""
    row, now = locked(AlertRoute.objects.own(by), route), database_now()
    values = {name: getattr(row, name) for name in OWN} | dict(values)
    until, verb = values["paused_until"], "changed"
    faults = quiet_faults(values)
    if until != row.paused_until:
        verb = "resumed" if until is None else f"paused until {until:%Y-%m-%d %H:%M} UTC"
        if until is not None and not now < until <= now + LONGEST_PAUSE:
            faults["paused_until"] = "The end must be within the next two weeks."
    if faults:
        raise ValidationError(faults)
    for name in OWN:
        setattr(row, name, values[name])
    row.save(update_fields=OWN)
    note_route(row, verb, by)


def locked(routes: QuerySet[AlertRoute], route: AlertRoute) -> AlertRoute:
    """The current row of one of the `routes`, locked until the transaction ends. 404 where it was
    deleted since it was read, or is no longer among them."""
    return get_object_or_404(routes.select_for_update(no_key=True), pk=route.pk)


def note_route(route: AlertRoute, verb: str, by: User) -> None:
    """Record every change of a recipient in the security log."""
    state = "" if route.is_on else ", switched off"
    detail = f"{route.name} ({route.get_kind_display()}) {verb}{state}"
    security_entries.note(SecurityKind.ALERT_ROUTE, route.user or "", detail, by=by)


def note_no_recipients(by: User) -> None:
    """Record that an admin wants no recipients; valid until one is added or deleted."""
    security_entries.note(SecurityKind.ALERT_ROUTE, "", NO_RECIPIENTS, by=by)


def lacks_recipients() -> bool:
    """Whether alerts have no recipients, and no admin has confirmed that."""
    if AlertRoute.objects.in_use().exists():
        return False
    last = SecurityEntry.objects.filter(kind=SecurityKind.ALERT_ROUTE).order_by("-id").first()
    return last is None or last.detail != NO_RECIPIENTS


def delete_route(route: AlertRoute, by: User) -> None:
    """Delete a recipient. Alerts keep its name and the outcome of its messages; unsent ones are
    given up."""
    note_route(route, "deleted", by)
    messages = AlertDelivery.objects.filter(route=route)
    messages.unsent().update(given_up_at=Now(), last_error="The recipient was deleted.")
    messages.update(recipient=route.how)
    route.delete()


def _keeps_secret(values: Values, route: AlertRoute | None) -> bool:
    """Whether the stored secret stays: it must not go to another server. A signing secret, which is
    never sent, stays with its kind."""
    if route is None or not route.secret or route.kind != values.get("kind"):
        return False
    url = values.get("url")
    is_same_server = not url or http_post.origin_of(url) == _origin_of(route)
    return route.kind == RouteKind.WEBHOOK or is_same_server


def _signs(row: AlertRoute) -> bool:
    """Whether the stored secret can sign: one of another kind of address cannot."""
    try:
        return bool(row.secret) and is_secret(unseal(row.secret))
    except ValueError:
        return False


def _origin_of(route: AlertRoute) -> str:
    """The origin of the stored address; "" where it cannot be read."""
    try:
        return http_post.origin_of(unseal(route.url))
    except ValueError:
        return ""
