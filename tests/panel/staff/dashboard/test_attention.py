"""The list of what needs a person: its order, and what shares a row."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from panel.staff.dashboard.attention import KINDS, AttentionRow, Concern, Subject, items
from panel.staff.hosts import host_list
from panel.staff.jobs import job_list
from panel.staff.volumes import filters

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
LISTINGS = {"hosts": "/hosts/", "volumes": "/volumes/", "jobs": "/jobs/"}


def host(name: str) -> Subject:
    return Subject(name, "host", name)


def concern(code: str = "silent", name: str = "alpha", **fields: Any) -> Concern:
    defaults: dict[str, Any] = {"severity": "error", "what": "Silent for 2 h.", "since": NOON}
    return Concern(code=code, subject=host(name), **{**defaults, **fields})


def rows(*concerns: Concern) -> tuple[AttentionRow, ...]:
    return items(concerns, LISTINGS)


def test_data_at_risk_comes_before_everything_else() -> None:
    found = rows(
        concern("silent", since=NOON - timedelta(days=3)),
        concern("writeback_single_ssd", severity="warning", what="vg0/web uses writeback."),
    )
    assert [row.what for row in found] == ["vg0/web uses writeback.", "Silent for 2 h."]


def test_an_error_comes_before_a_warning_and_the_older_of_two_first() -> None:
    found = rows(
        concern("no_boot_unit", severity="warning", since=NOON - timedelta(days=9), what="unit"),
        concern("silent", what="young", since=NOON),
        concern("quarantined", what="old", since=NOON - timedelta(hours=1)),
    )
    assert [row.what for row in found] == ["old", "young", "unit"]


def test_what_is_of_unknown_age_comes_after_what_is_known() -> None:
    found = rows(concern("quarantined", what="ageless", since=None), concern("silent", what="aged"))
    assert [row.what for row in found] == ["aged", "ageless"]


def test_forty_equal_troubles_are_one_row_with_their_count_and_the_oldest_age() -> None:
    silent = [
        concern(name=f"host{n:02d}", host=host(f"host{n:02d}"), since=NOON - timedelta(minutes=n))
        for n in range(40)
    ]
    (row,) = rows(*silent)
    assert (row.what, row.count) == ("40 hosts are silent", 40)
    assert row.since == NOON - timedelta(minutes=39)
    assert [subject.name for subject in row.subjects] == ["host39", "host38", "host37", "host36"]
    assert (row.more, row.action_url, row.action_text) == (
        36,
        "/hosts/?state=trouble",
        "Hosts not answering",
    )


def test_one_trouble_leads_to_the_page_that_settles_it() -> None:
    (row,) = rows(concern(next_step="Look whether it is up."))
    assert (row.what, row.action_url, row.action_text) == (
        "Silent for 2 h.",
        "/hosts/alpha/",
        "Open",
    )
    assert row.next_step == "Look whether it is up."
    assert row.consequence == "Data of the host is out of date, and no job can start there."


def test_several_volumes_of_one_host_lead_to_that_host() -> None:
    drifts = [concern("drift", name, host=host("alpha")) for name in ("web", "mail")]
    (row,) = rows(*drifts)
    assert row.action_url == "/hosts/alpha/"


@pytest.mark.parametrize(
    ("code", "url", "text"),
    [
        ("cache_failed", "/volumes/?state=trouble", "Cache problems"),
        ("volumes_missing", "/volumes/?state=missing", "Missing volumes"),
        ("drift", "/hosts/?state=problems", "Hosts with problems"),
        ("unverified", "/hosts/?state=new", "Enrolling hosts"),
        ("ssd_full", "/hosts/", "All hosts"),
        ("job_undecided", "/jobs/?state=needs_attention", "Jobs that need a decision"),
        ("job_failed", "/jobs/?state=failed", "Failed jobs"),
    ],
)
def test_troubles_of_several_hosts_lead_to_the_list_of_just_such(
    code: str, url: str, text: str
) -> None:
    (row,) = rows(*(concern(code, f"web{n}", host=host(f"host{n}")) for n in range(2)))
    assert (row.action_url, row.action_text) == (url, text)


def test_the_lists_know_the_filters_that_troubles_lead_to() -> None:
    known = {"hosts": host_list.STATES, "volumes": filters.STATES, "jobs": dict(job_list.STATES)}
    for code, kind in KINDS.items():
        assert kind.listing.state in ("", *known[kind.listing.page]), code


def test_different_next_steps_of_one_row_are_left_to_the_pages() -> None:
    (row,) = rows(concern(name="a", next_step="Do this."), concern(name="b", next_step="Do that."))
    assert row.next_step == ""


def test_jobs_that_failed_for_different_reasons_do_not_share_a_row() -> None:
    found = rows(
        concern("job_failed", "a", sort="Add cache, no_space", what="A failed."),
        concern("job_failed", "b", sort="Add cache, no_space", what="B failed."),
        concern("job_failed", "c", sort="Extend volume, busy", what="C failed."),
    )
    assert {row.what for row in found} == {"2 jobs failed: Add cache, no_space", "C failed."}


def test_a_trouble_of_a_newer_agent_is_shown_in_its_own_words() -> None:
    found = rows(
        concern("new_thing", "a", what="sda has 3 bad blocks."),
        concern("new_thing", "b", what="sda has 17 bad blocks."),
        concern("new_thing", "c", what="The fan stands still."),
    )
    assert [(row.what, row.count) for row in found] == [
        ("The fan stands still.", 1),
        ("sda has 3 bad blocks", 2),
    ]
