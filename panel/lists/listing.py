"""A list by its columns: order, pages, size of a page, CSV. All of it is in the address (`sort`,
`page`, `size`, `format`), so a list can be bookmarked and shared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, cast

from django.core.paginator import Page, Paginator
from django.db.models import Expression, F, QuerySet
from django.db.models.expressions import OrderBy
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils import timezone

from panel.models import SavedView
from storage.formatting import csv_line

SIZES: Final = (25, 50, 100, 200)
PAGE_ROWS: Final = 50
CHUNK_ROWS: Final = 500
PLACE: Final = ("page", "size", "format")
"""Parameters that affect neither the rows of a list nor their order."""

RIGHT: Final = "text-lg-end"
"""The class of a column of figures."""
Key = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class ListColumn:
    """One column of a list. `order` is what it sorts by: an expression where the database sorts, a
    key where Python does, whose None comes last; None where it cannot be sorted.
    `is_largest_first`: the first click sorts the largest first."""

    name: str
    title: str
    order: Expression | F | Key | None = None
    is_largest_first: bool = False
    css_class: str = ""
    help: str = ""


@dataclass(frozen=True, slots=True)
class ListDefinition:
    """One kind of list: its name, its columns, its order where nothing is asked (`first`, as in an
    address; that of the rows themselves where it is ""), the fields that decide between equals, and
    how a row becomes a line of CSV: the name of each cell with what gives it."""

    name: str
    columns: tuple[ListColumn, ...]
    cells: tuple[tuple[str, Key], ...]
    first: str = ""
    ties: tuple[str, ...] = ("pk",)

    def column(self, name: str) -> ListColumn | None:
        """The column of that name that can be sorted."""
        return next((each for each in self.columns if each.name == name and each.order), None)


@dataclass(frozen=True, slots=True)
class Head:
    """A column's head: `sort` is the order that a click on it asks for ("" where it cannot be
    sorted), `aria` the order now."""

    column: ListColumn
    sort: str
    aria: str


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list, with all that its tools need. `fields` are the parameters of the address
    without its place in the list, for forms that keep them."""

    listing: ListDefinition
    page: Page[Any]
    heads: tuple[Head, ...]
    sort: str
    size: int
    fields: tuple[tuple[str, str], ...]
    query: str
    views: tuple[SavedView, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        return SIZES

    @property
    def count(self) -> int:
        """Of all rows, on whatever page."""
        return self.page.paginator.count

    @property
    def orders(self) -> list[tuple[str, str]]:
        """Every order by a column, for screens that have no heads: (sort, words)."""
        return [
            (sign + head.column.name, f"{head.column.title} {arrow}")
            for head in self.heads
            if head.sort
            for sign, arrow in (("", "\N{UPWARDS ARROW}"), ("-", "\N{DOWNWARDS ARROW}"))
        ]


def order_of(listing: ListDefinition, query: QueryDict) -> tuple[ListColumn | None, bool]:
    """The column that the address asks to sort by, and whether descending."""
    sort = query.get("sort", "")
    if listing.column(sort.removeprefix("-")) is None:
        sort = listing.first
    return listing.column(sort.removeprefix("-")), sort.startswith("-")


def in_order(listing: ListDefinition, query: QueryDict, rows: Any) -> Any:
    """The rows, which are a queryset or a list, in the order that the address asks for."""
    column, is_descending = order_of(listing, query)
    if column is None:
        return rows
    if isinstance(rows, QuerySet):
        expression = cast("Expression | F", column.order)
        order = OrderBy(expression, descending=is_descending, nulls_last=True)
        return rows.order_by(order, *listing.ties)
    return _sorted(rows, column.order, is_descending=is_descending)


def _sorted(rows: Iterable[Any], key: Any, *, is_descending: bool) -> list[Any]:
    keyed = [(key(row), row) for row in rows]
    known = [each for each in keyed if each[0] is not None]
    known.sort(key=lambda each: each[0], reverse=is_descending)
    return [row for _, row in known] + [row for value, row in keyed if value is None]


def list_page(request: HttpRequest, listing: ListDefinition, rows: Any) -> ListPage:
    """The page of `rows` that the address asks for."""
    query = request.GET
    column, is_descending = order_of(listing, query)
    size = _size(query)
    heads = tuple(_head(each, column, is_descending=is_descending) for each in listing.columns)
    kept = query.copy()
    for name in PLACE:
        kept.pop(name, None)
    return ListPage(
        listing=listing,
        page=Paginator(in_order(listing, query, rows), size).get_page(query.get("page")),
        heads=heads,
        sort=query.get("sort", "") if column is not None else "",
        size=size,
        fields=tuple((name, value) for name, values in kept.lists() for value in values if value),
        query=kept.urlencode(),
        views=tuple(SavedView.objects.visible_to(request.user).filter(listing=listing.name)),
    )


def _size(query: QueryDict) -> int:
    asked = query.get("size", "")
    return next((size for size in SIZES if str(size) == asked), PAGE_ROWS)


def _head(column: ListColumn, now: ListColumn | None, *, is_descending: bool) -> Head:
    if column.order is None:
        return Head(column, "", "")
    is_now = now is not None and now.name == column.name
    wants_descending = not is_descending if is_now else column.is_largest_first
    aria = ("descending" if is_descending else "ascending") if is_now else ""
    return Head(column, f"-{column.name}" if wants_descending else column.name, aria)


def wants_csv(request: HttpRequest) -> bool:
    """Whether the address asks for the whole list as a file."""
    return request.GET.get("format") == "csv"


def csv_of(
    request: HttpRequest,
    listing: ListDefinition,
    rows: Any,
    filled: Callable[[Sequence[Any]], Iterable[Any]] = lambda rows: rows,
) -> HttpResponse:
    """Every row as CSV, in the order that the page has. `filled` makes of some hundred rows at
    a time what the cells look at."""
    name = f"tiercel-{listing.name}-{timezone.now():%Y%m%d-%H%M%S}.csv"
    ordered = list(in_order(listing, request.GET, rows))
    pieces = (ordered[first : first + CHUNK_ROWS] for first in range(0, len(ordered), CHUNK_ROWS))
    lines = ([cell(row) for _, cell in listing.cells] for some in pieces for row in filled(some))
    return csv_file(name, [title for title, _ in listing.cells], lines)


def csv_file(
    name: str, titles: Iterable[object], lines: Iterable[Iterable[object]]
) -> HttpResponse:
    """The lines below their titles, as a file of that name."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    text = "".join(map(csv_line, chain([titles], lines)))
    return HttpResponse(text, content_type="text/csv; charset=utf-8", headers=headers)
