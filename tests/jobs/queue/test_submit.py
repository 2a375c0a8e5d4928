"""Accepting, refusing and withdrawing jobs."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from celery import Celery
from django.conf import settings
from django.db.models.functions import Now
from django.utils import timezone

from jobs import notify_workers
from jobs.engine.transitions import claim
from jobs.models import Job, Kind, State
from jobs.queue.reaper import due, prune_previews, sweep
from jobs.queue.submit import Busy, ChangeRequest, cancel, submit
from jobs.requester import Requester
from jobs.worker_identity import worker_name
from storage.byte_sizes import GIB
from storage.models import Host, Volume
from storage.planner import Refused
from storage.planner.wish import Bcache, Wish
from tests import make
from tests.jobs.agent import WISH
from tests.jobs.engine.test_transitions import at_once

pytestmark = pytest.mark.django_db
Sent = list[tuple[str, tuple[int, ...]]]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """What was published."""
    messages: Sent = []

    def send(task: str, *args: int) -> bool:
        messages.append((task, args))
        return True

    monkeypatch.setattr(notify_workers, "send", send)
    return messages


def placed(**fields: str) -> Volume:
    volume = make.volume()
    make.placement(volume, make.host(**fields))
    return volume


def ask(volume: Volume, *, dry_run: bool = False) -> Job:
    return submit(ChangeRequest(Kind.TAG_VOLUME, volume, WISH, dry_run=dry_run), Requester(None))


def test_a_job_is_announced_after_the_commit(
    sent: Sent, django_capture_on_commit_callbacks: Callable[..., object]
) -> None:
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[attr-defined]
        job = ask(placed())
        assert sent == []
    assert sent == [(notify_workers.RUN_DUE_JOBS, ("",))]
    assert (job.state, job.wish) == (State.QUEUED, WISH.to_json())


def test_a_second_job_is_refused_with_the_key_of_the_first() -> None:
    volume = placed()
    first = ask(volume)
    with pytest.raises(Busy) as caught:
        ask(volume)
    assert caught.value.job == first
    assert first.key in str(caught.value)


def test_a_preview_waits_for_no_other_job_and_locks_nothing() -> None:
    volume = placed()
    ask(volume, dry_run=True)
    ask(volume)
    ask(volume, dry_run=True)
    assert Job.objects.count() == 3


@pytest.mark.django_db(transaction=True)
def test_of_fifty_people_who_ask_at_once_one_gets_the_volume(sent: Sent) -> None:
    volume = placed()

    def attempt(n: int) -> Job | Busy:
        try:
            return ask(Volume.objects.get(pk=volume.pk))
        except Busy as busy:
            return busy

    results = at_once(50, attempt)
    accepted = [result for result in results if isinstance(result, Job)]
    assert len(accepted) == 1
    assert all(busy.job == accepted[0] for busy in results if isinstance(busy, Busy))
    assert Job.objects.count() == 1


@pytest.mark.parametrize(
    ("state", "code"),
    [("quarantined", "host_key_changed"), ("unverified", "not_active"), ("pending", "not_active")],
)
def test_a_host_that_is_not_trusted_gets_no_job(state: str, code: str) -> None:
    with pytest.raises(Refused) as caught:
        ask(placed(state=state))
    assert caught.value.code == code
    assert caught.value.correction


def test_a_volume_that_lies_nowhere_gets_no_job() -> None:
    with pytest.raises(Refused, match="is not on any host"):
        ask(make.volume())


def test_what_the_volume_was_not_born_for_is_refused_at_once() -> None:
    volume = placed()
    placement = volume.placed
    assert placement is not None
    lv, host = make.lv("web12", uuid=placement.lv_uuid), placement.host
    host.facts = make.inventory(make.facts(lv))
    host.save()
    cache = Bcache("s-aaaaaaaa", make.CSET_UUID, GIB)
    wish = Wish(8 * GIB, layout="bcache", cache=cache)
    with pytest.raises(Refused) as caught:
        submit(ChangeRequest(Kind.ADD_CACHE, volume, wish), Requester(None))
    assert caught.value.code == "not_fresh"


def test_a_job_that_no_worker_began_is_cancelled_at_once() -> None:
    person = make.staff_user()
    job = ask(placed())
    assert cancel(job, Requester(person, None))
    assert job.state == State.CANCELLED
    assert str(person) in job.explanation
    ask(job.volume)


def test_a_running_job_is_cancelled_at_its_next_step() -> None:
    job = ask(placed())
    claim(job.pk, "worker")
    job.refresh_from_db()
    assert not cancel(job, None)
    assert (job.state, job.cancel_requested) == (State.RUNNING, True)


def test_the_sweeper_finds_what_waits_for_a_worker_and_nothing_else(sent: Sent) -> None:
    lost, waiting, orphan, young, later = (ask(placed()) for _ in range(5))
    past, future = Now() - timedelta(seconds=9), Now() + timedelta(minutes=9)
    jobs = Job.objects
    jobs.filter(pk=lost.pk).update(created_at=past)
    jobs.filter(pk=waiting.pk).update(state=State.WAITING, not_before=past)
    lease = {"lease_owner": "dead", "lease_until": past}
    jobs.filter(pk=orphan.pk).update(state=State.RUNNING, **lease)
    jobs.filter(pk=later.pk).update(state=State.WAITING, not_before=future)
    assert due() == [lost.pk, waiting.pk, orphan.pk]
    assert sweep() == 3
    assert sent == [(notify_workers.RUN_DUE_JOBS, ("",))] * 3
    assert young.pk not in due()


def test_the_job_of_a_worker_that_died_here_does_not_wait_for_its_lease() -> None:
    orphan, held, elsewhere = (ask(placed()) for _ in range(3))
    here, pid, started, rest = worker_name().split(":")
    dead = f"{here}:{pid}:{int(started) - 1}:{rest}"
    for job, name in ((orphan, dead), (held, worker_name()), (elsewhere, f"x{dead}")):
        lease = {"lease_owner": name, "lease_until": Now() + timedelta(minutes=1)}
        Job.objects.filter(pk=job.pk).update(state=State.RUNNING, **lease)
    assert due() == [orphan.pk]
    assert claim(orphan.pk, "me") is not None


def test_a_broker_that_is_away_loses_no_job(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = Celery(broker="redis://127.0.0.1:1/0", set_as_current=False)
    away.conf.broker_transport_options = settings.CELERY_BROKER_TRANSPORT_OPTIONS
    monkeypatch.setattr(notify_workers, "current_app", away)
    started = time.monotonic()
    assert not notify_workers.send(notify_workers.RUN_DUE_JOBS, "")
    assert not notify_workers.send("jobs.tasks.sweep")
    assert time.monotonic() - started < 2
    assert "the reaper will" in caplog.text


def test_an_inventory_of_an_older_version_does_not_break_asking(sent: Sent) -> None:
    volume = placed()
    Host.objects.update(facts={"disks": "as another version had it"})
    assert ask(volume, dry_run=True).state == State.QUEUED


def creation(hours: int, *, dry_run: bool, previewed: bool, state: State) -> Volume:
    """A volume that is not there yet, with the job or preview of its creation."""
    began = timezone.now() - timedelta(hours=hours)
    volume = make.volume(previewed_at=began if previewed else None)
    make.placement(volume, make.host(), lv_uuid=None)
    Job.objects.create(
        kind=Kind.CREATE_VOLUME,
        volume=volume,
        host=volume.placement_set.get().host,
        wish=WISH.to_json(),
        dry_run=dry_run,
        state=state,
        ended_at=began if state == State.SUCCEEDED else None,
    )
    return volume


def test_a_volume_that_was_only_previewed_goes_with_its_preview() -> None:
    old = creation(25, dry_run=True, previewed=True, state=State.SUCCEEDED)
    kept = {
        creation(23, dry_run=True, previewed=True, state=State.SUCCEEDED),
        creation(25, dry_run=True, previewed=True, state=State.QUEUED),
        creation(25, dry_run=True, previewed=False, state=State.SUCCEEDED),
        creation(25, dry_run=False, previewed=False, state=State.SUCCEEDED),
    }
    assert prune_previews() == 1
    assert not Volume.objects.filter(pk=old.pk).exists()
    assert set(Volume.objects.all()) == kept


def test_old_previews_go_but_not_jobs_nor_the_one_that_can_still_create_its_volume() -> None:
    def ended(kind: str, hours: int, *, dry_run: bool = True, lv_uuid: str | None) -> Job:
        volume = make.volume()
        make.placement(volume, make.host(), lv_uuid=lv_uuid)
        return Job.objects.create(
            kind=kind,
            volume=volume,
            host=volume.placement_set.get().host,
            wish=WISH.to_json(),
            dry_run=dry_run,
            state=State.SUCCEEDED,
            ended_at=Now() - timedelta(hours=hours),
        )

    old = ended(Kind.ADD_CACHE, 25, lv_uuid=make.lvm_uuid())
    made = ended(Kind.CREATE_VOLUME, 25, lv_uuid=make.lvm_uuid())
    kept = [
        ended(Kind.ADD_CACHE, 23, lv_uuid=make.lvm_uuid()),
        ended(Kind.CREATE_VOLUME, 25, lv_uuid=None),
        ended(Kind.ADD_CACHE, 25, dry_run=False, lv_uuid=make.lvm_uuid()),
    ]
    assert prune_previews() == 2
    assert not Job.objects.filter(pk__in=[old.pk, made.pk]).exists()
    assert set(Job.objects.all()) == set(kept)
