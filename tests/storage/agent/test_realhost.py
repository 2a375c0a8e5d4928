"""The journal on a real file system, and the unit that runs an operation."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from storage.agent.realhost import RealHost

OP = "2f1b9b1e-1111-4111-8111-111111111111"


@pytest.fixture
def host(tmp_path: Path) -> RealHost:
    return RealHost(tmp_path / "ops", tmp_path / "run")


def test_of_many_that_leave_a_mark_one_is_the_first(host: RealHost) -> None:
    host.op_create(OP, {})
    won: list[bool] = []
    barrier = threading.Barrier(8)

    def mark() -> None:
        barrier.wait()
        won.append(host.op_mark(OP, "begun"))

    threads = [threading.Thread(target=mark) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 7 + [True]
    assert host.op_marked(OP, "begun")
    assert not host.op_marked(OP, "abort")


def test_a_record_is_created_once_and_removed_with_all_that_is_beside_it(
    host: RealHost, tmp_path: Path
) -> None:
    other = OP.replace("2f", "3f")
    assert host.op_create(OP, {"a": 1}) and host.op_create(other, {"a": 2})
    assert not host.op_create(OP, {"a": 3})
    host.op_mark(OP, "begun")
    host.op_log(OP, "a line")
    assert host.op_load(OP) == {"a": 1}
    host.op_remove(OP)
    assert list(host.op_ids()) == [other]
    assert [path.name for path in (tmp_path / "ops").iterdir()] == [f"{other}.json"]


def test_an_entry_is_on_the_disk_before_it_has_its_name_and_its_name_before_it_counts(
    host: RealHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.op_create(OP, {"a": 1})
    events: list[str] = []
    fsync, replace = os.fsync, os.replace

    def synced(file: int) -> None:
        kind = "folder" if Path(f"/proc/self/fd/{file}").resolve().is_dir() else "file"
        events.append(f"sync {kind}")
        fsync(file)

    def replaced(source: str, target: str) -> None:
        events.append("name")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    host.op_save(OP, {"a": 2})
    assert events == ["sync file", "name", "sync folder"]
    events.clear()
    host.op_mark(OP, "begun")
    assert events == ["sync folder"]
    events.clear()
    host.save(str(tmp_path / "fences" / "x"), b"1")
    assert events == ["sync folder", "sync file", "name", "sync folder"]


def test_a_failed_entry_leaves_the_old_one_and_no_rubbish(
    host: RealHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.op_create(OP, {"a": 1})

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        host.op_save(OP, {"a": 2})
    assert host.op_load(OP) == {"a": 1}
    assert [path.name for path in (tmp_path / "ops").iterdir()] == [f"{OP}.json"]


def test_direct_reads_leave_a_device_as_it_is_and_nothing_in_the_page_cache(
    host: RealHost, tmp_path: Path
) -> None:
    path = tmp_path / "device"
    path.write_bytes(bytes(range(256)) * 1024)
    with host.direct_reads(str(path)) as read:
        read(0, 65536)
        read(65536, 4096)
        with pytest.raises(OSError, match="Invalid argument"):
            read(1, 4096)
    assert path.read_bytes() == bytes(range(256)) * 1024
    with pytest.raises(FileNotFoundError), host.direct_reads(str(tmp_path / "none")):
        pass


def test_files_of_a_result_are_roots_alone_and_end_with_their_folder(
    host: RealHost, tmp_path: Path
) -> None:
    folder = tmp_path / "benchmarks" / "aaaaaaaa"
    host.make_folder(str(folder), 0o700)
    assert folder.stat().st_mode & 0o777 == 0o700
    file = folder / "legs.jsonl"
    host.append(str(file), b"one\n")
    host.append(str(file), b"two\n")
    assert file.stat().st_mode & 0o777 == 0o600
    assert host.size_bytes(str(file)) == 8
    assert host.read_part(str(file), 4, 100) == b"two\n"
    assert host.read_part(str(file), 100, 100) == b""
    host.rename(str(file), str(folder / "iops.1.log"))
    assert host.size_bytes(str(file)) is None and host.read_part(str(file), 0, 1) == b""
    assert host.size_bytes(str(folder)) is None, "it is no file"
    host.remove_folder(str(folder))
    host.remove_folder(str(folder))
    assert not folder.exists()
