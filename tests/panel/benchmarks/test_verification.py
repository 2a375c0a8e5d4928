"""Figures of an exported benchmark, computed anew from its raw files."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest
from django.utils import timezone

from jobs.requester import Requester
from panel.benchmarks.exports import exported, exported_to_strangers
from panel.benchmarks.imports import save_import
from panel.benchmarks.verification import BadExport, verify
from storage.benchmarks.result_files import read_result
from storage.models import Benchmark, BenchmarkFile, BenchmarkRun, RunState
from tests import make
from tests.storage.benchmarks.make_spec import cell, spec
from tests.storage.benchmarks.run_files import (
    conditions,
    fio_json,
    iops_log,
    legs,
    run_json,
)

pytestmark = pytest.mark.django_db
FILES = {
    "run.json": run_json(),
    "conditions.json": conditions(hostname="stor-1.example.org"),
    "fio.json": fio_json().replace(
        b'"jobname": "j0"', b'"jobname": "j0", "job options": {"filename": "/dev/vg0/b-x"}'
    ),
    "iops.1.log": iops_log(50),
    "iops.2.log": iops_log(50),
    "legs.jsonl": legs(),
}


@pytest.fixture
def measured() -> Benchmark:
    """One run, as workers keep it."""
    now = timezone.now()
    made = Benchmark.objects.create(
        host=make.host(), title="For Acme", spec=spec().to_json(), state="done", ended_at=now
    )
    result = read_result(FILES, cell())
    assert result.summary is not None
    run = BenchmarkRun.objects.create(
        benchmark=made,
        number=1,
        cell=cell().to_json(),
        state=RunState.DONE,
        ended_at=now,
        kernel=result.kernel,
        boot_id=result.boot_id,
        conditions=result.conditions,
        summary=result.summary.to_json(),
    )
    BenchmarkFile.objects.bulk_create(
        BenchmarkFile(run=run, name=name, packed=gzip.compress(content), size_bytes=len(content))
        for name, content in FILES.items()
    )
    return made


def through_json(document: dict[str, Any]) -> Any:
    return json.loads(json.dumps(document))


def test_an_exported_benchmark_agrees_with_its_raw_files(measured: Benchmark) -> None:
    found = verify(through_json(exported(measured)))
    assert found.agrees
    assert found.checked_figures > 100
    assert found.runs_without_files == ()


def test_a_figure_that_was_changed_is_found(measured: Benchmark) -> None:
    document = through_json(exported(measured))
    document["runs"][0]["summary"]["iops"] = 900.0
    found = verify(document)
    assert not found.agrees
    [difference] = found.differences
    assert (difference.run, difference.figure, difference.published) == (1, "iops", 900.0)
    assert difference.computed == pytest.approx(100.0)


def test_a_raw_file_that_was_changed_is_found(measured: Benchmark) -> None:
    slower = FILES | {"iops.1.log": iops_log(20)}
    BenchmarkFile.objects.filter(name="iops.1.log").update(
        packed=gzip.compress(slower["iops.1.log"])
    )
    assert not verify(through_json(exported(measured))).agrees


def test_a_shared_file_contains_no_names_and_can_be_verified(measured: Benchmark) -> None:
    document = through_json(exported_to_strangers(measured))
    assert verify(document).agrees
    unpacked = [
        gzip.decompress(base64.b64decode(text))
        for run in document["runs"]
        for text in run.pop("files").values()
    ]
    everything = json.dumps(document) + b"".join(unpacked).decode()
    for name in ("Acme", "stor-1", "vg0", measured.key, str(measured.host)):
        assert name not in everything, name


def test_an_import_is_verified_from_all_of_its_files() -> None:
    made, _ = save_import({"fio.json": fio_json()}, Requester(None))
    assert verify(through_json(exported(made))).agrees
    assert through_json(exported_to_strangers(made))["runs"][0]["files"] == {}


def test_without_raw_files_nothing_is_known(measured: Benchmark) -> None:
    BenchmarkFile.objects.all().delete()
    found = verify(through_json(exported(measured)))
    assert not found.agrees
    assert found.runs_without_files == (1,)


@pytest.mark.parametrize(
    "document",
    [
        None,
        {"runs": []},
        {"tiercel_benchmark": 1, "runs": 3},
        {"tiercel_benchmark": 1, "runs": [{"files": {"fio.json": "no base 64"}}]},
        {"tiercel_benchmark": 1, "runs": [{"files": {"fio.json": "AAAA"}}]},
        {"tiercel_benchmark": 1, "runs": [{"files": 3}]},
    ],
)
def test_what_is_no_export_is_refused(document: Any) -> None:
    with pytest.raises(BadExport):
        verify(document)
