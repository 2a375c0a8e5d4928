"""What a host says of an operation is checked before it is stored."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from jobs.transport.replies import decode_operation, has_begun, has_changed, to_json
from storage.host_data import BadHostData

BARE = {"label": "flushed", "done_bytes": 1, "total_bytes": 4}


def kept(progress: dict[str, Any]) -> object:
    """The progress that a step keeps."""
    reply = {"state": "running", "commands": [], "lines": [], "progress": progress, "error": None}
    return msgspec.to_builtins(decode_operation(reply).progress)


@pytest.mark.parametrize(
    "pace",
    [{}, {"rate_bytes_s": 8, "left_s": 0, "stalled_s": 3}],
)
def test_the_pace_of_a_flush_is_kept_as_far_as_it_is_said(pace: dict[str, int]) -> None:
    unknown = {"left_s": None} if "left_s" not in pace else {}
    assert kept(BARE | pace | unknown) == BARE | pace


@pytest.mark.parametrize("value", [-1, "8", 1.5, True, 2**63, [1]])
@pytest.mark.parametrize("name", ["rate_bytes_s", "left_s", "stalled_s"])
def test_a_pace_that_is_no_amount_is_no_reply(name: str, value: object) -> None:
    with pytest.raises(BadHostData):
        kept({**BARE, name: value})


def test_what_else_a_host_says_of_progress_is_left_out() -> None:
    assert kept(BARE | {"html": "<b>"}) == BARE


def commands(*fields: dict[str, Any]) -> list[dict[str, Any]]:
    """The commands that a step keeps."""
    sent = [{"argv": ["a"], "shell": "a"} | more for more in fields]
    reply = {"state": "failed", "commands": sent, "lines": [], "progress": None, "error": None}
    return to_json(decode_operation(reply).commands)


PLANNED = {"rc": None, "started_ns": None}


@pytest.mark.parametrize(
    ("sent", "begun", "changed"),
    [
        ([], False, False),
        ([PLANNED, PLANNED], False, False),
        ([{"rc": 5, "started_ns": 7}, PLANNED], True, False),
        ([{"rc": 0, "started_ns": 7}, PLANNED], True, True),
        # It was killed: its end is unknown.
        ([{"rc": None, "started_ns": 7}], True, True),
        # An agent that does not say when.
        ([{"rc": 5}], True, False),
        ([{}], True, True),
    ],
)
def test_a_command_that_was_only_planned_has_done_nothing(
    sent: list[dict[str, Any]], begun: bool, changed: bool
) -> None:
    stored = commands(*sent)
    assert (has_begun(stored), has_changed(stored)) == (begun, changed)


@pytest.mark.parametrize("value", ["1", 1.5, -1, True])
def test_a_start_that_is_no_time_is_no_reply(value: object) -> None:
    with pytest.raises(BadHostData):
        commands({"started_ns": value})
