"""A digest of a password takes only the time that nobody else wants, and is Django's own."""

from __future__ import annotations

import os

from django.contrib.auth.hashers import PBKDF2PasswordHasher

from panel import settings
from panel.authentication.password_hasher import NICE, BackgroundHasher

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
