"""guest.resize against QEMU itself: which images are resized, and which are left alone."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from storage.agent.calls.refusals import Refusal
from storage.agent.guests import qmp
from tests.fake import FakeHost

QEMU = "qemu-system-x86_64"
BEFORE, AFTER = 16 << 20, 32 << 20
DEVICE = "253:7"
SECONDS = 20.0

pytestmark = pytest.mark.skipif(shutil.which(QEMU) is None, reason="needs qemu-system-x86")


class Holder(FakeHost):
    """A host on which a file of this machine is the volume, and monitors are real."""

    def __init__(self, volume: Path) -> None:
        super().__init__()
        self.volume = str(volume)

    def qmp(self, path: str, commands: Any) -> Any:
        return qmp.talk(path, commands, SECONDS)

    def link(self, path: str) -> str | None:
        return None if self.volume.startswith(path) else super().link(path)

    def rdev(self, path: str) -> str | None:
        return DEVICE if path == self.volume else super().rdev(path)


Start = Callable[..., str]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """A paused machine with these words; the path of its monitor."""
    processes = []

    def run(*words: str, name: str = "qmp") -> str:
        monitor = tmp_path / name
        command = [QEMU, "-S", "-nodefaults", "-no-user-config", "-display", "none", "-m", "16"]
        command += ["-machine", "pc,accel=tcg", "-object", "secret,id=key,data=abc", *words]
        command += ["-qmp", f"unix:{monitor},server=on,wait=off"]
        processes.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))
        deadline = time.monotonic() + SECONDS
        while not listens(monitor):
            assert time.monotonic() < deadline and processes[-1].poll() is None
            time.sleep(0.02)
        return str(monitor)

    yield run
    for process in processes:
        process.terminate()
        process.wait(SECONDS)


def listens(monitor: Path) -> bool:
    try:
        qmp.talk(str(monitor), [], SECONDS)
    except OSError:
        return False
    return True


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    path = tmp_path / "volume"
    with path.open("wb") as file:
        file.truncate(BEFORE)
    return path


def made(monitor: str, create: dict[str, Any]) -> str:
    """The error that a job to write an image ended with; "" for none."""
    qmp.talk(monitor, [{"execute": "blockdev-create", "arguments": create}], SECONDS)
    deadline = time.monotonic() + SECONDS
    while True:
        (jobs,) = qmp.talk(monitor, [{"execute": "query-jobs"}], SECONDS)
        if jobs[0]["status"] == "concluded":
            break
        assert time.monotonic() < deadline
        time.sleep(0.02)
    qmp.talk(monitor, [{"execute": "job-dismiss", "arguments": {"id": "make"}}], SECONDS)
    return str(jobs[0].get("error", ""))


def make(start: Start, volume: Path, image: str, size_bytes: int) -> None:
    """Write an image on the volume, as qemu-img would."""
    node = f"driver=file,filename={volume},node-name=volume"
    monitor = start("-blockdev", node, name=f"make-{image}")
    options: dict[str, Any] = {"driver": image, "file": "volume", "size": size_bytes}
    if image == "luks":
        options |= {"key-secret": "key", "iter-time": 200}
    create = {"job-id": "make", "options": options}
    deadline = time.monotonic() + SECONDS
    # On a busy machine QEMU fails to measure how fast it can derive a key, and is asked again.
    while error := made(monitor, create):
        assert error == "Unable to get accurate CPU usage" and time.monotonic() < deadline
    qmp.talk(monitor, [{"execute": "quit"}], SECONDS)
    with volume.open("r+b") as file:
        file.truncate(max(BEFORE, volume.stat().st_size))


def tell(volume: Path, monitor: str, from_bytes: int = BEFORE) -> list[str]:
    """Grow the volume and inform its guest."""
    with volume.open("r+b") as file:
        file.truncate(max(AFTER, volume.stat().st_size))
    return qmp.resize(Holder(volume), monitor, DEVICE, from_bytes, AFTER)


def sees(monitor: str) -> int:
    (blocks,) = qmp.talk(monitor, [{"execute": "query-block"}], SECONDS)
    size: int = blocks[0]["inserted"]["image"]["virtual-size"]
    return size


def raw(volume: Path) -> dict[str, Any]:
    return {"driver": "raw", "file": {"driver": "file", "filename": str(volume)}}


def disk(node: dict[str, Any]) -> tuple[str, ...]:
    node = {"node-name": "disk0", **node}
    return ("-blockdev", json.dumps(node), "-device", "virtio-blk-pci,drive=disk0")


@pytest.mark.parametrize("size_bytes", [1 << 30, 12 << 20])
def test_a_qcow2_image_keeps_its_size_and_what_is_in_it(
    start: Start, volume: Path, size_bytes: int
) -> None:
    make(start, volume, "qcow2", size_bytes)
    monitor = start(*disk({**raw(volume), "driver": "qcow2"}))
    (said,) = tell(volume, monitor)
    assert "qcow2" in said and "not informed" in said
    assert sees(monitor) == size_bytes


def test_an_encrypted_image_keeps_its_size(start: Start, volume: Path) -> None:
    make(start, volume, "luks", 8 << 20)
    monitor = start(*disk({**raw(volume), "driver": "luks", "key-secret": "key"}))
    (said,) = tell(volume, monitor)
    assert "luks" in said and "not informed" in said


def test_a_part_of_the_volume_stays_that_part(start: Start, volume: Path) -> None:
    monitor = start(*disk({**raw(volume), "offset": 1 << 20, "size": 8 << 20}))
    (said,) = tell(volume, monitor)
    assert "not informed" in said
    assert sees(monitor) == 8 << 20


@pytest.mark.parametrize("form", ["drive", "node", "throttled"])
def test_a_raw_disk_grows_under_its_guest(start: Start, volume: Path, form: str) -> None:
    group: tuple[str, ...] = ()
    if form == "drive":
        words = ("-drive", f"file={volume},format=raw,if=virtio")
    elif form == "node":
        words = disk(raw(volume))
    else:
        group = ("-object", "throttle-group,id=slow")
        words = disk({"driver": "throttle", "throttle-group": "slow", "file": raw(volume)})
    monitor = start(*group, *words)
    assert sees(monitor) == BEFORE
    assert tell(volume, monitor) == [f"The guest behind {monitor} sees {AFTER} bytes."]
    assert sees(monitor) == AFTER
    assert tell(volume, monitor) == [f"The guest behind {monitor} sees {AFTER} bytes."]


def test_a_disk_of_another_size_than_was_known_is_not_informed(start: Start, volume: Path) -> None:
    monitor = start("-drive", f"file={volume},format=raw,if=virtio")
    (said,) = tell(volume, monitor, BEFORE // 2)
    assert "not informed" in said
    assert sees(monitor) == BEFORE


@pytest.mark.parametrize("kind", ["backup", "mirror"])
def test_a_backup_or_a_mirror_of_the_disk_is_waited_for_by_name(
    start: Start, volume: Path, tmp_path: Path, kind: str
) -> None:
    monitor = start("-drive", f"file={volume},format=raw,if=virtio,id=disk0")
    copy = {"device": "disk0", "job-id": "nightly", "sync": "full", "format": "raw"}
    # It stays where it would end.
    job = {**copy, "target": str(tmp_path / "copy"), "auto-finalize": False}
    qmp.talk(monitor, [{"execute": f"drive-{kind}", "arguments": job}], SECONDS)
    with pytest.raises(Refusal, match=f"{kind} running") as caught:
        tell(volume, monitor)
    assert caught.value.code == "guest_busy"
    assert sees(monitor) == BEFORE
    cancel = {"execute": "block-job-cancel", "arguments": {"device": "nightly", "force": True}}
    qmp.talk(monitor, [cancel], SECONDS)
    deadline = time.monotonic() + SECONDS
    while qmp.talk(monitor, [{"execute": "query-block-jobs"}], SECONDS) != [[]]:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    tell(volume, monitor)
    assert sees(monitor) == AFTER
