"""Password digests: Django's, computed at a lower priority than the rest of web."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Final

from django.contrib.auth.hashers import PBKDF2PasswordHasher

NICE: Final = 10


class BackgroundHasher(PBKDF2PasswordHasher):
    """A digest keeps a core busy for 0.2 s, outside of Python's lock: whoever tries passwords is
    given what pages and programs leave of the processors. One at a time in a process."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        """The digest as it is stored, which Django's own hasher reads as well."""
        return _background().submit(super().encode, password, salt, iterations).result()


@cache
def _background() -> ThreadPoolExecutor:
    # Linux counts the priority of each thread by itself.
    return ThreadPoolExecutor(1, "digests", os.nice, (NICE,))
