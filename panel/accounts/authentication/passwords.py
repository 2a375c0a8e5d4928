"""Passwords: words that an attacker would try first are refused, and digests are computed at a
lower priority than the rest of web."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from panel.models import User

NICE: Final = 10
WORDS = ("tiercel", "bcache", "lvmcache", "storage", "volume", "panel", "provider")
LEAST_OTHER = 4
"""Letters and digits required in addition to such a word."""


class OwnWordsValidator:
    """Refuses a password that is little more than the name of the product, of what it does or of
    the panel's own address."""

    def validate(self, password: str, user: User | None = None) -> None:
        """Raises ValidationError."""
        name = urlsplit(settings.TIERCEL_PUBLIC_URL).hostname or ""
        words = {*WORDS, *(part for part in name.split(".") if len(part) >= LEAST_OTHER)}
        text = password.lower()
        for word in words:
            if word in text and len(set(text.replace(word, ""))) < LEAST_OTHER:
                text = gettext("This password is too similar to “{word}”.")
                raise ValidationError(text.format(word=word), code="own_word")

    def get_help_text(self) -> str:
        """What a form says of it."""
        return gettext("The password must not consist of names of this panel.")


class BackgroundHasher(PBKDF2PasswordHasher):
    """A digest keeps a core busy for 0.2 s, outside of Python's lock: attempts at passwords get
    only the processor time that pages and programs leave. One at a time in a process."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        """The digest as it is stored, which Django's own hasher reads as well."""
        return _background().submit(super().encode, password, salt, iterations).result()


@cache
def _background() -> ThreadPoolExecutor:
    # Linux counts the priority of each thread by itself.
    return ThreadPoolExecutor(1, "digests", os.nice, (NICE,))
