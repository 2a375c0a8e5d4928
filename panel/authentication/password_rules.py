"""Words that an attacker would try first in a password of this panel."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError

from panel.models import User

WORDS = ("tiercel", "bcache", "lvmcache", "storage", "volume", "panel", "provider")
LEAST_OTHER = 4
"""So many letters and digits must be there besides such a word."""


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
                raise ValidationError(f"This password is too similar to “{word}”.", code="own_word")

    def get_help_text(self) -> str:
        """What a form says of it."""
        return "The password must not consist of names of this panel."
