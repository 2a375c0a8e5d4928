"""One verb with its arguments, as a request names it and the journal stores it; which arguments a
verb takes, and the validator of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Callable

from . import names


@dataclass(frozen=True)
class VerbCall:
    """`args` and `expect` are checked already."""

    verb: str
    args: Mapping[str, Any]
    expect: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return {"verb": self.verb, "args": dict(self.args), "expect": dict(self.expect)}


Validator = Callable[[Any], Any]
"""Gives the checked value, or raises ValueError with what it must be."""

# What LVM may be left to flush under the lock of the whole group: never more than this.
DIRTY_LIMIT_MAX_BYTES = 1 << 30
dirty_limit = names.integer(0, DIRTY_LIMIT_MAX_BYTES)


@dataclass(frozen=True)
class ArgumentSchema:
    """`required` and `optional` arguments; `expects` = keys `expect` must have outside a dry run;
    `any_of` = at least one of these optional arguments must be there."""

    required: Mapping[str, Validator]
    optional: Mapping[str, Validator]
    expects: frozenset[str]
    any_of: tuple[str, ...] = ()


def arguments(
    required: Mapping[str, Validator],
    optional: Mapping[str, Validator] = {},
    expects: str = "",
    any_of: tuple[str, ...] = (),
) -> ArgumentSchema:
    """Every verb also names its volume group, and the uuid that the group must have."""
    return ArgumentSchema(
        {"vg": names.vg_name, **required},
        optional,
        frozenset(["vg_uuid", *expects.split()]),
        any_of,
    )
