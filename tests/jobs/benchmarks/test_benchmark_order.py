"""Benchmarks that people order, and why not."""

from __future__ import annotations

from datetime import time
from typing import Any

import pytest

from jobs.benchmarks.benchmark_order import cancel_benchmark, order, order_refusal, pause, resume
from jobs.models import Job, Kind, Origin
from jobs.queue.submit import confirm, right_to, submit_for_host
from jobs.requester import Requester
from storage.access import Right
from storage.benchmarks.matrix import PlannedRun, TargetChoice, TargetKind
from storage.benchmarks.run_wish import wish_of
from storage.byte_sizes import GIB
from storage.models import Benchmark, BenchmarkPurpose, BenchmarkState, Host, RunState
from storage.models.host import HostState
from storage.planner import Refused
from storage.planner.daily_window import DailyWindow
from storage.planner.ssd_wish import Preparation
from tests import make
from tests.jobs.benchmarks.playing import HDD, NO_ONE, SSD
from tests.scene import Scene, end, scene
from tests.storage.benchmarks.make_spec import spec

pytestmark = pytest.mark.django_db
ALLOWED = {"benchmarks": {"fio": "3.33", "quota_bytes": 1 << 50}}


@pytest.fixture
def there() -> Scene:
    return scene(host={"hello": ALLOWED})


def refusal(there: Scene, **changes: Any) -> Refused:
    refused = order_refusal(there.host, spec(**changes))
    assert refused is not None
    assert refused.correction
    return refused


def test_an_order_is_a_row_with_all_its_runs(there: Scene) -> None:
    person = make.staff_user()
    by = Requester(person, "192.0.2.1", Origin.API, "t1")
    wanted = spec(targets=(HDD, SSD), repeats=2)
    made = order(there.host, wanted, by, title="HDD and SSD", purpose=BenchmarkPurpose.GATE)
    assert (made.state, made.title, made.purpose) == (BenchmarkState.WANTED, "HDD and SSD", "gate")
    assert (made.actor, made.address, made.request_origin, made.token) == (
        person,
        "192.0.2.1",
        "api",
        "t1",
    )
    assert made.matrix == wanted
    runs = [(run.number, run.matrix_cell.target, run.repeat) for run in made.runs.all()]
    assert runs == [(1, "hdd", 0), (2, "ssd", 0), (3, "ssd", 1), (4, "hdd", 1)]
    assert len(set(made.runs.values_list("key", flat=True))) == 4


def test_a_host_that_can_do_it_refuses_nothing(there: Scene) -> None:
    assert order_refusal(there.host, spec()) is None


@pytest.mark.parametrize(
    ("hello", "words"),
    [
        ({}, "older"),
        ({"benchmarks": "yes"}, "older"),
        ({"benchmarks": {"fio": "3.33", "quota_bytes": True}}, "older"),
        ({"benchmarks": {"fio": "3.33", "quota_bytes": 0}}, "has not allowed"),
        ({"benchmarks": {"fio": None, "quota_bytes": GIB}}, "not installed"),
    ],
)
def test_root_s_word_and_fio_are_needed(hello: dict[str, Any], words: str) -> None:
    assert words in refusal(scene(host={"hello": hello})).message


def test_the_line_to_paste_is_said() -> None:
    denied = refusal(scene(host={"hello": {"benchmarks": {"fio": "3.33", "quota_bytes": 0}}}))
    assert "allow-benchmarks" in denied.correction
    missing = refusal(scene(host={"hello": {"benchmarks": {"fio": None, "quota_bytes": GIB}}}))
    assert "apt install fio" in missing.correction
    assert "dnf install fio" in missing.correction


def test_a_run_that_needs_more_than_root_allows_is_refused_with_the_line() -> None:
    there = scene(host={"hello": {"benchmarks": {"fio": "3.33", "quota_bytes": GIB}}})
    refused = refusal(there)
    assert "needs 5 GiB" in refused.message
    assert refused.correction.endswith("allow-benchmarks 5")


def test_what_the_group_has_no_room_for_is_refused_and_nothing_is_written(there: Scene) -> None:
    assert refusal(there, data_bytes=(1 << 45,)).code == "no_space"
    assert refusal(there, fast_pvs=("sdz",)).code == "not_found"
    with pytest.raises(Refused):
        order(there.host, spec(data_bytes=(1 << 45,)), NO_ONE)
    assert not Benchmark.objects.exists()


def test_a_matrix_that_cannot_be_run_is_refused(there: Scene) -> None:
    wrong = TargetChoice(TargetKind.HDD, "writeback")
    assert "has no cache" in refusal(there, targets=(wrong,)).message


def test_a_host_that_is_not_in_use_is_refused() -> None:
    there = scene(host={"hello": ALLOWED, "state": HostState.QUARANTINED})
    assert "quarantined" in refusal(there).message


def test_a_window_that_never_opens_is_refused(there: Scene) -> None:
    Host.objects.update(window_start=time(1), window_end=time(2))
    there.host.refresh_from_db()
    with pytest.raises(Refused, match="never open"):
        order(there.host, spec(), NO_ONE, window=DailyWindow(time(4), time(5)))


def test_what_is_over_is_neither_paused_nor_resumed_nor_cancelled(there: Scene) -> None:
    made = order(there.host, spec(), NO_ONE)
    cancel_benchmark(made, NO_ONE)
    for act in (pause, resume, cancel_benchmark):
        with pytest.raises(Refused, match="is over"):
            act(made, NO_ONE)
    assert [run.state for run in made.runs.all()] == [RunState.CANCELLED]


def test_one_that_has_not_begun_rests_at_once(there: Scene) -> None:
    made = order(there.host, spec(), NO_ONE)
    pause(made, NO_ONE)
    assert (made.state, made.not_before) == (BenchmarkState.PAUSED, None)
    pause(made, NO_ONE)
    resume(made, NO_ONE)
    resume(made, NO_ONE)
    assert made.state == BenchmarkState.WANTED
    assert made.not_before is not None


def preview_of(there: Scene) -> Job:
    wish = wish_of(spec(), PlannedRun(spec().cells[0], 0), "abcdefghijklmnop")
    return submit_for_host(there.host, wish, NO_ONE, dry_run=True)


def test_a_preview_of_a_run_starts_none(there: Scene) -> None:
    preview = preview_of(there)
    assert (preview.kind, preview.benchmark_run) == (Kind.BENCHMARK, None)
    assert str(preview) == "Benchmark run: vg0"
    end(preview)
    with pytest.raises(Refused, match="starts none"):
        confirm(preview, NO_ONE)


def test_operators_may_run_benchmarks(there: Scene) -> None:
    assert right_to(preview_of(there)) == Right.OPERATE


def test_a_benchmark_keeps_no_disk_from_being_added(there: Scene) -> None:
    made = order(there.host, spec(), NO_ONE)
    wish = wish_of(spec(), PlannedRun(spec().cells[0], 0), "abcdefghijklmnop")
    submit_for_host(there.host, wish, NO_ONE, dry_run=False, benchmark_run=made.runs.get())
    added = Preparation("sde", "ssd2", make.VG_UUID, "vg0")
    submit_for_host(there.host, added, NO_ONE, dry_run=False)
    assert Job.objects.unfinished().count() == 2
