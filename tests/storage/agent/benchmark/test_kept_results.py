"""Results on the host, until the panel has them."""

from __future__ import annotations

import json

import pytest

from storage.agent.benchmark import kept_results
from storage.agent.calls.refusals import Refusal
from tests.contract.benchmark_runs import text_of
from tests.contract.client import Agent
from tests.fake import FakeHost

KEY = "aaaaaaaa"


def begun(host: FakeHost) -> None:
    kept_results.begin_result(host, KEY, {"args": {}, "boot_id": "b", "reached_seconds": 0})


def put(host: FakeHost, name: str, data: bytes) -> None:
    host.save(f"{kept_results.run_folder(KEY)}/{name}", data, 0o600)


def test_a_run_that_was_killed_has_a_result_that_says_how_far_it_came(host: FakeHost) -> None:
    begun(host)
    kept_results.append_legs(host, KEY, [{"ms": 0}, {"ms": 42_500}])
    host.append(f"{kept_results.run_folder(KEY)}/legs.jsonl", b'{"ms": 43')
    assert kept_results.ended_runs(host) == []
    assert kept_results.finish_killed(host) == [KEY]
    run = kept_results.load_run(host, KEY)
    assert run is not None and (run["outcome"], run["reached_seconds"]) == ("stopped", 42)
    assert run["boot_id"] == "b" and run["message"]
    assert kept_results.finish_killed(host) == []


def test_fios_files_get_their_names_and_its_words_are_taken_off(host: FakeHost) -> None:
    begun(host)
    put(host, "iops_iops.2.log", b"500, 1, 0, 0, 0\n")
    put(host, "hist_clat_hist.2.log", b"1000, 0, 4096\n")
    put(host, "fio.json", b"\nfio: terminating on signal 2\n{}\n")
    assert kept_results.tidy_run(host, KEY) == []
    names = {each["name"] for each in kept_results.files_of_run(host, KEY)}
    assert names == {"run.json", "fio.json", "iops.2.log", "hist.2.log"}
    assert host.read(f"{kept_results.run_folder(KEY)}/fio.json") == b"{}\n"


def test_the_largest_logs_of_a_result_that_is_too_large_are_left_out_and_named(
    host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_results, "BYTES_LIMIT", 1000)
    begun(host)
    for number, size in ((1, 900), (2, 600), (3, 100)):
        put(host, f"hist.{number}.log", b"x" * size)
    kept_results.finish_result(host, KEY, kept_results.FINISHED, "", "")
    run = kept_results.load_run(host, KEY)
    assert run is not None and run["left_out"] == ["hist.1.log"]


def test_a_file_is_read_in_pieces(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_results, "PIECE_BYTES", 64)
    begun(host)
    rows = [{"ms": number} for number in range(100)]
    kept_results.append_legs(host, KEY, rows)
    kept_results.finish_result(host, KEY, kept_results.FINISHED, "", "")
    lines = text_of(agent, KEY, "legs.jsonl").splitlines()
    assert [json.loads(line) for line in lines] == rows


@pytest.mark.parametrize("name", ["../../etc/shadow", "run.json/..", "iops.1.log\n", "x", 7, None])
def test_no_other_file_is_read(agent: Agent, name: object) -> None:
    refused = agent.ask("bench.read", {"key": KEY, "name": name, "offset": 0})["error"]
    assert refused["code"] == "bad_request"


def test_a_run_at_work_is_neither_read_nor_forgotten(host: FakeHost, agent: Agent) -> None:
    begun(host)
    args = {"key": KEY, "name": "run.json", "offset": 0}
    assert agent.ask("bench.read", args)["error"]["code"] == "not_found"
    assert agent.ask("bench.forget", {"key": KEY})["error"]["code"] == "busy"
    with pytest.raises(Refusal):
        kept_results.forget_result(host, KEY)


def test_a_result_that_the_disk_spoiled_counts_as_failed(host: FakeHost) -> None:
    begun(host)
    put(host, "run.json", b"\0\0\0")
    assert kept_results.ended_runs(host) == [{"key": KEY, "outcome": "failed"}]


def test_what_is_no_run_in_the_folder_is_left_alone(host: FakeHost) -> None:
    host.save(f"{kept_results.FOLDER}/lost+found/x", b"")
    assert kept_results.run_keys(host) == []
