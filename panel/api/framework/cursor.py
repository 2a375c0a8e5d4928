"""Pages of a list by keyset: no row is repeated or skipped when rows are added or deleted. Where a
row's own place changes meanwhile, it may be in two pages or in none."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypeVar

from django.core import signing
from django.db.models import Model, Q, QuerySet
from rest_framework.request import Request

from panel.api.framework.resource import bad_parameter, whole

M = TypeVar("M", bound=Model)
PARAMETERS = ("limit", "cursor")
DEFAULT_LIMIT, MAX_LIMIT = 50, 200
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

    `order` names a time or a number, never null, and a field without repetitions: they order the
    rows and are all that a cursor says. `name` keeps the cursors of different lists apart.
    """
    time, unique = order
    limit = whole(request, "limit", DEFAULT_LIMIT, 1, MAX_LIMIT)
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


def _write(at: datetime | float, key: str | int, name: str) -> str:
    value = at.isoformat() if isinstance(at, datetime) else at
    return signing.dumps([value, key], salt=f"{SALT}.{name}")


def _read(text: str, name: str) -> tuple[datetime | float, str | int]:
    try:
        at, key = signing.loads(text, salt=f"{SALT}.{name}")
        return datetime.fromisoformat(at) if isinstance(at, str) else at, key
    except signing.BadSignature:
        raise bad_parameter(
            "cursor", "invalid", "Take next_cursor of the last answer, or leave it out."
        ) from None
