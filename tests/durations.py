"""How long each test took when it last ran here: var/durations.json, which every run brings up to
date and `make quick` reads."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

FILE = Path(__file__).resolve().parent.parent / "var" / "durations.json"


class Recorder:
    """A plugin of pytest, for the process that hears of all tests."""

    def __init__(self, file: Path = FILE) -> None:
        self._file = file
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up its set-up, call and tear-down."""
        self._seconds[report.nodeid.partition("@")[0]] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Write those that ran beside those that did not."""
        self._file.parent.mkdir(exist_ok=True)
        written = self._file.with_suffix(".new")
        written.write_text(json.dumps({**_read(self._file), **self._seconds}, indent=0))
        written.replace(self._file)


def recorded(file: Path = FILE) -> dict[str, float]:
    """What each file of tests takes, without the lab's."""
    sums: defaultdict[str, float] = defaultdict(float)
    for test, seconds in _read(file).items():
        if "[lab" not in test:
            sums[test.partition("::")[0]] += seconds
    return dict(sums)


def _read(file: Path) -> dict[str, float]:
    seconds: dict[str, float] = json.loads(file.read_text()) if file.exists() else {}
    return seconds
