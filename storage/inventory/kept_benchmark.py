"""A run of a benchmark whose result a host keeps until the panel has taken it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from storage.naming import KEY_PATTERN


@dataclass(frozen=True, slots=True)
class KeptBenchmark:
    """It is over; `outcome` says how it ended."""

    key: Annotated[str, Meta(pattern=f"^{KEY_PATTERN.pattern}$")]
    outcome: Literal["finished", "stopped", "failed"]
