"""The name of the HTTP request that is being answered, which its log lines, jobs and audit entries
carry, so that each leads to the others. "" outside requests, such as in workers."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

LIMIT: Final = 64
_current: ContextVar[str] = ContextVar("request_id", default="")


def current_request_id() -> str:
    """The name of the request that this thread answers."""
    return _current.get()


@contextmanager
def during_request(name: str) -> Iterator[None]:
    """Within it, the thread answers the request of that name."""
    token = _current.set(name)
    try:
        yield
    finally:
        _current.reset(token)


class RequestIdFilter(logging.Filter):
    """Gives each record the name of its request: " [name]", or "" outside requests."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record pass."""
        name = current_request_id()
        record.request_id = f" [{name}]" if name else ""
        return True
