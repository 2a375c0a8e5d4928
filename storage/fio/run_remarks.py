"""What fio said beside its figures: signals, errors, and what the options make of the result."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from storage.fio.results import JobResult, Remark
from storage.fio.values import clean, seconds

FINISHED: Final = 0.95
"""Share of the asked time from which a run counts as finished."""

_SIGNAL = re.compile(r"terminating on signal (\d{1,3})")
_ERROR = re.compile(r"^fio: (?:pid=\d+, err=|io_u error).*$", re.MULTILINE)
_RATE = re.compile(r"^\s*(?:--)?(rate_iops|rate)\s*=\s*([\w.,]+)", re.MULTILINE)
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
    if errors := _ERROR.findall(text):
        sentence = f"fio reported {len(errors)} errors, the first is: {clean(errors[0], 200)}"
        remarks.append(Remark("reported-errors", sentence, file))
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


def _longest_ms(jobs: Iterable[JobResult]) -> int:
    return max(
        (result.runtime_ms or 0 for job in jobs for result in job.directions.values()), default=0
    )


def _after(jobs: tuple[JobResult, ...]) -> str:
    """How long the run was, and how long it should have been."""
    longest_ms = _longest_ms(jobs)
    if not longest_ms:
        return ""
    asked = next((job.options["runtime"] for job in jobs if "runtime" in job.options), None)
    return f" after {longest_ms / 1000:.1f} s" + (f" of {asked}" if asked else "")


def _shortened(jobs: tuple[JobResult, ...]) -> str | None:
    """A run by time that ended early without a word."""
    for job in jobs:
        asked_s = seconds(job.options.get("runtime"))
        by_time = job.options.get("time_based", "0") != "0"
        longest_ms = _longest_ms([job])
        if by_time and asked_s and 0 < longest_ms < FINISHED * asked_s * 1000:
            return f"A job ran {longest_ms / 1000:.1f} s of {asked_s:g} s."
    return None


def _rate(text: str, jobs: tuple[JobResult, ...]) -> str | None:
    for job in jobs:
        for option in ("rate_iops", "rate"):
            if job.options.get(option, "0").strip("0,") != "":
                return f"{option}={job.options[option]}"
    match = _RATE.search(text)
    return f"{match[1]}={clean(match[2], 60)}" if match else None
