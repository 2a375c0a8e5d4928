"""Checks of disks and arrays: asked for, begun on the host, followed to their result."""

from __future__ import annotations

import dataclasses
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from jobs import collector, tasks
from jobs.engine import media_checks
from jobs.engine.holds import begin_maintenance, end_maintenance
from jobs.hosts import panel_identity, refresh
from jobs.models import CheckKind, CheckState, MediaCheck
from jobs.models.media_check import follow_arrays
from jobs.requester import Requester
from storage.agent.state import owner
from storage.database_clock import database_now
from storage.models import DiskRound, Host, PhysicalDisk
from storage.planner import Refused
from storage.stored_inventory import inventory_of
from tests.fake.fixtures import fake_host, fake_server, make_fake_host
from tests.fake.host import FakeHost
from tests.fake.server import FakeServer
from tests.jobs.test_collector import fake_record
from tests.smart_disks import ata

__all__ = ["fake_host", "fake_server", "make_fake_host"]
pytestmark = pytest.mark.django_db(transaction=True)
NO_PERSON = Requester(None, None)
OLD = timedelta(minutes=10)


@pytest.fixture
def there(fake_server: FakeServer, fake_host: FakeHost) -> Host:
    """sdc says how it is, and was read."""
    with fake_host.changing() as machine:
        machine.disks[2].smart = ata("HDD", "H1", [], rotation_rpm=7200, hours=1000)
    host = fake_record(fake_server)
    collector.collect_disks(0)
    return host


def asked(host: Host, kind: CheckKind = CheckKind.SHORT) -> MediaCheck:
    disk = PhysicalDisk.objects.select_related("host").get(host=host, name="sdc")
    return media_checks.test_disk(disk, kind, NO_PERSON)


def begin(check: MediaCheck) -> MediaCheck:
    tasks.begin_check(check.pk)
    check.refresh_from_db()
    return check


def later(check: MediaCheck) -> None:
    """As if the check had begun ten minutes ago, and the disks were due again."""
    MediaCheck.objects.filter(pk=check.pk).update(started_at=database_now() - OLD)
    collector.collect_disks(0)
    check.refresh_from_db()


def ends(fake_host: FakeHost, *, passed: bool | None, result: str, hours: int = 1001) -> None:
    status: dict[str, Any] = {"value": 0, "string": result}
    if passed is not None:
        status["passed"] = passed
    row = {"type": {"string": "Short offline"}, "status": status, "lifetime_hours": hours}
    log = {"ata_smart_self_test_log": {"extended": {"table": [row]}}}
    with fake_host.changing() as machine:
        machine.disks[2].smart = ata("HDD", "H1", [], rotation_rpm=7200, **log)


@pytest.mark.parametrize(
    ("passed", "result", "state"),
    [
        (True, "Completed without error", CheckState.PASSED),
        (False, "Completed: read failure", CheckState.FAILED),
        (None, "Aborted by host", CheckState.STOPPED),
    ],
)
def test_a_self_test_is_followed_from_its_beginning_to_its_result(
    there: Host, fake_host: FakeHost, passed: bool | None, result: str, state: CheckState
) -> None:
    check = begin(asked(there))
    assert check.state == CheckState.RUNNING and check.started_at is not None
    later(check)
    assert (check.state, check.remaining_percent) == (CheckState.RUNNING, 90)
    ends(fake_host, passed=passed, result=result)
    later(check)
    assert (check.state, check.message, check.remaining_percent) == (state, result, None)
    assert check.ended_at is not None
    assert collector.collect_disks(0) == 0, "the disks are read seldom again"


def test_an_older_result_is_not_taken_for_that_of_the_test(
    there: Host, fake_host: FakeHost
) -> None:
    check = begin(asked(there))
    ends(fake_host, passed=True, result="Completed without error", hours=900)
    later(check)
    assert check.state == CheckState.RUNNING
    MediaCheck.objects.update(started_at=database_now() - timedelta(days=3))
    collector.collect_disks(0)
    check.refresh_from_db()
    assert check.state == CheckState.STOPPED and "no result" in check.message


def test_what_the_host_refuses_is_said_with_what_to_do(there: Host, fake_host: FakeHost) -> None:
    with fake_host.changing() as machine:
        machine.disks[2].sleeps = True
    check = begin(asked(there))
    assert (check.state, check.message) == (
        CheckState.REFUSED, "/dev/sdc is asleep, and a test would wake it.",
    )  # fmt: skip
    assert check.correction


def test_a_disk_known_to_sleep_is_refused_at_once(there: Host) -> None:
    PhysicalDisk.objects.filter(name="sdc").update(state="standby")
    with pytest.raises(Refused, match="asleep"):
        asked(there)


def test_one_check_of_a_disk_at_a_time(there: Host) -> None:
    asked(there)
    with pytest.raises(Refused, match="not ended yet"):
        asked(there, CheckKind.LONG)


def test_maintenance_holds_a_check_back_until_it_ends(there: Host, fake_host: FakeHost) -> None:
    begin_maintenance(there, "fans", timezone.now() + timedelta(hours=1))
    check = begin(asked(there))
    assert (check.state, "maintenance" in check.message) == (CheckState.ASKED, True)
    end_maintenance(there)
    MediaCheck.objects.update(not_before=database_now() - OLD)
    assert begin(check).state == CheckState.RUNNING


def test_a_check_whose_answer_was_lost_is_not_begun_twice(there: Host) -> None:
    check = begin(asked(there))
    MediaCheck.objects.update(state=CheckState.ASKED, not_before=database_now() - OLD)
    assert begin(check).state == CheckState.RUNNING


