"""The form of a route: who is told of which alerts, when, and where."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.shortcuts import get_object_or_404

from panel.accounts.authentication.second_factor import seal, unseal
from panel.accounts.security_log import security_entries
from panel.deliveries import http_post
from panel.deliveries.signature import is_secret, new_secret
from panel.models import AlertDelivery, AlertRoute, RouteKind, SecurityEntry, SecurityKind, User
from panel.models.alert_route import NOTHING_AT_ONCE
from storage.database_clock import database_now
from storage.models import Host
from storage.models.host import SITE_LIMIT, TAG_LIMIT
from storage.name_validators import demand_name, demand_plain

RANKS: Final = (
    ("0", "Only data at risk"),
    ("1", "Errors and data at risk"),
    ("2", "All, including warnings"),
    (str(NOTHING_AT_ONCE), "Daily digest only"),
)
TIERS: Final = (
    ("1", "First: at once"),
    ("2", "Tier 2: if not acknowledged"),
    ("3", "Tier 3: if still not acknowledged"),
)
HOURS: Final = (("", "No digest"), *((str(hour), f"{hour:02d}:00") for hour in range(24)))
CLOCK: Final = ["%H:%M", "%H:%M:%S"]
WORD: Final = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^,\n]+))')
SHOWN_WORDS: Final = 30
HEADER_WORD: Final = re.compile(r"[\x21-\x7e]*")
SEPARATED: Final = "Separated by commas."
PAUSES: Final = (
    ("", "As it is"),
    ("4", "For 4 hours"),
    ("24", "For a day"),
    ("72", "For 3 days"),
    ("168", "For a week"),
    ("336", "For 2 weeks"),
    ("0", "Tell me again now"),
)
LONGEST_PAUSE: Final = timedelta(weeks=2)
PAUSED: Final = (
    "You receive nothing until then, not even data-at-risk alerts. Others still do. "
    "What is open then is on the page Alerts."
)
NO_MAIL: Final = "No mail server is set (TIERCEL_SMTP_HOST): e-mails are not delivered."
NOBODY: Final = "No alerts are to be sent"


def read_words(text: str) -> list[str]:
    """What commas or lines separate, each once; quotes keep the commas of a word."""
    words = (quoted.replace('""', '"') or plain for quoted, plain in WORD.findall(text))
    return list(dict.fromkeys(word.strip() for word in words if word.strip()))


def write_words(words: Iterable[str]) -> str:
    """As `read_words` reads them."""
    return ", ".join(
        '"{}"'.format(word.replace('"', '""')) if {*',"'} & {*word} else word for word in words
    )


class WordsField(forms.Field):
    """Words of at most `longest` characters: a person separates them by commas, a program gives a
    list."""

    def __init__(self, *, longest: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.longest = longest

    def to_python(self, value: Any) -> list[str]:
        """The words."""
        words = list(dict.fromkeys(value)) if isinstance(value, list) else read_words(value or "")
        for word in words:
            if len(word) > self.longest:
                raise forms.ValidationError(f"A word has at most {self.longest} characters.")
            demand_plain(word)
        return words

    def prepare_value(self, value: Any) -> Any:
        """As a person writes them."""
        return write_words(value) if isinstance(value, list) else value


class QuietForm(forms.Form):
    """When messages of a route wait."""

    zone = forms.CharField(
        max_length=64, initial="UTC", label="Time zone", help_text="Such as Europe/Berlin."
    )
    quiet_start = forms.TimeField(
        required=False,
        input_formats=CLOCK,
        label="Quiet from",
        widget=forms.TimeInput({"type": "time"}, "%H:%M"),
        help_text="Messages, also of errors, wait until the quiet hours are over. Leave both times "
        "empty for none.",
    )
    quiet_end = forms.TimeField(
        required=False,
        input_formats=CLOCK,
        label="Quiet until",
        widget=forms.TimeInput({"type": "time"}, "%H:%M"),
    )
    risk_pierces = forms.BooleanField(
        required=False, initial=True, label="Send data-at-risk alerts during quiet hours"
    )

    def clean_zone(self) -> str:
        zone: str = self.cleaned_data["zone"]
        if zone not in available_timezones():
            raise forms.ValidationError("There is no such time zone. Enter one like Europe/Berlin.")
        return zone

    def clean(self) -> dict[str, Any]:
        """Quiet hours have both ends."""
        data = self.cleaned_data
        start, end = data.get("quiet_start"), data.get("quiet_end")
        if (start is None) != (end is None):
            self.add_error("quiet_end", "Enter both times, or leave both empty.")
        elif start is not None and start == end:
            self.add_error("quiet_end", "Start and end differ.")
        return data


class OwnRouteForm(QuietForm):
    """What people change about the messages to themselves."""

    pause = forms.ChoiceField(choices=PAUSES, required=False, help_text=PAUSED)

    @transaction.atomic
    def save(self, route: AlertRoute, by: User) -> None:
        """A pause that goes on stays where none is chosen."""
        route = locked(AlertRoute.objects.own(by), route)
        until = route.paused_until
        if self.cleaned_data["pause"]:
            hours = int(self.cleaned_data["pause"])
            until = database_now() + timedelta(hours=hours) if hours else None
        change_own(route, self, until, by)


class RouteForm(QuietForm):
    """Of an e-mail to a person, or of an address. An address and a secret that are there stay when
    their fields are left empty; a secret that is sent does not follow to another server."""

    name = forms.CharField(max_length=60, validators=[demand_name])
    kind = forms.ChoiceField(choices=RouteKind.choices, label="How")
    person = forms.ModelChoiceField(
        User.objects.none(),
        required=False,
        help_text="To the address of their account.",
    )
    url = forms.CharField(
        max_length=1000,
        required=False,
        label="Address",
        help_text="ntfy: the topic's address. Matrix: …/rooms/ROOM/send/m.room.message.",
    )
    secret = forms.CharField(
        max_length=500,
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="Webhook: what signs (whsec_…); one is made if you leave it empty. ntfy, Matrix: "
        "the access token.",
    )
    is_on = forms.BooleanField(required=False, initial=True, label="Enabled")
    tier = forms.TypedChoiceField(choices=TIERS, coerce=int, label="Tier", initial="1")
    most_rank = forms.TypedChoiceField(choices=RANKS, coerce=int, label="Severity", initial="2")
    hosts = WordsField(
        longest=64,
        required=False,
        widget=forms.TextInput({"data-suggest": "host-list", "autocomplete": "off"}),
        help_text="Names, separated by commas. Leave hosts, sites and tags empty for all hosts.",
    )
    sites = WordsField(longest=SITE_LIMIT, required=False, help_text=SEPARATED)
    tags = WordsField(longest=TAG_LIMIT, required=False, help_text=SEPARATED)
    digest_hour = forms.TypedChoiceField(
        choices=HOURS,
        coerce=int,
        empty_value=None,
        required=False,
        label="Daily digest",
        help_text="A daily summary of open alerts.",
    )

    def __init__(
        self, *args: Any, hosts: QuerySet[Host], route: AlertRoute | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.visible_hosts, self.route = hosts, route
        self.fields["kind"].help_text = "" if settings.SMTP_HOST else NO_MAIL
        for name, given in (
            ("sites", {host.site for host in hosts if host.site}),
            ("tags", {tag for host in hosts for tag in host.tags}),
        ):
            if given:
                known = write_words(sorted(given)[:SHOWN_WORDS])
                self.fields[name].help_text = f"{SEPARATED} In use: {known}."
        people: Any = self.fields["person"]
        people.queryset = User.objects.filter(is_active=True, is_service=False).exclude(
            staff_role=""
        )

    @property
    def is_narrow(self) -> bool:
        """Whether something stands in the fields that are folded, or is wrong there."""
        given = ("hosts", "sites", "tags", "quiet_start", "quiet_end", "digest_hour")
        has_errors = bool({*self.errors} & {*given, "zone", "risk_pierces"})
        return has_errors or any(self[name].value() not in (None, "") for name in given)

    def clean_hosts(self) -> list[Host]:
        """The hosts by their keys or names; a key is stronger than a name of the same text."""
        names = self.cleaned_data["hosts"]
        named = self.visible_hosts.filter(Q(key__in=names) | Q(name__in=names))
        hosts = {host.name: host for host in named} | {host.key: host for host in named}
        if missing := [name for name in names if name not in hosts]:
            raise forms.ValidationError(f"There is no host “{missing[0]}”.")
        return list(dict.fromkeys(hosts[name] for name in names))

    def clean_url(self) -> str:
        """One that the panel may call."""
        url: str = self.cleaned_data["url"].strip()
        if url:
            try:
                http_post.target_of(url, settings.TIERCEL_ALERT_PRIVATE_HOSTS, http_post.ALERTS)
            except http_post.Forbidden as error:
                raise forms.ValidationError(str(error)) from None
        return url

    def clean_secret(self) -> str:
        """One that a header can carry."""
        secret: str = self.cleaned_data["secret"]
        if HEADER_WORD.fullmatch(secret) is None:
            raise forms.ValidationError("A secret has no blanks and no letters beyond ASCII.")
        return secret

    def clean(self) -> dict[str, Any]:
        """A person for a mail, an address for everything else."""
        data = super().clean()
        kind = data.get("kind")
        has_url = bool(data.get("url") or (self.route is not None and self.route.url))
        if kind == RouteKind.EMAIL:
            if not data.get("person") and "person" not in self.errors:
                self.add_error("person", "Choose who gets the mails.")
        elif kind and not has_url and "url" not in self.errors:
            self.add_error("url", "Enter the address.")
        if kind == RouteKind.MATRIX and not (data.get("secret") or self._keeps_secret(self.route)):
            self.add_error("secret", "Enter the access token for this server.")
        if kind == RouteKind.WEBHOOK and data.get("secret") and not is_secret(data["secret"]):
            self.add_error("secret", "A secret is whsec_ and base64 of 24 to 64 bytes.")
        return data

    def _keeps_secret(self, route: AlertRoute | None) -> bool:
        """Whether the stored secret goes where it went: its server would get it. One that only
        signs stays with its kind."""
        data = self.cleaned_data
        if route is None or not route.secret or route.kind != data.get("kind"):
            return False
        return (
            route.kind == RouteKind.WEBHOOK
            or not data.get("url")
            or (http_post.origin_of(data["url"]) == _origin_of(route))
        )

    @transaction.atomic
    def save(self, by: User) -> tuple[AlertRoute, str]:
        """The route as it is stored, and a secret that was made for it, "" for none."""
        data, made = self.cleaned_data, ""
        row = AlertRoute() if self.route is None else locked(AlertRoute.objects.all(), self.route)
        if not self._keeps_secret(row):
            row.secret = ""
        for name in (
            "name",
            "kind",
            "is_on",
            "tier",
            "most_rank",
            "sites",
            "tags",
            "zone",
            "quiet_start",
            "quiet_end",
            "risk_pierces",
            "digest_hour",
        ):
            setattr(row, name, data[name])
        if data["kind"] == RouteKind.EMAIL:
            row.user, row.url, row.secret = data["person"], "", ""
        else:
            row.user = None
            row.url = seal(data["url"]) if data["url"] else row.url
            secret = data["secret"]
            if data["kind"] == RouteKind.WEBHOOK and not secret and not _signs(row):
                secret = made = new_secret()
            row.secret = seal(secret) if secret else row.secret
        verb = "changed" if row.pk else "added"
        if data["url"]:
            verb += f", to {http_post.server_name(data['url'])}"
        row.save()
        row.hosts.set(data["hosts"])
        note_route(row, verb, by)
        return row, made


def locked(routes: QuerySet[AlertRoute], route: AlertRoute) -> AlertRoute:
    """One of the `routes` as it is now, which nobody else changes until the transaction ends. 404
    where it was deleted since it was read, or is none of them any more."""
    return get_object_or_404(routes.select_for_update(no_key=True), pk=route.pk)


def change_own(route: AlertRoute, form: QuietForm, until: datetime | None, by: User) -> None:
    """One's own quiet hours, from a valid form, and the end of one's pause. `route` is locked."""
    verb = "changed"
    if until != route.paused_until:
        verb = "told again" if until is None else f"paused until {until:%Y-%m-%d %H:%M} UTC"
    quiet = ("zone", "quiet_start", "quiet_end", "risk_pierces")
    for name in quiet:
        setattr(route, name, form.cleaned_data[name])
    route.paused_until = until
    route.save(update_fields=(*quiet, "paused_until"))
    note_route(route, verb, by)


def note_route(route: AlertRoute, verb: str, by: User) -> None:
    """Whoever takes a way to people away, or switches it off, leaves a trace."""
    state = "" if route.is_on else ", switched off"
    detail = f"{route.name} ({route.get_kind_display()}) {verb}{state}"
    security_entries.note(SecurityKind.ALERT_ROUTE, route.user or "", detail, by=by)


def note_nobody(by: User) -> None:
    """Somebody decided that nobody is told, which is so until a route is entered or deleted."""
    security_entries.note(SecurityKind.ALERT_ROUTE, "", NOBODY, by=by)


def is_asked_for() -> bool:
    """Whether nobody is told of alerts, and no admin said that this shall be so."""
    if AlertRoute.objects.in_use().exists():
        return False
    last = SecurityEntry.objects.filter(kind=SecurityKind.ALERT_ROUTE).order_by("-id").first()
    return last is None or last.detail != NOBODY


def delete_route(route: AlertRoute, by: User) -> None:
    """Nobody is told by this way any more. Alerts remember whom it told, and what became of that;
    what was not sent yet never is."""
    note_route(route, "deleted", by)
    messages = AlertDelivery.objects.filter(route=route)
    messages.unsent().update(given_up_at=Now(), last_error="The recipient was deleted.")
    messages.update(recipient=route.how)
    route.delete()


def _signs(row: AlertRoute) -> bool:
    """Whether the stored secret can sign: that of another kind of address cannot."""
    try:
        return bool(row.secret) and is_secret(unseal(row.secret))
    except ValueError:
        return False


def _origin_of(route: AlertRoute) -> str:
    """Of the stored address; "" where none can be read."""
    try:
        return http_post.origin_of(unseal(route.url))
    except ValueError:
        return ""


def initial_of(route: AlertRoute) -> dict[str, Any]:
    """The form's fields as the route has them, without what is secret."""
    return {
        "name": route.name,
        "kind": route.kind,
        "person": route.user_id,
        "is_on": route.is_on,
        "tier": route.tier,
        "most_rank": route.most_rank,
        "hosts": [host.name for host in route.hosts.all()],
        "sites": route.sites,
        "tags": route.tags,
        "zone": route.zone,
        "quiet_start": route.quiet_start,
        "quiet_end": route.quiet_end,
        "risk_pierces": route.risk_pierces,
        "digest_hour": "" if route.digest_hour is None else route.digest_hour,
    }
