"""The policy of lasting power has a line for every route, and the gate keeps to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from panel.accounts.authentication.protected_actions import POLICY, UNKNOWN, Act, Demand
from tests.panel.cast import Cast
from tests.panel.cast import people as people
from tests.panel.permissions import TABLE, Row
from tests.proven import OF, RECORDS, is_asked

CHANGING = ("POST", "PUT", "PATCH", "DELETE")
ROLES = ("owner", "operator", "admin")
ASKS = {Demand.CHANGE, Demand.ALWAYS}


def routes(resolver: URLResolver | None = None, space: str = "") -> Iterator[str]:
    """The name of every route of the panel, allauth's among them."""
    for pattern in (resolver or get_resolver()).url_patterns:
        if isinstance(pattern, URLResolver):
            yield from routes(
                pattern, f"{space}{pattern.namespace}:" if pattern.namespace else space
            )
        elif isinstance(pattern, URLPattern):
            yield f"{space}{pattern.name or pattern.pattern}"


def test_every_route_has_its_line_and_no_line_lacks_its_route() -> None:
    there = set(routes())
    assert sorted(there - set(POLICY)) == [], "does it give power that outlives the session?"
    assert sorted(set(POLICY) - there) == []


def test_an_undeclared_route_asks_before_it_changes_anything() -> None:
    assert Act(Demand.CHANGE, has_secrets=True) == UNKNOWN


def test_everything_of_the_api_is_for_tokens_and_nothing_else_is() -> None:
    api = {name for name, act in POLICY.items() if act.demand is Demand.TOKEN}
    assert api == {name for name in routes() if name.startswith("api-")}


STALE = 10 * 86_400
"""Seconds; longer than the proof of a `Cast` lasts."""


def stale(people: Cast, role: str) -> Client:
    """The browser of that role, without what was once proven there."""
    client = Client()
    client.cookies = people.clients[role].cookies
    session = client.session
    session[RECORDS] = [{**record, "at": record["at"] - STALE} for record in session[RECORDS]]
    session.save()
    return client


ASKING = [row for row in TABLE if POLICY[row.name].demand in ASKS and row.name != "enrol-script"]


@pytest.mark.parametrize("row", ASKING, ids=lambda row: f"{row.method} {row.name}")
def test_what_gives_lasting_power_asks_for_a_fresh_proof(people: Cast, row: Row) -> None:
    demand = POLICY[row.name].demand
    is_due = demand is Demand.ALWAYS or row.method in CHANGING
    kept = people.clients
    people.clients = {role: stale(people, role) for role in ROLES}
    try:
        assert {is_asked(people.ask(role, row)) for role in ROLES} <= {is_due}
    finally:
        people.clients = kept
        for role in ROLES:
            session = kept[role].session
            session[RECORDS] = [{**each, "at": each["at"] + STALE} for each in session[RECORDS]]
            session.save()


@pytest.mark.parametrize("row", ASKING, ids=lambda row: f"{row.method} {row.name}")
def test_the_page_to_come_back_to_shows_itself(people: Cast, row: Row) -> None:
    act = POLICY[row.name]
    place = reverse(act.list_) if act.list_ else people.path(row)
    if act.back:
        place = reverse(act.back, args=[people.ids[arg] for arg in row.args])
    assert people.clients["admin"].get(place).status_code == 200


API = [row for row in TABLE if row.is_api and row.method in CHANGING]


@pytest.mark.parametrize("row", API, ids=lambda row: f"{row.method} {row.name}")
def test_a_session_changes_nothing_through_the_api(people: Cast, row: Row) -> None:
    """Not even with a fresh proof: only a token does, and making one takes the proof."""
    for role in ROLES:
        session = people.clients[role].session
        assert session[OF] and session[RECORDS]
        response: Any = people.clients[role].generic(
            row.method, people.path(row), "{}", content_type="application/json"
        )
        assert response.status_code == 401, role
