"""Concurrency limits, so that no kind of request ever holds all threads of web."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class ConcurrencyLimit:
    """So many threads of this process are for one kind of work at once, and so many of them for
    one who asks for it: what is left serves all others."""

    def __init__(self, *, most: int, most_of_one: int) -> None:
        self.most, self.most_of_one = most, most_of_one
        self._lock = Lock()
        self._taken: Counter[str] = Counter()

    @contextmanager
    def one(self, name: str) -> Iterator[bool]:
        """A place for `name` until the end of the block; False where none is left."""
        with self._lock:
            is_free = self._taken.total() < self.most and self._taken[name] < self.most_of_one
            self._taken[name] += is_free
        try:
            yield is_free
        finally:
            with self._lock:
                self._taken[name] -= is_free
                self._taken += Counter()  # forgets who has none
