"""The disk speeds of Yet-Another-Bench-Script, from its JSON and from its text.

YABS runs reads and writes together, half and half, and keeps speed and IOPS alone. Its JSON calls
KiB/s "KBps". Its text prints KiB/s divided by 1000 as MB/s, until v2026-07-03 fixed it. So the
unit is tested: the speed divided by the IOPS is the block size.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from storage.fio.results import Direction, DirectionResult, FioRefusal, Imported, JobResult, Remark
from storage.fio.values import amount_before_units, clean, number

TRUE_UNITS_SINCE: Final = "v2026-07-03"
PRECISE_IOPS: Final = 200
TESTS: Final = 50

_BANNER = "Yet-Another-Bench-Script"
_HEADER = re.compile(r"^[ \t|]*Block Size[ \t]*\|.*\(IOPS\)", re.MULTILINE)
_VERSION = re.compile(r"^\W*v(20\d\d-\d\d-\d\d)\b")
_CELL = re.compile(
    r"(\d{1,9}(?:\.\d{1,9})?)\s*([KMG]B)/s\s*\(\s*(\d{1,9}(?:\.\d{1,9})?)\s*([kKmM]?)\s*\)"
)
_SPEED: Final = {"KB": 10**3, "MB": 10**6, "GB": 10**9}
_SUFFIX: Final = {"": 1, "k": 10**3, "m": 10**6}
_PLACES: Final[dict[Direction, str]] = {"read": "_r", "write": "_w"}
Cells = dict[str, dict[Direction, tuple[float, float, float]]]
"""By block size and direction: the printed speed, the rate, and the step it was cut to."""


@dataclass(slots=True)
class _Report:
    """A table of speeds, and the version of YABS that printed it."""

    version: str | None = None
    cells: Cells = field(default_factory=dict)


def is_report(document: dict[str, Any]) -> bool:
    """Whether a JSON document is a report of YABS."""
    tests = document.get("fio")
    if not isinstance(tests, list):
        return False
    known = ("version" in document, "geekbench" in document, "iperf" in document)
    return any(known) or any(isinstance(test, dict) and "speed_r" in test for test in tests)


def read_report(file: str, document: dict[str, Any], index: int) -> Imported:
    """The tests of a report in JSON: objects, or lists before v2022-09."""
    jobs: list[JobResult] = []
    refusals: list[Remark] = []
    version = document.get("version")
    rows = [row for test in document["fio"][:TESTS] if (row := _as_object(test)) is not None]
    for place, row in enumerate(rows):
        try:
            jobs.append(_test(file, row, _unit(rows), index, place, version))
        except FioRefusal as refusal:
            refusals.append(refusal.remark(file))
    if not rows:
        refusals.append(Remark("yabs-without-fio", "The report of YABS has no test by fio.", file))
    return Imported(tuple(jobs), warnings=_mixed(file, jobs), refusals=tuple(refusals))


def _as_object(test: object) -> dict[str, Any] | None:
    if isinstance(test, dict):
        return test
    if isinstance(test, list) and len(test) >= 5:
        return dict(zip(("bs", "speed_r", "iops_r", "speed_w", "iops_w"), test, strict=False))
    return None


def _unit(rows: Iterable[dict[str, Any]]) -> int:
    """The bytes of "KB": 1024, unless all precise tests fit 1000 alone."""
    fits: set[int] = set()
    for row in rows:
        size = amount_before_units(str(row.get("bs")))
        for end in _PLACES.values():
            speed, iops = number(row, f"speed{end}"), number(row, f"iops{end}")
            if size and speed and iops and iops >= PRECISE_IOPS:
                fits.add(min((1024, 1000), key=lambda unit: abs(speed * unit / iops - size)))
    return 1000 if fits == {1000} else 1024


def _test(
    file: str, row: dict[str, Any], unit: int, report: int, place: int, version: object
) -> JobResult:
    size = amount_before_units(str(row.get("bs")))
    if not size:
        raise FioRefusal("yabs-without-block-size", "A test of YABS has no block size.")
    directions: dict[Direction, DirectionResult] = {}
    for direction, end in _PLACES.items():
        speed, iops = number(row, f"speed{end}"), number(row, f"iops{end}")
        if speed is not None or iops is not None:
            bytes_per_s = None if speed is None else speed * unit
            directions[direction] = _result(file, bytes_per_s, iops, size)
    return JobResult(
        file=file,
        source="yabs-json",
        jobname=clean(row.get("bs")),
        directions=directions,
        document=report,
        index=place,
        block_size_bytes=int(size),
        options={"yabs": clean(version)} if version else {},
    )


def _result(
    file: str, bytes_per_s: float | None, iops: float | None, size: float, printed: float = 1.0
) -> DirectionResult:
    """A speed and a rate. They have to agree within what was cut off the rate."""
    reasons = []
    if bytes_per_s and iops is not None:
        low, high = iops * size * 0.985, (iops + printed) * size * 1.015
        if not low <= bytes_per_s <= high:
            sentence = "The speed is not the IOPS multiplied by the block size."
            reasons.append(Remark("speed-differs-from-iops", sentence, file))
    return DirectionResult(
        iops=iops,
        iops_from=None if iops is None else "printed",
        iops_printed=iops,
        bytes_per_s=bytes_per_s,
        reasons=tuple(reasons),
    )


def _mixed(file: str, jobs: Iterable[JobResult]) -> tuple[Remark, ...]:
    if not tuple(jobs):
        return ()
    sentence = "YABS reads and writes at once, half and half: do not compare it with a pure read."
    return (Remark("mixed-50-50", sentence, file),)


def is_text(text: str) -> bool:
    """Whether a text has what YABS shows on a terminal, or its table alone."""
    return _BANNER in text or _HEADER.search(text) is not None


def read_text(file: str, text: str) -> Imported:
    """The tests of each report in a text. A block size that comes again begins a new one."""
    reports: list[_Report] = []
    sizes: list[str] = []
    for line in text.splitlines():
        columns = [column.strip() for column in line.strip().strip("|").split("|")]
        label = columns[0].lower()
        if _BANNER in line or (label == "block size" and not reports):
            reports.append(_Report())
        if reports and (version := _VERSION.search(line)) and not reports[-1].cells:
            reports[-1].version = version[1]
        if label == "block size":
            sizes = [column.split("(")[0].strip() for column in columns[1:]]
            if any(size in reports[-1].cells for size in sizes):
                reports.append(_Report())
        for direction in (name for name in _PLACES if name == label and reports):
            for size, column in zip(sizes, columns[1:], strict=False):
                if match := _CELL.fullmatch(column):
                    reports[-1].cells.setdefault(size, {})[direction] = _cell(match)
    result = Imported()
    for place, report in enumerate(reports):
        jobs = _text_jobs(file, report, place)
        if not jobs:
            sentence = f"Report {place + 1} of YABS has no test by fio."
            result += Imported(refusals=(Remark("yabs-without-fio", sentence, file),))
        result += Imported(tuple(jobs))
    return result + Imported(warnings=_mixed(file, result.jobs))


def _text_jobs(file: str, report: _Report, document: int) -> list[JobResult]:
    unit = _text_unit(report.cells, report.version)
    jobs = []
    for place, (name, tests) in enumerate(report.cells.items()):
        size_bytes = amount_before_units(name)
        if size_bytes is None:
            continue
        directions = {
            direction: _result(file, speed * unit, rate, size_bytes, step)
            for direction, (speed, rate, step) in tests.items()
        }
        jobs.append(
            JobResult(
                file=file,
                source="yabs-text",
                jobname=clean(name),
                directions=directions,
                document=document,
                index=place,
                block_size_bytes=int(size_bytes),
                options={"yabs": f"v{report.version}"} if report.version else {},
            )
        )
    return jobs


def _cell(match: re.Match[str]) -> tuple[float, float, float]:
    """A speed in printed bytes per second, a rate, and the step that the rate was cut to."""
    factor = _SUFFIX[match[4].lower()]
    places = len(match[3].partition(".")[2])
    speed = float(match[1]) * _SPEED[match[2]]
    return speed, float(match[3]) * factor, factor / 10**places


def _text_unit(cells: Cells, version: str | None) -> float:
    """What a printed byte is in bytes: 1.024 where KiB were divided by 1000."""
    if version is not None:
        return 1.024 if f"v{version}" < TRUE_UNITS_SINCE else 1.0
    votes = [
        abs(speed * 1.024 / (iops + step / 2) - size) < abs(speed / (iops + step / 2) - size)
        for name, tests in cells.items()
        if (size := amount_before_units(name))
        for speed, iops, step in tests.values()
        if iops and step / iops < 0.01
    ]
    return 1.024 if sum(votes) * 2 >= len(votes) else 1.0
