"""Named points around each commit, send and receipt of a job's runner.

They do nothing in normal operation. The fault suite (tests/faults) sets `hook` in the processes it
starts, to end, fail or halt a process at such a point. Neither the environment nor a setting can do
that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import transaction

P = ParamSpec("P")
T = TypeVar("T")

_within = threading.local()

hook: Callable[[str], None] | None = None


def reach(name: str) -> None:
    """Say that the program is at the point `name`."""
    if hook is not None:
        hook(name)


def durable(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make a function one transaction with three points: `name.before`, `name.commit` (all is
    written, nothing is committed) and `name.after`. Within another such function it is part of
    that one's transaction, without a savepoint: what fails in it fails both."""

    def made(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> T:
            reach(f"{name}.before")
            is_part = getattr(_within, "durable", False)
            _within.durable = True
            try:
                with nullcontext() if is_part else transaction.atomic():
                    result = function(*args, **kwargs)
                    reach(f"{name}.commit")
            finally:
                _within.durable = is_part
            reach(f"{name}.after")
            return result

        return run

    return made
