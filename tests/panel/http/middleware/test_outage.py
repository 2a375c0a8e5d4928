"""Pages for when the panel cannot do its work, and for people whose session ended."""

from __future__ import annotations

import pytest
from django.db import OperationalError
from django.test import Client, RequestFactory, override_settings
from django.urls import reverse
from pytest import MonkeyPatch

from panel.accounts import name_search
from panel.api.framework import problem
from panel.http import middleware
from tests import make

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    client.raise_request_exception = False
    client.force_login(make.staff_user())
    return client


def break_search(monkeypatch: MonkeyPatch, error: Exception) -> None:
    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr(name_search, "find_names", broken)


@pytest.fixture
def no_database(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "reaches_database", lambda: False)


@pytest.mark.usefixtures("no_database")
def test_without_a_database_a_page_says_so_and_when_it_asks_again(
    staff: Client, monkeypatch: MonkeyPatch
) -> None:
    break_search(monkeypatch, OperationalError("connection refused"))
    response = staff.get(reverse("search"))
    assert (response.status_code, response["Retry-After"]) == (503, "30")
    text = response.content.decode()
    assert "cannot reach its database" in text
    assert "connection refused" not in text
    assert 'http-equiv="refresh"' in text


def test_one_statement_that_fails_is_an_error_of_ours(
    staff: Client, monkeypatch: MonkeyPatch
) -> None:
    monkeypatch.setattr(middleware, "reaches_database", lambda: True)
    break_search(monkeypatch, OperationalError("deadlock detected"))
    response = staff.get(reverse("search"))
    assert response.status_code == 500
    assert b"Internal error" in response.content


@pytest.mark.usefixtures("no_database")
def test_any_other_error_is_no_outage(staff: Client, monkeypatch: MonkeyPatch) -> None:
    break_search(monkeypatch, ValueError("ours"))
    assert staff.get(reverse("search")).status_code == 500


@pytest.mark.usefixtures("no_database")
def test_programs_read_of_an_outage_in_a_problem() -> None:
    error = OperationalError("connection refused")
    response = problem.problem_answer(error, {"request": RequestFactory().get("/api/v1/volumes")})
    assert (response.status_code, response["Retry-After"]) == (503, "30")
    assert response.data["code"] == "service_unavailable"


@pytest.mark.django_db(transaction=True)
def test_the_database_is_asked_whether_it_is_there() -> None:
    assert middleware.reaches_database()
    assert not middleware.is_outage(OperationalError("a lock was not to be had"))


@override_settings(TIERCEL_MAINTENANCE="New disks until noon")
def test_maintenance_is_said_on_every_page_but_not_to_the_load_balancer(client: Client) -> None:
    for path in ("/", reverse("account_login"), "/nowhere"):
        response = client.get(path)
        assert response.status_code == 503
        assert b"New disks until noon" in response.content
    for path in (reverse("health"), reverse("health-work")):
        assert client.get(path).status_code == 200


@override_settings(TIERCEL_MAINTENANCE="New disks until noon")
def test_programs_read_of_maintenance_in_a_problem(client: Client) -> None:
    response = client.get(reverse("api-volumes"))
    assert (response.status_code, response["Retry-After"]) == (503, "30")
    assert response["Content-Type"] == "application/problem+json"
    assert response.json()["code"] == "service_unavailable"
    assert response.json()["detail"] == "New disks until noon"


def test_a_part_of_a_page_whose_session_ended_loads_the_page_again(client: Client) -> None:
    response = client.get(reverse("running-jobs"), headers={"HX-Request": "true"})
    assert (response.status_code, response["HX-Refresh"]) == (401, "true")
    assert client.get(reverse("running-jobs")).status_code == 302


@pytest.mark.parametrize("path", ["/nowhere", "/hosts/nowhere/"])
def test_a_wrong_address_is_answered_in_style(staff: Client, path: str) -> None:
    response = staff.get(path)
    assert response.status_code == 404
    assert b"Go to overview" in response.content
