"""What a host says of an operation is checked before it is stored."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.transport.operation_reply import decode_outcome, has_begun, has_changed
from jobs.transport.replies import BadLine

BARE = {"label": "flushed", "done_bytes": 1, "total_bytes": 4}


def said(progress: Any) -> dict[str, Any]:
    return {"state": "running", "commands": [], "lines": [], "progress": progress, "error": None}


@pytest.mark.parametrize(
    "pace",
    [{}, {"rate_bytes_s": 8, "left_s": 0, "stalled_s": 3}],
)
def test_the_pace_of_a_flush_is_kept_as_far_as_it_is_said(pace: dict[str, int]) -> None:
    unknown = {"left_s": None} if "left_s" not in pace else {}
    assert decode_outcome(said(BARE | pace | unknown)).progress == BARE | pace


@pytest.mark.parametrize("value", [-1, "8", 1.5, True, 2**63, [1]])
@pytest.mark.parametrize("name", ["rate_bytes_s", "left_s", "stalled_s"])
def test_a_pace_that_is_no_amount_is_no_reply(name: str, value: object) -> None:
    with pytest.raises(BadLine):
        decode_outcome(said({**BARE, name: value}))


def test_what_else_a_host_says_of_progress_is_left_out() -> None:
    assert decode_outcome(said(BARE | {"html": "<b>"})).progress == BARE


def commands(*told: dict[str, Any]) -> list[dict[str, Any]]:
    said = {"state": "failed", "commands": [{"argv": ["a"], "shell": "a"} | each for each in told]}
    return decode_outcome({**said, "lines": [], "progress": None, "error": None}).commands


PLANNED = {"rc": None, "started_ns": None}


@pytest.mark.parametrize(
    ("told", "begun", "changed"),
    [
        ([], False, False),
        ([PLANNED, PLANNED], False, False),
        ([{"rc": 5, "started_ns": 7}, PLANNED], True, False),
        ([{"rc": 0, "started_ns": 7}, PLANNED], True, True),
        # It was killed: nobody knows how it ended.
        ([{"rc": None, "started_ns": 7}], True, True),
        # An agent that does not say when.
        ([{"rc": 5}], True, False),
        ([{}], True, True),
    ],
)
def test_a_command_that_was_only_planned_has_done_nothing(
    told: list[dict[str, Any]], begun: bool, changed: bool
) -> None:
    found = commands(*told)
    assert (has_begun(found), has_changed(found)) == (begun, changed)


@pytest.mark.parametrize("value", ["1", 1.5, -1, True])
def test_a_start_that_is_no_time_is_no_reply(value: object) -> None:
    with pytest.raises(BadLine):
        commands({"started_ns": value})
