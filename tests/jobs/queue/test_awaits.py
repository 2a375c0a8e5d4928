"""A job that awaits a person's word: it holds its volume, and no worker takes it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from jobs import notify_workers
from jobs.engine import runner
from jobs.engine.transitions import claim
from jobs.models import Job, State
from jobs.queue import reaper
from jobs.queue import submit as submission
from jobs.requester import Requester
from panel.staff.jobs.headline import headline
from panel.staff.jobs.waiting_reason import waiting_reason
from storage.models import Volume
from storage.planner.wish import Wish
from tests.scene import job, scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def notified(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The jobs that a worker was notified of."""
    sent: list[int] = []
    monkeypatch.setattr(notify_workers, "job", sent.append)
    return sent


@pytest.fixture
def waiting(notified: list[int]) -> Job:
    volume = scene().volume
    made = submit(volume)
    Job.objects.update(created_at=timezone.now() - timedelta(minutes=1))
    return made


def submit(volume: Volume, awaits: str = "the billing system's answer") -> Job:
    wish = Wish(volume.size_bytes)
    return submission.submit(
        submission.ChangeRequest("add-cache", volume, wish, awaits=awaits), Requester(None)
    )


def test_no_worker_is_notified_of_it_and_one_that_hears_of_it_does_nothing(
    waiting: Job, notified: list[int]
) -> None:
    assert notified == []
    assert reaper.due() == []
    assert claim(waiting.pk, "worker") is None
    runner.run(waiting.pk)
    waiting.refresh_from_db()
    assert (waiting.state, waiting.claims) == (State.QUEUED, 0)


def test_it_holds_its_volume(waiting: Job) -> None:
    with pytest.raises(submission.Busy):
        submit(waiting.volume, "")


def test_released_it_is_as_any_other(waiting: Job, notified: list[int]) -> None:
    assert submission.release(waiting)
    assert notified == [waiting.pk]
    assert reaper.due() == [waiting.pk]
    assert not submission.release(waiting)
    assert claim(waiting.pk, "worker") is not None
    assert notified == [waiting.pk]


def test_cancelled_it_ends_at_once_and_is_released_no_more(
    waiting: Job, notified: list[int]
) -> None:
    assert submission.cancel(waiting, None)
    assert not submission.release(waiting)
    assert (waiting.state, notified) == (State.CANCELLED, [])


def test_a_job_that_awaits_nothing_needs_no_release() -> None:
    assert not submission.release(job(scene()))


def test_it_says_what_it_waits_for_and_not_that_there_is_no_worker(waiting: Job) -> None:
    assert waiting.sentence == "Add cache: waiting for the billing system's answer."
    much_later = datetime.now(UTC) + timedelta(days=2)
    found = waiting_reason(
        waiting, has_running_step=False, halt=None, holder=None, working=0, now=much_later
    )
    assert found is not None
    assert found.what == "word"
    assert "the billing system's answer" in found.sentence
    assert "worker" not in found.sentence
    assert "Waiting to" in headline(waiting, begun=False)
