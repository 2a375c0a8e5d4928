"""What stands still in the panel itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.db.models.functions import Now
from django.utils import timezone

from jobs import standstill
from jobs.engine import holds
from jobs.models import Job, LifeSign, State
from jobs.queue import reaper
from jobs.standstill import DueJobs, Slot, SlotState, WorkRecord, standstills
from storage import row_security
from storage.models import Host
from tests.scene import job, scene

AT = datetime(2026, 11, 26, 12, tzinfo=UTC)


def ago(**units: float) -> datetime:
    return AT - timedelta(**units)


def slot(kind: str = "worker", seen: datetime = AT, **fields: Any) -> Slot:
    return Slot(kind, f"{kind}@here", "jobs", seen, **fields)


def busy(doing: str = "a-job", since: datetime = AT, **fields: Any) -> Slot:
    return slot(doing=doing, busy_since=since, **fields)


@pytest.mark.parametrize(
    ("one", "state"),
    [
        (slot(), SlotState.IDLE),
        (slot(seen=ago(minutes=1)), SlotState.SILENT),
        (busy(), SlotState.BUSY),
        (busy(since=ago(hours=5), is_leased=True, leased_until=AT), SlotState.BUSY),
        (busy(since=ago(hours=5), leased_until=ago(minutes=3)), SlotState.STUCK),
        (busy(since=ago(hours=5), leased_until=ago(minutes=1)), SlotState.BUSY),
        (busy(since=ago(minutes=1), leased_until=ago(hours=5)), SlotState.BUSY),
        (busy("jobs.tasks.pack", ago(minutes=3)), SlotState.BUSY),
        (busy("jobs.tasks.pack", ago(minutes=20)), SlotState.STUCK),
        (busy(seen=ago(minutes=1)), SlotState.SILENT),
    ],
)
def test_a_slot_proves_by_what_it_does_that_it_works(one: Slot, state: SlotState) -> None:
    assert one.state(AT) is state


def said(*slots: Slot, **fields: Any) -> list[str]:
    return [each.message for each in standstills(WorkRecord(AT, slots, **fields))]


def due(count: int, since: datetime) -> dict[str, Any]:
    return {"due_jobs": (DueJobs("jobs", count, since),)}


def test_nothing_is_said_while_all_work() -> None:
    beat, collector = slot("beat"), slot("collector")
    assert said(slot(), beat, collector, has_hosts=True, **due(3, ago(seconds=50))) == []


def test_nor_of_a_panel_that_was_never_started() -> None:
    assert said(has_hosts=True) == []


def test_due_jobs_that_no_worker_takes_are_said() -> None:
    [found] = standstills(WorkRecord(AT, (slot(),), **due(3, ago(seconds=95))))
    assert found.message == "No worker took a job for 1 min though 3 are due."
    assert (found.code, found.severity, found.since) == ("jobs_untaken", "error", ago(seconds=95))


def test_also_where_none_ever_signed() -> None:
    assert said(**due(1, ago(minutes=5))) == ["No worker took a job for 5 min though 1 is due."]


def test_a_long_queue_of_which_jobs_are_taken_is_no_standstill() -> None:
    assert said(slot(took_at=ago(seconds=5)), **due(900, ago(minutes=5))) == []


def test_the_workers_of_a_site_are_missed_while_others_take_jobs() -> None:
    others = slot(took_at=AT)
    waiting = DueJobs("jobs.fra", 2, ago(minutes=5))
    message = "No worker of jobs.fra took a job for 5 min though 2 are due."
    assert said(others, due_jobs=(waiting,)) == [message]
    both = Slot("worker", "w", "jobs,jobs.fra", AT, took_at=AT)
    assert said(both, due_jobs=(waiting,)) == []


def test_jobs_that_wait_for_busy_slots_are_said_mildly() -> None:
    slots = [busy(is_leased=True, leased_until=AT) for _ in range(16)]
    [found] = standstills(WorkRecord(AT, tuple(slots), **due(40, ago(minutes=3))))
    assert found.severity == "warning"
    assert found.message == (
        "All 16 slots are busy: 40 jobs wait for a worker, the oldest for 3 min."
    )


def test_slots_that_take_no_further_job_and_hold_none_are_not_busy() -> None:
    hanging = [busy("jobs.tasks.run_due_jobs", ago(minutes=2)) for _ in range(16)]
    assert said(*hanging, **due(3, ago(seconds=95))) == [
        "No worker took a job for 1 min though 3 are due."
    ]
    taking = [busy("a-job", took_at=ago(seconds=5)) for _ in range(16)]
    assert said(*taking, **due(3, ago(seconds=95))) == [
        "All 16 slots are busy: 3 jobs wait for a worker, the oldest for 1 min."
    ]


def test_slots_that_hang_are_not_busy() -> None:
    slots = [busy(since=ago(minutes=30), leased_until=ago(minutes=20)) for _ in range(16)]
    assert said(*slots, **due(40, ago(minutes=3))) == [
        "No worker took a job for 3 min though 40 are due."
    ]
    assert said(*slots) == ["Each slot of every worker hangs, the first for 20 min. No job is run."]


def test_one_slot_that_hangs_is_named() -> None:
    assert said(slot(), busy("jobs.tasks.pack", ago(minutes=20))) == [
        "1 slot hangs: worker@here has been at jobs.tasks.pack for 20 min."
    ]


def test_a_slot_that_lost_its_job_and_goes_on_is_named_with_it() -> None:
    lost = busy("k3y", since=ago(hours=2), leased_until=ago(minutes=3))
    assert said(slot(), lost) == [
        "1 slot hangs: worker@here has been at the job k3y for 3 min without its lease."
    ]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("worker", "No worker has given a sign of life for 2 min. No job is run."),
        ("collector", "No collector has given a sign of life for 2 min. No host is sampled."),
        ("beat", "Beat has given no sign of life for 2 min. The schedule stands still."),
    ],
)
def test_a_part_without_a_sign_is_missed(kind: str, message: str) -> None:
    lost = slot(kind, ago(minutes=2))
    assert said(lost, has_hosts=True) == [message]
    assert said(lost, slot(kind), has_hosts=True) == []


def test_without_hosts_no_collector_is_missed() -> None:
    assert said(slot("collector", ago(minutes=2))) == []


def test_queues_are_served_by_living_slots() -> None:
    record = WorkRecord(AT, (slot(), Slot("collector", "c", "collect.0,collect.1", ago(hours=1))))
    assert standstill.unserved(record, {"jobs", "collect.0"}) == {"collect.0"}


def test_slots_are_counted_by_kind_and_state() -> None:
    counted = standstill.counts(
        WorkRecord(AT, (slot(), slot(), busy(), slot("beat", ago(hours=1))))
    )
    assert {key: count for key, count in counted.items() if count} == {
        ("worker", "idle"): 2,
        ("worker", "busy"): 1,
        ("beat", "silent"): 1,
    }


LATER = timedelta(hours=1)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("fields", "is_due"),
    [
        ({}, True),
        ({"awaits": "a person"}, False),
        ({"not_before": timezone.now() - LATER}, True),
        ({"not_before": timezone.now() + LATER}, False),
        ({"state": State.WAITING}, True),
        ({"state": State.WAITING, "not_before": timezone.now() + LATER}, False),
        (
            {
                "state": State.RUNNING,
                "lease_owner": "a",
                "lease_until": timezone.now() - LATER,
            },
            True,
        ),
        (
            {
                "state": State.RUNNING,
                "lease_owner": "a",
                "lease_until": timezone.now() + LATER,
            },
            False,
        ),
        ({"state": State.SUCCEEDED, "ended_at": timezone.now()}, False),
        ({"state": State.NEEDS_ATTENTION}, False),
    ],
)
def test_the_jobs_that_are_due_are_those_that_the_reaper_announces(
    fields: dict[str, Any], is_due: bool
) -> None:
    job(scene(), **fields, created_at=timezone.now() - LATER)
    assert bool(reaper.due()) is is_due
    record = standstill.work_record()
    assert (record.due == 1, record.oldest_due_at is not None) == (is_due, is_due)
    assert record.has_hosts


@pytest.mark.django_db
def test_jobs_are_due_by_the_queue_of_their_hosts_site(settings: LazySettings) -> None:
    settings.TIERCEL_DEDICATED_SITES = ["fra"]
    made = scene()
    job(made)
    assert [each.queue for each in standstill.work_record().due_jobs] == ["jobs"]
    Host.objects.update(site="fra")
    assert [(each.queue, each.total) for each in standstill.work_record().due_jobs] == [
        ("jobs.fra", 1)
    ]


def hour(hours: int) -> Any:
    return (timezone.now() + timedelta(hours=hours)).time()


@pytest.mark.django_db
def test_a_hold_keeps_jobs_from_being_due() -> None:
    made = scene()
    job(made)
    hosts = Host.objects.filter(pk=made.host.pk)
    assert standstill.work_record().due == 1
    holds.begin_maintenance(made.host, "disks", timezone.now() + LATER)
    assert standstill.work_record().due == 0
    holds.end_maintenance(made.host)
    assert standstill.work_record().due == 1
    hosts.update(window_start=hour(2), window_end=hour(3))
    assert standstill.work_record().due == 0
    hosts.update(window_start=hour(-1), window_end=hour(1))
    assert standstill.work_record().due == 1
    holds.stop_all(None, "")
    assert standstill.work_record().due == 0


@pytest.mark.django_db
def test_a_job_is_due_since_it_last_changed() -> None:
    waiting = job(scene(), updated_at=timezone.now() - LATER)
    oldest = standstill.work_record().oldest_due_at
    assert oldest is not None and timezone.now() - oldest >= LATER
    Job.objects.filter(pk=waiting.pk).update(explanation="confirmed")
    oldest = standstill.work_record().oldest_due_at
    assert oldest is not None and timezone.now() - oldest < LATER


def sign(**fields: Any) -> LifeSign:
    given = {"kind": "worker", "node": "worker@here", "process": "p:1:2", "slot": 0}
    return LifeSign.objects.create(**{**given, "seen_at": Now(), **fields})


@pytest.mark.django_db
def test_a_lease_of_another_process_is_no_sign_of_this_one() -> None:
    leased = job(
        scene(),
        state=State.RUNNING,
        lease_owner="p:1:2:random",
        lease_until=timezone.now() + LATER,
    )
    sign(doing=leased.key, busy_since=timezone.now() - LATER)
    [one] = standstill.work_record().slots
    assert one.is_leased and one.leased_until is not None
    Job.objects.filter(pk=leased.pk).update(lease_owner="p:1:3:random")
    [one] = standstill.work_record().slots
    assert not one.is_leased and one.leased_until is not None


@pytest.mark.django_db
def test_a_long_job_that_has_just_begun_to_wait_leaves_no_slot_hanging() -> None:
    waiting = job(scene(), state=State.WAITING, updated_at=timezone.now() - LATER)
    sign(doing=waiting.key, busy_since=timezone.now() - LATER)
    sign(slot=1)
    assert "slot_stuck" in {each.code for each in standstill.standstills_now()}
    Job.objects.filter(pk=waiting.pk).update(explanation="The host did not answer within 30 s.")
    assert standstill.standstills_now() == ()


@pytest.mark.django_db
def test_what_was_stopped_is_not_missed() -> None:
    sign(seen_at=timezone.now() - LATER, is_stopped=True)
    assert standstill.standstills_now() == ()
    sign(slot=1, seen_at=timezone.now() - LATER)
    assert [each.code for each in standstill.standstills_now()] == ["worker_silent"]


@pytest.mark.django_db
def test_housekeeping_without_a_sign_is_missed_while_workers_give_theirs() -> None:
    sign()
    sign(slot=1, kind="housekeeping", seen_at=timezone.now() - LATER)
    [found] = standstill.standstills_now()
    assert found.code == "housekeeping_silent"
    assert "No alert, mail or order is handled" in found.message


@pytest.mark.django_db
def test_all_jobs_count_for_every_person() -> None:
    job(scene())
    with row_security.scope(row_security.NO_ROWS):
        assert standstill.work_record().due == 1
