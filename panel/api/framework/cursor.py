"""Pages of a list by keyset: no row is repeated or skipped when rows are added or deleted. Where a
row's own place changes meanwhile, it may be in two pages or in none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from django.core import signing
from django.db.models import Model, Q, QuerySet
from rest_framework.request import Request

from panel.api.framework.parameters import Number, Parameter, bad_parameter

M = TypeVar("M", bound=Model)
Value = datetime | float | str
DEFAULT_LIMIT, MAX_LIMIT = 50, 200
LIMIT = Number(
    "limit",
    f"Items per page, 1 to {MAX_LIMIT}; {DEFAULT_LIMIT}",
    least=1,
    most=MAX_LIMIT,
    default=DEFAULT_LIMIT,
)
CURSOR = Parameter("cursor", "The next_cursor of the previous answer.")
SALT = "panel.api.cursor"


def page(
    request: Request,
    rows: QuerySet[M],
    name: str,
    *,
    newest_first: bool = False,
    order: tuple[str, str] = ("created_at", "key"),
) -> tuple[list[M], str | None]:
    """`limit` rows after `cursor`, and the cursor of the next page (None at the end).

    `order` names a time, a number or a text, never null, and a field without repetitions: they
    order the rows and are all that a cursor says. `name` keeps the cursors of different lists
    apart.
    """
    time, unique = order
    limit = LIMIT.of(request)
    if text := request.query_params.get("cursor"):
        at, key = _read(text, name)
        beyond = "lt" if newest_first else "gt"
        # The first condition says nothing more, but an index can begin there.
        rows = rows.filter(
            Q(**{f"{time}__{beyond}e": at}),
            Q(**{f"{time}__{beyond}": at}) | Q(**{f"{unique}__{beyond}": key}),
        )
    sign = "-" if newest_first else ""
    fetched = list(rows.order_by(f"{sign}{time}", f"{sign}{unique}")[: limit + 1])
    if len(fetched) <= limit:
        return fetched, None
    last: Any = fetched[limit - 1]
    return fetched[:limit], _write(getattr(last, time), getattr(last, unique), name)


def body(items: Iterable[Any], cursor: str | None) -> dict[str, Any]:
    """A page as the API says it."""
    return {"items": list(items), "next_cursor": cursor}


def slice_of(request: Request, rows: Sequence[Any], name: str) -> tuple[Sequence[Any], str | None]:
    """The same for rows that are counted, not ordered by one of their fields."""
    limit = LIMIT.of(request)
    first = 0
    if text := request.query_params.get("cursor"):
        value, _ = _read(text, name)
        first = int(value) if isinstance(value, int | float) else 0
    end = first + limit
    return rows[first:end], _write(end, "", name) if end < len(rows) else None


def _write(at: Value, key: str | int, name: str) -> str:
    is_time = isinstance(at, datetime)
    value = at.isoformat() if isinstance(at, datetime) else at
    return signing.dumps([value, key, is_time], salt=f"{SALT}.{name}")


def _read(text: str, name: str) -> tuple[Value, str | int]:
    try:
        value, key, is_time = signing.loads(text, salt=f"{SALT}.{name}")
        return datetime.fromisoformat(value) if is_time else value, key
    except (signing.BadSignature, ValueError):
        raise bad_parameter(
            "cursor", "invalid", "Use next_cursor of the previous answer, or omit it."
        ) from None
