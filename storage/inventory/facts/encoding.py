"""Facts as the JSON that is stored: what `decode` reads back."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Callable
from typing import Any, get_args, get_origin

from storage.inventory.facts.host import HostFacts


def encode(facts: HostFacts) -> dict[str, Any]:
    """As `dataclasses.asdict`, with lists for tuples, in a small part of its time: it is done for
    every inventory."""
    return _encode_facts(facts)


Encoder = Callable[[Any], Any]


@functools.cache
def _encoder(hint: Any) -> Encoder | None:
    """Made once for each type; None for what is JSON as it is."""
    if dataclasses.is_dataclass(hint):
        return _object(hint)
    origin = get_origin(hint)
    if origin is tuple:
        return _list(_encoder(get_args(hint)[0]))
    if origin in (typing.Union, types.UnionType):
        inner = _encoder(next(arg for arg in get_args(hint) if arg is not type(None)))
        return None if inner is None else _optional(inner)
    return None


def _object(cls: Any) -> Callable[[Any], dict[str, Any]]:
    hints = typing.get_type_hints(cls)
    fields = [(each.name, _encoder(hints[each.name])) for each in dataclasses.fields(cls)]

    def encode_object(value: Any) -> dict[str, Any]:
        return {
            name: getattr(value, name) if inner is None else inner(getattr(value, name))
            for name, inner in fields
        }

    return encode_object


def _list(inner: Encoder | None) -> Encoder:
    return list if inner is None else lambda values: [inner(value) for value in values]


def _optional(inner: Encoder) -> Encoder:
    return lambda value: None if value is None else inner(value)


_encode_facts = _object(HostFacts)
