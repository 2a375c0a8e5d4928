"""A kernel that cannot be traced is recognised, and nothing is left behind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from storage.agent.kernel.local_host import CommandResult, MissingTool
from storage.agent.kernel.trace_instance import NAME, NoTracing, TraceInstance
from tests.storage.agent.heat.pages import FORMAT, HEADER_PAGE


class Mounting:
    """What `mount` says on a host."""

    def __init__(self, rc: int | None = 0, stderr: str = "") -> None:
        self.rc, self.stderr = rc, stderr
        self.ran: list[Sequence[str]] = []

    def run(self, argv: Sequence[str], *, timeout: float | None = 10.0) -> CommandResult:
        self.ran.append(argv)
        if self.rc is None:
            raise MissingTool(argv[0])
        return CommandResult(self.rc, "", self.stderr)


@pytest.fixture
def tracefs(tmp_path: Path) -> Path:
    """Its files, as far as they can be plain ones."""
    (tmp_path / "instances").mkdir()
    event = tmp_path / "events" / "block" / "block_bio_queue"
    event.mkdir(parents=True)
    (event / "format").write_text(FORMAT)
    (tmp_path / "events" / "header_page").write_text(HEADER_PAGE)
    return tmp_path


@pytest.mark.parametrize(
    ("mounting", "why"),
    [
        (Mounting(32, "mount: unknown filesystem type 'tracefs'.\n"), "unknown filesystem"),
        (Mounting(0), "no tracefs"),
        (Mounting(None), "cannot be mounted: mount"),
    ],
)
def test_a_host_without_tracefs_says_so(tmp_path: Path, mounting: Mounting, why: str) -> None:
    with pytest.raises(NoTracing, match=re.escape(why)):
        TraceInstance(mounting, str(tmp_path)).start()
    assert [argv[:3] for argv in mounting.ran] == [("mount", "-t", "tracefs")]


def test_tracefs_that_is_mounted_is_left_as_it_is(tracefs: Path) -> None:
    mounting = Mounting()
    with pytest.raises(NoTracing, match="per_cpu"):
        TraceInstance(mounting, str(tracefs)).start()
    assert mounting.ran == []
    assert list((tracefs / "instances").iterdir()) == []


def test_a_kernel_without_the_event_is_left_as_it_was(tracefs: Path) -> None:
    (tracefs / "events" / "block" / "block_bio_queue" / "format").unlink()
    with pytest.raises(NoTracing, match="block_bio_queue"):
        TraceInstance(Mounting(), str(tracefs)).start()
    assert list((tracefs / "instances").iterdir()) == []


def test_an_instance_that_was_left_is_removed_and_a_missing_one_is_no_error(tracefs: Path) -> None:
    left = tracefs / "instances" / NAME
    left.mkdir()
    assert TraceInstance(Mounting(), str(tracefs)).stop()
    assert not left.exists()
    assert not TraceInstance(Mounting(), str(tracefs)).stop()


def test_an_instance_that_is_in_use_is_named(
    tracefs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tracefs / "instances" / NAME
    left.mkdir()
    (left / "trace").touch()
    monkeypatch.setattr("storage.agent.kernel.trace_instance.time.sleep", lambda seconds: None)
    with pytest.raises(NoTracing, match="tiercel-heat cannot be removed"):
        TraceInstance(Mounting(), str(tracefs)).stop()
