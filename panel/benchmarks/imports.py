"""Outputs of fio and YABS from elsewhere as a benchmark: each job is a run."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from django.db import transaction

from jobs.requester import Requester
from storage.benchmarks.matrix import Cell, Profile, TargetKind
from storage.benchmarks.run_facts import RunFacts
from storage.benchmarks.run_legs import legs_of
from storage.benchmarks.summary import PERCENTILES, DirectionSummary, RunSeries, RunSummary
from storage.benchmarks.summing_up import sum_up
from storage.database_clock import database_now
from storage.fio.log_series import STEP_MS
from storage.fio.reading import read_outputs
from storage.fio.results import Direction, FioRefusal, Imported, JobResult, Remark
from storage.host_data import clean_text
from storage.models import (
    Benchmark,
    BenchmarkFile,
    BenchmarkOrigin,
    BenchmarkRun,
    BenchmarkState,
    RunState,
)
from storage.models.benchmark import TITLE_LIMIT
from storage.planner import Refused

NAME_LIMIT: Final = 64
TEXT_LIMIT: Final = 512
FACTS: Final = RunFacts(key="", outcome="finished")
SHOWN_OPTIONS: Final = ("rw", "bs", "iodepth", "numjobs", "random_distribution", "rwmixread")
"""Of a job, what is said of its load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRun:
    """A job, or several of one name that ran at once. `reasons` say why its figures are not
    comparable."""

    name: str
    load: str
    summary: RunSummary
    fio_version: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadImport:
    """What the files gave, and what of them was refused, with the reason."""

    runs: tuple[ImportedRun, ...]
    refusals: tuple[Remark, ...]
    warnings: tuple[Remark, ...]


class NothingImported(Refused):
    """No file gave a result; `remarks` say of each why."""

    def __init__(self, remarks: Sequence[Remark]) -> None:
        first = remarks[0].sentence if remarks else "These files contain no results."
        super().__init__("invalid", first, "Provide fio's JSON, or the JSON of YABS.")
        self.remarks = tuple(remarks)


def read_import(files: Mapping[str, bytes]) -> ReadImport:
    """The runs of the files, in the order in which these have them. Pure."""
    imported = read_outputs(files)
    runs, refusals = list[ImportedRun](), list(imported.refusals)
    for jobs in _together(imported.jobs):
        try:
            summary = _summary(imported, jobs)
        except FioRefusal as refusal:
            refusals.append(refusal.remark(jobs[0].file))
            continue
        if summary is None or summary.iops <= 0:
            sentence = f"The file does not say how many I/Os the job {jobs[0].jobname} did."
            refusals.append(Remark("no-figures", sentence, jobs[0].file))
            continue
        reasons = dict.fromkeys(
            reason.sentence for job in jobs for reason in (*job.reasons, *_of_directions(job))
        )
        runs.append(
            ImportedRun(
                name=clean_text(jobs[0].jobname, NAME_LIMIT) or "job",
                load=_load(jobs[0]),
                summary=summary,
                fio_version=clean_text(jobs[0].fio_version or "", 32),
                reasons=tuple(reasons),
            )
        )
    return ReadImport(tuple(runs), tuple(refusals), imported.warnings)


@transaction.atomic
def save_import(
    files: Mapping[str, bytes], requester: Requester, *, title: str = "", machine: str = ""
) -> tuple[Benchmark, ReadImport]:
    """Keep the runs of the files with the files. Raises `NothingImported`."""
    outcome = read_import(files)
    if not outcome.runs:
        raise NothingImported(outcome.refusals)
    now, first = database_now(), next(iter(files))
    fields: dict[str, Any] = {
        "origin": BenchmarkOrigin.IMPORTED,
        "state": BenchmarkState.DONE,
        "title": clean_text(title or first, TITLE_LIMIT),
        "spec": {"machine": clean_text(machine, TEXT_LIMIT)} if machine else {},
        "actor": requester.actor,
        "address": requester.address,
        "request_origin": requester.origin,
        "token": requester.token,
        "begun_at": now,
        "ended_at": now,
        "not_before": None,
    }
    made = Benchmark.objects.create(**fields)
    repeats: Counter[tuple[str, str]] = Counter()
    rows = []
    for number, run in enumerate(outcome.runs, 1):
        repeat = repeats[run.name, run.load]
        repeats[run.name, run.load] += 1
        rows.append(_row(made, number, repeat, run, now))
    saved = BenchmarkRun.objects.bulk_create(rows)
    BenchmarkFile.objects.bulk_create(
        BenchmarkFile(
            run=saved[0], name=name, packed=gzip.compress(content), size_bytes=len(content)
        )
        for name, content in _short_names(files).items()
    )
    return made, outcome


