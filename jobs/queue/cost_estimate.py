"""The estimated cost of a preview's steps, as past jobs of the host have taken."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from statistics import median
from typing import Final

from django.db.models import F

from jobs.models import Job, State, Step, StepState
from storage.byte_sizes import MIB
from storage.inventory.facts import HostFacts
from storage.models import Host
from storage.planner import PlannedStep, Target
from storage.planner.cost import Cost, StepCost, cost
from storage.planner.cost import estimate_of as verb_estimate
from storage.planner.host_wish import read_host_wish
from storage.stored_inventory import inventory_of
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of

LOOKED_AT: Final = 120
"""How many of the host's last steps count."""
LEAST_BYTES: Final = 16 * MIB
"""Fewer bytes prove no speed: each step takes a second or two anyway."""


def estimate(row: VolumeSnapshot, steps: Sequence[Step]) -> Cost | None:
    """The cost as of the last inventory; None where there are no steps, or no inventory."""
    if row.facts is None or row.placement is None:
        return None
    return cost_of(row.placement.host, row.facts, row.placement.target, _planned(steps))


def estimate_of(job: Job, steps: Sequence[Step]) -> Cost | None:
    """The same, also for a preview without a volume."""
    if job.volume is not None:
        return estimate(snapshots_of([job.volume])[0], steps)
    facts, host_wish = inventory_of(job.host), read_host_wish(job.wish)
    if facts is None:
        return None
    target = Target("", host_wish.vg_uuid, host_wish.vg_name, "", None)
    return cost_of(job.host, facts, target, _planned(steps))


@lru_cache(maxsize=256)
def seconds_from(job: int, n: int) -> tuple[float, float] | None:
    """What step `n` of a job takes, and all steps after it together; None where no one knows. It
    is estimated once for a step: an inventory is megabytes, and a page asks every second."""
    asked = Job.objects.select_related("host", "volume").get(pk=job)
    steps = list(asked.step_set.filter(n__gte=n).order_by("n"))
    whole = estimate_of(asked, steps)
    if whole is None:
        return None
    after = sum(step.seconds for step in whole.steps[1:])
    between = whole.between_seconds * (len(steps) - 1) / len(steps)
    return whole.steps[0].seconds, after + between


def _planned(steps: Sequence[Step]) -> list[PlannedStep]:
    return [
        PlannedStep(
            step.verb, step.args, step.expect, step.title, makes_irrevocable=step.makes_irrevocable
        )
        for step in steps
    ]


def cost_of(
    host: Host, facts: HostFacts, target: Target, planned: Sequence[PlannedStep]
) -> Cost | None:
    """The cost of steps that are planned on those facts; None where there are none."""
    if not planned:
        return None
    return learned(cost(facts, target, planned), planned, past_of(host))


@dataclass(frozen=True, slots=True)
class PastStep:
    """A step that was done, and the job it was part of. `worked_bytes` is how much it zeroed, moved
    or flushed, 0 where that was not said."""

    job: int
    verb: str
    seconds: float
    job_seconds: float
    worked_bytes: int = 0


def past_of(host: Host) -> list[PastStep]:
    """The last steps of jobs that succeeded on the host, newest first. One query."""
    done = Step.objects.filter(
        job__host=host, job__dry_run=False, job__state=State.SUCCEEDED, state=StepState.DONE
    ).exclude(started_at=None, ended_at=None)
    rows = done.order_by("-pk").values_list(
        "job",
        "verb",
        "started_at",
        "ended_at",
        F("job__started_at"),
        F("job__ended_at"),
        "progress",
    )[:LOOKED_AT]
    return [
        PastStep(
            job,
            verb,
            _lasted(began, ended),
            _lasted(job_began, job_ended),
            int(progress.get("total_bytes") or 0),
        )
        for job, verb, began, ended, job_began, job_ended, progress in rows
    ]


def learned(cost: Cost, steps: Sequence[PlannedStep], past: Sequence[PastStep]) -> Cost:
    """The cost with what such steps, and the time between them, have taken before: usually, and at
    most. What zeroes or moves is judged by its bytes and the speeds that this host let such steps
    have. Pure."""
    if not past:
        return cost
    by_verb: dict[str, list[PastStep]] = defaultdict(list)
    jobs_by_verb: dict[str, set[int]] = defaultdict(set)
    steps_by_job: dict[int, list[PastStep]] = defaultdict(list)
    for each in past:
        by_verb[each.verb].append(each)
        jobs_by_verb[each.verb].add(each.job)
        steps_by_job[each.job].append(each)
    between = [
        max(0.0, done[0].job_seconds - sum(step.seconds for step in done)) / len(done)
        for done in steps_by_job.values()
    ]
    return replace(
        cost,
        steps=tuple(
            _as_before(step_cost, step, by_verb.get(step.verb, ()))
            for step_cost, step in zip(cost.steps, steps, strict=True)
        ),
        between_seconds=median(between) * len(steps),
        slowest_between_seconds=max(between) * len(steps),
        past_jobs=len({job for step in steps for job in jobs_by_verb[step.verb]}),
    )


def _as_before(step_cost: StepCost, step: PlannedStep, past: Sequence[PastStep]) -> StepCost:
    if not past:
        return step_cost
    estimate = verb_estimate(step)
    if estimate.work is None:
        took = [each.seconds for each in past]
        return replace(step_cost, seconds=median(took), slowest_seconds=max(took))
    speeds = [
        each.worked_bytes / each.seconds
        for each in past
        if each.worked_bytes >= LEAST_BYTES and each.seconds
    ]
    if not speeds or not step_cost.paced_bytes:
        return step_cost
    usual, slowest = (step_cost.paced_bytes / speed for speed in (median(speeds), min(speeds)))
    return replace(
        step_cost,
        seconds=estimate.seconds + usual,
        slowest_seconds=max(step_cost.slowest_seconds, estimate.seconds + slowest),
    )


def _lasted(began: datetime | None, ended: datetime | None) -> float:
    return (ended - began).total_seconds() if began is not None and ended is not None else 0.0
