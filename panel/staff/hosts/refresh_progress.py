"""A host that a person asked to be read again: how long its page renews itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Final

PATIENCE_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class Reading:
    """No newer inventory has come since `asked` (seconds since 1970, as the address has it).
    `is_late` once waiting longer makes no sense."""

    asked: str
    is_late: bool


def reading_of(asked: str, facts_at: datetime | None, now: datetime) -> Reading | None:
    """What the page still waits for; None where nobody asked or the inventory is there."""
    try:
        since = float(asked)
    except ValueError:
        return None
    if not math.isfinite(since) or (facts_at is not None and facts_at.timestamp() >= since):
        return None
    return Reading(f"{since:.3f}", now.timestamp() - since > PATIENCE_SECONDS)
