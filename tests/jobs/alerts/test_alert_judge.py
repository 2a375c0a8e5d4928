"""Rounds of alerts on a real database: what is stored, and what a round that dies leaves."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from jobs import failpoints
from jobs.alerts import alert_actions, alert_judge
from jobs.alerts.alert_rules import SeenProblem
from jobs.models import Alert, AlertEvent, AlertRound, Silence, State
from storage.database_clock import database_now
from storage.health import smart_records
from storage.health.smart_records import record_smart
from storage.models import Host, HostActivity, HostOutline, PhysicalDisk
from tests import make
from tests.jobs.alerts import rounds
from tests.jobs.alerts.rounds import World
from tests.scene import Scene, end, job, scene
from tests.smart_disks import ata
from tests.storage.health.test_smart_records import disk, reply

pytestmark = pytest.mark.django_db
AT = timezone.now()


class Clock:
    """Rounds of a time that passes at once."""

    def __init__(self) -> None:
        self.now = database_now()

    def passes(self, every_seconds: int = 20, **span: float) -> list[str]:
        """What people are notified of meanwhile. Hosts go on answering. Where nothing is to
        happen, fewer rounds than production has show that too."""
        last = AlertEvent.objects.order_by("-id").values_list("id", flat=True).first() or 0
        end = self.now + timedelta(**span)
        while self.now < end:
            Host.objects.filter(error={}, last_seen_at__isnull=False).update(
                last_seen_at=self.now, facts_at=self.now
            )
            HostActivity.objects.update(at=self.now)
            alert_judge.judge(self.now)
            self.now += timedelta(seconds=every_seconds)
        notified = AlertEvent.objects.filter(id__gt=last, is_notified=True).order_by("id")
        return list(notified.values_list("kind", flat=True))


@pytest.fixture
def clock() -> Clock:
    return Clock()


def finding(code: str, severity: str = "error", **fields: Any) -> dict[str, Any]:
    moment = {"since": AT.isoformat()}
    return {"code": code, "severity": severity, "message": "m", "correction": "c"} | moment | fields


def array(subject: str = "md0") -> dict[str, Any]:
    return finding("array_degraded", subject=subject, message="md0 (raid1) is missing 1 disk.")


def show(there: Scene, *findings: dict[str, Any]) -> None:
    """What the host has, which answers and is sampled."""
    HostActivity.objects.get_or_create(host=there.host, defaults={"at": timezone.now()})
    HostOutline.objects.update_or_create(host=there.host, defaults={"findings": list(findings)})


def test_a_problem_becomes_one_alert_with_its_words(clock: Clock) -> None:
    there = scene()
    show(there, array())
    assert clock.passes(minutes=5) == ["opened"]
    alert = Alert.objects.get()
    assert (alert.code, alert.rank, alert.host, alert.subject) == (
        "array_degraded",
        0,
        there.host,
        "md0",
    )
    assert alert.message == "md0 (raid1) is missing 1 disk."
    assert alert.since == AT
    assert AlertRound.objects.get().at > alert.opened_at
    show(there)
    assert clock.passes(minutes=5) == ["resolved"]
    alert.refresh_from_db()
    assert alert.resolved_at is not None
    assert clock.passes(minutes=5) == []


def test_a_round_without_news_writes_no_alert(clock: Clock) -> None:
    there = scene()
    show(there, array())
    clock.passes(minutes=2)
    before = Alert.objects.values().get()
    with connection.cursor() as cursor:
        cursor.execute("SELECT xmin::text FROM jobs_alert")
        version = cursor.fetchone()
    clock.passes(minutes=2)
    with connection.cursor() as cursor:
        cursor.execute("SELECT xmin::text FROM jobs_alert")
        assert cursor.fetchone() == version
    assert Alert.objects.values().get() == before


def test_the_volumes_of_a_group_carry_its_cause(clock: Clock) -> None:
    there = scene()
    volume = finding("ssd_lost", subject="vg0/web", volume=there.volume.key)
    show(there, finding("pv_missing", subject="vg0"), volume)
    assert clock.passes(minutes=5) == ["opened"]
    cause, effect = Alert.objects.get(code="pv_missing"), Alert.objects.get(code="ssd_lost")
    assert effect.cause == cause
    assert effect.volume == there.volume
    assert effect.notified_at is None
    show(there)
    assert clock.passes(minutes=10) == ["resolved"]
    assert not Alert.objects.open().exists()


def test_each_failing_disk_behind_a_raid_controller_is_reported(clock: Clock) -> None:
    there = scene()
    show(there)

    def read(*passed: bool) -> None:
        disks = [
            disk(ata("ST8000NM000A", f"H{n}", [], passed=well), "", kind=f"megaraid,{n}")
            for n, well in enumerate(passed, start=3)
        ]
        record_smart(
            there.host, reply(*({**each, "device": "/dev/bus/0"} for each in disks)), "b", AT
        )

    read(False, True)
    assert clock.passes(minutes=5) == ["opened"]
    read(False, False)
    assert clock.passes(minutes=5) == ["opened"]
    subjects = Alert.objects.open().order_by("subject").values_list("subject", flat=True)
    assert list(subjects) == ["/dev/bus/0 megaraid,3", "/dev/bus/0 megaraid,4"]


def test_a_second_volume_in_writeback_on_one_ssd_notifies_too(clock: Clock) -> None:
    there = scene()
    show(there)

    def reports(*names: str) -> list[str]:
        findings = [finding("writeback_single_ssd", "warning", subject=name) for name in names]
        Host.objects.filter(pk=there.host.pk).update(problems=findings)
        return clock.passes(minutes=5)

    assert reports("vg0/a") == ["opened"]
    assert reports("vg0/a", "vg0/b") == ["opened"]


def test_an_alert_goes_on_when_an_upgraded_agent_names_what_has_the_trouble(clock: Clock) -> None:
    there = scene()
    show(there)

    def reports(*names: str) -> list[str]:
        findings = [finding("writeback_single_ssd", subject=name) for name in names]
        Host.objects.filter(pk=there.host.pk).update(problems=findings)
        return clock.passes(minutes=5)

    assert reports("") == ["opened"]
    Alert.objects.update(acknowledged_at=clock.now)
    assert reports("vg0/a") == []
    alert = Alert.objects.get()
    assert (alert.subject, alert.acknowledged_at is None) == ("vg0/a", False)
    assert sorted(reports("vg0/b")) == ["opened", "resolved"]


def test_an_alert_of_a_disk_goes_on_when_an_upgrade_tells_it_by_its_serial(clock: Clock) -> None:
    there = scene()
    show(there)
    record_smart(there.host, reply(disk(ata("ST8000NM000A", "H1", [], passed=False))), "b", AT)
    assert clock.passes(minutes=5) == ["opened"]
    Alert.objects.update(fingerprint="of the release before")
    assert clock.passes(minutes=5) == []
    assert Alert.objects.get().resolved_at is None


def test_a_failing_disk_that_drops_off_is_reported_until_a_person_accepts_it(clock: Clock) -> None:
    there, hours = scene(), iter(range(9))
    show(there)
    failing = disk(ata("ST8000NM000A", "H1", [], passed=False))
    stays = disk(ata("ST8000NM000A", "H2", []), "sdb")

    def read(*listed: dict[str, Any]) -> None:
        record_smart(there.host, reply(*listed), "b", AT + timedelta(hours=next(hours)))

    read(failing, stays)
    assert clock.passes(minutes=5) == ["opened"]
    read(stays)
    assert clock.passes(minutes=5) == ["opened"]
    # A restart gives its name to the other disk.
    read({**stays, "name": "sda"})
    assert clock.passes(minutes=5) == []
    subjects = Alert.objects.open().order_by("code").values_list("code", "subject")
    assert list(subjects) == [("disk_failing", "sda H1"), ("disk_vanished", "sda H1")]
    gone = PhysicalDisk.objects.get(identity="ST8000NM000A H1")
    smart_records.accept_errors(gone, "ada", "replaced", AT + timedelta(hours=9))
    assert clock.passes(minutes=5) == ["resolved", "resolved"]


def test_disks_that_one_controller_takes_along_are_one_alert(clock: Clock) -> None:
    there = scene()
    show(there)
    stays, *lost = (disk(ata("ST8000NM000A", f"H{n}", []), f"sd{n}") for n in range(5))
    record_smart(there.host, reply(stays, *lost), "b", AT)
    record_smart(there.host, reply(stays), "b", AT + timedelta(hours=1))
    assert clock.passes(minutes=5) == ["opened"]
    assert Alert.objects.open().count() == 4


def test_disks_of_one_host_that_go_one_after_the_other_are_alerts_of_their_own(
    clock: Clock,
) -> None:
    there = scene()
    show(there)
    stays, *lost = (disk(ata("ST8000NM000A", f"H{n}", []), f"sd{n}") for n in range(3))
    record_smart(there.host, reply(stays, *lost), "b", AT)
    for minutes, left in ((60, lost[1:]), (65, [])):
        record_smart(there.host, reply(stays, *left), "b", AT + timedelta(minutes=minutes))
        assert clock.passes(minutes=5) == ["opened"]


def test_a_disk_that_its_array_lacks_comes_with_the_arrays_alert_at_the_next_reading() -> None:
    world = World()
    world.begin(rounds.problem("array_degraded", subject="md0", since=world.now))
    assert world.passes(minutes=10) == ["opened"]
    world.passes(minutes=40)
    first = rounds.problem("disk_vanished", subject="sda H1", rank=0, since=world.now)
    world.begin(first)
    assert "opened" not in world.passes(minutes=20)
    world.passes(hours=72)
    world.begin(rounds.problem("disk_vanished", subject="sdb H2", rank=0, since=world.now))
    assert world.passes(minutes=5) == ["opened"]


@pytest.mark.parametrize("minutes", [0, 20])
def test_a_second_disk_lost_within_the_hour_of_a_degraded_array_notifies(minutes: int) -> None:
    """The array's alert stands for the one that it lacks."""
    world = World()
    world.begin(rounds.problem("array_degraded", subject="md0", since=world.now))
    assert world.passes(minutes=10) == ["opened"]
    world.begin(rounds.problem("disk_vanished", subject="sda H1", rank=0, since=world.now))
    kinds = world.passes(minutes=minutes)
    world.begin(rounds.problem("disk_vanished", subject="sdb H2", rank=0, since=world.now))
    kinds += world.passes(minutes=20)
    assert kinds.count("opened") == 1


