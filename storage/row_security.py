"""Row security: PostgreSQL itself shows each request only the rows of the customers its person
belongs to, even if a view forgets `visible_to`.

Every tenant table has a policy that compares its rows with `tiercel.wall`, a variable of the
database session: "all" for staff and programs, a person's primary key for people of customers, ""
for nobody, who sees and writes nothing. This module holds the value that the variable should have
now; `panel.postgresql` sends it to the session before its next statement,
`panel.middleware` sets it for requests. A process sees no rows until it calls
`open_process`, so a forgotten call shows nothing.

Row security protects against mistakes in queries, not against somebody who can run statements of
their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

ALL: Final = "all"
NOBODY: Final = ""

_process = NOBODY
_standing: ContextVar[str | None] = ContextVar("tiercel_wall", default=None)


def standing() -> str:
    """What `tiercel.wall` should be for the next statement of this thread."""
    standing = _standing.get()
    return _process if standing is None else standing


def open_process() -> None:
    """For programs that serve nobody in particular (worker, collector, commands): wherever nothing
    else is said, they see all. Never for the web server."""
    global _process
    _process = ALL


def stand(value: str) -> None:
    """Set the scope for the rest of the enclosing `inside` block. Outside of one nothing
    changes: `request.user` may be looked at for the first time when its request is over."""
    if _standing.get() is not None:
        _standing.set(value)


@contextmanager
def inside(value: str) -> Iterator[None]:
    """See only what `value` lets see; afterwards what was seen before."""
    before = _standing.set(value)
    try:
        yield
    finally:
        _standing.reset(before)


@contextmanager
def beyond() -> Iterator[None]:
    """See all for a moment, in a request too: only for sums over rows of others that the person
    never gets to see, such as how much SSD space is promised, and for doors whose key is not a
    session (a link's token, a signature). A decorator, too."""
    with inside(ALL):
        yield


# --- For migrations ------------------------------------------------------------------------------

# Sub-selects are evaluated once a statement, not once a row; for "all" the second one never is.
# PostgreSQL takes "equal" for rare and "not equal" for usual, and plans accordingly: for staff and
# workers, who ask the large questions, every row is seen.
IS_ALL: Final = (
    "(SELECT CASE current_setting('tiercel.wall', true) WHEN 'all' THEN 1 ELSE 0 END) <> 0"
)
CUSTOMERS: Final = "ANY ((SELECT wall_customers())::bigint[])"
VOLUMES: Final = "ANY ((SELECT wall_volumes())::bigint[])"
STAFF_ONLY: Final = "false"


def enclose(table: str, own: str) -> tuple[str, str]:
    """SQL, and the SQL that undoes it, for a migration of a tenant table: whoever is not "all"
    reads and writes those rows alone for which `own` is true, as `f"customer_id = {CUSTOMERS}"` or
    `f"volume_id = {VOLUMES}"`. The owner of the table is not bound."""
    seen = f"{IS_ALL} OR ({own})"
    return (
        f"CREATE POLICY wall ON {table} USING ({seen}) WITH CHECK ({seen});"
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;",
        f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY; DROP POLICY wall ON {table};",
    )
