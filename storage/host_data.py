"""Decoding of what a host sends: msgspec checks types, ranges and lengths against dataclasses.

A host is not trusted. Text is cut and made storable first; a value that does not fit its field is
refused with the path of that field. Unknown fields are ignored, so that a newer agent can say more.
Pure.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Annotated, Any, Final, TypeVar

import msgspec

TEXT_LIMIT: Final = 512
INT_LIMIT: Final = 2**63 - 1
U64_LIMIT: Final = 2**64 - 1
DEPTH_LIMIT: Final = 8
ONLY_NUMBERS: Final = {int}
"""Of a list: most of a sample is lists of counters, which are clean as they are."""

Count = Annotated[int, msgspec.Meta(ge=0, le=INT_LIMIT)]
"""A size or a number of things, as a bigint of PostgreSQL holds it."""
U32 = Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)]
U64 = Annotated[int, msgspec.Meta(ge=0)]
"""A counter of the kernel. No number above `U64_LIMIT` gets through `cleaned`."""
Percent = Annotated[int, msgspec.Meta(ge=0, le=100)]
SomeText = Annotated[str, msgspec.Meta(min_length=1)]

Shape = TypeVar("Shape")
_prepared: set[Any] = set()
_guard = threading.Lock()


class BadHostData(ValueError):
    """What a host sent does not have the agreed shape; the text names the field."""


def decoded(data: object, shape: type[Shape], where: str, text_limit: int = TEXT_LIMIT) -> Shape:
    """`data` as `shape`; raises `BadHostData`, with `where` as the root of the field's path."""
    return converted(cleaned(data, text_limit), shape, where)


def converted(data: object, shape: type[Shape], where: str) -> Shape:
    """The same of what is `cleaned` already, for data that has several shapes."""
    prepare(shape)
    try:
        return msgspec.convert(data, shape)
    except msgspec.ValidationError as error:
        sentence, at, path = str(error).rpartition(" - at `$")
        place = f"{where}{path[:-1]}: {sentence}" if at else f"{where}: {path}"
        raise BadHostData(place) from None


def prepare(shape: Any) -> None:
    """Let msgspec learn a shape before its first use: two threads that have it learn the same one
    at a time crash the process."""
    if shape not in _prepared:
        with _guard:
            msgspec.json.Decoder(shape)
            _prepared.add(shape)


def cleaned(data: Any, text_limit: int | None = TEXT_LIMIT, depth: int = DEPTH_LIMIT) -> Any:
    """The same JSON with text as PostgreSQL holds it. A number beyond 64 bits becomes infinite, so
    that no field takes it; what nests deeper than `depth` becomes null."""
    kind = type(data)
    if kind is str:
        return clean_text(data, text_limit)
    if kind is int:
        return data if -INT_LIMIT <= data <= U64_LIMIT else math.inf
    if not depth:
        return None if isinstance(data, list | tuple | dict) else data
    if isinstance(data, list | tuple):
        if set(map(type, data)) == ONLY_NUMBERS and _fit(data):
            return data
        return [cleaned(item, text_limit, depth - 1) for item in data]
    if isinstance(data, dict):
        return {
            clean_text(str(key), text_limit): cleaned(item, text_limit, depth - 1)
            for key, item in data.items()
        }
    return data


def _fit(numbers: Sequence[int]) -> bool:
    return min(numbers) >= -INT_LIMIT and max(numbers) <= U64_LIMIT


def storable(data: Any) -> Any:
    """Any JSON as PostgreSQL can hold it: `cleaned`, and null for every number that is none or
    that a bigint cannot hold."""
    return _with_fitting_numbers(cleaned(data))


def clean_text(text: str, limit: int | None = TEXT_LIMIT) -> str:
    """A text cut to `limit`. PostgreSQL refuses NUL, and a lone surrogate cannot be encoded."""
    text = text[:limit]
    if text.isprintable():
        return text
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()


def _with_fitting_numbers(data: Any) -> Any:
    if isinstance(data, list):
        return [_with_fitting_numbers(item) for item in data]
    if isinstance(data, dict):
        return {key: _with_fitting_numbers(item) for key, item in data.items()}
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return None if isinstance(data, int) and abs(data) > INT_LIMIT else data
