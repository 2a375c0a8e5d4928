"""Who guesses a password is stopped; its owner still comes in."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from panel.accounts import people
from panel.models import User
from tests.proven import sign_in

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse 9"


@pytest.fixture(autouse=True)
def _limits_of_its_own(settings: Settings) -> None:
    memory = "django.core.cache.backends.locmem.LocMemCache"
    settings.CACHES = {"default": {"BACKEND": memory, "LOCATION": uuid.uuid4().hex}}


@pytest.fixture
def ann() -> User:
    return people.add(email="ann@example.org", password=PASSWORD)


def enter(client: Client, password: str, ip: str) -> Any:
    form = {"login": "Ann@example.org", "password": password}
    return client.post(reverse("account_login"), form, REMOTE_ADDR=ip)


def is_in(client: Client, ip: str) -> bool:
    return bool(enter(client, PASSWORD, ip).status_code == 302)


def guess(tries: int, ip: str) -> Any:
    """The last answer."""
    return [enter(Client(), "wrong", ip) for _ in range(tries)][-1]


def test_guessing_from_elsewhere_does_not_keep_the_owner_out(ann: User) -> None:
    assert "Too many" in guess(7, "203.0.113.7").content.decode()
    assert not is_in(Client(), "203.0.113.7")
    assert is_in(Client(), "198.51.100.2")


def test_one_network_of_ipv6_is_one_guesser(ann: User) -> None:
    guess(5, "2001:db8:1:2::7")
    assert not is_in(Client(), "2001:db8:1:2::9")
    assert is_in(Client(), "2001:db8:1:3::9")


def test_many_networks_together_are_stopped_too_but_not_a_browser_she_came_in_by(
    ann: User,
) -> None:
    hers = Client()
    assert is_in(hers, "198.51.100.2")
    hers.post(reverse("account_logout"))
    for network in range(11):
        guess(5, f"203.0.113.{network}")
    assert not is_in(Client(), "192.0.2.9")
    assert is_in(hers, "198.51.100.2")


def test_a_browser_she_came_in_by_may_not_guess_for_ever_either(ann: User) -> None:
    hers = Client()
    assert is_in(hers, "198.51.100.2")
    hers.post(reverse("account_logout"))
    for _ in range(6):
        enter(hers, "wrong", "198.51.100.2")
    assert not is_in(hers, "198.51.100.2")


def test_the_cookie_is_useless_to_another_person_and_opens_nothing(ann: User) -> None:
    people.add(email="bob@example.org", password="another horse 9")
    thief = Client()
    form = {"login": "bob@example.org", "password": "another horse 9"}
    thief.post(reverse("account_login"), form)
    thief.post(reverse("account_logout"))
    assert thief.cookies["known"].value and thief.cookies["known"]["httponly"]
    for _ in range(5):
        enter(thief, "wrong", "203.0.113.7")
    assert not is_in(thief, "203.0.113.7")
    assert thief.get("/my/").status_code == 302


def test_guessing_at_a_proof_does_not_keep_the_owner_out(ann: User) -> None:
    thief = Client()
    thief.force_login(ann)
    for _ in range(12):
        answer: Any = thief.post(reverse("step-up"), {"password": "wrong"})
    assert "Too many" in answer.content.decode()
    hers = sign_in(Client(), ann)
    assert hers.post(reverse("step-up"), {"password": PASSWORD}).status_code == 302
    assert is_in(Client(), "127.0.0.1")
