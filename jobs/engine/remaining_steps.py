"""The remaining steps of a job, computed from facts that were just read."""

from __future__ import annotations

from jobs.engine.finish import has_changed_host
from jobs.engine.rollback import current_wish
from jobs.engine.steps import without_tried
from jobs.hosts.read_inventory import placement_of
from jobs.models import DESTROYING, Job
from storage.inventory.facts import HostFacts
from storage.models import Placement
from storage.planner import PlannedStep, plan
from storage.planner.draft import Refused
from storage.planner.host_wish import read_host_wish, steps_of
from storage.planner.kernel_faults import refuse_faulty
from storage.planner.technologies.lvmcache_loss import DROP


def remaining_steps(
    job: Job, facts: HostFacts, placement: Placement | None = None
) -> tuple[PlannedStep, ...]:
    """The steps to its wish, on the disks of its preview where they have room, or to its fallback;
    `()` when it is done. `placement` is that of its volume, for a caller who has read it since the
    facts. Raises `Refused`; before anything has begun also for a plan that uses what loses data on
    this kernel, or gives up a cache whose SSD was present at the request: half-way, both directions
    need such steps."""
    if job.volume_id is None:
        return steps_of(facts, read_host_wish(job.wish))
    # A rollback was in no preview.
    preferred = {} if job.is_rolling_back else job.disks
    target = (placement or placement_of(job)).target
    planned = without_tried(job, plan(facts, target, current_wish(job), preferred))
    if planned and not job.is_rolling_back and not has_changed_host(job):
        refuse_faulty(planned, facts, job.host.accepted_faults)
        if job.kind not in DESTROYING and any(step.verb == DROP for step in planned):
            raise Refused(
                "degraded",
                "The SSD of its cache is missing, and this job was not asked to give up a cache.",
                "Drop the lost cache first, on the volume's page.",
            )
    return planned
