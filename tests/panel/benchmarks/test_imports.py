"""Outputs of fio and YABS from elsewhere."""

from __future__ import annotations

import json

import pytest

from jobs.requester import Requester
from panel.benchmarks.imports import NothingImported, read_import, save_import
from storage.models import Benchmark, BenchmarkFile
from tests.storage.benchmarks.run_files import fio_json, iops_log

YABS = {
    "version": "v2025-01-01",
    "fio": [
        {
            **{"bs": "4k", "speed_r": 200_000, "iops_r": 50_000, "speed_w": 200_000},
            **{"iops_w": 50_000, "speed_rw": 400_000, "iops_rw": 100_000, "speed_units": "KBps"},
        }
    ],
}


def named(jobs: list[str]) -> bytes:
    """fio's JSON of jobs of these names."""
    document = json.loads(fio_json(jobs=len(jobs)))
    for job, name in zip(document["jobs"], jobs, strict=True):
        job["jobname"] = name
    return json.dumps(document).encode()


def test_jobs_of_one_name_ran_at_once_and_are_one_run() -> None:
    [run] = read_import({"fio.json": named(["zipf", "zipf"])}).runs
    assert (run.name, run.summary.iops, len(run.summary.jobs)) == ("zipf", 100.0, 2)
    assert run.fio_version == "fio-3.33"
    assert run.summary.read is not None
    assert run.summary.read.percentiles[4] == pytest.approx(1e6, rel=0.01)


def test_jobs_of_other_names_are_runs_of_their_own() -> None:
    found = read_import({"fio.json": named(["seq", "rand"])})
    assert [(run.name, run.summary.iops) for run in found.runs] == [("seq", 50.0), ("rand", 50.0)]


def test_logs_give_figures_over_time() -> None:
    files = {"fio.json": named(["zipf"]), "zipf_iops.1.log": iops_log(100)}
    [run] = read_import(files).runs
    assert len(run.summary.series.iops) == 120
    assert run.summary.series.iops[3] == pytest.approx(100)


def test_each_run_has_the_logs_of_its_own_jobs() -> None:
    files = {"fio.json": named(["zipf", "mixed", "mixed"])} | {
        f"run_iops.{number}.log": iops_log(100 * number) for number in (1, 2, 3)
    }
    alone, together = read_import(files).runs
    assert together.name == "mixed"
    assert set(alone.summary.series.iops) == {100.0}
    assert set(together.summary.series.iops) == {500.0}
    assert [set(each) for each in together.summary.series.jobs] == [{200.0}, {300.0}]


def test_yabs_is_imported_without_a_latency_that_it_does_not_have() -> None:
    [run] = read_import({"yabs.json": json.dumps(YABS).encode()}).runs
    assert run.summary.iops > 0
    assert run.summary.read is None or not any(run.summary.read.percentiles)


def test_what_is_no_result_is_refused_with_the_reason() -> None:
    found = read_import({"notes.txt": b"It was fast.", "fio.json": named(["zipf"])})
    assert len(found.runs) == 1
    assert [each.file for each in found.refusals] == ["notes.txt"]


@pytest.mark.django_db
def test_an_import_is_kept_with_its_files() -> None:
    files = {"fio.json": named(["seq", "rand"])}
    made, _ = save_import(files, Requester(None), title="A friend's", machine="2 x SM863")
    made = Benchmark.objects.get(pk=made.pk)
    assert (made.origin, made.state, made.host) == ("imported", "done", None)
    assert made.spec == {"machine": "2 x SM863"}
    assert [run.cell["name"] for run in made.runs.all()] == ["seq", "rand"]
    assert BenchmarkFile.objects.get().name == "fio.json"


@pytest.mark.django_db
def test_files_without_any_result_are_refused_and_nothing_is_kept() -> None:
    with pytest.raises(NothingImported) as refused:
        save_import({"notes.txt": b"It was fast."}, Requester(None))
    assert [each.file for each in refused.value.remarks] == ["notes.txt"]
    assert not Benchmark.objects.exists()
