"""FileFigures of a load on files, in the shapes of fio: an operation on a file, or a transaction,
stands where fio has an I/O. The panel reads both alike."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DIRECTIONS = ("read", "write")
VERSION = f"tiercel-files-1, sqlite-{sqlite3.sqlite_version}"
LAST_BIN = 29 * 64 - 1


class FileFigures:
    """Of one stream. A direction lasts from its first operation to `end`."""

    def __init__(self, begun: float, every_ms: int) -> None:
        self._begun = begun
        self._every_ms = every_ms
        self.rows: list[tuple[int, int, int]] = []
        self.bins: Sequence[dict[int, int]] = ({}, {})
        self.bytes = [0, 0]
        self.ns = [0, 0]
        self.bounds_ns: list[list[int]] = [[], []]
        self.runtime_ms = [0, 0]
        self._first_ms: list[int | None] = [None, None]
        self._count = [0, 0]
        self._row_ms = 0

    @contextmanager
    def timed(self, direction: int, size_bytes: int) -> Iterator[None]:
        begun_ns = time.monotonic_ns()
        first = self._first_ms[direction]
        if first is None:
            first = self._first_ms[direction] = self._row_ms = self._ms()
        yield
        took_ns, ms = time.monotonic_ns() - begun_ns, self._ms()
        bins, at = self.bins[direction], bin_of(took_ns)
        bins[at] = bins.get(at, 0) + 1
        self.bytes[direction] += size_bytes
        self.ns[direction] += took_ns
        low, high = self.bounds_ns[direction] or (took_ns, took_ns)
        self.bounds_ns[direction] = [min(low, took_ns), max(high, took_ns)]
        self.runtime_ms[direction] = ms - first
        self._count[direction] += 1
        if ms - self._row_ms >= self._every_ms:
            self._close_row(ms)

    def end(self, direction: int) -> None:
        first = self._first_ms[direction]
        if first is not None:
            self.runtime_ms[direction] = max(1, self._ms() - first)
            self._close_row(self._ms())

    def _close_row(self, ms: int) -> None:
        for direction, count in enumerate(self._count):
            if count and ms > self._row_ms:
                self.rows.append((ms, round(count * 1000 / (ms - self._row_ms)), direction))
        self._count, self._row_ms = [0, 0], ms

    def _ms(self) -> int:
        return round((time.monotonic() - self._begun) * 1000)

    def direction(self, direction: int) -> dict[str, Any]:
        """As fio's JSON has it."""
        bins, size, runtime = self.bins[direction], self.bytes[direction], 0
        total, low, high = sum(bins.values()), 0, 0
        if total:
            runtime = max(1, self.runtime_ms[direction])
            low, high = self.bounds_ns[direction]
        seconds = runtime / 1000
        mean = self.ns[direction] / total if total else 0.0
        latency: dict[str, Any] = {"min": low, "max": high, "mean": mean, "N": total}
        if total:
            latency["bins"] = {str(middle_ns(at)): bins[at] for at in sorted(bins)}
        return {
            "io_bytes": size,
            "io_kbytes": size // 1024,
            "bw_bytes": int(size / seconds) if total else 0,
            "bw": int(size / 1024 / seconds) if total else 0,
            "iops": total / seconds if total else 0.0,
            "runtime": runtime,
            "total_ios": total,
            "clat_ns": latency,
        }


def write_figures(options: Mapping[str, str], streams: Sequence[FileFigures]) -> None:
    """Where fio would write them; nowhere without `output`. Raises OSError."""
    if "output" not in options:
        return
    jobs = []
    for number, figures in enumerate(streams, 1):
        both = {name: figures.direction(at) for at, name in enumerate(DIRECTIONS)}
        named = {"profile": options["profile"]}
        job = {"jobname": options["name"], "groupid": 0, "error": 0, "job options": named}
        jobs.append({**job, **both})
        rows = "".join(f"{ms}, {iops}, {at}, 0, 0\n" for ms, iops, at in figures.rows)
        Path(f"{options['write_iops_log']}_iops.{number}.log").write_text(rows)
    document = {"fio version": VERSION, "jobs": jobs}
    Path(options["output"]).write_text(json.dumps(document, indent=1) + "\n")


def bin_of(ns: int) -> int:
    """fio's: 64 to each power of two."""
    if ns < 128:
        return ns
    exponent = ns.bit_length() - 7
    return min(LAST_BIN, (exponent + 1) * 64 + ((ns >> exponent) & 63))


def middle_ns(at: int) -> int:
    if at < 128:
        return at
    exponent = (at >> 6) - 1
    return (1 << (exponent + 6)) + ((at & 63) << exponent) + (1 << exponent) // 2
