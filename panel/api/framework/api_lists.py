"""Parameters of every list of the API, besides its own filters: pages, an order, a search, times,
some fields alone, and how many there are. A list declares it once, and its view, the description
and the refusal of unknown parameters read it there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, reduce
from operator import or_
from typing import Any, Final, TypeVar

from django.db.models import Model, Q, QuerySet
from django.db.models.expressions import Combinable
from drf_spectacular.utils import inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework import cursor
from panel.api.framework.fields import Integer, Text
from panel.api.framework.parameters import (
    MOST_KEYS,
    Keys,
    Moment,
    OneOf,
    Parameter,
    Truth,
    bad_parameter,
)
from panel.api.framework.shape import Json, Shape, names_of, show

M = TypeVar("M", bound=Model)
SORTED_BY: Final = "sorted_by"
CREATED: Final = ("created_at", "key")
PAGE: Final = (cursor.LIMIT, cursor.CURSOR)
FIELDS: Final = Parameter("fields", "Only these fields of each item, separated by commas.")
COUNT: Final = Truth("count", "`true`: also return the number of items on all pages, as `count`.")
NEXT_CURSOR: Final = "The `cursor` of the next page; null: this is the last one."
KEYS: Final = Keys("ids", f"Keys, separated by commas; at most {MOST_KEYS}.", "key__in")


class PageShape(Shape):
    """What follows the rows of a page."""

    next_cursor = Text(NEXT_CURSOR, null=True)


@dataclass(frozen=True)
class Listing:
    """A list of rows that each show as a `shape`.

    `order` names the time and the field without repetitions that order it, oldest first or
    `newest_first`; `created_since` is about that time, which answers call `time` ("": the first of
    the two is no time). `sorts` are further orders: what a program names, and the column or
    expression that it means, of which none is null. `searched` are columns of which `search` is a
    part, `staff_searched` further ones for staff; `updated` is the column of `updated_since`, or
    says what it means. With `by_keys` the list takes `ids`. `filters` are parameters of its own.
    Its page is called by the shape, or by `page_name`.
    """

    name: str
    shape: type[Shape]
    order: tuple[str, str] = CREATED
    time: str = "created_at"
    newest_first: bool = False
    sorts: Mapping[str, str | Combinable] = field(default_factory=dict)
    searched: Sequence[str] = ()
    staff_searched: Sequence[str] = ()
    search_text: str = ""
    updated: str | Callable[[datetime], Q] = ""
    by_keys: bool = False
    filters: Sequence[Parameter] = ()
    page_name: str = ""

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """All that it takes."""
        first = self._orders[0]
        taken = [*PAGE, FIELDS, COUNT]
        if self.time:
            since = f"`{self.time}` at this time or later."
            taken.append(Moment("created_since", since, f"{self.order[0]}__gte"))
        if self.updated:
            where = f"{self.updated}__gte" if isinstance(self.updated, str) else self.updated
            taken.append(Moment("updated_since", "Changed at this time or later.", where))
        if self.by_keys:
            taken.append(KEYS)
        if self.searched:
            taken.append(Parameter("search", self.search_text))
        if self.sorts:
            text = f"Default: `{first}`. A minus sorts in descending order."
            taken.append(OneOf("sort", text, values=self._orders))
        return (*taken, *self.filters)

    @property
    def _orders(self) -> list[str]:
        """What `sort` may be; the first is the default."""
        first, *others = ("-", "") if self.newest_first else ("", "-")
        return [
            *(f"{sign}{self.time}" for sign in (first, *others)),
            *(f"{sign}{name}" for name in self.sorts for sign in ("", "-")),
        ]

    @cached_property
    def page_shape(self) -> serializers.Serializer[Any]:
        """The shape of its answer."""
        return inline_serializer(
            self.page_name or self.shape.__name__.replace("Shape", "Page"),
            {
                "items": self.shape("The rows of this answer, one each.", many=True),
                "next_cursor": Text(NEXT_CURSOR, null=True),
                "count": Integer("With `count=true`: items of all pages.", required=False),
            },
        )

    def answer(
        self,
        request: Request,
        rows: QuerySet[M],
        prepare: Callable[[list[M]], Iterable[Any]] = list,
        *,
        for_staff: bool = False,
    ) -> Response:
        """One page of the `rows` that the parameters leave; `prepare` makes of the rows of a page
        what the shape is of, or shows them itself."""
        rows = self._narrowed(request, rows, for_staff=for_staff)
        fields = only_fields(request, self.shape)
        count = {"count": rows.count()} if COUNT.of(request) else {}
        page, after = self._page(request, rows)
        items = (
            row if isinstance(row, dict) else show(self.shape, row, staff=for_staff)
            for row in prepare(page)
        )
        return Response({**cursor.body(fields(items), after), **count})

    def _narrowed(self, request: Request, rows: QuerySet[M], *, for_staff: bool) -> QuerySet[M]:
        for each in self.parameters:
            rows = each.narrow(request, rows)
        if self.searched and (text := request.query_params.get("search")) is not None:
            columns = (*self.searched, *(self.staff_searched if for_staff else ()))
            rows = rows.filter(reduce(or_, (Q((f"{each}__icontains", text)) for each in columns)))
        return rows

    def _page(self, request: Request, rows: QuerySet[M]) -> tuple[list[M], str | None]:
        orders = self._orders
        sort = request.query_params.get("sort", orders[0])
        if sort not in orders:
            raise bad_parameter("sort", "invalid", f"One of {', '.join(orders)}.")
        time, unique = self.order
        column = self.sorts.get(sort.removeprefix("-"), time)
        if not isinstance(column, str):
            rows, column = rows.annotate(**{SORTED_BY: column}), SORTED_BY
        # A cursor of another order names no place in this one.
        name = self.name if sort == orders[0] else f"{self.name} {sort}"
        return cursor.page(
            request, rows, name, newest_first=sort.startswith("-"), order=(column, unique)
        )


def only_fields(request: Request, shape: type[Shape]) -> Callable[[Iterable[Json]], Iterable[Json]]:
    """What leaves the fields of `?fields=a,b` alone in each item; all where it is missing."""
    text = request.query_params.get("fields")
    if text is None:
        return lambda items: items
    known, fields = names_of(shape), set(text.split(","))
    if not fields <= set(known):
        raise bad_parameter("fields", "invalid", f"Some of {', '.join(known)}.")
    return lambda items: (
        {name: value for name, value in each.items() if name in fields} for each in items
    )
