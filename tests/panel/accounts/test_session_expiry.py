"""A session ends when it is not used, and in any case one day."""

from __future__ import annotations

import time

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from panel.accounts import sessions
from panel.models import User
from tests import make
from tests.proven import prove

pytestmark = pytest.mark.django_db

HOUR = 3600
PART = {"HX-Request": "true"}
FETCHED = {"Sec-Fetch-Mode": "cors"}


@pytest.fixture
def boss() -> User:
    return make.staff_user("boss@example.org")


def aged(user: User, *, began: float, seen: float) -> Client:
    """A browser that signed in so many seconds ago, and was last used so many seconds ago."""
    client = Client()
    client.force_login(user)
    session = client.session
    session["began_at"], session["seen_at"] = time.time() - began, time.time() - seen
    session.save()
    return client


def is_in(client: Client, **headers: str) -> bool:
    return client.get(reverse("sessions"), headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("began", "seen", "lasts"),
    [
        (5 * HOUR, 50 * 60, True),
        (5 * HOUR, 70 * 60, False),
        (11 * HOUR, 5, True),
        (13 * HOUR, 5, False),
        (-2 * HOUR, -2 * HOUR, False),
    ],
)
def test_staff_are_signed_out_after_an_hour_unused_and_after_twelve(
    boss: User, began: float, seen: float, lasts: bool
) -> None:
    assert is_in(aged(boss, began=began, seen=seen)) is lasts


def test_the_ends_are_settings(boss: User, settings: Settings) -> None:
    settings.TIERCEL_STAFF_IDLE_SECONDS = 10 * HOUR
    settings.TIERCEL_STAFF_SESSION_SECONDS = 20 * HOUR
    assert is_in(aged(boss, began=19 * HOUR, seen=9 * HOUR))
    assert not is_in(aged(boss, began=21 * HOUR, seen=5))


def test_customers_have_ends_of_their_own() -> None:
    user, day = make.user(), 24 * HOUR
    assert is_in(aged(user, began=20 * day, seen=6 * day))
    assert not is_in(aged(user, began=20 * day, seen=8 * day))
    assert not is_in(aged(user, began=31 * day, seen=5))


def test_a_session_used_while_the_clock_ran_ahead_is_over_with_its_proof(boss: User) -> None:
    """Otherwise a proof of that time would be fresh once more when the clock comes there again."""
    assert is_in(aged(boss, began=HOUR, seen=-30)), "two machines' clocks may differ a little"
    client = prove(aged(boss, began=HOUR, seen=-10 * 60), boss)
    assert not is_in(client)
    user = make.user()
    assert not is_in(aged(user, began=HOUR, seen=-10 * 60))


def test_the_session_is_gone_and_the_sign_in_says_why(boss: User) -> None:
    client = aged(boss, began=13 * HOUR, seen=5)
    page = client.get(reverse("sessions"), follow=True)
    assert "You were signed out" in page.content.decode()
    assert not Session.objects.filter(session_data__contains="began_at").exists()
    assert "_auth_user_id" not in client.session


def test_a_proof_does_not_make_it_last_longer(boss: User) -> None:
    client = prove(aged(boss, began=13 * HOUR, seen=5), boss)
    assert not is_in(client)


def test_a_session_that_does_not_say_when_it_began_is_over(boss: User) -> None:
    client = Client()
    client.force_login(boss)
    session = client.session
    del session["began_at"]
    session.save()
    assert not is_in(client)


def test_using_it_keeps_it_and_a_page_that_renews_itself_does_not(boss: User) -> None:
    client = aged(boss, began=5 * HOUR, seen=50 * 60)
    before = client.session["seen_at"]
    for headers in (PART, FETCHED):
        assert is_in(client, **headers)
        assert client.session["seen_at"] == before
    client.get(reverse("api-root"))
    assert client.session["seen_at"] == before
    assert is_in(client)
    assert client.session["seen_at"] > before


def test_the_api_is_closed_to_it_too(boss: User) -> None:
    assert aged(boss, began=5, seen=5).get(reverse("api-hosts")).status_code == 200
    assert aged(boss, began=13 * HOUR, seen=5).get(reverse("api-hosts")).status_code == 401


def test_so_is_it_under_a_path_in_front_of_the_panels_own(boss: User) -> None:
    client = aged(boss, began=13 * HOUR, seen=5)
    assert client.get(reverse("api-hosts"), SCRIPT_NAME="/x").status_code == 401


def test_a_session_that_is_over_is_not_listed(boss: User) -> None:
    for began in (5, 13 * HOUR):
        client = aged(boss, began=began, seen=5)
        boss.usersession_set.create(session_key=client.session.session_key, ip="192.0.2.1")
    assert len(sessions.live(boss)) == 1
