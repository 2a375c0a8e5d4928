"""Where a person is signed in, and how a session is ended."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from panel.accounts import people, sessions
from panel.http import middleware
from panel.models import User
from storage.access import StaffRole
from tests import make

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse 9"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Firefox/145.0"
PHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 "
    "(KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1"
)


@pytest.fixture(autouse=True)
def followed(settings: Settings) -> None:
    settings.USERSESSIONS_TRACK_ACTIVITY = True
    # These tests sign in more often than a person may.
    settings.ACCOUNT_RATE_LIMITS = False


@pytest.fixture(params=["", StaffRole.OPERATOR], ids=["customer", "staff"])
def ann(request: pytest.FixtureRequest) -> User:
    return people.add(email="ann@example.org", password=PASSWORD, staff_role=request.param)


def signed_in(user_agent: str = FIREFOX, email: str = "ann@example.org", ip: str = "") -> Client:
    """A browser in which the person signed in by the form."""
    client = Client(HTTP_USER_AGENT=user_agent, REMOTE_ADDR=ip or "203.0.113.7")
    form = {"login": email, "password": PASSWORD}
    assert client.post(reverse("account_login"), form).status_code == 302
    return client


def page(client: Client) -> str:
    response = client.get(reverse("sessions"))
    assert response.status_code == 200
    return response.content.decode()


def row_of(client: Client) -> UserSession:
    return UserSession.objects.get(session_key=client.session.session_key)


def ended(client: Client) -> bool:
    """Whether the browser is sent to the sign-in page."""
    response: Any = client.get(reverse("sessions"))
    return response.status_code == 302 and response["Location"].startswith(reverse("account_login"))


def test_the_page_names_device_address_and_this_session(ann: User) -> None:
    here, phone = signed_in(), signed_in(PHONE, ip="198.51.100.4")
    text = page(here)
    assert text.index("Firefox on Linux") < text.index("Safari on an iPhone")
    assert text.count("this session") == 1
    assert "203.0.113.7" in text
    assert "198.51.100.4" in text
    assert f'action="{reverse("session-end", args=[row_of(phone).pk])}"' in text
    assert reverse("session-end", args=[row_of(here).pk]) not in text


def test_an_ended_session_is_sent_to_the_sign_in_page_at_once(ann: User) -> None:
    here, phone = signed_in(), signed_in(PHONE)
    key = phone.session.session_key
    response = here.post(reverse("session-end", args=[row_of(phone).pk]), follow=True)
    assert "Safari on an iPhone is signed out." in response.content.decode()
    assert not Session.objects.filter(session_key=key).exists()
    assert ended(phone)
    assert not ended(here)


def test_everything_else_is_signed_out_together(ann: User) -> None:
    here, others = signed_in(), [signed_in(PHONE), signed_in(PHONE)]
    text = here.post(reverse("sessions-end"), follow=True).content.decode()
    assert "Your other sessions are signed out." in text
    assert "You have no other sessions." in text
    assert all(ended(other) for other in others)
    assert not ended(here)


def test_a_part_of_a_page_of_an_ended_session_reloads_the_whole_page(ann: User) -> None:
    here, phone = signed_in(), signed_in(PHONE)
    here.post(reverse("sessions-end"))
    part = phone.get(reverse("search-found"), headers={"HX-Request": "true"})
    assert (part.status_code, part["HX-Refresh"]) == (401, "true")


def test_no_person_ends_or_sees_the_session_of_another(ann: User) -> None:
    people.add(email="bob@example.org", password=PASSWORD, staff_role=StaffRole.ADMIN)
    here, bob = signed_in(), signed_in(PHONE, "bob@example.org")
    assert here.post(reverse("session-end", args=[row_of(bob).pk])).status_code == 404
    here.post(reverse("sessions-end"))
    assert not ended(bob)
    assert "iPhone" not in page(here)


def test_ones_own_session_is_not_ended_here(ann: User) -> None:
    here = signed_in()
    assert here.post(reverse("session-end", args=[row_of(here).pk])).status_code == 404
    assert not ended(here)


def test_only_live_sessions_are_listed(ann: User) -> None:
    here, old, out = signed_in(), signed_in(PHONE), signed_in(PHONE)
    Session.objects.filter(session_key=old.session.session_key).update(
        expire_date=timezone.now() - timedelta(seconds=1)
    )
    out.post(reverse("account_logout"))
    assert "iPhone" not in page(here)


def test_a_new_password_leaves_the_session_that_chose_it_alone(ann: User) -> None:
    here, phone = signed_in(), signed_in(PHONE)
    form = {"oldpassword": PASSWORD, "password1": "battery staple 8", "password2": ""}
    form["password2"] = form["password1"]
    assert here.post(reverse("account_change_password"), form).status_code == 302
    assert ended(phone)
    assert "You have no other sessions." in page(here)


def test_a_session_from_before_the_list_is_listed_once_it_is_used(
    ann: User, settings: Settings
) -> None:
    here, phone = signed_in(), signed_in(PHONE)
    UserSession.objects.all().delete()
    phone.get(reverse("search"))
    assert "Safari on an iPhone" in page(here)
    UserSession.objects.all().delete()
    settings.USERSESSIONS_TRACK_ACTIVITY = False
    assert "this session" in page(here)


def test_the_last_use_is_noted_with_its_address(ann: User) -> None:
    here = signed_in()
    long_ago = timezone.now() - timedelta(hours=3)
    UserSession.objects.update(last_seen_at=long_ago)
    here.get(reverse("search"), REMOTE_ADDR="198.51.100.9")
    row = row_of(here)
    assert row.last_seen_at > long_ago
    assert row.ip == "198.51.100.9"


def test_it_is_noted_once_a_minute_at_most(ann: User, monkeypatch: pytest.MonkeyPatch) -> None:
    here, noted = signed_in(), []
    monkeypatch.setattr(sessions, "note_session", noted.append)
    for _ in range(3):
        here.get(reverse("search"))
    assert len(noted) == 1
    monkeypatch.setattr(middleware, "RECORD_SECONDS", 0)
    here.get(reverse("search"))
    assert len(noted) == 2


def test_the_health_check_notes_nothing(ann: User, monkeypatch: pytest.MonkeyPatch) -> None:
    here, noted = signed_in(), []
    monkeypatch.setattr(sessions, "note_session", noted.append)
    here.get(reverse("health"))
    assert noted == []


def test_a_link_local_address_does_not_stand_in_the_way(ann: User) -> None:
    assert row_of(signed_in(ip="fe80::1%eth0")).ip == "fe80::1"


def test_the_list_costs_the_same_for_ten_sessions(ann: User, settings: Settings) -> None:
    settings.USERSESSIONS_TRACK_ACTIVITY = False
    here, counts = signed_in(), {}
    for others in range(1, 11):
        signed_in(PHONE)
        with CaptureQueriesContext(connection) as queries:
            assert page(here).count("iPhone (") == others
        counts[others] = len(queries)
    assert counts[10] == counts[1]


def test_no_session_of_a_deleted_person_is_left() -> None:
    user = make.user()
    client = Client()
    client.force_login(user)
    client.get(reverse("search"))
    assert UserSession.objects.count() == 1
    user.delete()
    assert UserSession.objects.count() == 0


def test_sessions_that_expired_are_forgotten_once_a_day(ann: User) -> None:
    gone, here = signed_in(), signed_in(PHONE)
    long_ago = timezone.now() - timedelta(days=15)
    expired = Session.objects.filter(session_key=gone.session.session_key)
    expired.update(expire_date=timezone.now() - timedelta(hours=1))
    noted = UserSession.objects.filter(session_key=gone.session.session_key)
    noted.update(last_seen_at=long_ago)
    assert sessions.prune_sessions() == 1
    assert [each.session_key for each in sessions.live(ann)] == [here.session.session_key]
    assert UserSession.objects.count() == Session.objects.count() == 1
    assert sessions.prune_sessions() == 0


@pytest.mark.usefixtures("ann")
def test_a_worker_whose_clock_runs_ahead_ends_no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    here = signed_in()
    ahead = timezone.now() + timedelta(days=400)
    monkeypatch.setattr("django.utils.timezone.now", lambda: ahead)
    assert sessions.prune_sessions() == 0
    assert Session.objects.filter(session_key=here.session.session_key).exists()
