"""What Tiercel does by itself where a host's settings allow it: writethrough, once, as a job."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from jobs import failpoints, notify_workers, tasks
from jobs.models import Job, Kind, Origin, State
from jobs.queue.leave_writeback import leave_due
from storage.byte_sizes import MIB
from storage.discovery.host_summary import outline
from storage.inventory.volume_parts import DataStanding
from storage.models import CacheCondition, Host, Placement
from tests import make
from tests.scene import Scene, end, job, scene

pytestmark = pytest.mark.django_db
POOL = "c-aaaaaaaaaaaaaaaa"


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notify_workers, "job", lambda pk: None)


@pytest.fixture
def point() -> Iterator[None]:
    yield
    failpoints.hook = None


def writeback(
    *, healthy: bool = False, allowed: bool = True, mode: str = "writeback", **fields: Any
) -> Scene:
    """A host whose SSD mirror is broken, and what its inventory came to."""
    cache = make.dm_cache(POOL, mode=mode, pvs=("md0",), dirty_bytes=64 * MIB)
    pvs = (make.pv(), make.fast_pv(healthy=healthy))
    there = scene(make.lv(cache=cache), pvs=pvs, host={"leaves_writeback": allowed}, **fields)
    report(there, healthy=healthy, mode=mode)
    return there


def report(
    there: Scene, *, healthy: bool, mode: str = "writeback", standing: DataStanding | None = None
) -> None:
    """The host's next inventory; `standing` is that of a pool which LVM mirrors."""
    lv = there.facts.lvs[0]
    assert lv.cache is not None
    lv = dataclasses.replace(lv, cache=dataclasses.replace(lv.cache, mode=mode, standing=standing))
    pvs = (make.pv(), make.fast_pv(healthy=healthy))
    facts = dataclasses.replace(there.facts, lvs=(lv,), pvs=pvs)
    Host.objects.filter(pk=there.host.pk).update(facts=make.inventory(facts))
    placements = Placement.objects.filter(host=there.host).select_related("volume")
    outline(there.host, facts, placements, there.host.last_seen_at or there.host.created_at)


def test_where_it_is_not_allowed_nothing_is_done() -> None:
    assert Host._meta.get_field("leaves_writeback").default is False
    writeback(allowed=False)
    assert leave_due() == 0 and not Job.objects.exists()


def test_a_volume_on_a_broken_mirror_gets_a_job_to_writethrough_once() -> None:
    there = writeback()
    assert leave_due() == 1
    made = Job.objects.get()
    assert (made.kind, made.volume, made.dry_run) == (Kind.SET_CACHE, there.volume, False)
    assert (made.wish["cache"]["mode"], made.wish["cache"]["name"]) == ("writethrough", POOL)
    assert (made.actor, made.origin) == (None, Origin.POLICY)
    assert "mirror" in made.line_set.get().text
    assert leave_due() == 0
    end(made)
    assert leave_due() == 0 and Job.objects.count() == 1


def test_a_pool_that_lvm_mirrors_counts_as_an_array_does() -> None:
    there = writeback(healthy=True)
    report(there, healthy=True, standing=DataStanding(lost=False, degraded=False, redundant=True))
    assert leave_due() == 0
    report(there, healthy=True, standing=DataStanding(lost=False, degraded=True, redundant=True))
    assert (leave_due(), leave_due()) == (1, 0)


def test_a_mirror_that_lost_its_last_disk_was_not_whole_again() -> None:
    there = writeback(healthy=True)
    broken = DataStanding(lost=False, degraded=True, redundant=True)
    report(there, healthy=True, standing=broken)
    leave_due()
    end(Job.objects.get())
    report(there, healthy=True, standing=DataStanding(lost=True, degraded=False, redundant=True))
    assert leave_due() == 0
    report(there, healthy=True, standing=broken)
    assert leave_due() == 0 and Job.objects.count() == 1


def test_a_volume_that_lies_elsewhere_by_now_prevents_nothing() -> None:
    gone = writeback(label="gone")
    Placement.objects.filter(volume=gone.volume).update(until=timezone.now())
    there = writeback(label="there")
    assert leave_due() == 1
    assert Job.objects.get().volume == there.volume


