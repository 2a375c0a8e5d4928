"""The estimated cost of a preview's steps."""

from __future__ import annotations

from collections.abc import Sequence

from jobs.models import Job, Step
from storage.inventory.facts import HostFacts
from storage.inventory.stored import inventory_of
from storage.planner import PlannedStep, Target
from storage.planner.cost import Cost, cost
from storage.planner.ssd_wish import Preparation
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of


def estimate(row: VolumeSnapshot, steps: Sequence[Step]) -> Cost | None:
    """The cost as of the last inventory; None where there are no steps, or no inventory."""
    if row.facts is None or row.placement is None:
        return None
    return _cost(row.facts, row.placement.target, steps)


def estimate_of(job: Job, steps: Sequence[Step]) -> Cost | None:
    """The same, also for a preview without a volume."""
    if job.volume is not None:
        return estimate(snapshots_of([job.volume])[0], steps)
    facts, preparation = inventory_of(job.host), Preparation.from_json(job.wish)
    if facts is None:
        return None
    return _cost(facts, Target("", preparation.vg_uuid, preparation.vg_name, "", None), steps)


def _cost(facts: HostFacts, target: Target, steps: Sequence[Step]) -> Cost | None:
    if not steps:
        return None
    planned = [
        PlannedStep(step.verb, step.args, step.expect, step.title, turns=step.turns)
        for step in steps
    ]
    return cost(facts, target, planned)
