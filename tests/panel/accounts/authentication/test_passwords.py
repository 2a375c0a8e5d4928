"""What may not be a password here."""

from __future__ import annotations

import os

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from pytest_django import Settings

from panel import settings
from panel.accounts.authentication.passwords import NICE, BackgroundHasher


@pytest.mark.parametrize("password", ["Tiercel2026", "bcachebcache", "Panel-1111", "acmehost2026"])
def test_the_names_of_this_panel_are_no_passwords(settings: Settings, password: str) -> None:
    settings.TIERCEL_PUBLIC_URL = "https://storage.acmehost.example"
    with pytest.raises(ValidationError, match="too similar to"):
        validate_password(password)


@pytest.mark.parametrize("password", ["tiercel eats 9 mice", "ünïcode 🔑 of any kind" * 9])
def test_anything_else_that_is_long_enough_may_be_one(password: str) -> None:
    validate_password(password)


def test_one_that_everybody_uses_may_not() -> None:
    with pytest.raises(ValidationError, match="too common"):
        validate_password("password123")


SALT, ITERATIONS = "s" * 22, 10


class Watched(PBKDF2PasswordHasher):
    """Says in place of a digest at which priority it is made."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        return str(os.getpriority(os.PRIO_PROCESS, 0))


class WatchedInBackground(BackgroundHasher, Watched):
    """The panel's, around that one."""


def test_a_digest_is_made_at_a_lower_priority_and_the_caller_keeps_its_own() -> None:
    before = os.getpriority(os.PRIO_PROCESS, 0)
    assert int(WatchedInBackground().encode("x", SALT)) == min(before + NICE, 19)
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


def test_a_digest_is_the_one_that_django_makes() -> None:
    ours = BackgroundHasher().encode("a password", SALT, ITERATIONS)
    assert ours == PBKDF2PasswordHasher().encode("a password", SALT, ITERATIONS)
    assert BackgroundHasher().verify("a password", ours)
    assert not BackgroundHasher().verify("another", ours)


def test_the_panel_makes_digests_that_way() -> None:
    name = f"{BackgroundHasher.__module__}.{BackgroundHasher.__qualname__}"
    assert [name] == settings.PASSWORD_HASHERS
