"""A job file of fio of an operator's own, accepted option by option.

Sections and lines are read as fio reads them: `[global]` holds for the jobs after it, a comment
takes a whole line. Variables, expressions and includes are refused with all else that is not on the
list (`job_options`). Every refusal names its line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from storage.byte_sizes import GIB
from storage.fio.job_options import ALIASES, ALLOWED, OptionError, why_refused

FILE_BYTES: Final = 64 * 1024
LINES: Final = 1000
JOBS: Final = 16
MOST_BUFFERS: Final = 2 * GIB
"""Of all jobs together: each I/O in flight has a buffer of its block size."""
REFUSALS: Final = 50

_SECTION = re.compile(r"\[([^\]\n]{1,200})\]")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.+-]{0,63}")
_OPTION = re.compile(r"([A-Za-z0-9_.-]{1,64})\s*(?:=\s*(.*))?")
_DEFAULT_BLOCK: Final = 4096


@dataclass(frozen=True, slots=True)
class LineRefusal:
    """A line that is not accepted (0: the whole file), and why."""

    line: int
    code: str
    sentence: str


@dataclass(frozen=True, slots=True)
class FioJob:
    """A job with options of the list alone, each value written anew."""

    name: str
    options: Mapping[str, str]

    @property
    def numjobs(self) -> int:
        return int(self.options.get("numjobs", "1"))

    @property
    def iodepth(self) -> int:
        return int(self.options.get("iodepth", "1"))

    @property
    def runtime_s(self) -> int | None:
        return int(self.options["runtime"]) if "runtime" in self.options else None

    @property
    def writes(self) -> bool:
        """Whether it changes what is on the volume."""
        return self.options.get("rw", "read") not in ("read", "randread")

    @property
    def largest_block(self) -> int:
        texts = (self.options.get(option, "") for option in ("bs", "bsrange", "bssplit"))
        sizes = [int(size) for text in texts for size in re.findall(r"\d+(?=/)|\d{3,}", text)]
        return max(sizes, default=_DEFAULT_BLOCK)

    def section(self) -> str:
        """Its part of a job file."""
        lines = (f"{option}={value}" for option, value in self.options.items())
        return "\n".join([f"[{self.name}]", *lines, ""])


@dataclass(frozen=True, slots=True)
class JobFile:
    """The jobs of a file, or all that stands against it."""

    jobs: tuple[FioJob, ...] = ()
    refusals: tuple[LineRefusal, ...] = ()


@dataclass(slots=True)
class _Reading:
    """The jobs as far as the file is read."""

    refusals: list[LineRefusal] = field(default_factory=list)
    shared: dict[str, str] = field(default_factory=dict)
    jobs: list[tuple[int, str, dict[str, str]]] = field(default_factory=list)
    current: dict[str, str] | None = None

    def refuse(self, line: int, code: str, sentence: str) -> None:
        self.refusals.append(LineRefusal(line, code, sentence))


def read_job_file(content: bytes) -> JobFile:
    """Jobs that may run as they are, or refusals with their lines. Never both."""
    try:
        lines = content.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as error:
        wrong = content.count(b"\n", 0, error.start) + 1
        return JobFile(refusals=(LineRefusal(wrong, "not-text", "The line is not UTF-8."),))
    if len(content) > FILE_BYTES or len(lines) > LINES:
        sentence = f"A job file has at most {LINES} lines and {FILE_BYTES // 1024} KiB."
        return JobFile(refusals=(LineRefusal(0, "too-large", sentence),))
    reading = _Reading()
    for number, line in enumerate(lines, 1):
        _read_line(reading, number, line.replace("\t", " ").strip())
    jobs = tuple(FioJob(name, options) for _, name, options in reading.jobs)
    _check_jobs(reading, jobs)
    if reading.refusals:
        return JobFile(refusals=tuple(reading.refusals[:REFUSALS]))
    return JobFile(jobs)


def _read_line(reading: _Reading, number: int, line: str) -> None:
    if not line or line[0] in "#;":
        return
    if not line.isprintable() or not line.isascii():
        reading.refuse(number, "not-ascii", "Outside of comments there is plain ASCII only.")
    elif line.startswith("["):
        _begin_section(reading, number, line)
    elif reading.current is None:
        reading.refuse(number, "no-section", "An option stands before the first section.")
    else:
        _read_option(reading, number, line)


def _begin_section(reading: _Reading, number: int, line: str) -> None:
    reading.current = {}
    match = _SECTION.fullmatch(line)
    name = match[1].strip() if match else ""
    if name == "global":
        reading.current = reading.shared
    elif name.lower().startswith("global"):
        sentence = "fio takes every name that begins with global for the global section."
        reading.refuse(number, "section-name", sentence)
    elif not _NAME.fullmatch(name):
        sentence = "A job's name has letters, digits, blanks and _ . + - only, 64 at most."
        reading.refuse(number, "section-name", sentence)
    elif name in {earlier for _, earlier, _ in reading.jobs}:
        reading.refuse(number, "section-name", "Two jobs have one name: results would be mixed.")
    else:
        reading.current = dict(reading.shared)
        reading.jobs.append((number, name, reading.current))


def _read_option(reading: _Reading, number: int, line: str) -> None:
    match = _OPTION.fullmatch(line)
    if match is None or reading.current is None:
        reading.refuse(number, "not-an-option", "The line is no option of fio.")
        return
    given, value = match[1], (match[2] or "").strip()
    option = ALIASES.get(given, given)
    check = ALLOWED.get(option)
    if check is None:
        code, reason = why_refused(option)
        reading.refuse(number, code, f"{given} is refused: {reason}.")
        return
    try:
        reading.current[option] = check(value)
    except OptionError as error:
        reading.refuse(number, "value-refused", f"{given} {error}.")


def _check_jobs(reading: _Reading, jobs: tuple[FioJob, ...]) -> None:
    """What no single line shows."""
    if not jobs and not reading.refusals:
        reading.refuse(0, "no-job", "The file has no job.")
    if len(jobs) > JOBS:
        reading.refuse(0, "too-many-jobs", f"A job file has at most {JOBS} jobs.")
    for (number, _, options), job in zip(reading.jobs, jobs, strict=True):
        start = int(options.get("offset", "0%")[:-1])
        if start + int(options.get("size", "1%")[:-1]) > 100:
            reading.refuse(number, "past-the-end", f"{job.name} would reach past the volume's end.")
        if options.get("time_based") == "1" and not job.runtime_s:
            reading.refuse(number, "no-runtime", f"{job.name} runs by time but has no runtime.")
    buffers = sum(job.largest_block * job.iodepth * job.numjobs for job in jobs)
    if buffers > MOST_BUFFERS:
        sentence = f"The jobs would need {buffers / GIB:.1f} GiB of buffers, 2 GiB are allowed."
        reading.refuse(0, "too-much-memory", sentence)
