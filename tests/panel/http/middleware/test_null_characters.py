"""No route fails of the character that the database cannot hold, wherever it stands."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import NoReverseMatch, resolve, reverse

from tests.panel.cast import Cast
from tests.panel.cast import people as people
from tests.panel.permissions import TABLE, Row

FIELDS = ("volume", "customer", "cache_plan", "mode", "label", "name", "reason", "tier", "sealed")
ROLES = ("owner", "admin")


def ask(people: Cast, role: str, row: Row, path: str, fields: dict[str, str]) -> Any:
    """The answer to the row's method, by session or token; then all is undone."""
    with transaction.atomic():
        if row.is_api:
            caller = Client(headers=people.bearers[role])
            response: Any = caller.generic(row.method, path, "{}", "application/json")
        elif row.method == "GET":
            response = people.clients[role].get(path, fields)
        else:
            response = people.clients[role].post(path, fields)
        transaction.set_rollback(True)
    return response


def path_with_nul(row: Row) -> str:
    """The row's address with a key that holds one; "" where the route takes numbers alone."""
    try:
        return reverse(row.name, args=["a\0b" for _ in row.args])
    except NoReverseMatch:
        return ""


def known(path: str, method: str) -> tuple[str, ...]:
    """The parameters of the API there; any other is refused for its name alone."""
    view = getattr(resolve(path).func, "cls", None)
    return tuple(getattr(view, "parameters", {}).get(method, ()))


@pytest.mark.parametrize("role", ROLES)
def test_nothing_lies_under_a_path_with_it(
    people: Cast, subtests: pytest.Subtests, role: str
) -> None:
    for row in TABLE:
        if row.args and (path := path_with_nul(row)):
            with subtests.test(f"{row.method} {row.name}"):
                assert ask(people, role, row, path, {}).status_code in (404, 403, 405)


def test_a_query_of_the_api_with_it_is_answered(people: Cast, subtests: pytest.Subtests) -> None:
    for row in TABLE:
        if not row.is_api:
            continue
        path = people.path(row)
        with subtests.test(f"{row.method} {row.name}"):
            for name in ("q", *known(path, row.method)):
                assert ask(people, "admin", row, f"{path}?{name}=%00", {}).status_code < 500, name


def test_a_query_with_it_is_refused_and_a_form_does_no_harm(
    people: Cast, subtests: pytest.Subtests
) -> None:
    for row in TABLE:
        if row.is_api:
            continue
        path = people.path(row)
        fields = {} if row.method == "GET" else dict.fromkeys([*FIELDS, *row.data], "\0")
        with subtests.test(f"{row.method} {row.name}"):
            assert ask(people, "admin", row, path, fields).status_code < 500
            assert ask(people, "admin", row, f"{path}?q=%00", {}).status_code == 400


@pytest.mark.parametrize("action", ["manage", "customer", "add-cache"])
def test_chosen_volumes_and_options_with_it_match_nothing(people: Cast, action: str) -> None:
    row, fields = Row("volumes-bulk", "POST", ""), {"customer": "\0", "cache_plan": "\0"}
    asked = {"action": action, "volume": "a\0b", **fields}
    # Nothing is chosen: back to the list.
    assert ask(people, "admin", row, reverse("volumes-bulk"), asked).status_code == 302
    if action != "manage":
        asked["volume"] = people.acme.there.volume.key
        assert ask(people, "admin", row, reverse("volumes-bulk"), asked).status_code == 422


def test_a_token_gets_the_parameter_that_holds_it(people: Cast) -> None:
    path = reverse("api-volumes")
    said = Client(headers=people.bearers["admin"]).get(path, {"external_id": "\0"})
    assert said.status_code == 400
    assert said.json()["errors"][0]["parameter"] == "external_id"


def test_customers_search_with_at_most_a_hundred_characters(people: Cast) -> None:
    page = people.clients["owner"].get(reverse("my-volumes"), {"q": "x" * 5000})
    assert page.status_code == 200
    assert page.context["q"] == "x" * 100
