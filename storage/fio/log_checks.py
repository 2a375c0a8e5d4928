"""What logs need of the rest of an import: the unit of latencies, the jobs that wrote them.

A log of latency does not say whether it counts microseconds (before fio 2.99) or nanoseconds. The
version is in another file, or follows from the columns, or the other unit would be impossible.
Where none of these settles it, the log is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import numpy as np

from storage.fio.results import Imported, JobResult, LoggedHistogram, LoggedSeries, Remark
from storage.fio.values import version_of

NANOSECONDS_SINCE: Final = (2, 99)
PRIORITY_COLUMNS: Final = 5
DEEPEST: Final = 1024
"""I/Os in flight that no job of fio is likely to exceed."""
SLOWEST_MEAN_S: Final = {"slat": 0.005, "clat": 1.0, "lat": 1.0}
"""What half of a log is not likely to exceed."""
FASTEST_NS: Final = 500
TOLERANCE: Final = 1.001


def checked_logs(imported: Imported) -> Imported:
    """The import with its logs of latency in nanoseconds, without logs that cannot be true."""
    latencies = [one for one in imported.series if one.unit == "ns"]
    unit_ns = _unit_ns(imported) if latencies else None
    refused: list[Remark] = []
    series = []
    for one in imported.series:
        if one.unit != "ns":
            if _holds_maxima(imported.job_of(one.job_number)):
                sentence = "The job logged the maximum of each window: it has no sum."
                refused.append(Remark("log-of-maxima", sentence, one.file))
                continue
            series.append(one)
        elif unit_ns is None:
            sentence = (
                "Whether the latencies are microseconds or nanoseconds cannot be known from the "
                "log: import it together with the JSON of its run."
            )
            remark = Remark("latency-unit-unknown", sentence, one.file)
            refused += [] if remark in refused else [remark]
        else:
            series.append(replace(one, values=one.values * unit_ns))
    histograms = []
    for histogram in imported.histograms:
        total = histogram.total.count
        bound = _bound(imported, histogram)
        if bound is not None and total > bound * TOLERANCE:
            sentence = f"The bins hold {total} I/Os, the job did {bound}: their sum is impossible."
            refused.append(Remark("impossible-bins", sentence, histogram.file))
        else:
            histograms.append(histogram)
    return replace(
        imported,
        series=tuple(series),
        histograms=tuple(histograms),
        refusals=(*imported.refusals, *refused),
    )


def _bound(imported: Imported, histogram: LoggedHistogram) -> int | None:
    """The I/Os that a histogram has at most."""
    job = imported.job_of(histogram.job_number)
    counts = [
        one.directions[histogram.direction].total_ios
        for one in ([job] if job else imported.one_run)
        if histogram.direction in one.directions
    ]
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _holds_maxima(job: JobResult | None) -> bool:
    if job is None:
        return False
    options = job.options
    return options.get("log_max_value", "0") != "0" or options.get("log_window_value") in (
        "max",
        "maximum",
    )


def _unit_ns(imported: Imported) -> int | None:
    """The nanoseconds of a logged latency: 1, 1000, or None where it cannot be known."""
    versions = {version for job in imported.jobs if (version := version_of(job.fio_version))}
    if versions:
        newest, oldest = max(versions), min(versions)
        if (newest < NANOSECONDS_SINCE) == (oldest < NANOSECONDS_SINCE):
            return 1000 if newest < NANOSECONDS_SINCE else 1
        return None
    geometries = {histogram.rows[0].geometry.unit_ns for histogram in imported.histograms}
    if len(geometries) == 1:
        return geometries.pop()
    latencies = [one for one in imported.series if one.unit == "ns"]
    if any(_has_priority(one) or _is_too_slow(one, imported.series) for one in latencies):
        return 1
    if all(float(np.median(one.values)) < FASTEST_NS for one in latencies):
        return 1000
    return None


def _has_priority(series: LoggedSeries) -> bool:
    """Since fio 3.18 each row ends with a priority; an older row with an offset is as long."""
    return series.columns >= PRIORITY_COLUMNS and series.last_column_is_small


def _is_too_slow(latency: LoggedSeries, others: Iterable[LoggedSeries]) -> bool:
    """Whether microseconds are impossible: waits longer than the run, or queues too deep."""
    as_seconds = latency.values / 1e6
    since_start_s = latency.times_ms / 1000
    is_relative = since_start_s[0] < 1e7
    if is_relative and (as_seconds > since_start_s + 1).any():
        return True
    if float(np.median(as_seconds)) > SLOWEST_MEAN_S[latency.quantity]:
        return True
    if latency.every_io:
        span_s = float(np.ptp(since_start_s)) + 0.001
        return bool(as_seconds.sum() / span_s > DEEPEST)
    for other in others:
        same = (other.job_number, other.direction) == (latency.job_number, latency.direction)
        if same and other.quantity == "iops" and not other.every_io:
            return bool(np.median(as_seconds) * np.median(other.values) > DEEPEST)
    return False
