import os
from pathlib import Path

import pytest

from tests.lab import state
from tests.lab.packages import LabUnavailable


@pytest.fixture(autouse=True)
def checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(state, "CHECKOUT", tmp_path)
    state.folder_of("x").mkdir(parents=True)


def record(started: int) -> state.State:
    return state.State("x", os.getpid(), started, 2222, "/tmp/control")


def test_a_running_lab_is_found_by_its_name() -> None:
    running = record(state.started(os.getpid()) or 0)
    state.write(running)
    assert state.read("x") == running


def test_a_process_id_that_was_used_again_is_not_the_lab() -> None:
    state.write(record(started=1))
    assert state.read("x") is None


def test_a_forgotten_lab_is_gone() -> None:
    state.write(record(state.started(os.getpid()) or 0))
    state.forget("x")
    assert state.read("x") is None


@pytest.mark.parametrize("name", ["", "../x", "A", "a b", "-a"])
def test_a_name_cannot_leave_the_state_folder(name: str) -> None:
    with pytest.raises(LabUnavailable):
        state.folder_of(name)
