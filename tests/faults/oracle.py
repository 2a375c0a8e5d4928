"""What must hold after every fault, whatever it was. Each check names what does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Protocol

from jobs.models import AuditEntry, Job, Kind, Phase, State
from storage.inventory.facts import HostFacts
from storage.models import Placement, Volume
from storage.naming import is_cache_device_name, is_pool_name
from storage.planner import Refused, plan
from storage.planner.wish import Wish
from tests.faults.host import Accepted, Ran


class Ledger(Protocol):
    """What a host itself says it was asked and did since the fault's scene was set. `gaps`: what a
    simulated one cannot play."""

    @property
    def accepted(self) -> Sequence[Accepted]: ...
    @property
    def ran(self) -> Sequence[Ran]: ...
    @property
    def starts(self) -> Mapping[str, int]: ...
    @property
    def gaps(self) -> Sequence[str]: ...


class Scene(Protocol):
    """What is judged. `strangers` are the fingerprints from before the fault."""

    volume: Volume
    strangers: dict[str, str]

    def ledger(self) -> Ledger:
        """Once no operation runs any more."""

    def facts(self) -> HostFacts:
        """What is on the host now."""

    def fingerprints(self) -> dict[str, str]:
        """Of what nothing may touch, now."""

    def left_of_fallback(self) -> str:
        """What would still have to be done to be back where the operation began."""


def problems(stage: Scene, *jobs: Job) -> list[str]:
    """Every broken invariant; [] means the fault was survived."""
    ledger = stage.ledger()
    for job in jobs:
        job.refresh_from_db()
    return [
        *_ended(jobs),
        *_once(ledger),
        *_in_turn(ledger),
        *_unharmed(stage),
        *_as_wished(stage, jobs),
        *_clean(stage, jobs),
        *_reported(stage, jobs),
        *_audited(ledger, jobs),
        *(f"the fake host does not know: {gap}" for gap in ledger.gaps),
    ]


def _ended(jobs: Sequence[Job]) -> Iterator[str]:
    """Every accepted job comes to rest."""
    for job in jobs:
        if not job.is_over and job.state != State.NEEDS_ATTENTION:
            yield f"job {job.key} is still {job.state}: {job.explanation}"


def _once(ledger: Ledger) -> Iterator[str]:
    """An operation id is accepted and executed once, and none of its commands twice."""
    for op, times in Counter(accepted.op for accepted in ledger.accepted).items():
        if times > 1:
            yield f"operation {op} was accepted {times} times"
    for op, times in ledger.starts.items():
        if times > 1:
            yield f"operation {op} was started {times} times"
    commands = Counter((ran.op, ran.argv) for ran in ledger.ran)
    for (op, argv), times in commands.items():
        if times > 1:
            yield f"operation {op} ran {' '.join(argv)} {times} times"


def _in_turn(ledger: Ledger) -> Iterator[str]:
    """No two LVM commands change one group at once; later turns have higher numbers."""
    at_work = sorted(
        (ran for ran in ledger.ran if ran.argv[0].startswith("lv")), key=lambda ran: ran.began
    )
    for first, second in pairwise(at_work):
        if second.began < first.ended and second.op != first.op:
            yield f"{first.argv[0]} and {second.argv[0]} ran at the same time"
    highest: dict[str, int] = {}
    for each in ledger.accepted:
        if each.fence is None:
            continue
        if each.fence <= highest.get(each.vg, 0):
            yield f"{each.verb} was accepted with turn {each.fence} after {highest[each.vg]}"
        highest[each.vg] = max(each.fence, highest.get(each.vg, 0))


def _unharmed(stage: Scene) -> Iterator[str]:
    """Strangers' volumes, and a guest's data, are what they were."""
    now = stage.fingerprints()
    for name, digest in stage.strangers.items():
        if now.get(name) != digest:
            yield f"{name} changed"


def _as_wished(stage: Scene, jobs: Sequence[Job]) -> Iterator[str]:
    """Success means that the host shows it and that nothing is left over."""
    facts = stage.facts()
    if not facts.consistent:
        yield "the inventory is not consistent"
    for job in jobs:
        if job.state != State.SUCCEEDED or job.dry_run:
            continue
        placed = Placement.objects.select_related("volume").filter(volume=job.volume)
        placement = placed.latest("pk")
        try:
            left = plan(facts, placement.target, Wish.from_json(job.wish))
        except Refused as refused:
            yield f"job {job.key} succeeded and cannot be planned: {refused.message}"
            continue
        if left:
            yield f"job {job.key} succeeded without: {', '.join(step.title for step in left)}"
    if all(job.state == State.SUCCEEDED for job in jobs):
        wanted = {_cache_name(job) for job in jobs}
        for lv in facts.lvs:
            ours = is_pool_name(lv.name) or is_cache_device_name(lv.name)
            if ours and lv.name not in wanted:
                yield f"{lv.name} was left over"


def _clean(stage: Scene, jobs: Sequence[Job]) -> Iterator[str]:
    """Failed without needing attention means that all is as it was before."""
    for job in jobs:
        is_ours = job.volume_id == stage.volume.pk and "guest data" in stage.strangers
        if job.state != State.FAILED or not is_ours:
            continue
        if left := stage.left_of_fallback():
            yield f"job {job.key} failed and left work undone: {left}"


def _reported(stage: Scene, jobs: Sequence[Job]) -> Iterator[str]:
    """A new volume has no former state: the job names what it left of it, and a job that failed
    without needing attention left nothing."""
    new = [job for job in jobs if job.kind == Kind.CREATE_VOLUME and not job.dry_run]
    for job in new:
        if job.state not in (State.FAILED, State.CANCELLED):
            continue
        placement = Placement.objects.filter(volume=job.volume).latest("pk")
        if stage.facts().lv_named(placement.vg_uuid, placement.lv_name) is None:
            continue
        if job.state == State.FAILED:
            yield f"job {job.key} failed and left {placement.lv_name}"
        elif not any(placement.lv_name in said for said in job.error.get("residue", ())):
            yield f"job {job.key} was cancelled and does not tell of {placement.lv_name}"


def _cache_name(job: Job) -> str:
    wish = Wish.from_json(job.wish)
    return "" if wish.cache is None else wish.cache.name


def _audited(ledger: Ledger, jobs: Sequence[Job]) -> Iterator[str]:
    """What the host accepted was intended first; what was intended has one outcome."""
    keys = [job.key for job in jobs]
    trail = AuditEntry.objects.filter(job_key__in=keys).values_list("op_id", "phase")
    intents = Counter(str(op) for op, phase in trail if phase == Phase.INTENT)
    outcomes = Counter(str(op) for op, phase in trail if phase == Phase.OUTCOME)
    for accepted in ledger.accepted:
        if intents[accepted.op] != 1:
            yield f"{accepted.verb} was accepted with {intents[accepted.op]} intents in the trail"
    if all(job.is_over for job in jobs):
        for op in intents:
            if outcomes[op] != 1:
                yield f"operation {op} has {outcomes[op]} outcomes in the trail"