def test_a_host_that_does_not_answer_for_hours_has_refused(
    there: Host, fake_server: FakeServer
) -> None:
    check = asked(there)
    Host.objects.update(port=1)
    begin(check)
    assert check.state == CheckState.ASKED and check.message
    long_ago = database_now() - timedelta(hours=13)
    MediaCheck.objects.update(created_at=long_ago, not_before=long_ago)
    assert begin(check).state == CheckState.REFUSED


def test_a_lost_message_is_sent_again(there: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[str, int]] = []
    check = asked(there)
    monkeypatch.setattr(
        media_checks.notify_workers, "send", lambda task, pk: sent.append((task, pk))
    )
    media_checks.announce_due()
    assert sent == [], "the first message is still on its way"
    MediaCheck.objects.update(created_at=database_now() - OLD)
    media_checks.announce_due()
    assert sent == [("jobs.tasks.begin_check", check.pk)]


@pytest.mark.parametrize(("mismatch", "state"), [(0, CheckState.PASSED), (128, CheckState.FAILED)])
def test_a_check_of_an_array_is_followed_by_inventories(
    there: Host, fake_host: FakeHost, mismatch: int, state: CheckState
) -> None:
    check = begin(array_check(there))
    assert check.state == CheckState.RUNNING
    with fake_host.changing() as machine:
        machine.arrays[0].sync_completed = "3000 / 4000"
    refresh.refresh(there)
    check.refresh_from_db()
    assert (check.state, check.remaining_percent) == (CheckState.RUNNING, 25)
    MediaCheck.objects.update(started_at=database_now() - OLD)
    with fake_host.changing() as machine:
        array = machine.arrays[0]
        array.sync_action, array.sync_completed = "idle", "none"
        array.mismatch_sectors = mismatch
    refresh.refresh(there)
    check.refresh_from_db()
    assert check.state == state
    assert check.message == ("The copies differ in 128 sectors." if mismatch else "")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"sync_action": "recover"}, "The array went over to other work: recover."),
        ({"degraded_count": 1}, "The array lost a disk meanwhile."),
        ({"mismatch_sectors": None}, "The host does not say what the check found."),
        ({"sync_min_sectors": None}, "The host does not say whether the check came to its end."),
        ({"sync_min_sectors": 1000}, "It was interrupted: not all of the array was compared."),
    ],
)
def test_a_check_of_an_array_that_came_to_no_end_has_not_passed(
    there: Host, changed: dict[str, Any], message: str
) -> None:
    check = begin(array_check(there))
    facts = inventory_of(there)
    assert facts is not None
    ended = {"sync_action": "idle", "mismatch_sectors": 0, "sync_min_sectors": 0, **changed}
    arrays = (dataclasses.replace(facts.arrays[0], **ended), *facts.arrays[1:])
    follow_arrays(there, dataclasses.replace(facts, arrays=arrays), database_now() + OLD)
    check.refresh_from_db()
    assert (check.state, check.message) == (CheckState.STOPPED, message)


def test_a_difference_that_an_interrupted_check_found_is_a_difference(there: Host) -> None:
    check = begin(array_check(there))
    facts = inventory_of(there)
    assert facts is not None
    array = dataclasses.replace(facts.arrays[0], mismatch_sectors=8, sync_min_sectors=1000)
    array = dataclasses.replace(array, sync_action="idle")
    follow_arrays(there, dataclasses.replace(facts, arrays=(array,)), database_now() + OLD)
    check.refresh_from_db()
    assert check.state == CheckState.FAILED
    assert check.message.startswith("The copies differ in 8 sectors. It was interrupted")


def test_a_check_that_a_person_interrupts_has_not_passed(there: Host, fake_host: FakeHost) -> None:
    check = begin(array_check(there))
    MediaCheck.objects.update(started_at=database_now() - OLD)
    with fake_host.changing() as machine:
        array = machine.arrays[0]
        sectors = array.size_bytes // 512
        array.sync_completed = f"{sectors // 2} / {sectors}"
        array.interrupt()
    refresh.refresh(there)
    check.refresh_from_db()
    assert check.state == CheckState.STOPPED
    assert "interrupted" in check.message and check.correction
    again = begin(array_check(there))
    assert again.state == CheckState.RUNNING
    assert fake_host.machine.arrays[0].sync_min == 0, "the next one compares all"


def test_a_host_of_another_panel_begins_no_check(there: Host, fake_host: FakeHost) -> None:
    refresh.refresh(there)
    there.refresh_from_db()
    owner.adopt_host(fake_host, str(uuid.uuid4()))
    for check in (begin(asked(there)), begin(array_check(there))):
        assert check.state == CheckState.REFUSED
        assert "manages this host" in check.message
    owner.adopt_host(fake_host, str(panel_identity.this().panel))
    for check in (begin(asked(there)), begin(array_check(there))):
        assert check.state == CheckState.RUNNING, check.message


def array_check(host: Host) -> MediaCheck:
    refresh.refresh(host)
    host.refresh_from_db()
    facts = inventory_of(host)
    assert facts is not None
    return media_checks.check_array(host, facts.arrays[0], NO_PERSON)


def test_an_array_that_is_not_whole_is_not_checked(there: Host, fake_host: FakeHost) -> None:
    with fake_host.changing() as machine:
        machine.arrays[0].failed.add("sdb")
    with pytest.raises(Refused, match=r"sdb .* has failed in md0"):
        array_check(there)


def test_the_disks_of_a_host_with_a_test_are_read_in_every_round(there: Host) -> None:
    assert collector.collect_disks(0) == 0
    begin(asked(there))
    before = DiskRound.objects.get().tried_at
    assert collector.collect_disks(0) == 1
    assert DiskRound.objects.get().tried_at > before
