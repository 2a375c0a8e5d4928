"""Deleting a cache plan: only one that was never used. Every other one is retired."""

from __future__ import annotations

from django.db.models import ProtectedError

from jobs.models import Job
from storage.models import CachePlan
from storage.planner import Refused


def why_kept(plan: CachePlan) -> str:
    """Why the plan cannot be deleted, and what to do instead; "" where it can."""
    if count := plan.volumes.count():
        have = "volume uses it" if count == 1 else "volumes use it"
        return (
            f"{plan.name} cannot be deleted: {count:,} {have}."
            " Retire it; existing customers keep it."
        )
    if Job.objects.filter(cache_plan=plan).exists():
        return f"{plan.name} cannot be deleted: the history refers to it. Retire it instead."
    return ""


def delete_plan(plan: CachePlan) -> None:
    """Delete a plan that was never used; raises `Refused` (in_use)."""
    try:
        plan.delete()
    except ProtectedError:
        reason = why_kept(plan) or f"{plan.name} cannot be deleted: it was ordered in the meantime."
        raise Refused("in_use", reason, "") from None
