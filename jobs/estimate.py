"""What the steps of a preview would cost."""

from __future__ import annotations

from collections.abc import Sequence

from jobs.contact import target_of
from jobs.models import Step
from storage.plan import Step as Planned
from storage.plan.cost import Cost, cost
from storage.rows import VolumeRow


def estimate(row: VolumeRow, steps: Sequence[Step]) -> Cost | None:
    """The cost as of the last inventory; None where there are no steps, or no inventory."""
    if row.facts is None or row.placement is None or not steps:
        return None
    planned = [
        Planned(step.verb, step.args, step.expect, step.title, turns=step.turns) for step in steps
    ]
    return cost(row.facts, target_of(row.placement), planned)
