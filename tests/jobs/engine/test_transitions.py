"""A job's state changes by compare-and-set only, along the table of legal moves."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any, TypeVar

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models.functions import Now

from jobs.engine.transitions import TRANSITIONS, LostLease, claim, renew, transition
from jobs.models import OVER, Job, Kind, State, Step, StepState
from storage.state_machine import IllegalTransition
from tests import make

pytestmark = pytest.mark.django_db
T = TypeVar("T")


def job(state: State = State.QUEUED, **fields: Any) -> Job:
    """A job in that state, as the constraints want it."""
    if state == State.RUNNING:
        fields = {"lease_owner": "me", "lease_until": Now() + timedelta(minutes=1)} | fields
    if state in OVER:
        fields |= {"ended_at": Now()}
    made = Job.objects.create(
        **{"kind": Kind.ADD_CACHE, "host": make.host(), "volume": make.volume(), "wish": {}}
        | fields,
        state=state,
    )
    made.refresh_from_db()
    return made


def at_once(count: int, work: Callable[[int], T]) -> list[T]:
    """The results of `count` threads that start together, each with its own connection."""
    barrier = Barrier(count)

    def one(n: int) -> T:
        try:
            connection.ensure_connection()
            barrier.wait(30)
            return work(n)
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


@pytest.mark.parametrize(("from_", "to"), list(itertools.product(State, State)))
def test_every_move_is_either_made_or_refused_by_the_table(from_: State, to: State) -> None:
    made = job(from_)
    lease = {"lease_owner": "me", "lease_until": Now() + timedelta(minutes=1)}
    fields = lease if to == State.RUNNING else {}
    if to in TRANSITIONS.get(from_, ()):
        assert transition(made, from_, to, **fields)
        assert made.state == to
        assert (made.ended_at is not None) == (to in OVER)
        assert (made.lease_owner != "") == (to == State.RUNNING)
    else:
        with pytest.raises(IllegalTransition):
            transition(made, from_, to, **fields)
        made.refresh_from_db()
        assert made.state == from_


def test_nothing_leaves_an_end_state() -> None:
    assert set(State) - set(TRANSITIONS) == set(OVER)


def test_a_move_from_a_state_that_is_past_changes_nothing() -> None:
    made = job(State.QUEUED)
    Job.objects.filter(pk=made.pk).update(state=State.WAITING)
    assert not transition(made, State.QUEUED, State.CANCELLED, explanation="late")
    made.refresh_from_db()
    assert (made.state, made.explanation) == (State.WAITING, "")


def test_a_running_job_is_moved_by_its_lease_holder_only() -> None:
    made = job(State.RUNNING)
    stranger = Job.objects.get(pk=made.pk)
    stranger.lease_owner = "another worker"
    assert not transition(stranger, State.RUNNING, State.FAILED)
    assert transition(made, State.RUNNING, State.FAILED)


def test_a_claim_takes_queued_due_and_orphaned_jobs_and_no_others() -> None:
    past, future = Now() - timedelta(seconds=1), Now() + timedelta(minutes=1)
    assert claim(job(State.QUEUED).pk, "w")
    assert claim(job(State.WAITING, not_before=past).pk, "w")
    assert claim(job(State.RUNNING, lease_until=past).pk, "w")
    assert not claim(job(State.QUEUED, not_before=future).pk, "w")
    assert not claim(job(State.WAITING, not_before=future).pk, "w")
    assert not claim(job(State.RUNNING).pk, "w")
    assert not any(claim(job(state).pk, "w") for state in (*OVER, State.NEEDS_ATTENTION))
    assert not claim(10**9, "w")


def test_a_claim_leases_by_the_databases_clock() -> None:
    claimed = claim(job().pk, "w")
    assert claimed is not None
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s - clock_timestamp()", [claimed.lease_until])
        (left,) = cursor.fetchone()
    assert timedelta(seconds=50) < left <= timedelta(seconds=60)
    assert claimed.started_at is not None


def test_a_renewal_after_a_takeover_is_refused() -> None:
    made = claim(job().pk, "first")
    assert made is not None
    renew(made)
    Job.objects.filter(pk=made.pk).update(lease_until=Now() - timedelta(seconds=1))
    assert claim(made.pk, "second")
    with pytest.raises(LostLease):
        renew(made)


@pytest.mark.django_db(transaction=True)
def test_of_many_workers_one_claims_a_job() -> None:
    made = job()
    claims = at_once(20, lambda n: claim(made.pk, f"worker {n}"))
    winners = [claimed for claimed in claims if claimed is not None]
    assert len(winners) == 1
    assert Job.objects.get(pk=made.pk).lease_owner == winners[0].lease_owner


@pytest.mark.django_db(transaction=True)
def test_of_many_workers_one_takes_over_a_lapsed_lease() -> None:
    made = job(State.RUNNING, lease_until=Now() - timedelta(seconds=1))
    claims = at_once(20, lambda n: claim(made.pk, f"worker {n}"))
    assert sum(claimed is not None for claimed in claims) == 1


def test_a_volume_has_one_unfinished_job() -> None:
    volume = make.volume()
    job(State.NEEDS_ATTENTION, volume=volume)
    job(volume=volume, dry_run=True)
    job(State.FAILED, volume=volume)
    with pytest.raises(IntegrityError, match="job_one_per_volume"), transaction.atomic():
        job(State.WAITING, volume=volume)


def test_the_database_refuses_unknown_states() -> None:
    with pytest.raises(IntegrityError, match="job_"), transaction.atomic():
        Job.objects.filter(pk=job().pk).update(state="asleep")
    with pytest.raises(IntegrityError, match="job_running_has_lease"), transaction.atomic():
        Job.objects.filter(pk=job().pk).update(state=State.RUNNING)
    with pytest.raises(IntegrityError, match="job_over_has_end"), transaction.atomic():
        Job.objects.filter(pk=job().pk).update(state=State.FAILED)
    with pytest.raises(IntegrityError, match="step_sent_has_op_id"), transaction.atomic():
        Step.objects.create(
            job=job(), n=1, verb="x", args={}, expect={}, title="x", state=StepState.RUNNING
        )


@pytest.mark.parametrize("state", list(State))
def test_every_state_has_a_sentence(state: State) -> None:
    made = job(state, error={"message": "the SSD is full"})
    assert made.sentence.endswith((".", "full"))
