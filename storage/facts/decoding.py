"""The agent's `inventory` data, checked field by field."""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

from storage.facts.host import BadFacts, HostFacts

TEXT_LIMIT = 512
INT_LIMIT = 2**63 - 1
STORABLE_DEPTH = 8


def decode(data: object) -> HostFacts:
    """The agent's `inventory` data (see the module `inventory` of the agent) as facts.

    Raises `BadFacts` naming the field that does not fit. Unknown keys are ignored, so that a
    newer agent can say more.
    """
    facts: HostFacts = _decode(HostFacts, data, "inventory")
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


@functools.cache
def _fields(cls: type) -> tuple[tuple[str, Any], ...]:
    hints = typing.get_type_hints(cls)
    return tuple((field.name, hints[field.name]) for field in dataclasses.fields(cls))


def _decode(cls: Any, data: object, where: str) -> Any:
    if not isinstance(data, Mapping):
        raise BadFacts(f"{where}: expected an object")
    values: dict[str, Any] = {}
    for name, hint in _fields(cls):
        if name not in data:
            raise BadFacts(f"{where}.{name} is missing")
        values[name] = _value(hint, data[name], f"{where}.{name}")
    return cls(**values)


def _value(hint: Any, value: object, where: str) -> Any:
    origin = get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        if value is None:
            return None
        return _value(next(arg for arg in get_args(hint) if arg is not type(None)), value, where)
    if origin is Literal:
        if value not in get_args(hint):
            raise BadFacts(f"{where} is none of {', '.join(get_args(hint))}")
        return value
    if origin is tuple:
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise BadFacts(f"{where}: expected a list")
        return tuple(_value(get_args(hint)[0], v, f"{where}[{n}]") for n, v in enumerate(value))
    if dataclasses.is_dataclass(hint):
        return _decode(hint, value, where)
    return _scalar(hint, value, where)


def _scalar(hint: Any, value: object, where: str) -> Any:
    if hint is bool and isinstance(value, bool):
        return value
    if hint is int and isinstance(value, int) and not isinstance(value, bool):
        if not 0 <= value <= INT_LIMIT:
            # Not shown: Python refuses to print a number of more than 4300 digits.
            raise BadFacts(f"{where} is out of range")
        return value
    if hint is str and isinstance(value, str):
        return _clean(value)
    raise BadFacts(f"{where}: expected {hint.__name__}, got {type(value).__name__}")
