"""The one list of what is wrong: what is on it, what is not, and how it is counted."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from jobs.models import State
from jobs.problems import Problem, ProblemTally, grouped, problems_of, tallies, total
from storage.health.smart_records import record_failure, record_smart
from storage.models import DiskRound, Host, HostChange, HostOutline, Placement
from storage.problems.all_kinds import KINDS
from tests import make
from tests.scene import Scene, end, job, scene
from tests.smart_disks import ata, attribute
from tests.storage.health.test_smart_records import disk, reply

pytestmark = pytest.mark.django_db
NOW = timezone.now
LONG_AGO = timedelta(hours=2)


def host(**fields: Any) -> Host:
    return make.host(**{"last_seen_at": NOW(), **fields})


def problems(of: Host) -> tuple[Problem, ...]:
    return problems_of([of.pk], NOW())[of.pk]


def codes(of: Host) -> list[str]:
    return [problem.code for problem in problems(of)]


def report(code: str, severity: str = "error", **fields: Any) -> dict[str, Any]:
    return {"code": code, "severity": severity, "message": "m", "correction": "c", **fields}


def found(there: Scene, *findings: dict[str, Any]) -> None:
    HostOutline.objects.create(host=there.host, findings=list(findings))


def test_a_host_that_answers_and_reports_nothing_has_no_problem() -> None:
    well = host(problems=[report("hint", "info")])
    HostOutline.objects.create(host=well)
    make.placement(make.volume(), well)
    make.activity(well)
    assert codes(well) == []
    assert tallies(NOW()) == {}


def test_a_host_without_answers_for_some_rounds_is_silent() -> None:
    (problem,) = problems(host(last_seen_at=NOW() - LONG_AGO))
    assert (problem.code, problem.severity, problem.rank) == ("silent", "error", 1)
    assert problem.message == "Silent for 2 h."
    (problem,) = problems(host(last_seen_at=None))
    assert problem.message == "Silent since it was accepted."


def test_a_failed_contact_is_one_problem_and_silence_no_second() -> None:
    error = {"code": "no_answer", "message": "No answer.", "correction": "Wait."}
    (problem,) = problems(host(error=error, last_seen_at=NOW() - LONG_AGO))
    assert (problem.code, problem.message, problem.correction) == (
        "no_answer",
        "No answer.",
        "Wait.",
    )


@pytest.mark.parametrize("code", ["twins", "machine_changed", "host_key_changed"])
def test_a_host_to_which_nothing_is_sent_is_one_problem(code: str) -> None:
    error = {"code": code, "message": "It is another machine", "correction": "Look."}
    (problem,) = problems(host(state="quarantined", error=error))
    assert problem.code == ("quarantined" if code == "host_key_changed" else code)
    assert "Nothing is sent" in problem.message


def test_a_new_host_waits_for_its_fingerprint() -> None:
    (problem,) = problems(host(state="unverified", host_key=""))
    assert (problem.code, problem.severity) == ("unverified", "warning")


def test_a_host_without_samples_is_one_once_it_has_had_volumes_for_some_rounds() -> None:
    there = host()
    make.placement(make.volume(), there, lv_uuid=None)
    assert codes(there) == []
    make.placement(make.volume(), there)
    assert codes(there) == []
    Placement.objects.update(since=NOW() - LONG_AGO)
    (problem,) = problems(there)
    assert problem.message == "The host answers, but has sent no samples for 2 h."
    make.activity(there, at=NOW() - timedelta(hours=1))
    assert "for 1 h" in problems(there)[0].message
    there.activity.delete()
    make.activity(there)
    assert codes(there) == []


def test_a_host_that_answers_and_whose_inventory_stays_unread_has_a_problem() -> None:
    assert codes(host(facts_at=NOW() - timedelta(minutes=9))) == []
    (problem,) = problems(host(facts_at=NOW() - timedelta(minutes=11)))
    assert (problem.code, problem.severity) == ("inventory_unread", "warning")
    assert problem.message == (
        "Samples arrive, but no inventory has been read for 11 min: no answer so far."
    )
    why = {"message": "web12: LVM did not answer within 10 s."}
    (problem,) = problems(host(facts_at=NOW() - timedelta(minutes=11), refresh_error=why))
    assert problem.message.endswith("for 11 min: web12: LVM did not answer within 10 s.")
    assert codes(host(facts_at=NOW() - LONG_AGO, last_seen_at=NOW() - LONG_AGO)) == ["silent"]


def test_a_change_of_which_no_inventory_tells_is_an_error() -> None:
    def changed(ago: timedelta) -> Host:
        return host(facts_at=NOW() - timedelta(minutes=4), parts_changed_at=NOW() - ago)

    assert codes(changed(timedelta(seconds=50))) == []
    assert codes(changed(timedelta(minutes=5))) == [], "it was read since"
    (problem,) = problems(changed(timedelta(minutes=3)))
    assert (problem.code, problem.severity) == ("change_unread", "error")
    assert problem.message.startswith("Parts of the host changed 3 min ago, and no inventory")


def test_of_a_host_that_does_not_answer_no_samples_are_missed() -> None:
    there = host(last_seen_at=NOW() - LONG_AGO)
    make.placement(make.volume(), there)
    Placement.objects.update(since=NOW() - LONG_AGO)
    assert codes(there) == ["silent"]


def test_what_agent_and_inventory_both_tell_is_counted_once() -> None:
    there = scene(host={"problems": [report("volume_inactive"), report("no_boot_unit", "warning")]})
    assert codes(there.host) == ["volume_inactive", "no_boot_unit"]
    found(there, report("volume_inactive", subject="vg0/web", volume=there.volume.key, since=""))
    assert codes(there.host) == ["volume_inactive", "no_boot_unit"]
    problem = problems(there.host)[0]
    assert (problem.volume_key, problem.subject_label) == (there.volume.key, "web12 disk")
    assert problem.subject == "vg0/web"


def test_what_an_agent_tells_of_several_things_is_a_problem_of_each() -> None:
    each = [report("writeback_single_ssd", "warning", subject=name) for name in ("vg0/a", "vg0/b")]
    there = host(problems=[*each, report("writeback_single_ssd", "warning", message="older agent")])
    assert [problem.subject for problem in problems(there)] == ["vg0/a", "vg0/b", ""]


@pytest.mark.parametrize("code", [code for code, kind in KINDS.items() if kind.message])
def test_what_a_host_reports_is_said_in_its_own_words_whatever_it_calls_that(code: str) -> None:
    """Of these codes the panel alone knows the details."""
    there = host(problems=[report(code, message="Something else.")])
    assert [each.message for each in problems(there) if each.code == code] == ["Something else."]


def test_metadata_that_an_older_agent_judges_too_is_judged_once() -> None:
    there = scene(host={"problems": [report("vg_metadata_full", "warning")]})
    found(there, report("vg_metadata_full", "warning", subject="vg0", volume="", since=""))
    (problem,) = problems(there.host)
    assert problem.subject == "vg0"


@pytest.mark.parametrize("code", ["drift", "unfinished", "volume_inactive"])
def test_a_difference_that_a_job_is_about_to_end_is_not_counted(code: str) -> None:
    there = scene()
    found(there, report(code, "warning", subject="vg0/web", volume=there.volume.key, since=""))
    at_work = job(there)
    assert codes(there.host) == []
    end(at_work)
    assert codes(there.host) == [code]


def test_jobs_that_need_a_person_are_problems_of_their_host() -> None:
    undecided, failed = scene(), scene()
    job(undecided, state=State.NEEDS_ATTENTION, error={"message": "SSD away."})
    end(job(failed), State.FAILED, error={"code": "no_space", "message": "no room."})
    (problem,) = problems(undecided.host)
    assert problem.message == "Add cache needs a decision: SSD away."
    (problem,) = problems(failed.host)
    assert (problem.message, problem.job_error) == ("Add cache failed: no room.", "no_space")
    job(failed)
    assert codes(failed.host) == []


def test_only_failures_of_the_last_days_count() -> None:
    there = scene()
    long_ago = NOW() - timedelta(days=3)
    end(job(there), State.FAILED, error={"message": "x"}, ended_at=long_ago)
    end(job(there, dry_run=True), State.FAILED, error={"message": "x"})
    assert codes(there.host) == []


def test_a_restart_into_another_kernel_is_one_for_a_while() -> None:
    of = host()
    for minutes, kind in ((9, "kernel"), (4, "kernel"), (2, "boot")):
        HostChange.objects.create(
            host=of,
            at=NOW() - timedelta(minutes=minutes),
            kind=kind,
            before="6.1.0-40-amd64",
            after="6.1.0-47-amd64",
        )
    (problem,) = problems(of)
    assert (problem.code, problem.severity, problem.rank) == ("kernel_changed", "warning", 2)
    assert "6.1.0-47-amd64, before that 6.1.0-40-amd64" in problem.message
    HostChange.objects.filter(kind="kernel").update(at=NOW() - timedelta(minutes=6))
    assert problems(of) == ()


def test_a_host_is_slower_until_a_later_restart_is_faster_or_a_person_accepts_it() -> None:
    of = host()
    figures = {"times": [1.304, 1.2, 1.4], "hours": 30, "days": 2, "average_ms": [2.0, 2.608]}

    def restart(days_ago: int, effect: str) -> HostChange:
        at = NOW() - timedelta(days=days_ago)
        fields: dict[str, Any] = {"before": "6.1.0-40", "after": "6.1.0-47", "figures": figures}
        return HostChange.objects.create(host=of, at=at, kind="kernel", effect=effect, **fields)

    restart(9, "gain")
    loss = restart(8, "loss")
    restart(3, "")
    (problem,) = problems(of)
    assert (problem.code, problem.severity, problem.since) == ("kernel_slower", "warning", loss.at)
    assert (
        "with kernel 6.1.0-47, an I/O takes 1.30 times as long as with 6.1.0-40" in problem.message
    )
    assert "(1.20 to 1.40): 2.61 ms on average, before that 2.00 ms, in 30 hours" in problem.message
    loss.acceptance = {"by": "ada@example.org"}
    loss.save()
    assert problems(of) == ()
    again = restart(2, "loss")
    assert [each.since for each in problems(of)] == [again.at]
    restart(1, "gain")
    assert problems(of) == ()


def test_data_at_risk_comes_first_then_errors_then_warnings() -> None:
    there = host(
        problems=[
            report("no_boot_unit", "warning"),
            report("stuck"),
            report("writeback_single_ssd"),
        ]
    )
    assert codes(there) == ["writeback_single_ssd", "stuck", "no_boot_unit"]
    assert tallies(NOW())[there.pk] == ProblemTally(errors=2, warnings=1, rank=0)


def test_counting_and_listing_agree() -> None:
    there = scene(
        host={
            "problems": [report("stuck"), report("hint", "info"), report("pv_missing")],
            "last_seen_at": NOW() - LONG_AGO,
        }
    )
    found(there, report("drift", "warning", subject="vg0/web", volume=there.volume.key, since=""))
    end(job(there), State.FAILED, error={"message": "x"})
    host(state="unverified", host_key="")
    counted = tallies(NOW())
    listed = problems_of(list(Host.objects.values_list("pk", flat=True)), NOW())
    assert {pk: tally.total for pk, tally in counted.items()} == {
        pk: len(each) for pk, each in listed.items() if each
    }
    groups, _ = grouped(NOW(), (), 100, 100)
    assert sum(group.count for group in groups) == total(counted.values()).total


def test_equal_problems_are_one_group_with_the_oldest_first() -> None:
    for n in range(12):
        host(name=f"host{n:02}", last_seen_at=NOW() - LONG_AGO - timedelta(minutes=n))
    host(state="unverified", host_key="")
    groups, count = grouped(NOW(), {"silent", "unverified"}, 20, 3)
    assert [group.count for group in groups] == [12, 1]
    assert [problem.host_name for problem in groups[0].problems] == ["host11", "host10", "host09"]
    assert (groups[0].thing_count, groups[0].is_one_host, count) == (12, False, 2)


def test_only_the_worst_groups_are_read() -> None:
    host(problems=[report("b", "warning"), report("a", "warning"), report("pv_missing")])
    groups, count = grouped(NOW(), {"a", "b", "pv_missing"}, 2, 3)
    assert [group.problems[0].code for group in groups] == ["pv_missing", "a"]
    assert count == 3


def test_problems_of_unknown_codes_are_distinguished_by_their_words_but_for_numbers() -> None:
    messages = ("sda has 3 bad blocks.", "sda has 17 bad blocks.", "The fan stands still.")
    for message in messages:
        host(problems=[report("new_thing", message=message)])
    groups, _ = grouped(NOW(), (), 20, 3)
    assert sorted(group.count for group in groups) == [1, 2]


def test_jobs_are_distinguished_by_what_was_wanted_and_what_went_wrong() -> None:
    for code in ("no_space", "no_space", "busy"):
        end(job(scene()), State.FAILED, error={"code": code, "message": "x"})
    groups, _ = grouped(NOW(), {"job_failed"}, 20, 3)
    assert sorted(group.count for group in groups) == [1, 2]


def read_disk(of: Host, pending: int = 0, **more: Any) -> None:
    row = attribute(197, "Current_Pending_Sector", pending)
    document = ata("ST8000NM000A", "H1", [row], rotation_rpm=7200, **more)
    record_smart(of, reply(disk(document)), "boot", NOW())


def test_what_is_wrong_with_a_disk_is_a_problem_of_its_host_until_the_disk_is_well() -> None:
    well = host()
    read_disk(well)
    assert codes(well) == []
    read_disk(well, pending=3)
    (problem,) = problems(well)
    assert (problem.code, problem.severity, problem.rank) == ("pending_rose", "warning", 2)
    assert problem.message == "Disk sda (ST8000NM000A): 3 pending sectors."
    assert (problem.subject_label, problem.since is not None) == ("sda", True)
    assert tallies(NOW())[well.pk].warnings == 1
    read_disk(well)
    assert codes(well) == []


def test_disks_that_cannot_be_read_for_a_day_though_they_were_before_are_a_problem() -> None:
    there, never = host(), host()
    read_disk(there)
    for each in (there, never):
        record_failure(each, "smartctl cannot run.", NOW())
    assert codes(there) == codes(never) == []
    DiskRound.objects.update(complete_at=F("complete_at") - timedelta(days=1, minutes=1))
    (problem,) = problems(there)
    assert (problem.code, problem.rank, codes(never)) == ("smart_stale", 2, [])
    assert problem.message == "Not all disks of the host were read for 1 d: smartctl cannot run."
    read_disk(there)
    assert codes(there) == []


def test_a_host_without_smartctl_gets_the_command_to_type() -> None:
    there = host()
    record_smart(there, reply(installed=False), "boot", NOW())
    (problem,) = problems(there)
    assert (problem.code, problem.rank) == ("no_smartctl", 2)
    assert "apt-get install smartmontools" in problem.correction
    read_disk(there)
    assert codes(there) == []


def test_a_disk_that_says_it_is_failing_puts_data_at_risk() -> None:
    failing = host()
    read_disk(failing, passed=False)
    (problem,) = problems(failing)
    assert (problem.code, problem.severity, problem.rank) == ("disk_failing", "error", 0)


def test_disks_of_many_hosts_with_one_trouble_are_one_row() -> None:
    for _ in range(3):
        each = host()
        read_disk(each)
        read_disk(each, pending=1)
    (group,), count = grouped(NOW(), ["pending_rose"], groups=5, members=2)
    assert (count, group.count, group.thing_count) == (1, 3, 3)
