"""The base of the shapes of answers. A shape names what is shown of a row, and each of its fields
says where that comes from. How each field is read and written is worked out once for a shape: DRF's
own copies all fields for each row, which takes nine tenths of the time of a list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

from django.db.models import Manager
from rest_framework import serializers

from panel.api.framework.fields import DateTime, Nested, Source, Text, ValueSource

Json = dict[str, Any]
Written = tuple[str, Callable[[Any], Any], str | None]


class Omitted(Enum):
    """What a function gives of a field that is not `required` and has no place in this answer."""

    OMITTED = 0


OMITTED = Omitted.OMITTED


class Shape(Nested, serializers.Serializer[Json]):
    """Shows rows of one kind (`Sourced`). Of a mapping it shows what the mapping has."""

    def to_representation(self, instance: Any) -> Json:
        """The fields of a row, as everybody sees them."""
        return show(type(self), instance)


class ShownField(NamedTuple):
    """A field: how it is read from a row, how it is written, and its empty value."""

    name: str
    read: Callable[[Any], Any]
    write: Callable[[Any], Any]
    nothing: str | None


def show(
    shape: type[Shape], row: Any, *, staff: bool = False, detail: bool = False, **given: Any
) -> Json:
    """A row in `detail` or as one of a list, as `staff` or, where that is not said, others see it.
    `given` are the values of fields that are no row's, such as a secret that was just made."""
    if isinstance(row, Mapping):
        values = {**row, **given}
        return {
            name: nothing if (value := values[name]) is None else write(value)
            for name, write, nothing in _written(shape, staff)
            if name in values
        }
    shown = {
        name: nothing if value is None else write(value)
        for name, read, write, nothing in _parts(shape, staff, detail)
        if (value := read(row)) is not OMITTED
    }
    return shown | show(shape, given, staff=staff) if given else shown


def names_of(shape: type[Shape]) -> tuple[str, ...]:
    """Its fields, in their order."""
    return tuple(_fields(shape))


@cache
def _parts(shape: type[Shape], staff: bool, detail: bool) -> tuple[ShownField, ...]:
    """The fields of a row that this reader sees there."""
    sources = {name: _source(name, field, staff, detail) for name, field in _fields(shape).items()}
    return tuple(
        ShownField(name, _reader(source) if isinstance(source, str) else source, write, nothing)
        for name, write, nothing in _written(shape, staff)
        if (source := sources[name]) is not None
    )


def _source(name: str, field: Any, staff: bool, detail: bool) -> Source | None:
    """Where the field has its value from; None where this reader does not see it there."""
    origin = _origin(field)
    if origin.given or (origin.detail and not detail):
        return None
    if origin.customers is not None and not staff:
        return origin.customers
    is_of_row = field.required or origin.staff or origin.detail
    return origin.of or (name if is_of_row else None)


def _reader(path: str) -> Callable[[Any], Any]:
    """An attribute of the row, or of what an attribute of it has; None where that has nothing."""
    first, _, rest = path.partition(".")
    own = attrgetter(first)
    if not rest:
        return own
    its = _reader(rest)
    return lambda row: None if (value := own(row)) is None else its(value)


@cache
def _written(shape: type[Shape], staff: bool) -> tuple[Written, ...]:
    """How each field is written that this reader sees. A text that is never null is empty where
    there is none."""
    return tuple(
        (name, _write(field, staff), _nothing(field))
        for name, field in _fields(shape).items()
        if staff or not _origin(field).staff or _origin(field).customers is not None
    )


def _nothing(field: Any) -> str | None:
    return "" if isinstance(field, Text) and not field.allow_null else None


@cache
def _fields(shape: type[Shape]) -> dict[str, Any]:
    return {str(field.field_name): field for field in shape()._readable_fields}


def _origin(field: Any) -> ValueSource:
    own: ValueSource = (field.child if _is_many(field) else field).origin
    return own


def _is_many(field: Any) -> bool:
    return isinstance(field, serializers.ListSerializer)


def _write(field: Any, staff: bool) -> Callable[[Any], Any]:
    if isinstance(field, Shape):
        return lambda row: show(type(field), row, staff=staff)
    if _is_many(field):
        one = _write(field.child, staff)
        return lambda rows: [
            one(row) for row in (rows.all() if isinstance(rows, Manager) else rows)
        ]
    return _time if isinstance(field, DateTime) else field.to_representation


def _time(value: datetime | str) -> str:
    """As DRF says it, which looks for each one up in which zone it is shown: it is UTC."""
    if isinstance(value, str):
        return value
    return f"{value.astimezone(UTC).replace(tzinfo=None).isoformat()}Z"
