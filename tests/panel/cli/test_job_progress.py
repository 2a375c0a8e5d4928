"""How far a job is, and how long it still takes."""

from __future__ import annotations

from typing import Any

import pytest

from panel.cli import job_progress
from panel.cli.job_progress import ProgressNotes, RemainingTime
from panel.cli.terminal import width_of

GIB = 1 << 30


def step(n: int = 1, done: int = 0, **progress: Any) -> dict[str, Any]:
    measured = {"label": "copied", "done_bytes": done, "total_bytes": 10 * GIB, **progress}
    return {"n": n, "title": "Flush the cache", "state": "running", "progress": measured}


def job(*steps: dict[str, Any], state: str = "running") -> dict[str, Any]:
    return {"key": "a" * 16, "state": state, "steps": list(steps)}


def test_the_host_knows_best_how_long_a_step_takes() -> None:
    assert RemainingTime().seconds(step(left_s=90), 0.0) == 90.0


def test_else_the_speed_since_the_first_look_tells() -> None:
    remaining = RemainingTime()
    assert remaining.seconds(step(done=2 * GIB), 100.0) is None
    assert remaining.seconds(step(done=4 * GIB), 120.0) == 60.0


def test_another_step_is_measured_anew() -> None:
    remaining = RemainingTime()
    remaining.seconds(step(1, 2 * GIB), 100.0)
    assert remaining.seconds(step(2, 8 * GIB), 101.0) is None
    assert remaining.seconds(step(2, 9 * GIB), 111.0) == 10.0


@pytest.mark.parametrize("done", [2 * GIB, GIB])
def test_a_step_that_stands_still_has_no_end(done: int) -> None:
    remaining = RemainingTime()
    remaining.seconds(step(done=2 * GIB), 100.0)
    assert remaining.seconds(step(done=done), 120.0) is None


def test_what_is_not_measured_has_no_end() -> None:
    assert RemainingTime().seconds({"n": 1, "progress": {}}, 0.0) is None


def test_a_terminal_shows_one_line_that_changes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    times = iter((100.0, 120.0))
    monkeypatch.setattr(job_progress, "monotonic", lambda: next(times))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    notes = ProgressNotes()
    for done in (2, 4):
        notes.show(job(step(done=done * GIB)))
    text = capsys.readouterr().err
    assert "\n" not in text and text.count("\r") == 2
    last = text.split("\r")[-1].removeprefix("\x1b[K")
    assert last == "[1/1] Flush the cache  40.0 % of 10 GiB, about 1 min left"
    assert width_of(last) < 80


def test_elsewhere_each_step_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    notes = ProgressNotes()
    for done in (0, 1, 2):
        notes.show(job(step(done=done * GIB)))
    notes.show(job(state="queued"))
    assert capsys.readouterr().err.splitlines() == [
        "[1/1] Flush the cache",
        f"Job {'a' * 16}: queued",
    ]
