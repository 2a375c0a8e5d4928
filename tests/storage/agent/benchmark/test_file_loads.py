"""Loads on files, really run in a temporary folder: what they leave is read as fio's."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from storage.agent.benchmark.file_figures import bin_of, middle_ns
from storage.agent.benchmark.file_loads import FILLED_PERCENT, SIZE_QUANTILES, FileLoad, file_size
from storage.benchmarks.result_files import read_result
from storage.fio.latency_bins import GEOMETRIES, index_of
from tests.storage.benchmarks.make_spec import cell
from tests.storage.benchmarks.run_files import conditions, run_json

MIB = 1 << 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "mounted"
    made.mkdir()
    return made


def options(tmp_path: Path, profile: str, **more: str) -> Mapping[str, str]:
    result = tmp_path / "result"
    result.mkdir(exist_ok=True)
    return {
        "name": "measured",
        "profile": profile,
        "randseed": "7",
        "size": str(4 * MIB),
        "numjobs": "2",
        "runtime": "2",
        "log_avg_msec": "100",
        "write_iops_log": str(result / "iops"),
        "output": str(result / "fio.json"),
        **more,
    }


def results(tmp_path: Path) -> dict[str, bytes]:
    """As the agent names them."""
    files = {path.name: path.read_bytes() for path in (tmp_path / "result").iterdir()}
    return {name.replace("iops_iops", "iops"): content for name, content in files.items()}


def loaded(tmp_path: Path, folder: Path, profile: str, **more: str) -> list[int]:
    """Runs it; one entry each time the page cache was emptied."""
    emptied: list[int] = []
    FileLoad(
        options(tmp_path, profile, **more), folder, lambda: emptied.append(1), threading.Event()
    ).run()
    return emptied


def test_a_tree_is_written_and_then_read_whole_in_any_order(tmp_path: Path, folder: Path) -> None:
    emptied = loaded(tmp_path, folder, "file_tree")
    assert emptied, "each reading begins without what memory held"
    files = [path for path in folder.rglob("*") if path.is_file()]
    total = sum(path.stat().st_size for path in files)
    assert total >= 4 * MIB * FILLED_PERCENT // 100
    found = {**results(tmp_path), "run.json": run_json(), "conditions.json": conditions()}
    summary = read_result(found, cell(seconds=2)).summary
    assert summary is not None and summary.read is not None and summary.write is not None
    assert summary.write.ios == len(files) and len(summary.jobs) == 2
    assert summary.read.ios >= len(files)
    assert summary.read.percentiles[0] is not None
    assert summary.ios == summary.read.ios + summary.write.ios
    assert summary.reached_seconds == pytest.approx(2, abs=0.5)


def test_files_a_second_are_those_of_the_time_in_which_they_were_read(
    tmp_path: Path, folder: Path
) -> None:
    """Not of the time in which the others were written."""
    loaded(tmp_path, folder, "file_tree", numjobs="1")
    found = {**results(tmp_path), "run.json": run_json(), "conditions.json": conditions()}
    summary = read_result(found, cell(seconds=2)).summary
    assert summary is not None and summary.read is not None and summary.write is not None
    apart = sum(each.ios / each.iops for each in (summary.read, summary.write))
    assert apart == pytest.approx(summary.ios / summary.iops, rel=0.1)


def test_a_tree_that_warmed_the_cache_is_only_read(tmp_path: Path, folder: Path) -> None:
    loaded(tmp_path, folder, "file_tree", name="warm")
    loaded(tmp_path, folder, "file_tree")
    found = {**results(tmp_path), "run.json": run_json(), "conditions.json": conditions()}
    summary = read_result(found, cell(seconds=2)).summary
    assert summary is not None and summary.read is not None and summary.write is None


def test_transactions_keep_the_books_and_are_counted(tmp_path: Path, folder: Path) -> None:
    sized = {"size": str(16 * MIB)}
    loaded(tmp_path, folder, "sql", name="fill", **sized)
    loaded(tmp_path, folder, "sql", **sized)
    found = {**results(tmp_path), "run.json": run_json(), "conditions.json": conditions()}
    summary = read_result(found, cell(seconds=2)).summary
    assert summary is not None and summary.write is not None and summary.read is None
    with closing(sqlite3.connect(folder / "accounts.db")) as database:
        ((history,),) = database.execute("SELECT count(*) FROM history")
        queries = (
            "SELECT sum(balance) FROM accounts",
            "SELECT sum(balance) FROM tellers",
            "SELECT sum(balance) FROM branches",
        )
        sums = {database.execute(query).fetchone() for query in queries}
        assert sums == {database.execute("SELECT sum(delta) FROM history").fetchone()}
    assert summary.write.ios == history > 0
    size = (folder / "accounts.db").stat().st_size
    assert size == pytest.approx(16 * MIB * FILLED_PERCENT / 100, rel=0.1)


def test_a_load_that_is_stopped_writes_down_what_it_has(tmp_path: Path, folder: Path) -> None:
    stop = threading.Event()
    stop.set()
    loaded(tmp_path, folder, "sql", name="fill")
    FileLoad(options(tmp_path, "sql", runtime="3600"), folder, lambda: None, stop).run()
    assert "fio.json" in results(tmp_path)


def test_a_full_file_system_ends_the_load_with_its_reason(tmp_path: Path, folder: Path) -> None:
    def renew() -> None:
        raise OSError(28, os.strerror(28))

    with pytest.raises(OSError, match="No space left"):
        FileLoad(options(tmp_path, "file_tree"), folder, renew, threading.Event()).run()


def test_sizes_of_files_are_those_of_the_table() -> None:
    assert [file_size(n / 20) for n in range(21)] == list(SIZE_QUANTILES)
    assert file_size(0.5) < 4096 < file_size(0.75)


@pytest.mark.parametrize("ns", [0, 1, 127, 128, 129, 5000, 123_456, 10**9, 8 * 10**9])
def test_latencies_fall_into_fios_bins(ns: int) -> None:
    assert index_of(middle_ns(bin_of(ns)), 29 * 64) == bin_of(ns)
    assert middle_ns(bin_of(ns)) == pytest.approx(ns, rel=0.008, abs=0.5)
    assert 29 * 64 in GEOMETRIES
