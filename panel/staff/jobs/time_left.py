"""How long a running step will still take, where that is known. Pure."""

from __future__ import annotations

from datetime import datetime

from jobs.models import Step, StepState
from storage.planner.fingerprint import FLUSHES

SOON_SECONDS = 3
"""Before that, a rate is a guess."""


def remaining_seconds(step: Step, now: datetime) -> int | None:
    """What the agent says of a flush, from how fast it falls; of what only grows (zeroing, moving
    extents) the average so far, carried on. None where nothing is known."""
    progress = step.progress
    if step.state != StepState.RUNNING or not progress:
        return None
    if (said := progress.get("left_s")) is not None:
        return int(said)
    done, total = progress.get("done_bytes"), progress.get("total_bytes")
    # New dirty data comes while a flush runs: its past average says nothing of its end.
    if step.verb in FLUSHES or not done or not total or step.started_at is None:
        return None
    passed = (now - step.started_at).total_seconds()
    if passed < SOON_SECONDS:
        return None
    left_seconds: float = passed * (total - done) / done
    return max(0, round(left_seconds))
