"""Where the API shows a row, and how it names it where it is not the subject itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter, methodcaller
from typing import Any, Final

from django.db.models import Model
from django.urls import reverse

from jobs.models import Alert, BulkChange, Job, Silence
from panel.api.framework.fields import Text
from panel.api.framework.shape import Json, Shape
from panel.deliveries.alerts.alert_texts import name_of as name_of_problem
from panel.models import AlertRoute, ApiToken, Invitation, Order, User, Webhook
from storage.models import Benchmark, CachePlan, Customer, Host, Member, TagLimit, Volume

Name = Callable[[Any], str]
NOUNS: Final[Mapping[type[Model], tuple[str, Name]]] = {
    # By the kind of problem: an alert has no name of its own; a job and an order have none either.
    Alert: ("api-alert", lambda alert: name_of_problem(alert.code)),
    AlertRoute: ("api-alert-route", attrgetter("name")),
    ApiToken: ("api-token", attrgetter("name")),
    Benchmark: ("api-benchmark", str),
    BulkChange: ("api-bulk-change", attrgetter("action")),
    CachePlan: ("api-cache-plan", attrgetter("name")),
    Customer: ("api-customer", attrgetter("name")),
    Host: ("api-host", attrgetter("name")),
    Invitation: ("api-invitation", attrgetter("email")),
    Job: ("api-job", methodcaller("get_kind_display")),
    Member: ("api-member", attrgetter("role")),
    Order: ("api-order", attrgetter("intent")),
    Silence: ("api-silence", attrgetter("code")),
    TagLimit: ("api-tag-limit", attrgetter("tag")),
    User: ("api-person", methodcaller("get_full_name")),
    Volume: ("api-volume", attrgetter("label")),
    Webhook: ("api-webhook", attrgetter("name")),
}
"""The route of each noun, and what a row of it is called."""


def url_of(row: Any) -> str:
    """Where the API shows the row."""
    return url_at(NOUNS[type(row)][0], row.key)


def shown_name(row: Any) -> str:
    """What the row is called."""
    return NOUNS[type(row)][1](row)


def url_at(route: str, key: str) -> str:
    """`reverse` of a route that ends with a key: a page of a list has hundreds of them."""
    return _before_key(route) + key


@cache
def _before_key(route: str) -> str:
    return reverse(route, args=["key"]).removesuffix("key")


def ref(route: str, key: str, name: str) -> Json | None:
    """A reference, for `Ref`, to a row that is not at hand; None without a key."""
    return {"key": key, "url": url_at(route, key), "name": name} if key else None


class Ref(Shape):
    """A reference to another object with an address of its own."""

    key = Text("Its name in the API; it never changes.")
    url = Text("Where the API shows it.", of=url_of)
    name = Text("Display name.", of=shown_name)


class PersonRef(Ref):
    """An account. `name` is the address if the person entered no name."""

    email = Text("E-mail address of the account.")


class Noun(Shape):
    """What has an address of its own."""

    key = Text("Its name in the API; it never changes.")
    url = Text("Where the API shows it.", of=url_of)
