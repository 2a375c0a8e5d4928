"""The progress of a flush, of zeroing, of a move or of a benchmark, for the page of its job."""

from __future__ import annotations

from typing import Any

from django import template

from jobs.engine import flush_rate
from jobs.engine.flush_rate import FACTOR, FLUSH, MOST_SECTORS
from jobs.models import Step
from storage.formatting import seconds, size
from storage.planner.fingerprint import FLUSHES

register = template.Library()

STALL_SECONDS = 60
IN_SECONDS = frozenset({"measured", "warmed"})
IN_PERCENT = "junk"
"""Labels of a benchmark's run, which counts no bytes then."""


@register.filter
def how_far(progress: dict[str, Any]) -> str:
    """What is done of how much."""
    done, total = int(progress["done_bytes"]), int(progress["total_bytes"])
    if progress["label"] == IN_PERCENT:
        return f"{done} %"
    words = seconds if progress["label"] in IN_SECONDS else size
    return f"{words(done)} of {words(total)}"


@register.filter
def left_bytes(progress: dict[str, Any]) -> int:
    """What is dirty now."""
    return max(0, int(progress["total_bytes"]) - int(progress["done_bytes"]))


@register.filter
def is_stalled(progress: dict[str, Any]) -> bool:
    """No fall for a minute, which is sixty readings of the agent."""
    return int(progress.get("stalled_s", 0)) >= STALL_SECONDS


@register.filter
def has_rate(step: Step) -> bool:
    """Whether its speed can be raised."""
    return flush_rate.has_rate(step)


@register.filter
def is_fastest(step: Step) -> bool:
    """Whether it runs at the highest speed."""
    if step.verb != FLUSH:
        return flush_rate.next_rise(step) is None
    return int(step.args.get("migration_threshold") or 0) * FACTOR > MOST_SECTORS


@register.filter
def why_fastest(step: Step) -> str:
    """Why the speed of the step cannot be raised further."""
    return f"The {'flush' if is_flush(step) else 'step'} already runs at the highest speed."


@register.filter
def is_flush(step: Step) -> bool:
    """Dirty data goes to the disk; LVM writes the last of it back while it detaches a cache."""
    return step.verb in FLUSHES or step.verb == "cache.detach"


@register.filter
def stalled_advice(step: Step) -> str:
    """What a person can do while dirty data does not decrease."""
    duration = seconds(int(step.progress.get("stalled_s", 0)))
    choices = "wait, or raise the flush speed" if has_rate(step) else "or wait"
    return (
        f"Dirty data has not decreased for {duration}. The guest writes as fast as the disk "
        f"can take, or the disk is busy. Reduce the load in the guest, {choices}. Cancelling this "
        "job stops the flush."
    )


@register.filter
def next_rise(step: Step) -> int | None:
    """By how many percent the others' p95 may rise once the pace is raised."""
    return flush_rate.next_rise(step)


@register.filter
def felt(others: dict[str, int]) -> str:
    """The effect on other volumes of these disks, and how it throttles the step."""
    allowed, share = others["allowed_percent"], others["share_percent"]
    pace = f"Throttled to {share} % of the time" if share < 100 else "Not throttled"
    if not others["alone_p95_us"]:
        if share < 100:
            return f"{pace}: the effect on other volumes on these disks is not measured yet."
        return f"{pace}: no other volume on these disks has I/O now."
    p95, alone = others["p95_us"] / 1000, others["alone_p95_us"] / 1000
    rise = max(0, round(100 * (p95 / alone - 1)))
    return (
        f"{pace}: p95 of other volumes on these disks is {p95:.1f} ms "
        f"(+{rise} %, limit +{allowed} %)."
    )
