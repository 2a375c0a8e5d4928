"""Runs jobs, level-triggered: read facts, plan, run the first step, read facts again.

A job is done when the plan against facts just read is empty. An exit code is not success, and a
lost connection is not failure: the operation has an id, and the host is asked for it until it
answers. A retry is a new plan, so finished steps vanish from it. A job that cannot continue rolls
back (`jobs.engine.rollback`), or waits for a person.
"""

from __future__ import annotations

import logging
import time
from datetime import timedelta
from functools import partial

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models.functions import Now

from jobs import audit_trail, life_signs
from jobs.engine import benchmark_end, decisions, dry_run, flush_rest, rollback, steps, vg_lock
from jobs.engine.finish import (
    REST_SECONDS,
    TRIES,
    fail_job,
    finish_job,
    has_changed_host,
    pause_job,
    refusal_json,
    wait_for_contact,
)
from jobs.engine.holds import OnHold, check_not_held, check_window, read_host
from jobs.engine.operation import PASSES_BY, send, wait_without_plan, watch
from jobs.engine.remaining_steps import remaining_steps
from jobs.engine.transitions import (
    CLAIMS_LIMIT,
    READING,
    LostLease,
    claim,
    claim_next,
    renew_if_due,
    transition,
)
from jobs.engine.vg_lock import VgLocked
from jobs.failpoints import durable
from jobs.hosts import retirement_clock
from jobs.hosts.read_inventory import placement_of, read_facts, record_again
from jobs.models import Job, Kind, Origin, State, Step, StepState
from jobs.requester import cancelled_by, last_requester
from jobs.transport.errors import TransportError
from jobs.worker_identity import worker_name
from storage.database_clock import database_now
from storage.health import smart_records
from storage.inventory.facts import HostFacts
from storage.models import Placement, Volume
from storage.planner import PlannedStep, Refused
from storage.planner.fingerprint import plan_fingerprint
from storage.planner.member_wish import Replacement
from storage.row_locks import hold
from storage.volumes import lifecycle

log = logging.getLogger(__name__)

HOLD_SECONDS = 15.0
"""How long a worker stays with an operation that it sent; then the job waits without a worker."""

RELEASE_TRIES = 5
RELEASE_SECONDS = 1.0

AGAIN = "request the change again. The new job starts from the current state."
POISON = {
    "code": "poison",
    "message": f"{CLAIMS_LIMIT} workers took this job and died with it.",
    "correction": "Check the workers' logs and memory before you resume the job.",
}
STALE = {
    "code": "stale",
    "message": "The planned change is different from the preview you confirmed.",
    "correction": "Create a new preview. Nothing was changed.",
}


def run(job_id: int) -> None:
    """Claim a job and run it as far as possible now; return at once where it is not due."""
    job = claim(job_id, worker_name())
    if job is not None:
        _run_claimed(job)


def run_next(site: str, *, prefers_previews: bool) -> bool:
    """The same for the job that is due first (`transitions.claim_next`); False where none is."""
    sites = settings.TIERCEL_DEDICATED_SITES
    job = claim_next(worker_name(), site, sites, prefers_previews=prefers_previews)
    if job is None:
        return False
    _run_claimed(job)
    return True


def _run_claimed(job: Job) -> None:
    with life_signs.at_job(job.key):
        _run(job)


def _run(job: Job) -> None:
    """An unexpected error ends the job or leaves it to a person, with a trace in the log: it must
    not be retried for ever. Without its database the panel only releases the claim."""
    try:
        job.host = read_host(job.host_id)
        if job.claims > CLAIMS_LIMIT:
            finish_job(job, State.FAILED if job.dry_run else State.NEEDS_ATTENTION, error=POISON)
        elif job.dry_run:
            dry_run.fill(job)
        else:
            advance(job)
    except LostLease:
        log.warning("job %s was taken over by another worker", job.key)
    except (OperationalError, InterfaceError):
        log.exception("job %s: the database went away", job.key)
        _release_claim(job)
    except Exception:
        log.exception("job %s", job.key)
        # While an operation may run on the host, or the work is half done, the volume stays locked.
        is_held = has_changed_host(job)
        next_act = "resume the job." if is_held else AGAIN
        internal = {
            "code": "internal",
            "message": "The panel itself failed while it ran this job.",
            "correction": f"See the worker's log, then {next_act}",
        }
        to = State.NEEDS_ATTENTION if is_held else State.FAILED
        transition(job, State.RUNNING, to, error=internal)


def advance(job: Job) -> None:
    """One claim's worth of work; raises `LostLease`."""
    if "resolve" in job.error:
        decisions.settle(job)
        return
    step = job.running_step
    if step is not None and not watch(job, step, hold_seconds=0):
        return
    while (step := _next_step(job)) is not None:
        if not send(job, step):
            return
        if step.state == StepState.RUNNING and not watch(job, step, HOLD_SECONDS):
            return


def _next_step(job: Job) -> Step | None:
    """The first step of a plan on fresh facts, intended; None where the job was released."""
    try:
        while (planned := _first_planned(job)) is not None:
            if (step := steps.intend(job, planned)) is not None:
                return step
            if not _cancelled(job, planned):
                return None
    except OnHold as held:
        if steps.is_cancelled(job) and not has_changed_host(job):
            explanation = f"{cancelled_by(last_requester(job))} before its first step"
            finish_job(job, State.CANCELLED, explanation=explanation[:500])
            return None
        seconds = (held.again_at - database_now()).total_seconds()
        pause_job(job, max(REST_SECONDS, int(seconds)), held.sentence, attempts=0)
        flush_rest.look_again_if_changed(job)
    except VgLocked as taken:
        pause_job(job, REST_SECONDS, taken.sentence)
        # The lock may have been released before this job was seen to wait for it.
        vg_lock.wake_next(taken.vg_uuid)
    return None


