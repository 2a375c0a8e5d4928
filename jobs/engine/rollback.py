"""Rollback. A job that cannot fulfil its wish plans towards its `fallback`, the wish that restores
the state in which it began, until the point of no return. Then a person decides, and reads here
what the interrupted job left on the host.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Max

from jobs.engine import steps
from jobs.engine.finish import fail_job, finish_job, has_changed_host
from jobs.engine.transitions import renew
from jobs.hosts.read_inventory import placement_of, read_facts
from jobs.models import Job, Kind, State, StepState
from jobs.requester import cancelled_by, last_requester
from jobs.transport.errors import TransportError
from storage.formatting import size
from storage.inventory.facts import HostFacts, LogicalVolume
from storage.models import Host
from storage.naming import FORMAT_TAG, MANAGED_TAG, ZEROING_TAG, tagged_volume_key
from storage.planner import Target
from storage.planner.benchmark_wish import BenchmarkWish
from storage.planner.current_wish import wish_now
from storage.planner.fingerprint import FLUSHES
from storage.planner.host_wish import HostWish, read_host_wish
from storage.planner.ssd_wish import Preparation
from storage.planner.technologies.lookup import is_part
from storage.planner.wish import BadWish, Wish
from storage.stored_inventory import inventory_of
from storage.volumes.wish_diff import changes

NO_PROGRESS = "no_progress"
DATA_LOST = "data_lost"
ROLLED_BACK = "Rolled back: the volume is as it was before."
ROLLED_BACK_IN_PART = "Rolled back as far as possible."


def current_wish(job: Job) -> Wish:
    """What the job works towards now. A flush that has ended counts for good: under load there is
    new dirty data a moment later."""
    wish = Wish.from_json(job.fallback if job.is_rolling_back else job.wish)
    if wish.flushed and job.step_set.filter(verb__in=FLUSHES, state=StepState.DONE).exists():
        return wish.lasting
    return wish


def can_roll_back(job: Job) -> bool:
    """Whether the job has a fallback and has not passed the point of no return."""
    return job.fallback is not None and not job.is_irrevocable


def rollback_or_fail(job: Job, error: dict[str, Any]) -> bool:
    """The wish cannot be reached because of `error`. True where the job rolls back; False where it
    ended: failed if nothing is half done, else needing attention."""
    if not has_changed_host(job):
        fail_job(job, error)
        return False
    # A step that succeeds without effect is being undone by something else, which would undo the
    # rollback, too. And rolling back does not restore what a cache lost.
    if job.is_rolling_back or job.is_irrevocable or error.get("code") in (NO_PROGRESS, DATA_LOST):
        need_attention(job, error)
        return False
    if not can_roll_back(job):
        _fail_or_need_attention(job, error)
        return False
    begin_rollback(job, error)
    return True


def _fail_or_need_attention(job: Job, error: dict[str, Any]) -> None:
    """There is no fallback: the host shows whether something is half done."""
    leftovers = _read_leftovers(job)
    if not leftovers:
        fail_job(job, error)
        return
    remedy = f"Resume the job; or mark it as resolved, and {_by_hand(job)}."
    correction = f"{error.get('correction', '')} {remedy}".strip()
    finish_job(
        job, State.NEEDS_ATTENTION, error=error | {"correction": correction, "residue": leftovers}
    )


def finish_cancelled(job: Job, before: str) -> None:
    """A person cancelled before the step `before`, which was planned on fresh facts. Nothing is
    undone; the job lists the leftovers."""
    facts = inventory_of(Host.objects.get(pk=job.host_id)) if has_changed_host(job) else None
    ending = cancelled_by(last_requester(job))
    leftovers = _leftovers(job, facts) if facts is not None else []
    if not leftovers:
        finish_job(job, State.CANCELLED, explanation=f"{ending} before: {before}"[:500])
        return
    error = {
        "code": "left_over",
        "message": (
            "The job was cancelled before it was finished, and it had no earlier state to restore."
        ),
        "correction": f"The host still has parts of the change: {_by_hand(job)}.",
        "residue": leftovers,
    }
    what = f"{ending}; left on the host: {' '.join(leftovers)}"
    finish_job(job, State.CANCELLED, explanation=what[:500], error=error)


def _by_hand(job: Job) -> str:
    """What a person does about the leftovers of a job that does not continue."""
    if job.kind == Kind.REPLACE_MEMBER:
        return f"look at {job.label} on the host (mdadm --detail), and request it again"
    if job.kind == Kind.BENCHMARK:
        return "start another benchmark there, which removes it, or remove it with lvremove"
    if job.volume_id is None:
        return f"run pvremove /dev/{job.label} on the host"
    if _makes(job):
        return "finish the volume on its page, or retire it there, then destroy it"
    return "clean up on the host what is left"


def _makes(job: Job) -> bool:
    """Whether it began to make the volume itself."""
    return job.step_set.filter(verb="volume.create").exclude(state=StepState.PLANNED).exists()


def begin_rollback(job: Job, error: dict[str, Any]) -> None:
    """Work towards the fallback from now on. `error` is the reason, {} for a cancellation."""
    last = job.step_set.aggregate(n=Max("n"))["n"] or 0
    why = str(error.get("message", "cancelled"))
    renew(
        job,
        is_rolling_back=True,
        attempts=0,
        error=error | {"after_step": last},
        explanation=f"Rolling back: {why}"[:500],
    )
    steps.note(job, f"Rolling back: {why}")


def finish_rollback(job: Job, facts: HostFacts) -> None:
    """Nothing is left to undo: the job ends with the reason for the rollback, what it undid, and
    what still differs (a volume that grew does not shrink)."""
    error = {name: value for name, value in job.error.items() if name != "after_step"}
    after = job.error.get("after_step", 0)
    undone = job.step_set.filter(n__gt=after, state=StepState.DONE)
    titles = list(undone.values_list("title", flat=True))
    target, wish = placement_of(job).target, current_wish(job)
    leftovers = leftovers_of(facts, target, wish, wish)
    if not error:
        what = "finished steps were undone" if titles else "nothing had to be undone"
        if leftovers:
            what = f"some changes could not be undone: {' '.join(leftovers)}"
        explanation = f"{cancelled_by(last_requester(job))}; {what}"
        finish_job(job, State.CANCELLED, explanation=explanation[:500], error={})
        return
    error["undone"] = titles
    if leftovers:
        error["residue"] = leftovers
    finish_job(
        job,
        State.FAILED,
        error=error,
        explanation=ROLLED_BACK_IN_PART if leftovers else ROLLED_BACK,
    )


def need_attention(job: Job, error: dict[str, Any]) -> None:
    """Only a person can decide: the volume stays locked, and the leftovers are listed."""
    first = job.error.get("message") if job.is_rolling_back else None
    if first:
        error = error | {"message": f"{first} Rolling back failed too: {error['message']}"}
    finish_job(job, State.NEEDS_ATTENTION, error=error | {"residue": _read_leftovers(job)})


def _read_leftovers(job: Job) -> list[str]:
    """Read again, so that a person decides on current facts; the last inventory where that
    fails."""
    renew(job)
    try:
        facts = read_facts(job.host)
    except TransportError as error:
        stored = inventory_of(Host.objects.get(pk=job.host_id))
        if stored is None:
            return []
        caveat = f"The host does not answer ({error.message}); this is its last known state."
        return [caveat, *_leftovers(job, stored)]
    return _leftovers(job, facts)


def _leftovers(job: Job, facts: HostFacts) -> list[str]:
    if job.volume_id is None:
        return leftovers_on_host(facts, read_host_wish(job.wish))
    fallback = Wish.from_json(job.fallback) if job.fallback is not None else None
    target = placement_of(job).target
    return leftovers_of(facts, target, Wish.from_json(job.wish), fallback, made=_makes(job))


STATES = {ZEROING_TAG: ", not fully zeroed yet", FORMAT_TAG: ", not formatted yet"}
"""What the tags of an unfinished new volume mean."""


def leftovers_of(
    facts: HostFacts, target: Target, wish: Wish, fallback: Wish | None, *, made: bool = False
) -> list[str]:
    """Sentences: how the volume differs from both wishes, and which of its parts it does not use.
    `made`: the job itself began to create it, so that its existence is a leftover."""
    if target.lv_uuid is not None:
        lv = facts.lv(target.lv_uuid)
    else:
        lv = facts.lv_named(target.vg_uuid, target.lv_name)
    sentences = []
    if lv is None and not made:
        sentences = [f"{target.vg_name}/{target.lv_name} is not on the host."]
    if lv is not None and made:
        sentences = [_there(lv, _state(lv))]
    if lv is not None and not (made and _state(lv)):
        sentences += _differences(facts, lv, wish, fallback)
    return sentences + [
        _there(other)
        for other in facts.lvs
        if _is_beside(other, target, lv) and not (lv and is_part(facts, lv, other))
    ]


def leftovers_on_host(facts: HostFacts, wish: HostWish) -> list[str]:
    """A sentence where the SSD has LVM's mark already and gives its space to no group yet, or where
    the disk is in the array already, which is not as it should be yet; for each scratch volume that
    a benchmark left."""
    if isinstance(wish, Preparation):
        return [
            f"{pv.name} is a physical volume of no volume group."
            for pv in facts.pvs
            if pv.name == wish.device and not pv.vg_uuid
        ]
    if isinstance(wish, BenchmarkWish):
        return [_there(lv) for lv in facts.scratch_of(wish.key)]
    return [
        f"{wish.device} is in {array.name} already; the kernel goes on to fill it."
        for array in facts.arrays
        if array.uuid == wish.array_uuid
        and any(member.name == wish.device for member in array.members)
    ]


def _there(lv: LogicalVolume, state: str = "") -> str:
    return f"{lv.vg_name}/{lv.name} ({size(lv.size_bytes)}) exists{state}."


def _state(lv: LogicalVolume) -> str:
    """What a new volume lacks before it may be used; "" for nothing."""
    return next((sentence for tag, sentence in STATES.items() if tag in lv.tags), "")


def _differences(
    facts: HostFacts, lv: LogicalVolume, wish: Wish, fallback: Wish | None
) -> list[str]:
    try:
        current_wish = wish_now(facts, lv, wish.layout)
    except BadWish as error:
        return [f"{lv.vg_name}/{lv.name} has a cache that Tiercel would not make: {error}"]
    if fallback is None or fallback == wish:
        return [
            f"{c.what}: {c.before} now, should be {c.after}." for c in changes(current_wish, wish)
        ]
    before = {change.what: change.after for change in changes(current_wish, fallback)}
    return [
        f"{change.what}: {change.before} now, target {change.after}, before {before[change.what]}."
        for change in changes(current_wish, wish)
        if change.what in before
    ]


def _is_beside(other: LogicalVolume, target: Target, lv: LogicalVolume | None) -> bool:
    """Pools and cache devices that carry the volume's tag."""
    ours = MANAGED_TAG in other.tags and tagged_volume_key(other.tags) == target.volume_key
    return ours and other.vg_uuid == target.vg_uuid and (lv is None or other.uuid != lv.uuid)
