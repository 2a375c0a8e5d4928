"""One JSON object from a host, read field by field; what does not fit raises `BadSample`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from storage.metrics.counters.shapes import DiskCounters

TEXT_LIMIT: Final = 255
U64_LIMIT: Final = 2**64 - 1


class BadSample(ValueError):
    """The host's sample does not have the agreed shape."""


class Fields:
    """One JSON object, read field by field; what does not fit raises `BadSample`."""

    def __init__(self, data: object, where: str) -> None:
        if not isinstance(data, Mapping):
            raise BadSample(f"{where}: expected an object")
        self.data: Mapping[Any, Any] = data
        self.where = where

    def get(self, name: str) -> object:
        if name not in self.data:
            raise BadSample(f"{self.where}.{name} is missing")
        return self.data[name]

    def object(self, name: str) -> Fields | None:
        value = self.get(name)
        return None if value is None else Fields(value, f"{self.where}.{name}")

    def text_or_empty(self, name: str) -> str:
        value = self.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise BadSample(f"{self.where}.{name}: expected text")
        # PostgreSQL refuses NUL in text, and a lone surrogate cannot be encoded.
        return value[:TEXT_LIMIT].replace("\0", "�").encode(errors="replace").decode()

    def text(self, name: str) -> str:
        value = self.text_or_empty(name)
        if not value:
            raise BadSample(f"{self.where}.{name}: is empty")
        return value

    def flag(self, name: str) -> bool:
        value = self.get(name)
        if not isinstance(value, bool):
            raise BadSample(f"{self.where}.{name}: expected true or false")
        return value

    def count(self, name: str, limit: int) -> int:
        return whole(self.get(name), limit, f"{self.where}.{name}")

    def count_or_none(self, name: str, limit: int) -> int | None:
        return None if self.get(name) is None else self.count(name, limit)

    def counts(self, name: str, length: int) -> tuple[int, ...]:
        value = self.get(name)
        # A tuple too: the counters kept from the last sample may not have been through JSON.
        if not isinstance(value, list | tuple) or len(value) != length:
            raise BadSample(f"{self.where}.{name}: expected a list of {length} numbers")
        # Nine numbers of ten are in such lists, so they are checked all at once if they fit.
        if set(map(type, value)) == {int} and min(value) >= 0 and max(value) <= U64_LIMIT:
            return tuple(value)
        return tuple(whole(v, U64_LIMIT, f"{self.where}.{name}[{n}]") for n, v in enumerate(value))

    def disk(self, name: str) -> DiskCounters:
        return DiskCounters(*self.counts(name, len(DiskCounters._fields)))

    def disk_or_none(self, name: str) -> DiskCounters | None:
        return None if self.get(name) is None else self.disk(name)


def whole(value: object, limit: int, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadSample(f"{where}: expected a whole number, got {type(value).__name__}")
    if not 0 <= value <= limit:
        raise BadSample(f"{where}: out of range")
    return value
