"""The text that fio prints for people.

Amounts and rates are rounded in it, the counts of the line "issued" are exact. Before fio 2.15 the
amounts read "4096.0MB" and meant MiB.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Final

from storage.fio.results import (
    DIRECTIONS,
    Direction,
    DirectionResult,
    Imported,
    IoLatency,
    JobResult,
    Remark,
)
from storage.fio.run_remarks import goes_on, interim, run_remarks
from storage.fio.values import LARGEST, amount, amount_before_units, clean

JOBS: Final = 10_000

_JOB = re.compile(
    r"^(?P<name>[^\n]{0,600}?): \(groupid=(?P<group>\d{1,9}), jobs=(?P<jobs>\d{1,9})\): "
    r"err=\s*(?P<error>\d{1,9})[^\n]{0,300}?: pid=(?P<pid>\d{1,12})"
)
_NEW = re.compile(
    r"^\s+(?P<name>read|write|trim|mixed)\s*: IOPS=(?P<iops>[\d.]+[kKMG]?), "
    r"BW=(?P<bw>\S+) \([^)]*\)\s?\((?P<io>[\d.]+\s?\w*)/(?P<ms>\d{1,15})msec\)"
)
_OLD = re.compile(
    r"^\s+(?P<name>read|write|trim|mixed)\s*: io=\s*(?P<io>[\d.]+\s?\w*), bw=\s*(?P<bw>\S+)/s, "
    r"iops=\s*(?P<iops>[\d.]+[kKMG]?)\s*, runt=\s*(?P<ms>\d{1,15})\s*msec"
)
_LATENCY = re.compile(
    r"^\s+(?P<name>slat|clat|lat) \((?P<unit>[num]sec)\)\s*: min=\s*(?P<min>[\d.]+[kKMG]?)\s*, "
    r"max=\s*(?P<max>[\d.]+[kKMG]?)\s*, avg=\s*(?P<mean>[\d.]+[kKMG]?)"
)
_HEADING = re.compile(r"^\s+(?P<name>[a-z][\w /.%()]*?) percentiles \((?P<unit>[num]sec)\)\s*:")
_PERCENTILES = re.compile(r"(\d{1,3}\.\d{1,9})th=\[\s*(\d{1,19})\s*\]")
_ISSUED = re.compile(
    r"^\s+issued (?:rwts?|r/w/d)?\s*: total=(?:r=)?(\d{1,19})[,/](?:w=)?(\d{1,19})"
    r"(?:[,/](?:d=)?(\d{1,19}))?"
)
_SECTION = re.compile(r"^\s+(?:fsync|sync|cpu|IO depths)\b")
_VERSION = re.compile(r"^\s*(fio[- ]\d\S{0,60})\s*$")
_STATUS = re.compile(r".*\[eta [^\]\n]*\]")
"""A line of progress that the next line was printed over."""
_NANOSECONDS: Final = {"nsec": 1, "usec": 10**3, "msec": 10**6}
_SUFFIX: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


@dataclass(slots=True)
class _Block:
    """The lines of one job, as far as they are read."""

    name: str
    group: int
    jobs: int
    error: int
    pid: int
    version: str | None
    document: int
    directions: dict[Direction, DirectionResult] = field(default_factory=dict)
    current: Direction | None = None
    percentile_unit: int | None = None
    percentile_of: str | None = None

    def change(self, **fields: object) -> None:
        if self.current is not None:
            self.directions[self.current] = replace(self.directions[self.current], **fields)  # type: ignore[arg-type]


def has_jobs(text: str) -> bool:
    """Whether a text has results for people."""
    return "groupid=" in text and any(_JOB.match(line) for line in text.splitlines())


def read_text(file: str, text: str) -> Imported:
    """All jobs of a text, in their order."""
    blocks: list[_Block] = []
    around: list[str] = []
    version, document, block = None, 0, None
    for line in text.splitlines():
        if match := _VERSION.match(line):
            version = match[1]
            document += bool(blocks)
        if match := _JOB.match(line):
            if len(blocks) >= JOBS:
                break
            block = _started(match, version, document)
            blocks.append(block)
        elif block is None or not line.startswith((" ", "\t")):
            around.append(line)
            block = None if line and not line[0].isspace() else block
        else:
            _read_line(block, line)
    jobs = _marked(file, [(_job(file, part, place), part.pid) for place, part in enumerate(blocks)])
    return Imported(tuple(jobs), warnings=tuple(run_remarks(file, "\n".join(around), jobs)))


def _started(match: re.Match[str], version: str | None, document: int) -> _Block:
    group, jobs, error, pid = (int(match[key]) for key in ("group", "jobs", "error", "pid"))
    name = _STATUS.sub("", match["name"]).lstrip()
    return _Block(clean(name), group, jobs, error, pid, version, document)


def _read_line(block: _Block, line: str) -> None:
    if match := _NEW.match(line) or _OLD.match(line):
        _begin_direction(block, match)
    elif match := _LATENCY.match(line):
        _read_latency(block, match)
    elif match := _HEADING.match(line):
        block.percentile_of = match["name"].strip()
        block.percentile_unit = _NANOSECONDS[match["unit"]]
    elif line.lstrip().startswith("|"):
        _read_percentiles(block, line)
    elif match := _ISSUED.match(line):
        _read_counts(block, match)
    elif _SECTION.match(line):
        block.current = None


def _begin_direction(block: _Block, match: re.Match[str]) -> None:
    name: Direction = next(one for one in DIRECTIONS if one == match["name"])
    read_amount = amount if match.re is _NEW else amount_before_units
    io_bytes, runtime, rate = read_amount(match["io"]), int(match["ms"]), _printed(match["iops"])
    block.current = name
    block.percentile_unit = None
    block.directions[name] = DirectionResult(
        io_bytes=None if io_bytes is None else round(io_bytes),
        runtime_ms=runtime,
        iops=rate,
        iops_from="printed",
        iops_printed=rate,
        bytes_per_s=io_bytes * 1000 / runtime if io_bytes is not None and runtime else None,
    )


def _read_latency(block: _Block, match: re.Match[str]) -> None:
    if block.current is None:
        return
    unit = _NANOSECONDS[match["unit"]]
    least, most, mean = (_printed(match[key]) * unit for key in ("min", "max", "mean"))
    block.change(**{match["name"]: IoLatency(mean_ns=mean, min_ns=least, max_ns=most)})


def _read_percentiles(block: _Block, line: str) -> None:
    kind, unit = block.percentile_of, block.percentile_unit
    if block.current is None or unit is None or kind not in ("slat", "clat", "lat"):
        return
    known: IoLatency = getattr(block.directions[block.current], kind) or IoLatency()
    match = {float(key): float(value) * unit for key, value in _PERCENTILES.findall(line)}
    merged = {**known.printed_percentiles_ns, **match}
    block.change(**{kind: replace(known, printed_percentiles_ns=merged)})


def _read_counts(block: _Block, match: re.Match[str]) -> None:
    counts: dict[Direction, int] = {
        "read": int(match[1]),
        "write": int(match[2]),
        "trim": int(match[3] or 0),
    }
    counts["mixed"] = sum(counts.values())
    for name, result in block.directions.items():
        total, runtime = counts[name], result.runtime_ms
        if total <= LARGEST and runtime:
            iops = total * 1000 / runtime
            block.directions[name] = replace(result, total_ios=total, iops=iops, iops_from="count")


def _printed(text: str) -> float:
    """A number with the suffix that fio shortens it by."""
    suffix = text[-1].lower() if text[-1].isalpha() else ""
    digits = text[:-1] if suffix else text
    return float(digits) * _SUFFIX[suffix] if digits.count(".") < 2 and digits != "." else 0.0


def _job(file: str, block: _Block, place: int) -> JobResult:
    job = JobResult(
        file=file,
        source="text",
        jobname=block.name,
        directions=block.directions,
        document=block.document,
        index=place,
        group=block.group,
        fio_version=block.version,
        error=block.error,
        grouped=block.jobs > 1,
    )
    if block.name == "All clients":
        reason = Remark("sum-of-others", "It is the sum of the other entries.", file)
        job = replace(job.not_comparable(reason), is_sum_of_others=True)
    if block.error:
        sentence = (
            f"The run failed with error {block.error}: its figures are shown, never compared."
        )
        job = job.not_comparable(Remark("job-error", sentence, file))
    return job


def _marked(file: str, jobs: list[tuple[JobResult, int]]) -> list[JobResult]:
    """With what `--status-interval` printed on the way marked as such: the process is the same."""
    last = {(job.jobname, job.group, job.document, pid): job for job, pid in jobs}
    return [
        job.not_comparable(interim(file))
        if goes_on(job, last[job.jobname, job.group, job.document, pid])
        else job
        for job, pid in jobs
    ]