def test_a_host_that_does_not_answer_keeps_its_alerts(clock: Clock) -> None:
    there = scene()
    show(there, array())
    assert clock.passes(minutes=2) == ["opened"]
    error = {"code": "unreachable", "message": "No route.", "correction": "Look."}
    Host.objects.update(error=error)
    show(there)
    assert clock.passes(minutes=10) == ["opened"]
    assert Alert.objects.get(code="array_degraded").resolved_at is None
    Host.objects.update(error={})
    assert clock.passes(minutes=10) == ["resolved", "resolved"]


def test_a_failed_job_notifies_at_once_and_is_over_with_the_next_one(clock: Clock) -> None:
    there = scene()
    failed = job(there)
    end(failed, State.FAILED, error={"code": "cmd_failed", "message": "m", "correction": "c"})
    assert clock.passes(seconds=20) == ["opened"]
    assert Alert.objects.get().job == failed
    job(there)
    assert clock.passes(seconds=40) == ["resolved"]


def test_maintenance_of_the_host_mutes_it_until_its_end(clock: Clock) -> None:
    there = scene()
    until = clock.now + timedelta(hours=1)
    Host.objects.update(maintenance_since=clock.now, maintenance_until=until)
    show(there, array())
    assert clock.passes(every_seconds=300, minutes=55) == []
    assert Alert.objects.get().muted_by == "maintenance"
    assert clock.passes(minutes=10) == ["remains"]