def _first_planned(job: Job) -> PlannedStep | None:
    """The next step, planned on fresh facts; None where the job was released."""
    while True:
        if not has_changed_host(job):
            # As read when the job was claimed. Before a step the host is read again.
            check_window(job, check_not_held(job.host))
        renew_if_due(job, READING)
        try:
            facts = read_facts(job.host)
            placement = placement_of(job) if job.volume_id is not None else None
            if placement is not None:
                job.volume = placement.volume
            planned = remaining_steps(job, facts, placement)
            if planned and flush_rest.rests(job, planned[0].verb):
                planned = (*flush_rest.settling(job, facts, placement), *planned)
            if planned:
                vg_lock.check_fence_known(planned[0])
                retirement_clock.demand_sound_clock(job, planned[0])
        except TransportError as error:
            wait_for_contact(job, error)
            return None
        except Refused as refused:
            if refused.code == "inconsistent" and job.attempts + 1 < TRIES:
                pause_job(job, REST_SECONDS, refused.message, attempts=job.attempts + 1)
                return None
            error_now = refusal_json(refused)
            if refused.code in PASSES_BY:
                if not wait_without_plan(job, error_now):
                    return None
                continue
        else:
            if not planned:
                _arrive(job, facts, placement)
                return None
            if _is_stale(job, planned):
                fail_job(job, STALE)
                return None
            spent = steps.exhausted(job, planned[0])
            if spent is None:
                return planned[0]
            error_now = spent
        if not rollback.rollback_or_fail(job, error_now):
            return None


def _is_stale(job: Job, planned: tuple[PlannedStep, ...]) -> bool:
    """Whether a person confirmed other steps than those that would begin now. A step that was
    requeued, or did not reach the host, has begun nothing."""
    if not job.fingerprint or has_changed_host(job):
        return False
    return plan_fingerprint(planned) != job.fingerprint


def _cancelled(job: Job, planned: PlannedStep) -> bool:
    """A person cancelled before `planned`: True where the job rolls back first. A volume that has
    grown stays so, and reports that its guest does not know: it cannot shrink."""
    if planned.verb != "guest.resize" and has_changed_host(job) and rollback.can_roll_back(job):
        rollback.begin_rollback(job, {})
        return True
    rollback.finish_cancelled(job, planned.title)
    return False


@durable("arrive")
def _arrive(job: Job, facts: HostFacts, placement: Placement | None) -> None:
    """Nothing is left to do: end the job, and update the records in the same transaction."""
    if placement is not None:
        _record(job, facts, placement)
    if job.is_rolling_back:
        rollback.finish_rollback(job, facts)
        return
    if job.kind == Kind.BENCHMARK:
        benchmark_end.finish_benchmark(job, facts)
        return
    if job.origin == Origin.PORTAL or job.price_minor is not None:
        hold(job.its_volume)
        with audit_trail.signed(job):
            Volume.objects.filter(pk=job.its_volume.pk).update(cache_plan=job.cache_plan_id)
    if job.kind == Kind.REPLACE_MEMBER and (member := Replacement.from_json(job.wish).member):
        smart_records.take_out(job.host, facts, member)
    changed = not job.is_without_steps and job.step_set.filter(state=StepState.DONE).exists()
    explanation = "" if changed else "Nothing to do: the volume was already in this state."
    finish_job(job, State.SUCCEEDED, explanation=explanation, error={})


def _record(job: Job, facts: HostFacts, placement: Placement) -> None:
    """Update the volume's records to the host's state, without locks where nothing differs. Pages
    of the host are updated once the job has ended."""
    volume, wish = placement.volume, rollback.current_wish(job)
    if wish.life != "live":
        hold(volume)
        with audit_trail.signed(job):
            lifecycle.follow_host(placement, wish, database_now())
        return
    named = facts.lv_named(placement.vg_uuid, placement.lv_name)
    lv = facts.lv(placement.lv_uuid) if placement.lv_uuid else named
    if lv is None:
        raise RuntimeError(f"the plan for {placement} is empty without its volume")
    recorded = (wish.lasting.to_json(), lv.guest_size_bytes, True)
    is_recorded = (volume.wish, volume.size_bytes, volume.managed) == recorded
    if is_recorded and placement.lv_uuid == lv.uuid:
        return
    hold(volume)
    with audit_trail.signed(job):
        Placement.objects.filter(pk=placement.pk).update(lv_uuid=lv.uuid)
        Volume.objects.filter(pk=volume.pk).update(
            wish=recorded[0], size_bytes=recorded[1], managed=recorded[2]
        )
    transaction.on_commit(partial(record_again, job.host), robust=True)


def _release_claim(job: Job) -> None:
    """Release the job to another worker; if the database stays unreachable, the lease lapses."""
    for _ in range(RELEASE_TRIES):
        time.sleep(RELEASE_SECONDS)
        connection.close()
        try:
            not_before = Now() + timedelta(seconds=REST_SECONDS)
            transition(job, State.RUNNING, State.WAITING, not_before=not_before)
        except (OperationalError, InterfaceError):
            continue
        return
