"""fio's terse lines, versions 2 to 5.

Amounts are KiB and latencies microseconds in every version of fio. There is no count of I/Os, and
the IOPS are cut to a whole number. The lines of one group are jobs to add, unless
`--status-interval` wrote the same jobs again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from storage.fio.results import (
    Direction,
    DirectionResult,
    FioRefusal,
    Imported,
    IoLatency,
    JobResult,
    Remark,
)
from storage.fio.run_remarks import goes_on, interim, longest_ms, run_remarks
from storage.fio.values import LARGEST, clean

PERCENTILES: Final = 20
BEFORE_PERCENTILES: Final = 12
WIDTH: Final = {2: 41, 3: 41, 4: 41, 5: 47}
"""Fields of a direction, by version."""
OLD_WIDTHS: Final = {13: 16, 17: 20}
"""Version 2 of fio 1 has no IOPS and no percentiles: fields by where its first "%" stands."""
TRIMMED: Final = frozenset({2, 4, 5})
AFTER: Final = 5 + 7 + 10 + 12
"""Fields of processor, depths and latencies behind the directions."""
LINES: Final = 10_000
LONGEST: Final = 20_000

_LINE = re.compile(r"^[ \t]*[2-5];.*;.*$", re.MULTILINE)
_PERCENTILE = re.compile(r"(\d{1,3}(?:\.\d{1,9})?)%=(\d{1,19})")
_SHARE = re.compile(r"\d{1,20}(?:\.\d{1,9})?%")


def has_lines(text: str) -> bool:
    """Whether a text has terse lines."""
    return any(line.count(";") > 30 for line in _LINE.findall(text)[:LINES])


def read_terse(file: str, text: str) -> Imported:
    """The jobs of all terse lines of a text."""
    jobs: list[JobResult] = []
    refusals: list[Remark] = []
    lines = _LINE.findall(text)
    for number, line in enumerate(lines[:LINES]):
        try:
            jobs.append(_job(file, line[:LONGEST].strip().split(";"), number))
        except (FioRefusal, ValueError, IndexError) as error:
            reason = error.sentence if isinstance(error, FioRefusal) else "It is cut or changed."
            sentence = f"Terse line {number + 1} cannot be read. {reason}"
            refusals.append(Remark("terse-invalid", sentence, file))
    if len(lines) > LINES:
        refusals.append(Remark("too-many-lines", f"Only {LINES} lines are read.", file))
    jobs = _marked(file, jobs)
    rest = _LINE.sub("", text)
    return Imported(
        tuple(jobs), warnings=tuple(run_remarks(file, rest, jobs)), refusals=tuple(refusals)
    )


def _job(file: str, fields: Sequence[str], number: int) -> JobResult:
    version = int(fields[0])
    start, width, is_old = _layout(fields, version)
    head = fields[:start]
    names: list[Direction] = ["read", "write"]
    if version in TRIMMED and len(fields) >= start + 3 * width + AFTER:
        names.append("trim")
    if len(fields) < start + len(names) * width:
        raise FioRefusal("terse-invalid", f"It has {len(fields)} fields, fewer than fio writes.")
    directions = {}
    for place, name in enumerate(names):
        row = fields[start + place * width : start + (place + 1) * width]
        if (result := _direction(row, is_old)) is not None:
            directions[name] = result
    error = int(head[-1])
    job = JobResult(
        file=file,
        source="terse",
        jobname=clean(";".join(head[1 if version == 2 else 2 : -2])),
        directions=directions,
        index=number,
        group=int(head[-2]),
        fio_version=None if version == 2 else clean(head[1], 40),
        error=error,
    )
    if error:
        sentence = f"The run failed with error {error}: its figures are shown, never compared."
        job = job.not_comparable(Remark("job-error", sentence, file))
    return job


def _layout(fields: Sequence[str], version: int) -> tuple[int, int, bool]:
    """Where the directions begin and how wide each is. A job's name may hold semicolons."""
    least = 4 if version == 2 else 5
    for place in range(least, len(fields)):
        if _PERCENTILE.fullmatch(fields[place]):
            return _checked(fields, place - BEFORE_PERCENTILES, least), WIDTH[version], False
    for place in range(least, len(fields)):
        if version == 2 and _SHARE.fullmatch(fields[place]):
            for offset, width in OLD_WIDTHS.items():
                start = place - offset
                if start + width < len(fields) and _SHARE.fullmatch(fields[place + width]):
                    return _checked(fields, start, least), width, True
    raise FioRefusal("terse-invalid", "Its fields are none that fio writes.")


def _checked(fields: Sequence[str], start: int, least: int) -> int:
    if start < least or not all(
        field.lstrip("-").isdecimal() for field in fields[start - 2 : start]
    ):
        raise FioRefusal("terse-invalid", "Its fields are shifted.")
    return start


def _direction(row: Sequence[str], is_old: bool) -> DirectionResult | None:
    kib, runtime = _number(row[0]), _number(row[2 if is_old else 3])
    iops = None if is_old else _number(row[2])
    if not kib and not runtime:
        return None
    at = 3 if is_old else 4
    clat_at = at + 4
    lat_at = clat_at + 4 + (0 if is_old else PERCENTILES)
    percentiles: dict[float, float] = {}
    if not is_old:
        for text in row[BEFORE_PERCENTILES : BEFORE_PERCENTILES + PERCENTILES]:
            if not (match := _PERCENTILE.fullmatch(text)):
                raise FioRefusal("terse-invalid", "Its percentiles are none that fio writes.")
            if 0 < float(match[1]) <= 100:
                percentiles[float(match[1])] = float(match[2]) * 1000
    has_lat = not is_old or len(row) == max(OLD_WIDTHS.values())
    clat = _latency(row[clat_at : clat_at + 4])
    if clat is not None and any(percentiles.values()):
        clat = replace(clat, printed_percentiles_ns=percentiles)
    return DirectionResult(
        io_bytes=int(kib) * 1024,
        runtime_ms=int(runtime),
        iops=iops,
        iops_from=None if iops is None else "printed",
        iops_printed=iops,
        bytes_per_s=kib * 1024 * 1000 / runtime if runtime else None,
        slat=_latency(row[at : at + 4]),
        clat=clat,
        lat=_latency(row[lat_at : lat_at + 4]) if has_lat else None,
    )


def _number(text: str) -> float:
    value = float(text)
    if not 0 <= value <= LARGEST:
        raise FioRefusal("terse-invalid", "A number is impossible.")
    return value


def _latency(row: Sequence[str]) -> IoLatency | None:
    """Microseconds, None where nothing was measured."""
    if "nan" in row[2]:
        return None
    most, mean = _number(row[1]), _number(row[2])
    if not most and not mean:
        return None
    least = float(row[0])
    return IoLatency(
        mean_ns=mean * 1000,
        min_ns=least * 1000 if 0 <= least < LARGEST else None,
        max_ns=most * 1000,
    )


def _marked(file: str, jobs: list[JobResult]) -> list[JobResult]:
    """With what `--status-interval` wrote on the way marked as such."""
    longest: dict[tuple[str, int | None], JobResult] = {}
    marked = []
    for job in reversed(jobs):
        later = longest.get((job.jobname, job.group))
        if later is None or longest_ms(job) > longest_ms(later):
            longest[job.jobname, job.group] = job
        elif goes_on(job, later):
            job = job.not_comparable(interim(file))
        marked.append(job)
    return marked[::-1]
