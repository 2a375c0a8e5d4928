"""What fio said beside its figures: signals, errors, interim results, and what the options make
of the result."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from storage.fio.results import JobResult, Remark
from storage.fio.values import clean, seconds

FINISHED: Final = 0.95
"""Share of the asked time from which a run counts as finished."""
INTERIM_MS: Final = 500
"""Jobs that run side by side differ by less, results of a status interval by more."""

_SIGNAL = re.compile(r"terminating on signal (\d{1,3})")
_ERROR = re.compile(
    r"^[ \t]*(?:fio: (?:pid=\d+, err=|io_u error)|verify: |\w{1,20}: verify failed).*$",
    re.MULTILINE,
)
_RATE = re.compile(r"^[ \t]*(?:--)?(rate_iops|rate)\s*=\s*([\w.,]+)", re.MULTILINE)
_CAPPED = "queue depth will be capped at 1"


def run_remarks(file: str, text: str, jobs: Iterable[JobResult]) -> list[Remark]:
    """Warnings of the lines around the figures and of the options."""
    jobs = tuple(jobs)
    remarks = []
    if signal := _SIGNAL.search(text):
        sentence = f"The run was stopped by signal {signal[1]}{_after(jobs)}."
        remarks.append(Remark("stopped-by-signal", sentence, file))
    elif short := _shortened(jobs):
        remarks.append(Remark("shorter-than-asked", short, file))
    if errors := reported_errors(text):
        remarks.append(Remark("reported-errors", errors, file))
    if rate := _rate(text, jobs):
        sentence = f"{rate}: an open loop, not a limit of the device."
        remarks.append(Remark("rate-limited", sentence, file))
    if _CAPPED in text:
        sentence = "The engine is synchronous: fio kept one I/O in flight, whatever iodepth says."
        remarks.append(Remark("depth-capped", sentence, file))
    if any(job.grouped for job in jobs):
        sentence = "The figures are those of groups (group_reporting): single jobs are not in it."
        remarks.append(Remark("group-reporting", sentence, file))
    return remarks


def reported_errors(text: str) -> str | None:
    """What fio said of I/Os that failed, and of data that was not what had been written."""
    errors = _ERROR.findall(text)
    if not errors:
        return None
    return f"fio reported {len(errors)} errors. The first: {clean(errors[0].strip(), 200)}."


def interim(file: str) -> Remark:
    """Of what `--status-interval` wrote on the way."""
    return Remark("interim", "A later part of the file has the result of the same run.", file)


def goes_on(job: JobResult, later: JobResult) -> bool:
    """Whether a result may be that of the same run at a later time."""
    if longest_ms(later) - longest_ms(job) < INTERIM_MS:
        return False
    return sum(one.io_bytes or 0 for one in job.directions.values()) < sum(
        one.io_bytes or 0 for one in later.directions.values()
    )


def longest_ms(*jobs: JobResult) -> int:
    """The longest time that a direction of the jobs ran."""
    return max(
        (result.runtime_ms or 0 for job in jobs for result in job.directions.values()), default=0
    )


def _after(jobs: tuple[JobResult, ...]) -> str:
    """How long the run was, and how long it should have been."""
    ran_ms = longest_ms(*jobs)
    if not ran_ms:
        return ""
    asked = next((job.options["runtime"] for job in jobs if "runtime" in job.options), None)
    return f" after {ran_ms / 1000:.1f} s" + (f" of {asked}" if asked else "")


def _shortened(jobs: tuple[JobResult, ...]) -> str | None:
    """A run by time that ended early without a word."""
    for job in jobs:
        asked_s = seconds(job.options.get("runtime"))
        by_time = job.options.get("time_based", "0") != "0"
        ran_ms = longest_ms(job)
        if by_time and asked_s and 0 < ran_ms < FINISHED * asked_s * 1000:
            return f"A job ran {ran_ms / 1000:.1f} s of {asked_s:g} s."
    return None


def _rate(text: str, jobs: tuple[JobResult, ...]) -> str | None:
    for job in jobs:
        for option in ("rate_iops", "rate"):
            if job.options.get(option, "0").strip("0,") != "":
                return f"{option}={job.options[option]}"
    match = _RATE.search(text)
    return f"{match[1]}={clean(match[2], 60)}" if match else None
