import os
import select
from pathlib import Path

import pytest

from storage.agent.kernel.transient_units import detach


def nowhere(pid: int) -> None:
    """A new home that needs nothing."""


def test_it_keeps_no_descriptor_of_its_parent(tmp_path: Path) -> None:
    held_reader, held_writer = os.pipe()
    fifo = tmp_path / "done"
    os.mkfifo(fifo)
    go_on = tmp_path / "go-on"
    os.mkfifo(go_on)

    def work() -> None:
        go_on.read_text()
        fifo.write_text(" ".join(str(Path(f"/proc/self/fd/{n}").readlink()) for n in (0, 1, 2)))

    detach("test", nowhere, work, 30)
    os.close(held_writer)
    # The pipe ends with its last writer: were the new process one, this would not be ready.
    ready, _, _ = select.select([held_reader], [], [], 5)
    go_on.write_text("")
    assert ready and os.read(held_reader, 1) == b""
    os.close(held_reader)
    assert fifo.read_text() == "/dev/null /dev/null /dev/null"


def test_it_is_no_child_of_its_starter(tmp_path: Path) -> None:
    fifo = tmp_path / "done"
    os.mkfifo(fifo)
    detach("test", nowhere, lambda: _parent(fifo), 30)
    pid, parent = map(int, fifo.read_text().split())
    assert parent != os.getpid()
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def test_what_keeps_it_from_its_scope_is_reported(tmp_path: Path) -> None:
    def enter(pid: int) -> None:
        raise OSError("no room in the house")

    began = tmp_path / "began"
    with pytest.raises(OSError, match="no room in the house"):
        detach("test", enter, began.touch, 30)
    assert not began.exists()


def test_one_that_dies_on_its_way_is_reported(tmp_path: Path) -> None:
    began = tmp_path / "began"
    with pytest.raises(OSError, match="it ended before it began"):
        detach("test", lambda pid: os._exit(1), began.touch, 30)
    assert not began.exists()


def test_one_that_is_not_heard_of_is_not_waited_for(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    with pytest.raises(OSError, match="not heard of in time"):
        detach("test", lambda pid: _wait(gate), lambda: None, 0.05)
    gate.write_text("")


def _parent(fifo: Path) -> None:
    fifo.write_text(f"{os.getpid()} {os.getppid()}")


def _wait(gate: Path) -> None:
    gate.read_text()
