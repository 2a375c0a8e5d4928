"""The agent's `inventory` data, checked field by field."""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

from storage.inventory.facts.host import BadFacts, HostFacts

TEXT_LIMIT = 512
INT_LIMIT = 2**63 - 1
STORABLE_DEPTH = 8


def decode(data: object) -> HostFacts:
    """The agent's `inventory` data (see the module `inventory` of the agent) as facts.

    Raises `BadFacts` naming the field that does not fit. Unknown keys are ignored, so that a
    newer agent can say more.
    """
    facts: HostFacts = _decoder(HostFacts)(data, "inventory")
    return facts


def storable(data: Any, depth: int = STORABLE_DEPTH) -> Any:
    """Any JSON as PostgreSQL can hold it: text cleaned and cut, numbers that are none or too big
    and whatever nests deeper than `depth` replaced by null."""
    if isinstance(data, str):
        return _clean(data)
    if isinstance(data, bool) or (isinstance(data, int) and abs(data) <= INT_LIMIT):
        return data
    if isinstance(data, float) and math.isfinite(data):
        return data
    if isinstance(data, list) and depth:
        return [storable(item, depth - 1) for item in data]
    if isinstance(data, dict) and depth:
        return {_clean(str(key)): storable(item, depth - 1) for key, item in data.items()}
    return None


def _clean(text: str) -> str:
    """PostgreSQL refuses NUL in text, and a lone surrogate cannot be encoded."""
    return text[:TEXT_LIMIT].replace("\0", "�").encode(errors="replace").decode()


Decoder = Callable[[object, str], Any]
"""Takes a value and where it stands; gives what it means, or raises `BadFacts`."""


@functools.cache
def _decoder(hint: Any) -> Decoder:
    """Made once for each type: an inventory of 400 volumes has 40,000 values."""
    origin = get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return _optional(next(arg for arg in get_args(hint) if arg is not type(None)))
    if origin is Literal:
        return _literal(get_args(hint))
    if origin is tuple:
        return _list(get_args(hint)[0])
    if dataclasses.is_dataclass(hint):
        return _object(hint)
    return _SCALARS[hint]


def _object(cls: Any) -> Decoder:
    hints = typing.get_type_hints(cls)
    fields = tuple(
        (each.name, _decoder(hints[each.name]), each.default is dataclasses.MISSING)
        for each in dataclasses.fields(cls)
    )

    def decode_object(data: object, where: str) -> Any:
        if not isinstance(data, Mapping):
            raise BadFacts(f"{where}: expected an object")
        values: dict[str, Any] = {}
        for name, decoder, is_needed in fields:
            if name in data:
                values[name] = decoder(data[name], f"{where}.{name}")
            elif is_needed:
                raise BadFacts(f"{where}.{name} is missing")
        return cls(**values)

    return decode_object


def _optional(hint: Any) -> Decoder:
    decoder = _decoder(hint)
    return lambda value, where: None if value is None else decoder(value, where)


def _literal(allowed: tuple[Any, ...]) -> Decoder:
    def decode_literal(value: object, where: str) -> Any:
        if value not in allowed:
            raise BadFacts(f"{where} is none of {', '.join(allowed)}")
        return value

    return decode_literal


def _list(hint: Any) -> Decoder:
    decoder = _decoder(hint)

    def decode_list(value: object, where: str) -> Any:
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise BadFacts(f"{where}: expected a list")
        return tuple([decoder(each, f"{where}[{n}]") for n, each in enumerate(value)])

    return decode_list


def _bool(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise BadFacts(f"{where}: expected bool, got {type(value).__name__}")
    return value


def _int(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadFacts(f"{where}: expected int, got {type(value).__name__}")
    if not 0 <= value <= INT_LIMIT:
        # Not shown: Python refuses to print a number of more than 4300 digits.
        raise BadFacts(f"{where} is out of range")
    return value


def _str(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise BadFacts(f"{where}: expected str, got {type(value).__name__}")
    return _clean(value)


_SCALARS: Mapping[Any, Decoder] = {bool: _bool, int: _int, str: _str}