def test_a_silence_of_a_volume_mutes_its_own_problems_alone(clock: Clock) -> None:
    one, other = scene(), scene()
    until = clock.now + timedelta(hours=1)
    alert_actions.silence(volume=one.volume, reason="Known.", until=until, author=make.staff_user())
    for there in (one, other):
        show(there, finding("volume_inactive", subject="vg0/web", volume=there.volume.key))
    assert clock.passes(minutes=10) == ["opened"]
    assert Alert.objects.get(muted_by="silence").volume == one.volume
    assert alert_actions.end_silence(Silence.objects.get(), make.staff_user())
    Silence.objects.update(until=clock.now)
    assert clock.passes(minutes=1) == ["remains"]


def test_who_acknowledges_is_named_and_no_one_is_notified_again(clock: Clock) -> None:
    there, anna = scene(), make.staff_user("anna@example.org")
    show(there, array())
    clock.passes(minutes=1)
    assert alert_actions.acknowledge(Alert.objects.get(), anna, "The disk is ordered.", None)
    assert clock.passes(every_seconds=300, hours=2) == []
    alert = Alert.objects.get()
    assert (alert.acknowledged_by, alert.acknowledged_reason) == (anna, "The disk is ordered.")
    event = AlertEvent.objects.get(kind="acknowledged")
    assert (event.actor, event.is_notified) == (anna, False)
    show(there)
    assert clock.passes(minutes=5) == ["resolved"]
    assert not alert_actions.acknowledge(alert, anna, "Too late.", None)


