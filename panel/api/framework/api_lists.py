"""What every list of the API takes beside its own filters: pages, an order, a search, times, some
fields alone, and how many there are. A list declares it once, and its view, the description and the
refusal of unknown parameters read it there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeVar

from django.db.models import Model, Q, QuerySet
from django.db.models.expressions import Combinable
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework import cursor
from panel.api.framework.fields import Integer, Text
from panel.api.framework.resource import bad_parameter, ids, since, truth
from panel.api.framework.shape import Shape, names_of
from panel.api.response_shapes import Json

M = TypeVar("M", bound=Model)
SORTED_BY: Final = "sorted_by"
CREATED: Final = ("created_at", "key")
PAGE: Final = [
    OpenApiParameter(
        "limit",
        OpenApiTypes.INT,
        description=f"Items per page, 1 to {cursor.MAX_LIMIT}; {cursor.DEFAULT_LIMIT}",
    ),
    OpenApiParameter(
        "cursor", OpenApiTypes.STR, description="The next_cursor of the previous answer."
    ),
]
FIELDS: Final = OpenApiParameter(
    "fields",
    OpenApiTypes.STR,
    description="Only these fields of each item, with commas between.",
)


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of rows that each show as a `shape`.

    `order` names the time and the field without repetitions that order it, oldest first or
    `newest_first`; `created_since` is about that time, which answers call `time`. `sorts` are
    further orders: what a program names, and the column or expression that it means, of which none
    is null. `searched` are columns of which `search` is a part, `staff_searched` those of staff
    beside them; `updated` is the column of `updated_since`, or says what it means. With `by_keys`
    the list takes `ids`.
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

    @property
    def parameters(self) -> tuple[str, ...]:
        """Their names, for `Resource.parameters`."""
        return tuple(each.name for each in self.described)

    @property
    def described(self) -> list[OpenApiParameter]:
        """As the description has them."""
        text, time = OpenApiTypes.STR, OpenApiTypes.DATETIME
        parameters = [
            *PAGE,
            FIELDS,
            OpenApiParameter(
                "count",
                text,
                enum=["true", "false"],
                description="`true`: also how many items all pages have, as `count`.",
            ),
            OpenApiParameter(
                "created_since", time, description=f"`{self.time}` at this time or later."
            ),
        ]
        if self.updated:
            parameters.append(
                OpenApiParameter(
                    "updated_since", time, description="Changed at this time or later."
                )
            )
        if self.by_keys:
            parameters.append(
                OpenApiParameter("ids", text, description="Keys, with commas between; at most 200.")
            )
        if self.searched:
            parameters.append(OpenApiParameter("search", text, description=self.search_text))
        if self.sorts:
            parameters.append(
                OpenApiParameter(
                    "sort",
                    text,
                    enum=self._orders,
                    description=f"Default: `{self._orders[0]}`. With a minus the greatest, or the "
                    "newest, first.",
                )
            )
        return parameters

    @property
    def _orders(self) -> list[str]:
        """What `sort` may be; the first is the default."""
        first, *others = ("-", "") if self.newest_first else ("", "-")
        return [
            *(f"{sign}{self.time}" for sign in (first, *others)),
            *(f"{sign}{name}" for name in self.sorts for sign in ("", "-")),
        ]

    def page_shape(self, name: str) -> serializers.Serializer[Any]:
        """The shape of its answer."""
        return inline_serializer(
            name,
            {
                "items": self.shape("The rows of this answer, one each.", many=True),
                "next_cursor": Text(
                    "The `cursor` of the next page; null: this is the last one.", null=True
                ),
                "count": Integer(
                    "With `count=true`: how many items all pages have.", required=False
                ),
            },
        )

    def answer(
        self,
        request: Request,
        rows: QuerySet[M],
        show: Callable[[list[M]], Iterable[Json]],
        *,
        for_staff: bool = True,
    ) -> Response:
        """One page of the `rows` that the parameters leave, each as `show` shows it."""
        rows = self._narrowed(request, rows, for_staff=for_staff)
        fields = only_fields(request, self.shape)
        count = {"count": rows.count()} if truth(request, "count") else {}
        page, after = self._page(request, rows)
        return Response({**cursor.body(fields(show(page)), after), **count})

    def _narrowed(self, request: Request, rows: QuerySet[M], *, for_staff: bool) -> QuerySet[M]:
        if (at := since(request, "created_since")) is not None:
            rows = rows.filter(**{f"{self.order[0]}__gte": at})
        if self.updated and (at := since(request)) is not None:
            changed = self.updated
            is_later = Q(**{f"{changed}__gte": at}) if isinstance(changed, str) else changed(at)
            rows = rows.filter(is_later)
        if self.by_keys and (keys := ids(request)) is not None:
            rows = rows.filter(key__in=keys)
        if self.searched and (text := request.query_params.get("search")) is not None:
            matches = Q()
            for column in (*self.searched, *(self.staff_searched if for_staff else ())):
                matches |= Q(**{f"{column}__icontains": text})
            rows = rows.filter(matches)
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
