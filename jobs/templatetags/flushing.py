"""How a flush gets on, for the page of its job."""

from __future__ import annotations

from typing import Any

from django import template

from jobs.models import Step
from jobs.pace import FACTOR, FLUSH, MOST_SECTORS

register = template.Library()

STALL_SECONDS = 60


@register.filter
def left_bytes(progress: dict[str, Any]) -> int:
    """What is dirty now."""
    return max(0, int(progress["total_bytes"]) - int(progress["done_bytes"]))


@register.filter
def is_stalled(progress: dict[str, Any]) -> bool:
    """No fall for a minute, sixty looks of the agent."""
    return int(progress.get("stalled_s", 0)) >= STALL_SECONDS


@register.filter
def has_pace(step: Step) -> bool:
    """A flush with a brake."""
    return step.verb == FLUSH


@register.filter
def is_fastest(step: Step) -> bool:
    """Its pace is at the top."""
    return int(step.args.get("migration_threshold") or 0) * FACTOR > MOST_SECTORS