def _row(made: Benchmark, number: int, repeat: int, run: ImportedRun, now: Any) -> BenchmarkRun:
    return BenchmarkRun(
        benchmark=made,
        number=number,
        cell={"name": run.name, "load": run.load},
        repeat=repeat,
        state=RunState.DONE,
        outcome="finished",
        fio_version=run.fio_version,
        reached_seconds=round(run.summary.reached_seconds),
        begun_at=now,
        ended_at=now,
        message=clean_text(" ".join(run.reasons), TEXT_LIMIT),
        conditions={"not_comparable": list(run.reasons)} if run.reasons else {},
        summary=run.summary.to_json(),
    )


def _together(jobs: Sequence[JobResult]) -> list[list[JobResult]]:
    """Jobs of one name in one output ran at once. What is a sum of others is left out."""
    groups: dict[tuple[object, ...], list[JobResult]] = {}
    for job in jobs:
        if not job.is_sum_of_others and job.directions:
            key = (job.file, job.document, job.host, job.jobname, job.source)
            groups.setdefault(key, []).append(job)
    return list(groups.values())


def _summary(imported: Imported, jobs: Sequence[JobResult]) -> RunSummary | None:
    """Logs are those of these jobs where the files hold a single output: fio numbers its jobs from
    1 on, over all of its runs. What has no counts has the rates that it prints."""
    places = {id(job): place for place, job in enumerate(jobs, 1)}
    runtimes = [each.runtime_ms or 0 for job in jobs for each in job.directions.values()]
    seconds = round(max(runtimes, default=0) / 1000)
    part = Imported(
        jobs=tuple(jobs),
        series=tuple(
            replace(each, job_number=place)
            for each in imported.series
            if (place := places.get(id(imported.job_of(each.job_number)))) is not None
        ),
    )
    counted = sum_up(part, legs_of(b""), Cell(TargetKind.HDD, Profile.OWN, 0, seconds), FACTS)
    read, write = _printed(jobs, "read"), _printed(jobs, "write")
    if counted is not None and counted.iops > 0:
        return replace(
            counted,
            read=_with_latency(counted.read, read),
            write=_with_latency(counted.write, write),
        )
    there = [each for each in (read, write, _printed(jobs, "mixed")) if each is not None]
    if not there:
        return None
    return RunSummary(
        seconds=seconds,
        reached_seconds=float(seconds),
        iops=sum(each.iops for each in there),
        ios=sum(each.ios for each in there),
        bytes_s=sum(each.bytes_s for each in there),
        read=read,
        write=write,
        jobs=(),
        series=RunSeries(step_ms=STEP_MS),
    )


def _printed(jobs: Sequence[JobResult], name: Direction) -> DirectionSummary | None:
    """What the output says of a direction. Percentiles of several jobs cannot be put together."""
    parts = [job.directions[name] for job in jobs if name in job.directions]
    if not parts or not any(part.iops for part in parts):
        return None
    latency = parts[0].latency if len(parts) == 1 else None
    return DirectionSummary(
        ios=sum(part.total_ios or 0 for part in parts),
        iops=sum(part.iops or 0.0 for part in parts),
        bytes_s=sum(part.bytes_per_s or 0.0 for part in parts),
        mean_ns=latency.mean_ns if latency is not None else None,
        percentiles=()
        if latency is None
        else tuple(latency.percentile_ns(percent) for percent in PERCENTILES),
    )


def _with_latency(
    counted: DirectionSummary | None, printed: DirectionSummary | None
) -> DirectionSummary | None:
    """What was counted, with what was printed where it counted no bins."""
    if counted is None or printed is None or any(counted.percentiles):
        return counted
    return replace(
        counted, mean_ns=counted.mean_ns or printed.mean_ns, percentiles=printed.percentiles
    )


def _of_directions(job: JobResult) -> list[Remark]:
    return [reason for each in job.directions.values() for reason in each.reasons]


def _load(job: JobResult) -> str:
    """What it did, as far as the file says it."""
    options = [f"{name}={job.options[name]}" for name in SHOWN_OPTIONS if name in job.options]
    if not options and job.block_size_bytes:
        options = [f"bs={job.block_size_bytes}"]
    return clean_text(" ".join(options), TEXT_LIMIT) or "load not stated"


def _short_names(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Names as they are kept: each once, and not too long."""
    short = dict[str, bytes]()
    for number, (name, content) in enumerate(files.items()):
        kept = clean_text(name, NAME_LIMIT) or "file"
        if kept in short:
            kept = f"{number}-{kept}"[:NAME_LIMIT]
        short[kept] = content
    return short
