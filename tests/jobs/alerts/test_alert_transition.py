"""What becomes of alerts, round by round."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.alerts.alert_state import MuteRule
from tests.jobs.alerts.rounds import ARRAY, SILENT, START, World, problem


def test_a_problem_notifies_once_and_once_when_it_is_over() -> None:
    world = World()
    world.begin(ARRAY)
    assert world.passes(minutes=20) == ["opened"]
    world.end(ARRAY)
    assert world.passes(minutes=60) == ["resolved"]
    assert world.alerts == {}


def test_data_at_risk_notifies_at_once_and_others_after_their_hold() -> None:
    world = World()
    world.begin(ARRAY)
    assert world.passes(seconds=20) == ["opened"]
    other = World()
    other.begin(SILENT)
    assert other.passes(seconds=80) == []
    assert other.passes(seconds=60) == ["opened"]


def test_a_host_that_is_back_after_days_has_an_hour_to_read_its_disks() -> None:
    world = World()
    stale = problem("smart_stale", rank=2)
    world.begin(stale)
    assert world.passes(minutes=55) == []
    world.end(stale)
    assert world.passes(minutes=10) == []
    world.begin(stale)
    assert world.passes(minutes=65) == ["opened"]


def test_what_passes_within_its_hold_leaves_no_trace() -> None:
    world, drift = World(), problem("drift", volume_key="v1")
    world.begin(drift)
    world.passes(seconds=100)
    world.end(drift)
    assert world.passes(minutes=10) == []
    assert world.alerts == {} and world.news == []


def test_what_is_gone_for_a_moment_is_not_over() -> None:
    world = World()
    world.begin(ARRAY)
    world.passes(minutes=5)
    world.end(ARRAY)
    assert world.passes(minutes=2) == []
    world.begin(ARRAY)
    assert world.passes(minutes=20) == []


def test_a_silent_host_hides_what_follows_and_what_is_not_seen_then_is_not_over() -> None:
    world = World()
    volume = problem("drift", volume_key="v1", subject="vg0/web")
    world.begin(ARRAY)
    assert world.passes(minutes=2) == ["opened"]
    world.begin(SILENT, volume)
    world.end(ARRAY)  # of a silent host nothing is listed
    assert world.passes(minutes=25) == ["opened"]
    assert world.alerts[volume.fingerprint].cause == SILENT.fingerprint
    assert world.alerts[ARRAY.fingerprint].is_present
    world.end(SILENT, volume)
    assert world.passes(minutes=10) == ["resolved", "resolved"]


def test_data_at_risk_notifies_though_its_host_has_just_stopped_answering() -> None:
    world = World()
    world.begin(SILENT, ARRAY)  # the last thing that the host said
    assert world.passes(seconds=60) == ["opened"]
    assert world.passes(minutes=5) == ["opened"]
    assert world.alerts[ARRAY.fingerprint].cause == ""


def test_a_change_of_why_a_host_does_not_answer_is_no_new_alert() -> None:
    world = World()
    world.begin(SILENT)
    assert world.passes(minutes=5) == ["opened"]
    refused = problem("unreachable")
    assert refused.fingerprint == SILENT.fingerprint
    world.begin(refused)
    assert world.passes(minutes=20) == []
    assert world.alerts[SILENT.fingerprint].seen.code == "unreachable"


def test_a_trouble_of_figures_is_over_when_two_judgements_find_it_gone() -> None:
    world = World()
    thrash = problem("cache_thrash", rank=2, volume_key="v1", subject="vg0/web")
    world.begin(thrash)
    assert world.passes(minutes=2) == ["opened"]
    for _ in range(6):
        world.end(thrash)
        assert world.passes(minutes=5) == []
        world.begin(thrash)
        assert world.passes(minutes=5) == []
    world.end(thrash)
    assert world.passes(minutes=12) == ["resolved"]


def test_maintenance_mutes_its_host_and_what_is_left_afterwards_notifies() -> None:
    world = World(maintained={1})
    world.begin(ARRAY)
    assert world.passes(hours=2) == []
    assert world.alerts[ARRAY.fingerprint].muted_by == "maintenance"
    world.maintained.clear()
    assert world.passes(minutes=2) == ["remains"]


GROUP = problem("pv_missing", subject="vg0")
LOST = problem("ssd_lost", volume_key="v1", subject="vg0/web")


def test_maintenance_mutes_what_follows_from_another_alert() -> None:
    world = World(maintained={1})
    world.begin(GROUP, LOST)
    world.passes(minutes=10)
    assert world.alerts[LOST.fingerprint].cause == GROUP.fingerprint
    assert world.alerts[LOST.fingerprint].muted_by == "maintenance"
    world.maintained.clear()
    assert world.passes(minutes=1) == ["remains"]
    assert world.alerts[LOST.fingerprint].muted_by == ""


@pytest.mark.parametrize("rule", [MuteRule(code="pv_missing"), MuteRule(volume_key="v1")])
def test_a_silence_of_the_cause_or_of_the_effect_mutes_the_effect(rule: MuteRule) -> None:
    world = World(silences=[rule])
    world.begin(GROUP, LOST)
    world.passes(minutes=10)
    assert world.alerts[LOST.fingerprint].muted_by == "silence"
    world.silences.clear()
    world.passes(minutes=1)
    assert world.alerts[LOST.fingerprint].muted_by == ""


def test_what_outlasts_a_silenced_cause_notifies_after_a_while_as_after_any_cause() -> None:
    world = World(silences=[MuteRule(code="pv_missing")])
    world.begin(GROUP, LOST)
    world.passes(minutes=10)
    world.end(GROUP)
    assert world.passes(minutes=4) == []
    assert world.alerts[LOST.fingerprint].muted_by == ""
    assert world.passes(minutes=6) == ["remains"]
    assert world.news[-1].text == "Its cause is resolved."


def test_what_began_and_ended_in_maintenance_notifies_no_one() -> None:
    world = World(maintained={1})
    world.begin(ARRAY)
    world.passes(hours=1)
    world.end(ARRAY)
    world.passes(minutes=10)
    world.maintained.clear()
    assert world.notified == [] and world.passes(hours=1) == []


@pytest.mark.parametrize(
    ("rule", "is_muted"),
    [
        (MuteRule(host_id=1), True),
        (MuteRule(code="array_degraded"), True),
        (MuteRule(host_id=1, code="array_degraded"), True),
        (MuteRule(host_id=2), False),
        (MuteRule(host_id=1, code="drift"), False),
        (MuteRule(volume_key="v1"), False),
    ],
)
def test_a_silence_mutes_what_agrees_with_all_of_it(rule: MuteRule, is_muted: bool) -> None:
    world = World(silences=[rule])
    world.begin(ARRAY)
    assert world.passes(minutes=10) == ([] if is_muted else ["opened"])
    world.silences.clear()
    assert world.passes(minutes=2) == (["remains"] if is_muted else [])


def test_a_silence_after_the_message_leaves_the_end_to_be_notified() -> None:
    world = World()
    world.begin(ARRAY)
    world.passes(minutes=5)
    world.silences.append(MuteRule(host_id=1))
    assert world.passes(hours=2) == []
    world.end(ARRAY)
    assert world.passes(minutes=10) == ["resolved"]


def test_what_is_not_acknowledged_goes_to_the_next_tiers() -> None:
    world = World()
    world.begin(ARRAY)
    assert world.passes(minutes=29) == ["opened"]
    assert world.passes(minutes=2) == ["escalated"]
    assert world.passes(hours=20) == ["escalated"]
    assert world.alerts[ARRAY.fingerprint].tier == 3


def test_a_warning_is_not_escalated() -> None:
    world = World()
    world.begin(problem("drift", volume_key="v1"))
    assert world.passes(hours=5) == ["opened"]


def test_what_is_acknowledged_stays_silent_until_it_is_over() -> None:
    world = World()
    world.begin(ARRAY)
    world.passes(minutes=5)
    world.acknowledge(ARRAY)
    assert world.passes(hours=24) == []
    world.end(ARRAY)
    assert world.passes(minutes=10) == ["resolved"]


def test_an_acknowledgement_ends_when_it_says() -> None:
    world = World()
    world.begin(ARRAY)
    world.passes(minutes=5)
    world.acknowledge(ARRAY, hours=2)
    assert world.passes(minutes=119) == []
    assert world.passes(minutes=2) == ["unacknowledged"]
    assert world.passes(minutes=31) == ["escalated"]


def test_worse_reopens_what_was_acknowledged() -> None:
    world = World()
    better = problem("array_recovering", subject="md0", rank=2)
    world.begin(better)
    assert world.passes(minutes=5) == ["opened"]
    world.acknowledge(better)
    assert world.passes(minutes=5) == []
    world.begin(ARRAY)
    assert ARRAY.fingerprint == better.fingerprint
    assert world.passes(minutes=5) == ["worsened"]
    assert world.alerts[ARRAY.fingerprint].acknowledged_at is None


def test_the_loss_of_the_last_redundant_disk_notifies_though_the_first_was_acknowledged() -> None:
    world = World()
    first = problem("array_weakened", subject="md0", rank=1)
    world.begin(first)
    assert world.passes(minutes=5) == ["opened"]
    world.acknowledge(first)
    world.begin(ARRAY)
    assert world.passes(minutes=5) == ["worsened"]


def test_a_state_that_goes_up_and_down_notifies_at_most_every_half_hour() -> None:
    world = World()
    better = problem("array_recovering", subject="md0", rank=2)
    world.begin(ARRAY)
    for _ in range(20):
        world.passes(minutes=3)
        world.begin(better)
        world.passes(minutes=3)
        world.begin(ARRAY)
    kinds = [kind for _, kind in world.notified]
    assert kinds[0] == "opened" and 1 <= kinds.count("worsened") <= 4


def test_more_volumes_at_risk_reopen_what_was_acknowledged() -> None:
    world = World()
    first = problem("ssd_lost", volume_key="v1", subject="vg0/v1")
    world.begin(first)
    world.passes(minutes=2)
    world.acknowledge(first)
    assert world.passes(minutes=2) == []
    world.begin(*(problem("ssd_lost", volume_key=f"w{n}", subject=f"vg0/w{n}") for n in range(9)))
    assert world.passes(minutes=10) == ["worsened"]


@pytest.mark.parametrize(("code", "minutes"), [("job_failed", 2 * 24 * 60), ("kernel_changed", 5)])
def test_what_is_only_listed_for_a_while_does_not_end_as_mended(code: str, minutes: int) -> None:
    world = World()
    failed = problem(code, since=world.now)
    world.begin(failed)
    world.passes(minutes=minutes)
    world.end(failed)
    assert world.passes(minutes=4) == ["resolved"]
    assert "no longer reported" in world.news[-1].text or "for 5 minutes" in world.news[-1].text


def test_a_failed_job_that_a_later_one_mended_ends_as_mended() -> None:
    world = World()
    failed = problem("job_failed", since=world.now)
    world.begin(failed)
    world.passes(hours=1)
    world.end(failed)
    assert world.passes(minutes=1) == ["resolved"]
    assert world.news[-1].text == ""


def test_a_quiet_day_sends_nothing() -> None:
    world = World()
    drift = problem("drift", volume_key="v1")
    while world.now.day == 23:
        world.passes(minutes=11)
        world.begin(drift)
        world.passes(seconds=80)
        world.end(drift)
    assert world.notified == []


def test_the_same_round_twice_tells_nothing_twice() -> None:
    world = World()
    world.begin(ARRAY, SILENT)
    world.passes(minutes=5)
    count = len(world.news)
    world.judge()
    world.judge()
    assert len(world.news) == count + 0


PROBLEMS = [
    ARRAY,
    SILENT,
    problem("ssd_lost", volume_key="v1", subject="vg0/v1"),
    problem("drift", volume_key="v2", subject="vg0/v2"),
    problem("pv_missing", subject="vg0"),
    problem("silent", host=2),
]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["begin", "end", "acknowledge", "silence", "speak", "maintain", "work"]),
        st.integers(0, len(PROBLEMS) - 1),
        st.integers(1, 40),
    ),
    max_size=25,
)


@given(STEPS)
def test_whatever_happens_each_message_has_its_place(steps: list[tuple[str, int, int]]) -> None:
    """An end is notified exactly where a beginning was, nothing is notified before the beginning,
    and what is wrong long enough, unmuted, notifies by itself or by its cause."""
    world = World()
    for act, n, minutes in steps:
        one = PROBLEMS[n]
        if act == "begin":
            world.begin(one)
        elif act == "end" and one.fingerprint in world.wrong:
            world.end(one)
        elif act == "acknowledge" and one.fingerprint in world.alerts:
            if world.alerts[one.fingerprint].opened_at is not None:
                world.acknowledge(one)
        elif act == "silence":
            world.silences.append(MuteRule(host_id=one.host_id))
        elif act == "speak":
            world.silences.clear()
        elif act == "maintain":
            world.maintained.add(one.host_id)
        elif act == "work":
            world.maintained.clear()
        world.passes(minutes=minutes)
    world.silences.clear()
    world.maintained.clear()
    world.passes(minutes=30)
    for state in world.alerts.values():
        # After half an hour of quiet circumstances nothing is left without a message.
        cause = world.alerts.get(state.cause)
        if state.is_present and state.opened_at is not None:
            assert state.notified_at is not None or (
                cause is not None and cause.notified_at is not None
            )
    for one in PROBLEMS:
        is_open = False
        for fingerprint, kind in world.notified:
            if fingerprint != one.fingerprint:
                continue
            if kind in ("opened", "flapping"):
                assert not is_open
                is_open = True
            elif kind == "remains":
                is_open = True
            elif kind == "resolved":
                assert is_open
                is_open = False
            else:
                assert is_open
    world.wrong.clear()
    world.passes(hours=30)
    assert world.alerts == {}


def test_nothing_is_lost_where_no_round_was_held_for_ten_minutes() -> None:
    world = World()
    world.begin(ARRAY)
    world.passes(minutes=2)
    world.now += timedelta(minutes=10)
    other = problem("pv_missing", subject="vg9")
    world.begin(other)
    assert world.passes(minutes=2) == ["opened"]
    world.end(ARRAY, other)
    world.now += timedelta(minutes=10)
    assert world.passes(minutes=5) == ["resolved", "resolved"]


def test_words_that_change_are_no_event() -> None:
    world = World()
    world.begin(SILENT)
    world.passes(minutes=5)
    world.begin(replace(SILENT, message="Silent for 2 h."))
    assert world.passes(minutes=5) == []
    assert world.alerts[SILENT.fingerprint].seen.message == "Silent for 2 h."


def test_the_gravest_state_is_kept_until_the_end() -> None:
    world = World()
    rebuilt = replace(ARRAY, code="array_recovering", rank=2, message="94 % done.")
    world.begin(replace(ARRAY, message="md0 lacks a disk.", since=world.now))
    world.passes(minutes=2)
    world.begin(replace(rebuilt, since=world.now))
    world.passes(minutes=2)
    state = world.alerts[ARRAY.fingerprint]
    assert (state.seen.code, state.seen.since) == ("array_recovering", START)
    assert (state.gravest_code, state.gravest_message) == ("array_degraded", "md0 lacks a disk.")


def test_what_was_last_said_of_the_gravest_state_is_kept() -> None:
    world = World()
    world.begin(replace(SILENT, message="Slow for at least 1 min."))
    world.passes(minutes=5)
    world.begin(replace(SILENT, message="Was slow for 30 min, until 03:09."))
    world.passes(minutes=2)
    assert world.alerts[SILENT.fingerprint].gravest_message == "Was slow for 30 min, until 03:09."