def test_the_clock_brings_it_about_within_a_minute() -> None:
    writeback()
    due = settings.CELERY_BEAT_SCHEDULE["cache-states"]
    assert (due["task"], due["schedule"]) == ("jobs.tasks.judge_cache_states", 60)
    tasks.judge_cache_states()
    assert Job.objects.count() == 1


def test_what_a_person_chose_afterwards_stands() -> None:
    there = writeback()
    leave_due()
    end(Job.objects.get())
    report(there, healthy=False, mode="writethrough")
    assert leave_due() == 0
    report(there, healthy=False, mode="writeback")
    assert leave_due() == 0 and Job.objects.count() == 1


def test_a_job_that_failed_is_not_tried_again() -> None:
    writeback()
    leave_due()
    end(Job.objects.get(), State.FAILED, error={"message": "x"})
    assert leave_due() == 0


def test_once_the_mirror_was_whole_the_next_failure_counts_anew() -> None:
    there = writeback()
    leave_due()
    end(Job.objects.get())
    report(there, healthy=True, mode="writethrough")
    leave_due()
    assert CacheCondition.objects.get().left_writeback_at is None
    report(there, healthy=True, mode="writeback")
    assert leave_due() == 0
    report(there, healthy=False, mode="writeback")
    assert leave_due() == 1 and Job.objects.count() == 2


def test_while_the_host_says_nothing_of_the_mirror_it_is_not_taken_for_whole() -> None:
    there = writeback()
    leave_due()
    Host.objects.update(facts={})
    leave_due()
    assert CacheCondition.objects.get(volume=there.volume).left_writeback_at is not None


@pytest.mark.parametrize(
    "fields",
    [
        {"healthy": True},
        {"mode": "writethrough"},
        {"managed": False},
    ],
)
def test_what_is_well_or_not_managed_is_left_alone(fields: dict[str, Any]) -> None:
    writeback(**fields)
    assert leave_due() == 0 and not Job.objects.exists()


@pytest.mark.parametrize("state", ["quarantined", "unverified"])
def test_a_host_to_which_nothing_is_sent_is_left_alone(state: str) -> None:
    writeback()
    Host.objects.update(state=state)
    assert leave_due() == 0


def test_behind_another_job_of_the_volume_it_waits_for_its_turn() -> None:
    there = writeback()
    other = job(there)
    assert leave_due() == 0
    end(other)
    assert leave_due() == 1


def test_of_two_workers_that_come_at_once_one_asks_for_the_job(point: None) -> None:
    writeback()
    other: list[int] = []

    def overtake(name: str) -> None:
        failpoints.hook = None
        other.append(leave_due())

    failpoints.hook = overtake
    assert (leave_due(), other, Job.objects.count()) == (0, [1], 1)
    end(Job.objects.get())
    assert leave_due() == 0


def test_of_two_workers_the_later_one_adds_no_job_once_the_first_has_ended(point: None) -> None:
    writeback()

    def overtake(name: str) -> None:
        failpoints.hook = None
        leave_due()
        end(Job.objects.get())

    failpoints.hook = overtake
    assert (leave_due(), Job.objects.count()) == (0, 1)


@pytest.mark.parametrize("at", ["before", "commit"])
def test_a_worker_that_dies_in_between_leaves_nothing_half_done(at: str, point: None) -> None:
    writeback()

    def die(name: str) -> None:
        if name == f"leave_writeback.{at}":
            raise RuntimeError("killed")

    failpoints.hook = die
    with pytest.raises(RuntimeError, match="killed"):
        leave_due()
    assert not Job.objects.exists()
    assert not CacheCondition.objects.exclude(left_writeback_at=None).exists()
    failpoints.hook = None
    assert (leave_due(), leave_due(), Job.objects.count()) == (1, 0, 1)


def test_a_worker_that_dies_after_it_leaves_one_job(point: None) -> None:
    writeback()

    def die(name: str) -> None:
        if name == "leave_writeback.after":
            raise RuntimeError("killed")

    failpoints.hook = die
    with pytest.raises(RuntimeError, match="killed"):
        leave_due()
    failpoints.hook = None
    assert (leave_due(), Job.objects.count()) == (0, 1)
