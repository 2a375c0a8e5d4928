"""The start of a machine, with a program in qemu's place."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab import state, vm
from tests.lab.image import Image
from tests.lab.standby import Standby

ENDS = [sys.executable, "-c", "print('segmentation fault')"]
ANSWERS = """
import socket, sys
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        server.accept()[0].sendall(b"SSH-2.0")
"""


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def lab(tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[vm.Lab]:
    monkeypatch.setattr(state, "CHECKOUT", tmp_path)
    image = Image(*(tmp_path / part for part in ("root.ext2", "vmlinuz", "initrd.img")))
    monkeypatch.setattr(vm.image, "ensure", lambda _say: image)
    monkeypatch.setattr(vm.standby, "of", lambda _folder: Standby(tmp_path / "none"))
    lab = vm.Lab("crashes", say=said.append)
    yield lab
    lab.shutdown()


def test_a_machine_that_crashes_at_its_start_is_started_once_more_and_says_so(
    lab: vm.Lab, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = iter([ENDS, [sys.executable, "-c", ANSWERS]])
    monkeypatch.setattr(vm.Lab, "_command", lambda lab: [*next(commands), str(lab.ssh_port)])
    lab.start()
    lab.wait_for_boot()
    assert len(said) == 1
    assert "segmentation fault" in said[0] and said[0].endswith("Starting the lab once more")


def test_one_that_crashes_again_does_not_start(
    lab: vm.Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vm.Lab, "_command", lambda _lab: ENDS)
    lab.start()
    with pytest.raises(vm.LabUnavailable, match="segmentation fault"):
        lab.wait_until_up()
