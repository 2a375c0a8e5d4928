"""Row security: PostgreSQL itself shows each request only the rows of the customers its person
belongs to, even if a view forgets `visible_to`.

Every tenant table has a policy (`migrations/sql/row_security.sql` of its app) that compares its
rows with `tiercel.wall`, a variable of the database session: "all" for staff and programs, a
person's primary key for people of customers, "" for a session that sees and writes nothing. This
module holds the value that the variable should have now; `panel.configuration.postgresql` sends it
to the session before its next statement, `panel.http.middleware` sets it for requests. A process
sees no rows until it calls `open_process`, so a forgotten call shows nothing.

Row security protects against mistakes in queries, not against an attacker who can run statements
of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

ALL: Final = "all"
NO_ROWS: Final = ""

_process = NO_ROWS
_scope: ContextVar[str | None] = ContextVar("tiercel_wall", default=None)


def current_scope() -> str:
    """What `tiercel.wall` should be for the next statement of this thread."""
    value = _scope.get()
    return _process if value is None else value


def open_process() -> None:
    """For programs that serve no particular person (worker, collector, commands): outside of a
    narrower `scope` they see all. Never for the web server."""
    global _process
    _process = ALL


def set_scope(value: str) -> None:
    """Set the scope for the rest of the enclosing `scope` block. Outside of one nothing
    changes: `request.user` may be evaluated for the first time when its request is over."""
    if _scope.get() is not None:
        _scope.set(value)


@contextmanager
def scope(value: str) -> Iterator[None]:
    """See only what `value` allows; afterwards the previous scope applies again."""
    before = _scope.set(value)
    try:
        yield
    finally:
        _scope.reset(before)


@contextmanager
def beyond() -> Iterator[None]:
    """See all for a moment, in a request too: only for sums over rows of others that the person
    never gets to see, such as how much SSD space is promised, and for doors whose key is not a
    session (a link's token, a signature). A decorator, too."""
    with scope(ALL):
        yield
