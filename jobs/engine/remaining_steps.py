"""The remaining steps of a job, computed from facts that were just read."""

from __future__ import annotations

from jobs.engine.rollback import current_wish
from jobs.hosts.read_inventory import placement_of
from jobs.models import Job
from storage.inventory.facts import HostFacts
from storage.planner import PlannedStep, plan
from storage.planner.ssd_wish import Preparation, prepare


def remaining_steps(job: Job, facts: HostFacts) -> tuple[PlannedStep, ...]:
    """The steps to its wish, on the disks of its preview where they have room, or to its fallback;
    `()` when it is done. Raises `Refused`."""
    if job.volume_id is None:
        return prepare(facts, Preparation.from_json(job.wish))
    # The way back was in no preview.
    preferred = {} if job.falls_back else job.disks
    return plan(facts, placement_of(job).target, current_wish(job), preferred)
