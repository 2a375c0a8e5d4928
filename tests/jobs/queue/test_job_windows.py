"""Which window a new job gets, and another one for a job that waits."""

from __future__ import annotations

import dataclasses
from datetime import time, timedelta

import pytest
from django.utils import timezone

from jobs.models import Job, Kind, State
from jobs.queue.job_windows import HOSTS, Chosen, change_window, set_cache_window
from jobs.queue.submit import ChangeRequest, confirm, submit
from jobs.requester import Requester
from storage.models import Host, Volume
from storage.planner import Refused
from storage.planner.daily_window import DailyWindow
from storage.planner.wish import Wish
from tests import make
from tests.jobs.windows import DIRTY, FLUSHED, closed_window, open_window
from tests.scene import scene

pytestmark = pytest.mark.django_db
NO_ONE = Requester(None)
UNCACHED = dataclasses.replace(DIRTY, cache=None)


@pytest.fixture
def volume() -> Volume:
    cache = make.dm_cache("c-aaaaaaaaaaaaaaaa", mode="writeback", dirty_bytes=2**30)
    return scene(make.lv(cache=cache)).volume


def asked(
    volume: Volume, kind: Kind = Kind.FLUSH_CACHE, wish: Wish = FLUSHED, window: Chosen = HOSTS
) -> Job:
    return submit(ChangeRequest(kind, volume, wish, window=window), NO_ONE)


def test_the_window_of_the_host_holds_for_what_writes_much_to_its_slow_disks(
    volume: Volume,
) -> None:
    night = closed_window(zone="Europe/Berlin")
    set_cache_window(Host.objects.get(), night)
    flush = asked(volume)
    assert flush.window == night and flush.not_before is not None
    flush.delete()
    assert asked(volume, Kind.REMOVE_CACHE, UNCACHED).window == night


def test_a_change_of_mode_for_safety_waits_for_no_window(volume: Volume) -> None:
    set_cache_window(Host.objects.get(), closed_window())
    assert DIRTY.cache is not None
    safe = dataclasses.replace(DIRTY, cache=DIRTY.cache.with_mode("writethrough"))
    job = asked(volume, Kind.SET_CACHE, safe)
    assert (job.window, job.not_before) == (None, None)


def test_a_person_can_say_another_window_or_none(volume: Volume) -> None:
    set_cache_window(Host.objects.get(), closed_window())
    job = asked(volume, window=None)
    assert (job.window, job.not_before) == (None, None)
    job.delete()
    other = closed_window(5)
    assert asked(volume, window=other).window == other


def test_what_a_preview_said_of_its_window_holds_for_the_job(volume: Volume) -> None:
    night = closed_window()
    request = ChangeRequest(Kind.FLUSH_CACHE, volume, FLUSHED, dry_run=True, window=night)
    preview = submit(request, NO_ONE)
    assert (preview.window, preview.not_before) == (night, None), "a person waits for it now"
    Job.objects.filter(pk=preview.pk).update(state=State.SUCCEEDED, ended_at=timezone.now())
    preview.refresh_from_db()
    job = confirm(preview, NO_ONE)
    assert job.window == night
    assert job.not_before is not None and job.not_before > timezone.now() + timedelta(hours=1)


def test_a_job_for_later_begins_when_its_window_opens_after_that(volume: Volume) -> None:
    window = open_window()
    later = timezone.now() + timedelta(hours=3)
    request = ChangeRequest(Kind.FLUSH_CACHE, volume, FLUSHED, not_before=later, window=window)
    job = submit(request, NO_ONE)
    assert job.not_before == window.next_opening(later)


def test_a_window_that_the_change_window_of_the_host_never_meets_is_refused(
    volume: Volume,
) -> None:
    Host.objects.update(window_start=time(10), window_end=time(12))
    with pytest.raises(Refused) as refused:
        asked(volume, window=DailyWindow(time(2), time(5)))
    assert refused.value.code == "never_open"
    with pytest.raises(Refused):
        set_cache_window(Host.objects.get(), DailyWindow(time(2), time(5)))
    assert Host.objects.get().cache_window is None


def test_it_begins_when_both_windows_are_open(volume: Volume) -> None:
    Host.objects.update(window_start=time(4), window_end=time(6))
    job = asked(volume, window=DailyWindow(time(2), time(5)))
    now = timezone.now()
    begins = job.not_before or now
    assert time(4) <= begins.time() < time(5)


def test_another_window_moves_a_job_that_waits(volume: Volume) -> None:
    job = asked(volume, window=closed_window(2))
    change_window(job, closed_window(6), Requester(make.staff_user("bob@example.org")))
    assert job.window == closed_window(6)
    assert job.not_before == closed_window(6).next_opening(timezone.now())
    [line] = job.lines_after(0)
    assert line.text == f"Window set to {closed_window(6)} by bob@example.org."
    assert job.last_actor is not None


def test_a_job_that_is_over_gets_no_window(volume: Volume) -> None:
    job = asked(volume)
    Job.objects.filter(pk=job.pk).update(state=State.CANCELLED, ended_at=timezone.now())
    with pytest.raises(Refused) as refused:
        change_window(job, closed_window(), NO_ONE)
    assert refused.value.code == "not_now"


def test_run_now_leaves_a_job_without_a_window_where_it_is(volume: Volume) -> None:
    later = timezone.now() + timedelta(days=1)
    request = ChangeRequest(Kind.FLUSH_CACHE, volume, FLUSHED, not_before=later)
    job = submit(request, NO_ONE)
    change_window(job, None, NO_ONE)
    job.refresh_from_db()
    assert job.not_before == later
