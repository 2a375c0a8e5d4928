"""Forms of alert recipients: which alerts a recipient gets, when, and where."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final

from django import forms
from django.conf import settings
from django.db.models import QuerySet

from panel.deliveries.alerts import saved_routes
from panel.models import AlertRoute, RouteKind, User
from panel.models.alert_route import NOTHING_AT_ONCE
from storage.database_clock import database_now
from storage.models import Host
from storage.models.host import SITE_LIMIT, TAG_LIMIT
from storage.name_validators import demand_name, demand_plain

SEVERITY_CHOICES: Final = (
    ("0", "Only data at risk"),
    ("1", "Errors and data at risk"),
    ("2", "All, including warnings"),
    (str(NOTHING_AT_ONCE), "Daily digest only"),
)
TIER_CHOICES: Final = (
    ("1", "First: at once"),
    ("2", "Tier 2: if not acknowledged"),
    ("3", "Tier 3: if still not acknowledged"),
)
HOUR_CHOICES: Final = (("", "No digest"), *((str(hour), f"{hour:02d}:00") for hour in range(24)))
CLOCK: Final = ["%H:%M", "%H:%M:%S"]
WORD: Final = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^,\n]+))')
SHOWN_WORDS: Final = 30
SEPARATED: Final = "Separated by commas."
PAUSE_CHOICES: Final = (
    ("", "No change"),
    ("4", "For 4 hours"),
    ("24", "For a day"),
    ("72", "For 3 days"),
    ("168", "For a week"),
    ("336", "For 2 weeks"),
    ("0", "Resume now"),
)
PAUSED: Final = (
    "Until then you receive no alerts, not even for data at risk. Other recipients still do. "
    "Open alerts are on the page Alerts."
)
NO_MAIL: Final = "No mail server is set (TIERCEL_SMTP_HOST): e-mails are not delivered."


def read_words(text: str) -> list[str]:
    """Words separated by commas or lines, each once; a quoted word may contain commas."""
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
    """When messages to a recipient wait."""

    zone = forms.CharField(
        max_length=64, initial="UTC", label="Time zone", help_text="Such as Europe/Berlin."
    )
    quiet_start = forms.TimeField(
        required=False,
        input_formats=CLOCK,
        label="Quiet from",
        widget=forms.TimeInput({"type": "time"}, "%H:%M"),
        help_text="Messages, including errors, are held until the quiet hours end. Leave both "
        "times empty for none.",
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

    def faults(self) -> dict[str, str]:
        """Errors that concern several fields."""
        return saved_routes.quiet_faults(self.cleaned_data)

    def clean(self) -> dict[str, Any]:
        """Validate by the rules of saving."""
        for name, fault in self.faults().items():
            if name not in self.errors:
                self.add_error(name, fault)
        return self.cleaned_data


class OwnRouteForm(QuietForm):
    """What people may change about messages to themselves."""

    pause = forms.ChoiceField(choices=PAUSE_CHOICES, required=False, help_text=PAUSED)

    def save(self, route: AlertRoute, by: User) -> None:
        """Save; the current pause stays where none is chosen."""
        values = {name: self.cleaned_data[name] for name in saved_routes.QUIET}
        if self.cleaned_data["pause"]:
            hours = int(self.cleaned_data["pause"])
            values["paused_until"] = database_now() + timedelta(hours=hours) if hours else None
        saved_routes.save_own_route(route, values, by)


class RouteForm(QuietForm):
    """A person by e-mail, or an address. Empty fields keep the stored address and secret, but a
    secret that is sent to the server is dropped when the server changes."""

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
        help_text="Webhook: the signing secret (whsec_…); leave empty to generate one. "
        "ntfy, Matrix: the access token.",
    )
    is_on = forms.BooleanField(required=False, initial=True, label="Enabled")
    tier = forms.TypedChoiceField(choices=TIER_CHOICES, coerce=int, label="Tier", initial="1")
    most_rank = forms.TypedChoiceField(
        choices=SEVERITY_CHOICES, coerce=int, label="Severity", initial="2"
    )
    hosts = WordsField(
        longest=64,
        required=False,
        widget=forms.TextInput({"data-suggest": "host-list", "autocomplete": "off"}),
        help_text="Names, separated by commas. Leave hosts, sites and tags empty for all hosts.",
    )
    sites = WordsField(longest=SITE_LIMIT, required=False, help_text=SEPARATED)
    tags = WordsField(longest=TAG_LIMIT, required=False, help_text=SEPARATED)
    digest_hour = forms.TypedChoiceField(
        choices=HOUR_CHOICES,
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
        people.queryset = saved_routes.recipients()

    @property
    def is_narrow(self) -> bool:
        """Whether the folded fields have a value or an error."""
        given = ("hosts", "sites", "tags", "quiet_start", "quiet_end", "digest_hour")
        has_errors = bool({*self.errors} & {*given, "zone", "risk_pierces"})
        return has_errors or any(self[name].value() not in (None, "") for name in given)

    def clean_hosts(self) -> list[Host]:
        """The hosts by their keys or names."""
        try:
            return saved_routes.hosts_of(self.cleaned_data["hosts"], self.visible_hosts)
        except forms.ValidationError as error:
            raise forms.ValidationError(error.messages) from None

    def clean_url(self) -> str:
        """Without blanks around it."""
        return str(self.cleaned_data["url"]).strip()

    def faults(self) -> dict[str, str]:
        """Errors that concern several fields."""
        return saved_routes.route_faults(self.cleaned_data, self.route)

    def save(self, by: User) -> tuple[AlertRoute, str]:
        """The stored route, and its generated secret, "" for none."""
        return saved_routes.save_route(self.cleaned_data, by, self.route)


def initial_of(route: AlertRoute) -> dict[str, Any]:
    """The form's fields as the route has them, without what is secret."""
    return saved_routes.values_of(route) | {
        "person": route.user_id,
        "hosts": [host.name for host in route.hosts.all()],
        "digest_hour": "" if route.digest_hour is None else route.digest_hour,
    }
