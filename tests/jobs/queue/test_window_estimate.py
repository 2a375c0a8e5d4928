"""When a job with a window is done."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

import pytest

from jobs.queue.window_estimate import MOST_WINDOWS, WindowPart, finish, within
from storage.planner import PlannedStep
from storage.planner.cost import Cost, StepCost
from storage.planner.daily_window import DailyWindow

NIGHT = DailyWindow(time(2), time(5))
HOUR = 3600.0


def at(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 11, day, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("parts", "done", "windows"),
    [
        ([WindowPart(HOUR, rests=True)], at(27, 3), 1),
        ([WindowPart(3 * HOUR, rests=True)], at(27, 5), 1),
        ([WindowPart(4 * HOUR, rests=True)], at(28, 3), 2),
        ([WindowPart(7 * HOUR, rests=True)], at(29, 3), 3),
        ([WindowPart(4 * HOUR, rests=False)], at(27, 6), 1),
        ([WindowPart(4 * HOUR, rests=False), WindowPart(HOUR, rests=True)], at(28, 3), 2),
        ([WindowPart(3 * HOUR, rests=True), WindowPart(HOUR, rests=False)], at(27, 6), 1),
    ],
)
def test_a_flush_rests_outside_the_window_and_everything_else_goes_on(
    parts: list[WindowPart], done: datetime, windows: int
) -> None:
    assert finish(NIGHT, at(27, 2), parts) == (done, windows)


def test_what_takes_too_many_windows_has_no_end() -> None:
    done, _ = finish(NIGHT, at(1, 2), [WindowPart(3 * HOUR * (MOST_WINDOWS + 1), rests=True)])
    assert done is None


def cost_of(*seconds: tuple[float, float]) -> Cost:
    steps = tuple(StepCost(usual, 0, False, slow) for usual, slow in seconds)
    return Cost(steps, "vg0", 0, 0, 0, 0, 0)


def test_it_says_before_that_the_work_may_outlast_the_window() -> None:
    steps = [PlannedStep("cache.flush", {}, {}, "Write back")]
    found = within(NIGHT, at(26, 12), steps, cost_of((2 * HOUR, 8 * HOUR)))
    assert (found.opens_at, found.closes_at) == (at(27, 2), at(27, 5))
    assert (found.done_from, found.done_until) == (at(27, 4), at(29, 4))
    assert found.outlasts and found.flush_rests and found.window_count == 3


def test_short_work_fits() -> None:
    steps = [PlannedStep("cache.detach", {}, {}, "Detach")]
    found = within(NIGHT, at(27, 3), steps, cost_of((60, 600)))
    assert found.opens_at == at(27, 3)
    assert found.done_until == at(27, 3) + timedelta(minutes=10)
    assert not found.outlasts and not found.flush_rests
