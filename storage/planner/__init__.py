"""From facts to a wish: `plan(facts, target, wish)` -> the remaining steps.

Pure. `()` means done: a job has succeeded when the plan against re-read facts is empty. Every step
is one primitive verb of the agent; names and sizes are settled here, so that the commands a person
confirms are the commands that run. A plan for an LV that does not exist yet leaves its uuid out of
`expect`; the runner plans again after each step, and then the uuid is known.
"""

from __future__ import annotations

from storage.inventory.facts import HostFacts
from storage.planner import growth, life, occupied, volume_steps, warm_start
from storage.planner.draft import (
    ANY_DISKS,
    DIRTY_LIMIT_BYTES,
    Disks,
    PlannedStep,
    Refused,
    Target,
    begin_draft,
    demand_change,
)
from storage.planner.technologies.lookup import of_layout
from storage.planner.wish import Wish

__all__ = ["DIRTY_LIMIT_BYTES", "Disks", "PlannedStep", "Refused", "Target", "plan"]


def plan(
    facts: HostFacts, target: Target, wish: Wish, preferred: Disks = ANY_DISKS
) -> tuple[PlannedStep, ...]:
    """The steps from `facts` to `wish`; raises `Refused` where there is no safe way. What is made
    lies on the `preferred` disks where they have room, else on the emptiest."""
    if wish.life == "gone" and life.is_gone(facts, target):
        return ()
    draft = begin_draft(facts, target, wish, preferred)
    if wish.life != "live":
        life.end_volume(draft)
    elif life.is_retired(draft):
        # What else is wished for is planned anew once the volume is back.
        life.restore(draft)
    else:
        volume_steps.exist(draft)
        of_layout(wish.layout).plan(draft)
        growth.move(draft)
        growth.clear(draft)
        warm_start.warm_up(draft)
    occupied.forget_mark(draft)
    if draft.steps:
        occupied.spare_the_host(draft)
        occupied.leave_alone(draft)
        demand_change(draft)
    return tuple(draft.steps)
