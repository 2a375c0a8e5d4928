"""The base of the shapes of answers: what a shape names is shown, what a mapping has not is left
out. An object has an attribute for each field.

DRF's own writes null for a missing field that may be null, so that a customer would read which
fields staff see. It also copies all fields for each row, which takes nine tenths of the time of a
list: here one instance of each shape has the fields for all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from rest_framework import serializers

from panel.api.framework.fields import DateTime, Nested


class Shape(Nested, serializers.Serializer[dict[str, Any]]):
    """Shows a mapping, or an object with attributes of the same names."""

    def to_representation(self, instance: Any) -> dict[str, Any]:
        """The fields that the instance has."""
        shown = _shown(type(self))
        row = (
            instance
            if isinstance(instance, Mapping)
            else {name: getattr(instance, name) for name in shown}
        )
        return {
            name: None if (value := row[name]) is None else show(value)
            for name, show in shown.items()
            if name in row
        }


def show(shape: type[Shape], row: Any) -> dict[str, Any]:
    """The same as `shape(row).data`, for lists."""
    return _instance(shape).to_representation(row)


def names_of(shape: type[Shape]) -> tuple[str, ...]:
    """Its fields, in their order."""
    return tuple(_shown(shape))


@cache
def _instance(shape: type[Shape]) -> Shape:
    return shape()


@cache
def _shown(shape: type[Shape]) -> dict[str, Callable[[Any], Any]]:
    """How each field of a shape is shown."""
    return {
        str(field.field_name): _time if isinstance(field, DateTime) else field.to_representation
        for field in shape()._readable_fields
    }


def _time(value: datetime | str) -> str:
    """As DRF says it, which looks for each one up in which zone it is shown: it is UTC."""
    if isinstance(value, str):
        return value
    return f"{value.astimezone(UTC).replace(tzinfo=None).isoformat()}Z"
