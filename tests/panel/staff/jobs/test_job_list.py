"""The list of jobs: found by its filters, in the order in which they matter."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from jobs.models import Job, Origin, State
from panel.models import User
from storage.models import Customer
from tests import make
from tests.scene import HOSTILE, Scene, end, job, scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def person() -> User:
    return make.staff_user("ann@example.org")


@pytest.fixture
def keys(client: Client, person: User) -> Callable[..., list[str]]:
    """The jobs that the page lists for a query, from top to bottom."""
    client.force_login(person)

    def listed(**query: str) -> list[str]:
        response = client.get(reverse("jobs"), query)
        assert response.status_code == 200
        return [found.key for found in response.context["page"]]

    return listed


def place(name: str, customer: Customer | None = None) -> Scene:
    there = scene(label=f"{name} disk", host={"name": f"{name}-host"})
    there.volume.customer = customer
    there.volume.save()
    return there


def test_what_needs_a_person_comes_first_then_what_runs_then_the_latest_ended(
    keys: Callable[..., list[str]],
) -> None:
    old, new = job(place("old")), job(place("new"))
    for ended, state in ((new, State.FAILED), (old, State.SUCCEEDED)):
        end(ended, state)
    queued = job(place("queued"))
    running = job(
        place("running"), state=State.RUNNING, lease_owner="w", lease_until=timezone.now()
    )
    stuck = job(place("stuck"), state=State.NEEDS_ATTENTION)
    assert keys() == [made.key for made in (stuck, running, queued, old, new)]


def test_each_filter_finds_its_own_and_nothing_else(
    keys: Callable[..., list[str]], person: User
) -> None:
    acme = Customer.objects.create(name="Acme Ltd")
    mine = job(place("alpha", acme), kind="flush-cache", actor=person, state=State.NEEDS_ATTENTION)
    end(job(place("beta"), origin=Origin.API))
    for query in (
        {"state": "needs_attention"},
        {"state": "active"},
        {"kind": "flush-cache"},
        {"host": "ALPHA"},
        {"host": mine.host.key},
        {"volume": "alpha d"},
        {"volume": mine.volume.key},
        {"customer": "acme"},
        {"customer": acme.key},
        {"mine": "on"},
    ):
        assert keys(**query) == [mine.key], query


def test_previews_are_listed_where_they_are_asked_for(keys: Callable[..., list[str]]) -> None:
    preview = job(scene(), dry_run=True)
    assert keys() == []
    assert keys(previews="1") == [preview.key]


@pytest.mark.parametrize("query", [{"state": "parked"}, {"kind": "x"}])
def test_a_state_or_kind_that_is_none_leads_to_the_list_without_it(
    client: Client, person: User, query: dict[str, str]
) -> None:
    there = scene()
    row = job(there)
    client.force_login(person)
    response = client.get(reverse("jobs"), {**query, "volume": there.volume.key}, follow=True)
    assert response.status_code == 200
    assert list(response.context["page"]) == [row]
    assert "It was ignored." in response.content.decode()


@pytest.mark.parametrize("query", [{"host": "x" * 65}])
def test_a_filter_that_is_none_says_so(client: Client, person: User, query: dict[str, str]) -> None:
    job(scene())
    client.force_login(person)
    response = client.get(reverse("jobs"), query)
    assert response.status_code == 400
    assert 'role="alert"' in response.content.decode()
    assert list(response.context["page"]) == []


def test_what_was_typed_comes_back_as_text(client: Client, person: User) -> None:
    client.force_login(person)
    text = client.get(reverse("jobs"), {"host": HOSTILE}).content.decode()
    assert HOSTILE not in text
    assert "No jobs match" in text


def test_the_list_renews_itself_while_something_on_it_is_not_over(
    client: Client, person: User
) -> None:
    client.force_login(person)
    made = job(scene())
    address = f'hx-get="{reverse("jobs")}?kind=add-cache"'
    assert address in client.get(reverse("jobs"), {"kind": "add-cache"}).content.decode()
    end(made)
    assert address not in client.get(reverse("jobs"), {"kind": "add-cache"}).content.decode()


def test_many_jobs_cost_no_more_queries_than_few(client: Client, person: User) -> None:
    client.force_login(person)
    acme = Customer.objects.create(name="Acme Ltd")
    client.get(reverse("jobs"))

    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            client.get(reverse("jobs"))
        return len(asked)

    for number in range(30):
        job(place(f"v{number}", acme), actor=person)
        if number == 9:
            few = queries()
    assert Job.objects.count() == 30
    assert queries() == few
