"""fio's logs as rows of numbers: IOPS, bandwidth and latency over time, and histograms.

A row is the time, a value (two with `log_window_value=both`), the direction, the block size, and
then what the version and the options add: offset, priority, time of issue. An averaged row has the
block size 0; with any other each row is one I/O. A file that several jobs share
(`per_job_logs=0`) has their rows one after the other: the time falls where the next one begins.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from storage.fio.latency_bins import GEOMETRIES, BinsError, LatencyBins
from storage.fio.results import (
    DIRECTIONS,
    Direction,
    FioRefusal,
    Imported,
    LoggedHistogram,
    LoggedSeries,
    Quantity,
    Remark,
)
from storage.fio.values import LARGEST

HISTOGRAM_COLUMNS: Final = 3
COLUMNS: Final = range(4, 10)
MOST_IOPS: Final = 10**9
"""No device counts more in a second: such a bin is a fault of fio."""
ROWS: Final = 500_000
"""Of a job for a day at 500 ms, in three directions."""
SEGMENTS: Final = 1000
PRIORITIES: Final = 1 << 16

_FIRST_ROW = re.compile(r"\s*\d{1,20}\s*,\s*-?\d")
_NAME = re.compile(
    r"(?:^|[_.])(?P<kind>iops|bw|slat|clat_hist|hist|clat|lat)(?:\.(?P<job>\d{1,6}))?\.log",
    re.IGNORECASE,
)
_QUANTITIES: Final[dict[str, Quantity]] = {
    "iops": "iops",
    "bw": "bandwidth",
    "slat": "slat",
    "clat": "clat",
    "lat": "lat",
}
Table = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LogName:
    """What the name of a log says: the quantity, and which job wrote it."""

    kind: str | None
    job_number: int | None

    @classmethod
    def of(cls, file: str) -> LogName:
        every = list(_NAME.finditer(file.rpartition("/")[2]))
        if not every:
            return cls(None, None)
        match = every[-1]
        return cls(match["kind"].lower(), int(match["job"]) if match["job"] else None)


def is_log(file: str, text: str) -> bool:
    """Whether a text is a log: by its first row, or by the name where that row is broken."""
    if _FIRST_ROW.match(text):
        return True
    return LogName.of(file).kind is not None and text.split("\n", 1)[0].count(",") >= 3


def read_log(file: str, text: str) -> Imported:
    """The series or histograms of one log."""
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    width = lines[0][1].rstrip().rstrip(",").count(",") + 1
    if width - HISTOGRAM_COLUMNS in GEOMETRIES:
        return _histograms(file, lines, width)
    if width not in COLUMNS:
        raise FioRefusal("log-columns-unknown", f"fio writes no log of {width} columns.")
    if len(lines) > ROWS:
        sentence = f"The log has over {ROWS:,} rows. Set log_avg_msec to have one for each window."
        raise FioRefusal("log-too-long", sentence)
    name = LogName.of(file)
    table = _table(lines, width)
    at = _direction_column(table)
    every_io = bool((table[:, at + 1] > 0).all())
    if not every_io and (table[:, at + 1] > 0).any():
        raise FioRefusal("log-mixed-rows", "Some rows are averages and others are single I/Os.")
    if len(table) == 1 and (every_io or not table[0, 0]):
        raise FioRefusal("log-of-one-row", "A single row has no window and gives no rate.")
    quantity = _QUANTITIES.get(name.kind or "")
    if quantity is None:
        sentence = (
            "Nothing in a log says what it measures: keep fio's name, such as NAME_iops.1.log."
        )
        raise FioRefusal("log-quantity-unknown", sentence)
    parts = []
    for number in (0, 1, 2):
        rows = table[table[:, at] == number]
        if len(rows):
            for segment, part in enumerate([rows] if every_io else _segments(rows)):
                parts.append(_series(file, quantity, name.job_number, segment, part, at))
    warnings = []
    if every_io:
        sentence = (
            "Each row is one I/O: rows are counted, their IOPS or bandwidth are none. "
            "Set log_avg_msec to have rates."
        )
        warnings.append(Remark("log-of-every-io", sentence, file))
    return Imported(series=tuple(parts), warnings=tuple(warnings))


def _table(lines: Sequence[tuple[int, str]], width: int) -> Table:
    rows = []
    for number, line in lines:
        fields = line.strip().rstrip(",").split(",")
        try:
            row = [_field(text) for text in fields]
        except ValueError:
            raise _broken(number, number == lines[-1][0]) from None
        if len(row) != width:
            raise _broken(number, number == lines[-1][0])
        rows.append(row)
    return np.array(rows, dtype=np.float64)


def _field(text: str) -> int:
    """A number of a row. Priorities are hexadecimal."""
    text = text.strip()
    if not text.isascii() or len(text) > 20:
        raise ValueError(text)
    value = int(text, 16) if text.startswith("0x") else int(text)
    if "_" in text or not 0 <= value <= LARGEST:
        raise ValueError(text)
    return value


def _broken(number: int, is_last: bool) -> FioRefusal:
    end = " The file may be cut off." if is_last else ""
    return FioRefusal("log-row-invalid", f"Line {number} is not a row of numbers.{end}")


def _direction_column(table: Table) -> int:
    """Column 3, or 4 where the mean and the maximum of each window stand before it."""
    for place in range(2, min(4, table.shape[1] - 1)):
        if np.isin(table[:, place], (0, 1, 2)).all():
            return place
    raise FioRefusal("log-direction-unknown", "The rows have no column of directions.")


def _segments(rows: Table) -> list[Table]:
    """The rows of each job, where several wrote their averages into one file."""
    falls = np.flatnonzero(np.diff(rows[:, 0]) < 0) + 1
    if len(falls) >= SEGMENTS:
        raise FioRefusal("log-times-unordered", "The times of the rows are in no order.")
    return np.split(rows, falls)


def _series(
    file: str,
    quantity: Quantity,
    job_number: int | None,
    segment: int,
    rows: Table,
    at: int,
) -> LoggedSeries:
    times, sizes = rows[:, 0], rows[:, at + 1]
    every_io = bool((sizes > 0).any())
    if not every_io and (np.diff(times) == 0).any():
        sentence = (
            "Several rows stand for one direction and one time, as fio 3.18 and 3.19 write them: "
            "which of them holds how many I/Os is unknown."
        )
        raise FioRefusal("log-rows-doubled", sentence)
    return LoggedSeries(
        file=file,
        quantity=quantity,
        direction=DIRECTIONS[int(rows[0, at])],
        job_number=job_number,
        segment=segment,
        columns=rows.shape[1],
        times_ms=times,
        values=rows[:, 1],
        every_io=every_io,
        sizes_kib=sizes / 1024 if every_io else np.zeros(0),
        last_column_is_small=bool((rows[:, -1] < PRIORITIES).all()),
    )


def _histograms(file: str, lines: Sequence[tuple[int, str]], width: int) -> Imported:
    by_direction: dict[Direction, tuple[list[float], list[LatencyBins]]] = {}
    start_ms: dict[Direction, float] = {}
    for number, line in lines:
        try:
            row = [int(field) for field in line.strip().rstrip(",").split(",")]
        except ValueError:
            raise _broken(number, number == lines[-1][0]) from None
        if len(row) != width or row[1] not in (0, 1, 2) or not 0 <= row[0] <= LARGEST:
            raise _broken(number, number == lines[-1][0])
        direction = DIRECTIONS[row[1]]
        elapsed_ms = max(1000.0, row[0] - start_ms.get(direction, 0.0))
        if sum(row[HISTOGRAM_COLUMNS:]) > MOST_IOPS * elapsed_ms / 1000:
            sentence = f"Line {number}: the sum of its bins is impossible in {elapsed_ms:.0f} ms."
            raise FioRefusal("impossible-bins", sentence)
        try:
            bins = LatencyBins.of(row[HISTOGRAM_COLUMNS:])
        except BinsError as error:
            raise FioRefusal("impossible-bins", f"Line {number}: {error}.") from error
        times, rows = by_direction.setdefault(direction, ([], []))
        times.append(float(row[0]))
        rows.append(bins)
        start_ms[direction] = float(row[0])
    job_number = LogName.of(file).job_number
    return Imported(
        histograms=tuple(
            LoggedHistogram(file, direction, job_number, 0, np.array(times), tuple(rows))
            for direction, (times, rows) in by_direction.items()
        )
    )
