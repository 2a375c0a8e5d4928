"""One verb with its arguments, as a request names it and the journal stores it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class VerbCall:
    """`args` and `expect` are checked already."""

    verb: str
    args: Mapping[str, Any]
    expect: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return {"verb": self.verb, "args": dict(self.args), "expect": dict(self.expect)}