def test_an_acknowledgement_that_is_taken_back_waits_again(clock: Clock) -> None:
    there, anna = scene(), make.staff_user()
    show(there, array())
    clock.passes(minutes=1)
    alert = Alert.objects.get()
    alert_actions.acknowledge(alert, anna, "Mine.", None)
    assert alert_actions.unacknowledge(alert, anna)
    assert not alert_actions.unacknowledge(alert, anna)
    assert Alert.objects.waiting().count() == 1


def test_three_openings_in_a_day_flap_and_send_six_messages_at_most(clock: Clock) -> None:
    there = scene()
    kinds = []
    for calm in (4, 4, 32, 4):
        show(there, array())
        kinds += clock.passes(minutes=4)
        show(there)
        kinds += clock.passes(minutes=calm)
    assert kinds == ["opened", "resolved", "opened", "flapping", "resolved", "flapping"]
    assert clock.passes(every_seconds=60, minutes=40) == []
    assert Alert.objects.open().get().is_flapping


class Killed(BaseException):
    pass


@pytest.mark.parametrize("point", ["judge.before", "judge.commit", "judge.after"])
def test_a_round_that_dies_doubles_and_loses_nothing(
    clock: Clock, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = scene()
    show(there, array())

    def die(name: str) -> None:
        if name == point:
            raise Killed

    with monkeypatch.context() as dying, pytest.raises(Killed):
        dying.setattr(failpoints, "hook", die)
        alert_judge.judge(clock.now)
    clock.passes(minutes=3)
    assert list(AlertEvent.objects.values_list("kind", flat=True)) == ["opened"]
    assert Alert.objects.count() == 1


def test_what_a_host_invents_is_no_more_than_text(clock: Clock) -> None:
    there = scene()
    problems = [
        {"code": "x" * 900, "severity": "error", "message": "<b>\u202e" * 500, "correction": ""},
        {"code": "", "severity": "error", "message": "disk 1 is odd", "correction": ""},
        {"code": "", "severity": "error", "message": "disk 2 is odd", "correction": ""},
    ]
    Host.objects.filter(pk=there.host.pk).update(problems=problems)
    assert clock.passes(minutes=3) == ["opened", "opened"]
    assert sorted(Alert.objects.values_list("count", flat=True)) == [1, 2]


def test_a_stored_alert_is_read_back_as_it_was(clock: Clock) -> None:
    there = scene()
    show(there, finding("ssd_lost", subject="vg0/web", volume=there.volume.key))
    clock.passes(minutes=1)
    state = alert_judge.alert_state_of(Alert.objects.select_related("volume", "job", "cause").get())
    assert isinstance(state.seen, SeenProblem)
    assert state.seen.volume_key == there.volume.key
    assert isinstance(state.first_seen_at, datetime)


def test_another_kernel_does_not_follow_from_the_silence_before_it() -> None:
    world = World()
    world.begin(rounds.problem("silent"), rounds.problem("kernel_changed"))
    assert world.passes(minutes=5) == ["opened", "opened"]
