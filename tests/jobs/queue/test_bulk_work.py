"""Workers begin with the volumes of a change for many: page, person and worker may go meanwhile."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest
from django.db import OperationalError
from django.test import Client
from django.urls import reverse

from jobs import failpoints
from jobs.engine import holds, restore_check
from jobs.models import BulkChange, Job
from jobs.queue import bulk, reaper
from jobs.queue.bulk import AT_ONCE
from jobs.tasks import go_on_with_bulk_change
from panel.staff.change_log import edits
from storage.models import Volume
from storage.volumes.ownership import disown
from tests import make
from tests.jobs.bulking import begun, cached, confirmed, every, owned, shown, text_of, work_off

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def test_a_worker_does_it_whether_or_not_the_page_stays_open(
    staff: Client, django_capture_on_commit_callbacks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    announced: list[tuple[object, ...]] = []
    monkeypatch.setattr("jobs.notify_workers.send", lambda *hint: announced.append(hint))
    owned(AT_ONCE + 3)
    page = every(staff, "")
    with django_capture_on_commit_callbacks(execute=True):
        result = text_of(staff.get(begun(staff, page).url))
    change = BulkChange.objects.get()
    task = "jobs.tasks.go_on_with_bulk_change"
    assert announced == [(task, change.pk)] and f"{AT_ONCE + 3} to start" in result
    with django_capture_on_commit_callbacks(execute=True):
        go_on_with_bulk_change(change.pk)
    assert announced == [(task, change.pk)] * 2
    assert Volume.objects.exclude(customer=None).count() == 3
    with django_capture_on_commit_callbacks(execute=True):
        go_on_with_bulk_change(change.pk)
        go_on_with_bulk_change(change.pk)
    assert len(announced) == 2
    assert not Volume.objects.exclude(customer=None).exists()


def test_a_change_that_goes_on_is_found_on_the_page_of_jobs(staff: Client) -> None:
    owned(2)
    begun(staff, every(staff, ""))
    change = BulkChange.objects.get()
    address = f'href="{reverse("volumes-bulk-result", args=[change.key])}"'
    page = text_of(staff.get(reverse("jobs")))
    assert address in page and "2</span> to start" in page
    looker = Client()
    looker.force_login(make.staff_user(staff_role="read_only"))
    assert address not in text_of(looker.get(reverse("jobs")))
    work_off()
    assert "Running bulk changes" not in text_of(staff.get(reverse("jobs")))


def test_the_reaper_announces_a_change_whose_message_was_lost(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    owned(1)
    begun(staff, every(staff, ""))
    sent: list[tuple[object, ...]] = []
    monkeypatch.setattr("jobs.notify_workers.send", lambda *hint: sent.append(hint) or True)
    assert reaper.sweep() == 1
    assert sent == [("jobs.tasks.go_on_with_bulk_change", BulkChange.objects.get().pk)]
    work_off()
    assert reaper.sweep() == 0


class Killed(BaseException):
    """What no code catches."""


@pytest.mark.parametrize("point", ["bulk.before", "bulk.commit", "bulk.after"])
@pytest.mark.parametrize("passage", [1, 2])
def test_a_worker_that_is_killed_loses_no_volume_and_does_none_twice(
    staff: Client, monkeypatch: pytest.MonkeyPatch, point: str, passage: int
) -> None:
    there = [cached(f"app{n}") for n in range(3)]
    begun(staff, shown(staff, "remove-cache", *there))
    reached: list[str] = []

    def hook(name: str) -> None:
        reached.append(name)
        if name == point and reached.count(name) == passage:
            raise Killed

    monkeypatch.setattr(failpoints, "hook", hook)
    with pytest.raises(Killed):
        work_off()
    monkeypatch.setattr(failpoints, "hook", None)
    made = {"bulk.before": passage - 1, "bulk.commit": passage - 1, "bulk.after": passage}[point]
    assert Job.objects.count() == len(BulkChange.objects.get().outcomes) == made
    work_off()
    assert sorted(Job.objects.values_list("volume__label", flat=True)) == ["app0", "app1", "app2"]
    assert all(is_done for *_, is_done, _ in BulkChange.objects.get().outcomes)


def test_an_unforeseen_error_is_the_result_of_its_volume(
    staff: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    owned(3)
    begun(staff, every(staff, ""))

    def broken(volume: Volume) -> None:
        disown(volume)
        if volume.label == "app1":
            raise ZeroDivisionError("of the test")

    monkeypatch.setattr(bulk, "disown", broken)
    work_off()
    results = {label: (is_done, note) for _, label, _, is_done, note in _outcomes()}
    assert results["app1"] == (False, bulk.INTERNAL) and "ZeroDivisionError" in caplog.text
    assert results["app0"][0] and results["app2"][0]
    assert [each.label for each in Volume.objects.exclude(customer=None)] == ["app1"]


def test_while_the_database_is_away_nothing_is_noted(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    owned(1)
    begun(staff, every(staff, ""))
    with monkeypatch.context() as away:
        away.setattr(bulk, "disown", Mock(side_effect=OperationalError("gone")))
        with pytest.raises(OperationalError):
            work_off()
    assert _outcomes() == []
    work_off()
    assert _outcomes()[0][3] is True


def _outcomes() -> list[Any]:
    outcomes: list[Any] = BulkChange.objects.get().outcomes
    return outcomes


@pytest.mark.parametrize(
    "lost", [{"is_active": False}, {"staff_role": "read_only"}, {"staff_role": ""}]
)
def test_who_may_no_longer_change_volumes_changes_no_further_one(
    client: Client, monkeypatch: pytest.MonkeyPatch, lost: dict[str, object]
) -> None:
    person = make.staff_user()
    client.force_login(person)
    owned(3)
    begun(client, every(client, ""))
    monkeypatch.setattr(bulk, "AT_ONCE", 1)
    bulk.go_on(BulkChange.objects.get().pk)
    type(person).objects.filter(pk=person.pk).update(**lost)
    work_off()
    assert Volume.objects.exclude(customer=None).count() == 2
    assert [note for *_, is_done, note in _outcomes() if not is_done] == [
        f"{person} may no longer change volumes."
    ] * 2


def test_an_account_that_is_gone_changes_no_further_volume(client: Client) -> None:
    person = make.staff_user()
    client.force_login(person)
    owned(1)
    begun(client, every(client, ""))
    person.delete()
    work_off()
    assert _outcomes()[0][3:] == [False, "Who confirmed this may no longer change volumes."]


def test_while_all_jobs_are_paused_no_volume_is_begun(staff: Client) -> None:
    owned(2)
    page = begun(staff, every(staff, "")).url
    holds.stop_all(None, "a rehearsal")
    work_off()
    bulk.go_on(BulkChange.objects.get().pk)
    assert _outcomes() == [] and "starts when jobs are resumed" in text_of(staff.get(page))
    holds.resume_all()
    work_off()
    assert len(_outcomes()) == 2


def test_the_rest_is_cancelled_by_anyone_who_may_change_volumes(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    owned(3)
    page = begun(staff, every(staff, "")).url
    assert "Cancel the rest" in text_of(staff.get(page))
    monkeypatch.setattr(bulk, "AT_ONCE", 1)
    change = BulkChange.objects.get()
    bulk.go_on(change.pk)
    other, colleague = Client(), make.staff_user()
    other.force_login(colleague)
    address = reverse("volumes-bulk-cancel", args=[change.key])
    text = text_of(other.post(address, follow=True))
    assert "Cancelled for 2 volumes." in text and "3 of 3" in text
    assert f"Cancelled by {colleague} before it began." in text and "Cancel the rest" not in text
    work_off()
    assert Volume.objects.exclude(customer=None).count() == 2
    assert "had been started already" in text_of(other.post(address, follow=True))


def test_what_a_worker_changes_is_the_deed_of_who_confirmed_it(client: Client) -> None:
    person = make.staff_user()
    client.force_login(person)
    owned(1)
    begun(client, every(client, ""))
    work_off()
    (edit, *_) = edits(Volume.objects.get())
    assert edit.who == person.email


def test_a_job_of_a_change_has_its_persons_address(staff: Client) -> None:
    confirmed(staff, shown(staff, "remove-cache", cached()))
    made = Job.objects.get()
    assert made.address == "127.0.0.1" and made.actor is not None


def test_after_a_restore_no_change_goes_on_by_itself(staff: Client) -> None:
    owned(2)
    begun(staff, every(staff, ""))
    report = [line.text for line in restore_check.stop()]
    assert "2 volumes of changes for many will not be begun." in report
    holds.resume_all()
    work_off()
    assert Volume.objects.exclude(customer=None).count() == 2
    assert {note for *_, note in _outcomes()} == {restore_check.NOT_BEGUN}
    assert not any("changes for many" in line.text for line in restore_check.stop())
