"""How long tests took, from run to run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from tests.durations import Recorder, recorded

FILE = "test_a.py"


def ran(file: Path, **seconds: float) -> None:
    """A run in which each phase of these tests took so long."""
    recorder = Recorder(file)
    for name, duration in seconds.items():
        for phase in ("setup", "call", "teardown"):
            report = SimpleNamespace(nodeid=f"{FILE}::{name}@group", when=phase, duration=duration)
            recorder.pytest_runtest_logreport(cast("Any", report))
    recorder.pytest_sessionfinish()


def test_a_file_takes_what_all_phases_of_its_tests_took_when_they_last_ran(tmp_path: Path) -> None:
    file = tmp_path / "var" / "durations.json"
    assert recorded(file) == {}
    ran(file, one=1.0, two=2.0)
    ran(file, two=4.0)
    assert recorded(file) == {FILE: 15.0}


def test_the_lab_does_not_count(tmp_path: Path) -> None:
    file = tmp_path / "durations.json"
    ran(file, **{"one[fake]": 1.0, "one[lab]": 100.0})
    assert recorded(file) == {FILE: 3.0}
