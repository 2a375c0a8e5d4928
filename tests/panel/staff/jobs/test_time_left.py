"""How long a running step will still take."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jobs.models import Step, StepState
from panel.staff.jobs.pages import left_in_all, remaining_seconds
from storage.byte_sizes import GIB

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
QUARTER = {"label": "zeroed", "done_bytes": GIB, "total_bytes": 4 * GIB}


def step(progress: dict[str, Any], verb: str = "volume.create", **fields: Any) -> Step:
    about = {"state": StepState.RUNNING, "started_at": NOW - timedelta(seconds=20), **fields}
    return Step(verb=verb, progress=progress, **about)


def test_what_only_grows_goes_on_as_it_went_so_far() -> None:
    assert remaining_seconds(step(QUARTER), NOW) == 60


def test_of_a_flush_the_hosts_own_word_counts_and_its_past_does_not() -> None:
    assert remaining_seconds(step(QUARTER | {"left_s": 7}, "cache.flush"), NOW) == 7
    assert remaining_seconds(step(QUARTER, "cache.flush"), NOW) is None


@pytest.mark.parametrize(
    "unknown",
    [
        step({}),
        step(QUARTER | {"done_bytes": 0}),
        step(QUARTER | {"total_bytes": None}),
        step(QUARTER, started_at=NOW - timedelta(seconds=1)),
        step(QUARTER, state=StepState.DONE),
    ],
)
def test_nothing_is_guessed(unknown: Step) -> None:
    assert remaining_seconds(unknown, NOW) is None


def test_the_whole_job_takes_what_the_host_says_of_its_step_and_the_estimate_of_the_rest() -> None:
    assert left_in_all(step(QUARTER), (500.0, 30.4), NOW) == 90


def test_a_step_that_says_nothing_takes_as_long_as_estimated() -> None:
    assert left_in_all(step({}), (50.0, 30.0), NOW) == 60
    assert left_in_all(step({}), (5.0, 30.0), NOW) == 30
