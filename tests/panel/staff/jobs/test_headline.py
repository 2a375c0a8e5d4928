"""What a job is called where it stands."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.models import Job, Kind, State, Step
from jobs.models.job import WORDS
from panel.staff.jobs.headline import cancel_effect, detail, headline, rollback
from storage.models import Volume


def attach(state: State, **fields: Any) -> Job:
    return Job(kind=Kind.ADD_CACHE, volume=Volume(label="web12"), state=state, **fields)


@pytest.mark.parametrize(
    ("job", "begun", "said"),
    [
        (attach(State.QUEUED), False, "Waiting to add a cache to web12"),
        (attach(State.WAITING), False, "Waiting to add a cache to web12"),
        (attach(State.WAITING), True, "Adding a cache to web12"),
        (attach(State.RUNNING), False, "Adding a cache to web12"),
        (attach(State.RUNNING, is_rolling_back=True), True, "Rolling back: add a cache to web12"),
        (attach(State.SUCCEEDED), True, "Added a cache to web12"),
        (attach(State.FAILED, is_rolling_back=True), True, "Failed to add a cache to web12"),
        (attach(State.CANCELLED), True, "Cancelled: add a cache to web12"),
        (attach(State.NEEDS_ATTENTION), True, "Needs a decision: add a cache to web12"),
        (attach(State.SUCCEEDED, dry_run=True), False, "Preview: add a cache to web12"),
    ],
)
def test_the_headline_follows_the_state(job: Job, begun: bool, said: str) -> None:
    assert headline(job, begun=begun) == said


def test_every_kind_has_its_words_with_a_place_for_the_volume() -> None:
    assert set(WORDS) == set(Kind)
    for words in WORDS.values():
        assert [text.count("{}") for text in (words.doing, words.done, words.do)] == [1, 1, 1]


def test_a_label_with_braces_is_only_a_label() -> None:
    job = Job(kind=Kind.MOVE_VOLUME, volume=Volume(label="{0} {x}"), state=State.RUNNING)
    assert headline(job, begun=True) == "Moving {0} {x}"


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (attach(State.RUNNING), "Reading what is on the host."),
        (attach(State.RUNNING, explanation="attach it"), "Attach it."),
        (attach(State.WAITING, explanation="alpha is in maintenance"), ""),
        (attach(State.SUCCEEDED), ""),
        (attach(State.CANCELLED, explanation="cancelled by ann"), "Cancelled by ann."),
        (attach(State.FAILED, explanation="old", error={"message": "x"}), ""),
        (attach(State.FAILED, explanation="Rolled back.", error={"undone": []}), "Rolled back."),
    ],
)
def test_the_detail_says_what_the_headline_does_not(job: Job, said: str) -> None:
    assert detail(job) == said


def test_a_step_under_way_is_shown_also_while_no_worker_looks_on() -> None:
    job = attach(State.WAITING, explanation="Detach the cache")
    assert detail(job, is_at_work=True) == "Detach the cache."


def test_the_page_says_what_cancelling_does_to_finished_steps() -> None:
    with_fallback = attach(State.RUNNING, fallback={"cache": None})
    assert cancel_effect(with_fallback).endswith("and undoes the finished steps.")
    assert cancel_effect(attach(State.RUNNING)).endswith("Finished steps are not undone.")


@pytest.mark.parametrize(
    ("is_irrevocable", "makes_irrevocable", "is_possible", "words"),
    [
        (False, False, True, "possible"),
        (False, True, False, "not possible"),
        (False, False, False, "possible with a new job"),
        (True, True, False, "no longer possible"),
    ],
)
def test_the_page_says_whether_a_rollback_is_possible(
    is_irrevocable: bool, makes_irrevocable: bool, is_possible: bool, words: str
) -> None:
    """Of a job that never goes back by itself, in the words of its preview."""
    running = attach(State.RUNNING, is_irrevocable=is_irrevocable)
    assert (
        rollback(running, [Step(makes_irrevocable=makes_irrevocable)], is_possible=is_possible)
        == words
    )
