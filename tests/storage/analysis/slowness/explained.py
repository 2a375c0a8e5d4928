"""Explanations made of a few figures, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from storage.analysis.disk_users import DiskUser, UsedDisk
from storage.analysis.slowness.explanation import (
    CacheOffer,
    ReadSpeed,
    SlowExplanation,
    SpeedState,
    Timing,
    explain,
)
from storage.byte_sizes import GIB

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
VICTIM, NOISY, THIRD, FOURTH = 1, 2, 3, 4
LATELY = NOON - timedelta(minutes=3)
SLOW = Timing(SpeedState.SLOW, NOON, NOON - timedelta(minutes=12), looked_from=LATELY)


def disk(
    *shares: tuple[int, float], busy: float | None = 0.95, other: float | None = 0.0, **fields: Any
) -> UsedDisk:
    users = tuple(DiskUser(volume, 4 * share, share, False) for volume, share in shares)
    return UsedDisk(
        **{
            "name": "sdc",
            "is_fast": False,
            "busy": busy,
            "in_flight": 4.0,
            "users": users,
            "other_share": other,
            **fields,
        }
    )


def offer(volume: int, gib: int | None = 16, **fields: Any) -> CacheOffer:
    known = {"has_cache": False, "mode": "writethrough", "reason": f"reason {volume}"}
    return CacheOffer(volume, size_bytes=gib * GIB if gib else None, **{**known, **fields})


def explained(
    of: UsedDisk | None,
    *offers: CacheOffer,
    volume: int | None = VICTIM,
    timing: Timing = SLOW,
    read_ms: float | None = 24.2,
    faults: Sequence[str] = (),
    **more: Any,
) -> SlowExplanation:
    speed = ReadSpeed(read_ms, 20, timedelta(minutes=12)) if volume is not None else None
    by_volume = {each.volume_id: each for each in offers}
    return explain(volume, timing, speed, of, faults=faults, offers=by_volume, **more)
