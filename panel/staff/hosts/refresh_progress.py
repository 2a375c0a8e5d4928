"""A host that a person asked to be read again: how long its page renews itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Final

PATIENCE_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class PendingRefresh:
    """No newer inventory has come since `asked` (seconds since 1970, as the address has it).
    `is_late` once waiting longer makes no sense."""

    asked: str
    is_late: bool


def pending_refresh(asked: str, facts_at: datetime | None, now: datetime) -> PendingRefresh | None:
    """What the page still waits for; None where nobody asked or the inventory is there."""
    try:
        since = float(asked)
    except ValueError:
        return None
    if not math.isfinite(since) or (facts_at is not None and facts_at.timestamp() >= since):
        return None
    return PendingRefresh(f"{since:.3f}", now.timestamp() - since > PATIENCE_SECONDS)
