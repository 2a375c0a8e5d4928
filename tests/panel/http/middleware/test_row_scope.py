"""The second wall stands where the first one fell: no view asks for less, and still no one meets
another customer."""

from __future__ import annotations

from html import unescape
from typing import Any

import pytest
from django.apps import apps
from django.db.models import Q
from django.http import HttpRequest
from django.test import Client
from django.urls import reverse

from jobs.models import JobQuerySet
from panel.celery import see_all
from panel.http.middleware import set_scope_for
from storage import row_security
from storage.models import Volume
from tests.panel.cast import Cast
from tests.panel.cast import people as people
from tests.panel.permissions import TABLE, Row
from tests.panel.test_permissions import outcome

OF_PERSONS = {"session", "token"}
"""Objects of one person and no customer: the wall does not know them."""
OWNER, OTHER = 2, 3
FOREIGN = [
    row
    for row in TABLE
    if (row.outcomes.split()[OWNER], row.outcomes.split()[OTHER]) == ("in", "404")
    and not OF_PERSONS & set(row.args)
]
SHARED = [
    row
    for row in TABLE
    if row.method == "GET" and row.outcomes.split()[OTHER] == "in" and "_token" not in str(row.args)
]


@pytest.fixture
def no_first_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody asks for everything."""
    for model in apps.get_models():
        rows: Any = type(model._default_manager.all())
        if "visible_to" in vars(rows):
            monkeypatch.setattr(rows, "visible_to", lambda rows, user: rows.all())
    monkeypatch.setattr(JobQuerySet, "asked_by_customer", lambda rows: rows.all())
    for module in (
        "storage.models.customer",
        "storage.models.volume",
        "panel.accounts.member_scope",
    ):
        monkeypatch.setattr(f"{module}.member", lambda user, path, **also: Q())


@pytest.fixture
def no_second_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        row_security, "set_scope", lambda value: row_security._scope.set(row_security.ALL)
    )


def traces_in(people: Cast, row: Row, response: Any) -> list[str]:
    """What of Acme the answer gives away beyond the address that was asked."""
    content = b"".join(response) if response.streaming else response.content
    text = unescape(content.decode()).replace(people.path(row), "")
    return [trace for trace in people.acme.traces if trace in text]


def test_without_the_first_wall_anothers_object_is_still_not_there(
    people: Cast, no_first_wall: None
) -> None:
    assert len(FOREIGN) > 15
    for row in FOREIGN:
        response = people.ask("other", row)
        assert outcome(response) == "404", row
        assert not traces_in(people, row, response), row


def test_without_the_first_wall_no_page_for_everybody_tells_of_another(
    people: Cast, no_first_wall: None
) -> None:
    for row in SHARED:
        assert not traces_in(people, row, people.ask("other", row)), row


def test_without_the_first_wall_the_owner_still_meets_their_own(
    people: Cast, no_first_wall: None
) -> None:
    for row in FOREIGN:
        assert outcome(people.ask("owner", row)) == "in", row


def test_without_both_walls_everything_lies_open(
    people: Cast, no_first_wall: None, no_second_wall: None
) -> None:
    """So it was the second one that held."""
    held = [row for row in FOREIGN if outcome(people.ask("other", row)) == "404"]
    assert held == []
    volumes = next(row for row in SHARED if row.name == "api-volumes")
    assert people.acme.there.volume.key in traces_in(people, volumes, people.ask("other", volumes))


# --- One connection, many requests --------------------------------------------------------------


def seen_by(client: Client, **headers: Any) -> list[str]:
    """Whose volumes an answer of the API names, with the first wall down."""
    response = client.get(reverse("api-volumes"), **headers)
    if response.status_code != 200:
        return []
    return sorted(item["label"] for item in response.json()["items"])


def test_a_connection_forgets_each_person_before_the_next(
    people: Cast, no_first_wall: None
) -> None:
    acme, zebra = people.clients["owner"], people.clients["other"]
    all_of_them = seen_by(people.clients["admin"])
    assert {"acme disk", "zebra disk"} < set(all_of_them)
    for _ in range(2):
        assert seen_by(acme) == ["acme disk"]
        assert seen_by(zebra) == ["zebra disk"]
        assert seen_by(Client()) == []
        assert seen_by(people.clients["admin"]) == all_of_them
        assert seen_by(Client(), headers=people.bearers["other"]) == ["zebra disk"]


def test_a_token_counts_and_not_the_session_it_came_with(people: Cast, no_first_wall: None) -> None:
    assert seen_by(people.clients["admin"], headers=people.bearers["other"]) == ["zebra disk"]


def test_after_a_view_that_broke_nothing_is_left_open(
    people: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_security, "_process", row_security.NO_ROWS)

    def breaks(request: HttpRequest, user: Any, **given: Any) -> None:
        assert Volume.objects.exists()
        raise RuntimeError

    monkeypatch.setattr("panel.staff.dashboard.overview.overview", breaks)
    client = people.clients["admin"]
    client.raise_request_exception = False
    assert client.get(reverse("home")).status_code == 500
    client.raise_request_exception = True
    assert not Volume.objects.exists()


def test_what_is_streamed_is_read_within_the_wall(
    people: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_security, "_process", row_security.NO_ROWS)
    path = reverse("job-log", args=[people.acme.job.key])
    response = people.clients["admin"].get(path)
    assert not Volume.objects.exists()
    assert b"".join(response) == b"acme output\n"


def test_a_deactivated_person_sees_nothing(people: Cast, no_first_wall: None) -> None:
    people.acme.owner.is_active = False
    with row_security.scope(row_security.NO_ROWS):
        set_scope_for(people.acme.owner)
        assert not Volume.objects.exists()
    people.acme.owner.is_active = True


def test_who_asked_is_looked_at_after_the_answer_without_a_trace(people: Cast) -> None:
    before = row_security.current_scope()
    response: Any = people.clients["owner"].get(reverse("health"))
    assert response.wsgi_request.user == people.acme.owner
    assert row_security.current_scope() == before


def test_a_process_that_says_nothing_sees_nothing_and_a_worker_sees_all(
    people: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_security, "_process", row_security.NO_ROWS)
    assert not Volume.objects.exists()
    see_all()
    assert Volume.objects.exists()
