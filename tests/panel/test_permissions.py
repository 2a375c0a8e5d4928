"""Every route of the panel against every role, and no trace of another customer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any

import pytest
from django.test import override_settings
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from tests.panel.cast import Cast
from tests.panel.cast import people as people
from tests.panel.permissions import ROLES, TABLE, Row

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
ACCOUNT = "account/"
"""allauth's pages: of the person who is signed in, and no one else's (its own tests cover them)."""


def routes(resolver: URLResolver | None = None, prefix: str = "", space: str = "") -> Iterator[str]:
    """The name of every route below; of a route without one, its pattern."""
    for found in (resolver or get_resolver()).url_patterns:
        pattern = prefix + str(found.pattern)
        if isinstance(found, URLResolver):
            if pattern != ACCOUNT:
                inner = f"{space}{found.namespace}:" if found.namespace else space
                yield from routes(found, pattern, inner)
        elif isinstance(found, URLPattern):
            yield f"{space}{found.name}" if found.name else pattern


def outcome(response: Any) -> str:
    """What happened to the person who asked, in the words of the table."""
    status = response.status_code
    if status == 302:
        place = response["Location"]
        if place.startswith(reverse("account_login")):
            return "login"
        return "mine" if place == reverse("my-volumes") else "in"
    return "in" if status in (200, 201, 202, 204, 302, 400, 409, 422) else str(status)


def test_the_table_names_every_route_and_no_other() -> None:
    named, there = {row.name for row in TABLE}, set(routes())
    assert sorted(there - named) == [], "unknown routes: add them to the table"
    assert sorted(named - there) == [], "routes that are gone"


def test_no_two_routes_share_a_name() -> None:
    assert [name for name, count in Counter(routes()).items() if count > 1] == []


def test_no_line_stands_twice_in_the_table() -> None:
    lines = Counter((row.name, row.method, row.args) for row in TABLE)
    assert [line for line, count in lines.items() if count > 1] == []


@pytest.mark.parametrize("is_api", [False, True], ids=["pages", "api"])
def test_each_role_gets_what_the_table_says(
    people: Cast, subtests: pytest.Subtests, is_api: bool
) -> None:
    for row in TABLE:
        if row.is_api == is_api:
            with subtests.test(f"{row.method} {row.name}"):
                got = {role: outcome(people.ask(role, row)) for role in ROLES}
                assert got == dict(zip(ROLES, row.outcomes.split(), strict=True))


@pytest.mark.parametrize("is_api", [False, True], ids=["pages", "api"])
def test_a_method_outside_the_table_is_refused(
    people: Cast, subtests: pytest.Subtests, is_api: bool
) -> None:
    for name, rows in groupby(sorted(TABLE, key=attrgetter("name")), key=attrgetter("name")):
        first, *others = rows
        if first.is_api != is_api:
            continue
        with subtests.test(name):
            for method in set(METHODS) - {row.method for row in (first, *others)}:
                status = people.ask("admin", first, method).status_code
                assert status == (404 if name in ("api-nothing", "api-nowhere") else 405), method


def test_a_language_that_one_test_chooses_is_not_spoken_in_the_next(people: Cast) -> None:
    people.ask("viewer", Row("language", "POST", "", (), {"language": "de"}))
    response = people.ask("viewer", Row("my-volumes", "GET", ""))
    assert response.headers["Content-Language"] == "en"


@override_settings(TIERCEL_CUSTOMERS_MAY_ORDER=True)
def test_a_viewer_orders_nothing(people: Cast) -> None:
    row = Row("my-plan-confirm", "POST", "", ("volume", "plan"), people.price)
    response = people.ask("viewer", row)
    assert response.status_code == 422
    assert b"Your role allows you to view, but not to order" in response.content
    assert people.ask("owner", row).status_code == 302


@pytest.mark.parametrize(
    ("role", "name", "needed"),
    [("read_only", "volume-new", "operator"), ("operator", "people", "admin")],
)
def test_staff_without_the_right_see_which_role_it_needs(
    people: Cast, role: str, name: str, needed: str
) -> None:
    text = people.ask(role, Row(name, "GET", "")).content.decode()
    assert f"Requires the <strong>{needed}</strong> role." in text
    assert f"Your role is <strong>{role.replace('_', '-')}</strong>" in text
