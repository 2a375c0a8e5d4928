"""fio's JSON and JSON+, with all that stands around it in files people keep."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from storage.fio.json_job import job_result
from storage.fio.results import FioRefusal, Imported, JobResult, Remark
from storage.fio.run_remarks import goes_on, interim, run_remarks
from storage.fio.values import clean, integer
from storage.fio.yabs import is_report, read_report

DOCUMENTS: Final = 1000
BROKEN_DOCUMENTS: Final = 20
JOBS: Final = 10_000
WARNINGS: Final = 100
DEPTH: Final = 5
"""Programs around fio keep its document inside one of their own."""

_START = re.compile(
    r'^[ \t]*(?:\{(?=\s*(?:"|\}|\Z))|\[(?=\s*(?:\{|\Z)))|\{(?=\s*"fio version")', re.MULTILINE
)
_NOT_A_NUMBER = re.compile(r"(:\s*)-?nan(?=\s*[,}\]])", re.IGNORECASE)
_INFINITE = re.compile(r"(:\s*-?)inf(?=\s*[,}\]])", re.IGNORECASE)
_LONE_BACKSLASH = re.compile(r'\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|)')
_SLACK_MS = 2_000

_DECODER = json.JSONDecoder(strict=False, parse_int=integer)


@dataclass(slots=True)
class _Read:
    """The documents of a text, what stands around them, and those that cannot be read."""

    values: list[Any] = field(default_factory=list)
    around: list[str] = field(default_factory=list)
    refusals: list[FioRefusal] = field(default_factory=list)


def read_json(file: str, text: str) -> Imported | None:
    """What the documents of a text hold, or None where it has none."""
    if not _START.search(text):
        return None
    read = _documents(text)
    around = "\n".join(read.around)
    fio: list[dict[str, Any]] = []
    reports: list[dict[str, Any]] = []
    for value in read.values:
        for document in _found_in(value):
            (fio if _lists(document) else reports).append(document)
    jobs, warnings, refusals = _jobs(file, fio)
    refusals += [_explained(refusal, around).remark(file) for refusal in read.refusals]
    result = Imported(jobs, warnings=(*warnings, *run_remarks(file, around, jobs)))
    for index, report in enumerate(reports):
        result += read_report(file, report, index)
    if not (jobs or reports or refusals):
        refusals.append(_without_jobs(read.values).remark(file))
    return result + Imported(refusals=tuple(refusals))


def _documents(text: str) -> _Read:
    read, position = _Read(), 0
    while match := _START.search(text, position):
        read.around.append(text[position : match.start()])
        start = match.end() - 1
        try:
            value, position = _decoded(text, start)
            read.values.append(value)
        except ValueError as error:
            repaired = _repaired(text[start:])
            try:
                value, end = _decoded(repaired, 0)
            except ValueError:
                read.refusals.append(_broken(text, error))
                position = _next_document(text, start + 1)
                if position < 0 or len(read.refusals) >= BROKEN_DOCUMENTS:
                    return read
                continue
            read.values.append(value)
            text, position = repaired, end
        except RecursionError:
            read.refusals.append(FioRefusal("json-too-deep", "The JSON is nested too deeply."))
            return read
        if len(read.values) > DOCUMENTS:
            read.refusals.append(
                FioRefusal("too-many-documents", f"The file has over {DOCUMENTS} documents.")
            )
            return read
    read.around.append(text[position:])
    return read


def _decoded(text: str, start: int) -> tuple[Any, int]:
    return _DECODER.raw_decode(text, start)


def _repaired(text: str) -> str:
    """JSON with what some versions of fio write in place of a number or of a backslash."""
    text = _INFINITE.sub(r"\1Infinity", _NOT_A_NUMBER.sub(r"\1NaN", text))
    return _LONE_BACKSLASH.sub(lambda match: match[0] if match[1] else r"\\", text)


def _broken(text: str, error: ValueError) -> FioRefusal:
    end = len(text.rstrip())
    position = error.pos if isinstance(error, json.JSONDecodeError) else 0
    if position >= end - 5 or "Unterminated string" in str(error):
        return FioRefusal("json-cut-off", "The JSON is cut off before its end.")
    line = text.count("\n", 0, position) + 1
    return FioRefusal(
        "json-invalid", f"Line {line} is not valid JSON: parts are missing or replaced."
    )


def _explained(refusal: FioRefusal, around: str) -> FioRefusal:
    """A document that ends early, with what fio said of the device."""
    if "error=" in around or "io_u error" in around:
        sentence = f"{refusal.sentence} The lines before it report I/O errors of the device."
        return FioRefusal(refusal.code, sentence)
    return refusal


def _without_jobs(values: list[Any]) -> FioRefusal:
    if any(isinstance(value, dict) and "fio version" in value for value in values):
        return FioRefusal("no-jobs", "The output of fio has no job: none began.")
    return FioRefusal("not-fio-json", "The JSON is not an output of fio or YABS.")


def _next_document(text: str, position: int) -> int:
    match = re.compile(r'\{\s*"fio version"').search(text, position)
    return match.start() if match else -1


def _lists(document: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]] | None:
    """The lists of results in a document of fio, or None where it is no such document."""
    lists = [
        (name, entries)
        for name in ("jobs", "client_stats")
        if isinstance(entries := document.get(name), list)
        and all(isinstance(entry, dict) for entry in entries)
        and any(entry.keys() & {"jobname", "read", "write", "mixed"} for entry in entries)
    ]
    return iter(lists) if lists else None


def _found_in(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    """The documents of fio and YABS in a value."""
    if isinstance(value, dict):
        if _lists(value) or is_report(value):
            yield value
            return
        value = list(value.values())
    if isinstance(value, list) and depth < DEPTH:
        for part in value:
            if isinstance(part, dict | list):
                yield from _found_in(part, depth + 1)


def _jobs(
    file: str, documents: list[dict[str, Any]]
) -> tuple[tuple[JobResult, ...], list[Remark], list[Remark]]:
    of_documents: list[list[JobResult]] = []
    warnings: list[Remark] = []
    refusals: list[Remark] = []
    for number, document in enumerate(documents):
        jobs: list[JobResult] = []
        for name, entries in _lists(document) or ():
            for index, entry in enumerate(entries[:JOBS]):
                try:
                    job, remarks = job_result(
                        file, document, entry, is_client=name != "jobs" and len(entries) > 1
                    )
                except FioRefusal as refusal:
                    sentence = f"Job {index + 1} ({clean(entry.get('jobname'), 80)}) is left out. "
                    refusals.append(Remark(refusal.code, sentence + refusal.sentence, file))
                    continue
                jobs.append(replace(job, document=number, index=index))
                if len(warnings) < WARNINGS:
                    warnings += [remark for remark in remarks if remark not in warnings]
        of_documents.append(jobs)
    starts = [_start_ms(document) for document in documents]
    for number in range(len(documents) - 1):
        earlier, later = of_documents[number : number + 2]
        if _is_interim(earlier, later, starts[number : number + 2]):
            of_documents[number] = [job.not_comparable(interim(file)) for job in earlier]
    return tuple(job for jobs in of_documents for job in jobs), warnings, refusals


def _start_ms(document: dict[str, Any]) -> float | None:
    """When the run began, from when its document was written."""
    for _, entries in _lists(document) or ():
        elapsed = [entry["elapsed"] for entry in entries if isinstance(entry.get("elapsed"), int)]
        for key, unit_ms in (("timestamp_ms", 1), ("timestamp", 1000)):
            if elapsed and isinstance(written := document.get(key), int):
                return float(written * unit_ms - max(elapsed) * 1000)
    return None


def _is_interim(
    earlier: list[JobResult], later: list[JobResult], starts: list[float | None]
) -> bool:
    """Whether `--status-interval` wrote the earlier document on the way to the later one."""

    def identity(jobs: list[JobResult]) -> list[object]:
        return [(job.jobname, job.group, job.host, job.start_unix_ms) for job in jobs]

    begin, end = starts
    if begin is None or end is None or abs(begin - end) > _SLACK_MS:
        return False
    return identity(earlier) == identity(later) and any(
        goes_on(one, other) for one, other in zip(earlier, later, strict=True)
    )
