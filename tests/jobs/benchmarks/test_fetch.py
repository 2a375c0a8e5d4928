"""Results that a host sends, honest or not."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from jobs.benchmarks import fetch
from jobs.benchmarks.fetch import (
    MOST_BYTES,
    PIECE_BYTES,
    ListedFile,
    ListedResult,
    fetch_result,
    results_on,
    unpacked,
)
from jobs.benchmarks.settle import SILENT
from jobs.models import Job
from jobs.transport.errors import AgentFailed, Unreachable
from jobs.transport.replies import AgentError, Reply
from storage.byte_sizes import GIB
from storage.host_data import BadHostData
from storage.models import Benchmark, BenchmarkRun, BenchmarkState, Host, RunState
from tests import make
from tests.jobs.benchmarks.playing import followed, job_of, ordered, played, worked
from tests.storage.benchmarks.make_spec import cell, spec

pytestmark = pytest.mark.django_db
Answer = Callable[[str, Mapping[str, Any]], dict[str, Any]]
KEY = "abcdefghijklmnop"
CONTENT = bytes(range(256)) * 5000


@pytest.fixture
def run() -> BenchmarkRun:
    benchmark = Benchmark.objects.create(host=make.host(), spec=spec().to_json())
    return BenchmarkRun.objects.create(
        benchmark=benchmark, number=1, key=KEY, cell=cell().to_json()
    )


def packed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data)).decode()


def honest(verb: str, args: Mapping[str, Any]) -> dict[str, Any]:
    offset = args["offset"]
    data = CONTENT[offset : offset + PIECE_BYTES]
    return {"data": packed(data), "next": offset + len(data), "total": len(CONTENT)}


def answers(monkeypatch: pytest.MonkeyPatch, answer: Answer) -> list[str]:
    """The host answers so; what it was asked."""
    asked: list[str] = []

    def ask(host: Host, verb: str, args: Mapping[str, Any], panel: object = None) -> Reply:
        asked.append(verb)
        return Reply(answer(verb, args), {})

    monkeypatch.setattr(fetch.contact, "ask", ask)
    return asked


def listed(*files: tuple[str, int]) -> ListedResult:
    return ListedResult(KEY, "finished", tuple(ListedFile(*each) for each in files))


def fetched(run: BenchmarkRun, *files: tuple[str, int]) -> None:
    fetch_result(run, make.host(), listed(*files))


def test_a_file_is_put_together_from_pieces(
    run: BenchmarkRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answers(monkeypatch, honest)
    fetched(run, ("legs.jsonl", len(CONTENT)), ("fio.json", 0))
    assert asked == ["bench.read"] * 3
    contents = {file.name: (file.content, file.size_bytes) for file in run.files.all()}
    assert contents == {"legs.jsonl": (CONTENT, len(CONTENT)), "fio.json": (b"", 0)}


def test_what_is_stored_is_not_fetched_again(
    run: BenchmarkRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, honest)
    fetched(run, ("fio.json", len(CONTENT)))
    asked = answers(monkeypatch, honest)
    fetched(run, ("fio.json", len(CONTENT)))
    assert asked == []
    assert run.files.count() == 1


@pytest.mark.parametrize(
    "files",
    [
        [("fio.json", 64 * GIB)],
        [("fio.json", MOST_BYTES), ("legs.jsonl", 1)],
        [("../../etc/passwd", 1)],
        [("fio.json\n", 1)],
        [("iops.1.log", 1), ("iops.1.log", 1)],
        [(f"iops.{n}.log", 1) for n in range(100)],
    ],
)
def test_a_result_that_no_run_has_is_not_even_asked_for(
    run: BenchmarkRun, monkeypatch: pytest.MonkeyPatch, files: list[tuple[str, int]]
) -> None:
    asked = answers(monkeypatch, honest)
    with pytest.raises(BadHostData, match=r"bench\.results"):
        fetched(run, *files)
    assert asked == []


def bomb(size: int) -> str:
    return packed(b"\0" * size)


@pytest.mark.parametrize(
    "reply",
    [
        {"data": bomb(64 * PIECE_BYTES), "next": PIECE_BYTES, "total": 1000},
        {"data": packed(b"x")[:-8], "next": 1, "total": 1000},
        {"data": "not base64!", "next": 1, "total": 1000},
        {"data": base64.b64encode(b"no gzip").decode(), "next": 1, "total": 1000},
        {"data": packed(b""), "next": 0, "total": 1000},
        {"data": packed(b"x"), "next": 0, "total": 1000},
        {"data": packed(b"x"), "next": 900, "total": 1000},
        {"data": packed(b"x"), "next": 1, "total": 10**18},
        {"data": packed(b"x" * 1001), "next": 1001, "total": 1000},
        {"data": packed(b"x"), "next": -1, "total": 1000},
        {"data": packed(b"x"), "next": "1", "total": 1000},
        {"data": packed(b"x") + packed(b"y"), "next": 1, "total": 1000},
        {"data": 7, "next": 1, "total": 1000},
        {},
    ],
)
def test_a_piece_that_no_agent_sends_is_refused(
    run: BenchmarkRun, monkeypatch: pytest.MonkeyPatch, reply: dict[str, Any]
) -> None:
    answers(monkeypatch, lambda verb, args: reply)
    with pytest.raises(BadHostData, match=r"bench\.read"):
        fetched(run, ("fio.json", 1000))
    assert not run.files.exists()


def test_a_bomb_is_never_unpacked_beyond_a_piece() -> None:
    with pytest.raises(BadHostData, match="too long"):
        unpacked(bomb(PIECE_BYTES + 1))
    assert len(unpacked(bomb(PIECE_BYTES))) == PIECE_BYTES


@pytest.mark.parametrize("data", [{}, {"results": 1}, {"results": [{"key": 1}]}])
def test_a_list_of_results_that_is_none_is_refused(
    monkeypatch: pytest.MonkeyPatch, data: dict[str, Any]
) -> None:
    answers(monkeypatch, lambda verb, args: data)
    with pytest.raises(BadHostData, match=r"bench\.results"):
        results_on(make.host())


def test_what_the_agent_refuses_is_its_own_word(monkeypatch: pytest.MonkeyPatch) -> None:
    error = AgentError("unknown_verb", "No such verb.", "Upgrade.")
    monkeypatch.setattr(fetch.contact, "ask", lambda *args, **more: Reply({}, {}, error))
    with pytest.raises(AgentFailed) as failed:
        results_on(make.host())
    assert failed.value.code == "unknown_verb"


def ended(host: Host) -> Benchmark:
    """A benchmark whose run is over on its host, and not fetched."""
    benchmark = followed(ordered(host))
    assert worked(job_of(benchmark)).is_over
    return benchmark


def test_a_run_whose_result_lies_has_failed_and_says_why(
    bench_host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark = ended(bench_host)
    lie = {"results": [{"key": benchmark.runs.get().key, "outcome": "finished", "files": [
        {"name": "fio.json", "size": 64 * GIB}]}]}  # fmt: skip
    answers(monkeypatch, lambda verb, args: lie)
    assert played(benchmark).state == BenchmarkState.FAILED
    run = benchmark.runs.get()
    assert (run.state, run.summary) == (RunState.FAILED, None)
    assert "cannot be used" in run.message
    assert benchmark.message == run.message


def test_a_host_that_is_silent_is_asked_again_and_not_for_ever(
    bench_host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark = ended(bench_host)

    def silent(*args: object, **more: object) -> Reply:
        raise Unreachable("host", "no route")

    with monkeypatch.context() as patch:
        patch.setattr(fetch.contact, "ask", silent)
        waiting = followed(benchmark)
        assert waiting.state == BenchmarkState.RUNNING
        assert "cannot be reached" in waiting.message
        job = job_of(benchmark)
        assert job.ended_at is not None
        Job.objects.filter(pk=job.pk).update(ended_at=job.ended_at - 2 * SILENT)
        assert played(benchmark).state == BenchmarkState.FAILED
    run = benchmark.runs.get()
    assert (run.state, run.is_on_host) == (RunState.FAILED, True)
    # The next benchmark of the host has it forgotten.
    assert played(ordered(bench_host)).state == BenchmarkState.DONE
    run.refresh_from_db()
    assert not run.is_on_host


def test_results_that_are_fetched_twice_do_no_harm(
    bench_host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark = ended(bench_host)

    def dies(*args: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr("jobs.benchmarks.settle._close", dies)
        with pytest.raises(SystemExit):
            followed(benchmark)
    stored = benchmark.runs.get().files.count()
    assert stored > 0
    assert played(benchmark).state == BenchmarkState.DONE
    assert benchmark.runs.get().files.count() == stored


def test_a_worker_that_dies_before_the_host_forgets_loses_nothing(
    bench_host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark = ended(bench_host)

    def dies(*args: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(fetch, "forget_result", dies)
        with pytest.raises(SystemExit):
            followed(benchmark)
    run = benchmark.runs.get()
    assert (run.state, run.is_on_host) == (RunState.DONE, True)
    assert played(benchmark).state == BenchmarkState.DONE
