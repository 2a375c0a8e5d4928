"""The list of what needs a person: what a row says, and where it leads."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.template.loader import render_to_string

from jobs.alerts.alert_rules import fingerprint_of
from jobs.problems import Problem, ProblemGroup
from panel.deliveries.alerts.problem_lists import LISTS
from panel.staff.dashboard.attention import AttentionRow, at_once, items
from panel.staff.hosts import host_list
from panel.staff.hosts.problem_rows import AlertMark, problem_rows
from panel.staff.jobs import job_list
from panel.staff.volumes import filters
from storage.problems.all_kinds import KINDS

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
LISTINGS = {"hosts": "/hosts/", "volumes": "/volumes/", "jobs": "/jobs/"}


def problem(code: str = "silent", volume: str = "", host: str = "alpha", **fields: Any) -> Problem:
    defaults: dict[str, Any] = {
        "severity": "error", "rank": 1, "message": "Silent for 2 h.", "correction": "Look.",
        "since": NOON, "host_id": 1, "subject": volume, "subject_label": volume, "job_key": "",
        "job_kind": "", "job_error": "",
    }  # fmt: skip
    named = {"host_key": host, "host_name": host, "volume_key": volume}
    return Problem(code=code, **{**defaults, **named, **fields})


def row_of(*problems: Problem, count: int | None = None) -> AttentionRow:
    things = {(each.host_key, each.volume_key, each.job_key) for each in problems}
    group = ProblemGroup(
        problems,
        count=count or len(problems),
        thing_count=count or len(things),
        is_one_host=len({each.host_key for each in problems}) == 1,
        is_one_correction=len({each.correction for each in problems}) == 1,
        over_count=sum(each.until is not None for each in problems),
        until=max((each.until for each in problems if each.until is not None), default=None),
    )
    (row,) = items([group], LISTINGS)
    return row


def test_all_data_at_risk_is_shown_at_once_and_the_rest_can_be_unfolded() -> None:
    safe, at_risk = row_of(problem()), row_of(problem("pv_missing", rank=0))
    assert at_once((safe,) * 8) == (safe,) * 5
    assert at_once((safe, *(at_risk,) * 7, safe)) == (safe, *(at_risk,) * 7)
    assert at_once(()) == ()


def test_what_a_person_acknowledged_sinks_below_all_that_is_open() -> None:
    at_risk, slow = (
        problem("pv_missing", rank=0),
        problem("volume_slow", "web", rank=2, severity="warning"),
    )
    groups = [
        ProblemGroup((each,), 1, 1, is_one_host=True, is_one_correction=True)
        for each in (at_risk, slow)
    ]
    marks = {fingerprint_of(at_risk): AlertMark("/alerts/a", "acknowledged")}
    rows = items(groups, LISTINGS, marks)
    assert [(row.at_risk, row.is_muted) for row in rows] == [(False, False), (True, True)]
    drift = problem("drift", "mail", rank=2, severity="warning")
    calm = ProblemGroup((drift,), 1, 1, is_one_host=True, is_one_correction=True)
    order = items([groups[0], calm, groups[1]], LISTINGS, marks)
    assert [row.is_about_speed for row in order] == [True, False, False]
    assert at_once((*(rows[0],) * 8, *(rows[1],) * 2)) == (rows[0],) * 5


def test_forty_equal_problems_are_one_row_that_names_a_few_and_counts_the_rest() -> None:
    row = row_of(*(problem(host=f"host{n}") for n in range(8)), count=40)
    assert (row.what, row.count) == ("40 hosts are silent", 40)
    assert [subject.name for subject in row.subjects] == ["host0", "host1", "host2", "host3"]
    assert (row.more, row.action.url, row.action.text) == (
        36,
        "/hosts/?state=trouble",
        "Hosts not answering",
    )


def test_each_of_several_degraded_arrays_names_its_failed_disk_up_to_a_bound() -> None:
    def degraded(n: int) -> Problem:
        lost = f"sd{n} (SAMSUNG, serial S{n}) has failed in md{n} (raid1): 1 of 2 disks left."
        return problem("array_degraded", host=f"h{n}", subject=f"md{n}", message=lost)

    row = row_of(*(degraded(n) for n in range(7)))
    assert row.what == "7 arrays are degraded" and row.more == 3
    assert [sentence for _, sentence in row.sentences] == [degraded(n).message for n in range(4)]
    assert [subject.url for subject, _ in row.sentences] == [f"/hosts/h{n}/" for n in range(4)]
    shown = render_to_string("parts/attention.html", {"item": row})
    assert "sd3 (SAMSUNG, serial S3) has failed" in shown and "sd4" not in shown
    assert "and 3 more" in shown
    assert row_of(degraded(1)).sentences == ()


def slow(volume: str, disk: str = "sdc", **fields: Any) -> Problem:
    words = f"Reads of {volume} have been slow for 3 min. {disk} is 95 % busy: web 92 %."
    known = {"severity": "warning", "rank": 2, "message": words, "waits_for": disk}
    return problem("volume_slow", volume, **{**known, **fields})


def test_of_several_slow_volumes_each_disk_is_named_with_who_uses_it_most() -> None:
    there = (slow("mail"), slow("web", is_culprit=True), slow("db", "sdd"))
    row = row_of(*there)
    assert row.what == "3 volumes are slow"
    assert [(subject.key, sentence) for subject, sentence in row.sentences] == [
        ("web", there[1].message),
        ("db", there[2].message),
        ("mail", "Waits for sdc too:"),
    ]
    assert row.action.text == "Show volumes"
    of_one_disk = row_of(*there[:2]).action
    assert (of_one_disk.url, of_one_disk.text) == ("/volumes/web/slowness", "Why is it slow?")


def test_what_is_over_is_said_in_the_past_and_its_time_has_ended() -> None:
    lately = [NOON + timedelta(minutes=5), NOON + timedelta(minutes=6)]
    over = [slow("web", until=lately[0]), slow("db", until=lately[1])]
    row = row_of(*over)
    assert row.what == "2 volumes were slow, until 12:06 UTC"
    assert (row.consequence, row.is_about_speed) == ("Guests waited for the disk.", False)
    assert row.sentences[1][1] == "Waited for sdc too:"
    assert ">6 min</time>" in render_to_string("parts/attention.html", {"item": row})
    partly = row_of(*over, slow("mail", since=lately[0]))
    assert partly.what == "1 volume slow now, 2 no longer"
    assert (partly.since, partly.until) == (lately[0], None)
    assert partly.consequence == KINDS["volume_slow"].consequence
    (of_host,) = problem_rows(over)
    assert of_host.message == "2 volumes were slow, until 12:06 UTC"
    assert of_host.until == lately[1]


def test_one_problem_leads_to_the_page_that_settles_it() -> None:
    row = row_of(problem())
    assert (row.what, row.action.url) == ("Silent for 2 h.", "/hosts/alpha/")
    assert row.next_step == "Look."
    assert row.consequence == "Data of the host is out of date, and no job can start there."


def test_a_problem_of_a_volume_names_and_links_the_volume() -> None:
    row = row_of(problem("cache_failed", "web", subject_label="web12 disk"))
    assert [(each.name, each.url) for each in row.subjects] == [
        ("web12 disk on alpha", "/volumes/web/")
    ]


def test_several_volumes_of_one_host_lead_to_that_host() -> None:
    row = row_of(problem("drift", "web"), problem("drift", "mail"))
    assert (row.action.url, row.action.text) == ("/hosts/alpha/volumes", "Show volumes")


@pytest.mark.parametrize(
    ("code", "url", "text"),
    [
        ("unverified", "/hosts/alpha/#trust", "Compare keys"),
        ("volumes_missing", "/hosts/alpha/volumes#missing", "Show volumes"),
        ("array_degraded", "/hosts/alpha/disks#disks", "Show disks"),
        ("pending_rose", "/hosts/alpha/disks#disks", "Show disks"),
        ("no_boot_unit", "/hosts/alpha/", "Open host"),
    ],
)
def test_a_problem_of_one_host_leads_to_the_place_where_it_is_mended(
    code: str, url: str, text: str
) -> None:
    action = row_of(problem(code)).action
    assert (action.url, action.text) == (url, text)


def test_a_job_is_decided_on_its_page() -> None:
    action = row_of(problem("job_undecided", job_key="j1")).action
    assert (action.url, action.text, action.decides) == ("/jobs/j1/", "Open job", True)


def test_volumes_in_writeback_on_a_degraded_mirror_are_made_safe_together() -> None:
    row = row_of(*(problem("writeback_degraded", key, host=key) for key in ("web", "mail")))
    assert row.action.to_writethrough == ("web", "mail")
    many = row_of(problem("writeback_degraded", "web"), count=40)
    assert many.action.to_writethrough == ()


def test_data_at_risk_is_an_error_whatever_the_agent_calls_it() -> None:
    row = row_of(problem("writeback_single_ssd", severity="warning"))
    assert (row.at_risk, row.severity) == (True, "error")


@pytest.mark.parametrize(
    ("code", "url", "text"),
    [
        ("cache_failed", "/volumes/?state=trouble", "Cache problems"),
        ("volumes_missing", "/volumes/?state=missing", "Missing volumes"),
        ("drift", "/hosts/?state=problems", "Hosts with problems"),
        ("unverified", "/hosts/?state=new", "Enrolling hosts"),
        ("job_undecided", "/jobs/?state=needs_attention", "Jobs that need a decision"),
        ("job_failed", "/jobs/?state=failed", "Failed jobs"),
    ],
)
def test_troubles_of_several_hosts_lead_to_the_list_of_just_such(
    code: str, url: str, text: str
) -> None:
    row = row_of(problem(code, "web1", host="host1"), problem(code, "web2", host="host2"))
    assert (row.action.url, row.action.text) == (url, text)


def test_the_lists_know_the_filters_that_troubles_lead_to() -> None:
    known = {"hosts": host_list.STATES, "volumes": filters.STATES, "jobs": dict(job_list.STATES)}
    for listing in LISTS.values():
        assert listing.state in ("", *known[listing.page]), listing
    assert {kind.listing for kind in KINDS.values()} == {*LISTS}


def test_different_next_steps_of_one_row_are_left_to_the_pages() -> None:
    assert row_of(problem(correction="This."), problem(correction="That.")).next_step == ""


def test_several_jobs_say_what_was_wanted_and_what_went_wrong() -> None:
    failed = [
        problem("job_failed", job_key=key, job_kind="Add cache", job_error="no_space")
        for key in ("a", "b")
    ]
    assert row_of(*failed).what == "2 jobs failed: Add cache, no_space"


def test_a_problem_of_a_newer_agent_is_shown_in_its_own_words() -> None:
    row = row_of(*(problem("new_thing", host=name, message="Fan 3.") for name in ("a", "b")))
    assert row.what == "Fan 3"
