"""The bodies of requests about benchmarks."""

from __future__ import annotations

from typing import Final

from panel.api.benchmarks.benchmark_shapes import BenchmarkShape
from panel.api.framework.bodies import Body
from panel.api.framework.fields import Anything, Boolean, Choice, Integer, List, Text
from panel.api.jobs.window_shapes import DailyWindowBody
from panel.benchmarks.asked_matrix import (
    USUAL_DEPTH,
    USUAL_JOBS,
    USUAL_REPEATS,
    USUAL_SECONDS,
)
from panel.benchmarks.benchmark_words import STATES
from panel.benchmarks.share_links import DAYS, MOST_DAYS
from panel.benchmarks.target_presets import PRESETS
from storage.agent.benchmark.profiles import PROFILES
from storage.benchmarks.matrix import (
    MOST_DEPTH,
    MOST_JOBS,
    MOST_REPEATS,
    MOST_SECONDS,
)
from storage.models.benchmark import TITLE_LIMIT

MOST_SIZES: Final = 12
MOST_FILES: Final = 50
MOST_JOB_CHARACTERS: Final = 4096
MOST_CHARACTERS: Final = 2 * 1024 * 1024


class MatrixBody(Body):
    """What to measure, and where."""

    made_plain = ("job_file",)
    host = Text("Key of the host.", max_length=26)
    vg = Text(
        "Name of the volume group. Default: the only usable one.",
        default="",
        allow_blank=True,
    )
    targets = List(
        f"What is compared: some of {', '.join(f'`{name}`' for name in PRESETS)}.",
        Choice("A target.", PRESETS),
        allow_empty=False,
    )
    profiles = List(
        f"What is done: some of {', '.join(f'`{name}`' for name in PROFILES)}.",
        Choice("A profile.", PROFILES),
        allow_empty=False,
    )
    data_bytes = List(
        "Bytes of data; several values make a sweep.", Integer(), max_length=MOST_SIZES
    )
    cache_bytes = List(
        "Bytes of SSD of each cache.", Integer(), max_length=MOST_SIZES, default=list
    )
    states = List(
        "How caches begin; checked by the host.", Choice("A state.", STATES), default=list
    )
    seconds = Integer("How long each run measures.", max_value=MOST_SECONDS, default=USUAL_SECONDS)
    warm_seconds = Integer(
        "How long a cache is warmed before a run that begins `warmed`.",
        max_value=MOST_SECONDS,
        default=USUAL_SECONDS,
    )
    repeats = Integer(
        "How often each is measured.", min_value=1, max_value=MOST_REPEATS, default=USUAL_REPEATS
    )
    jobs = Integer("Streams of fio.", min_value=1, max_value=MOST_JOBS, default=USUAL_JOBS)
    iodepth = Integer(
        "Requests that each stream keeps in flight.",
        min_value=1,
        max_value=MOST_DEPTH,
        default=USUAL_DEPTH,
    )
    job_file = Text(
        "A fio job file with the one job of the profile `own`; runs take no other options from it.",
        max_length=MOST_JOB_CHARACTERS,
        default="",
        allow_blank=True,
        trim_whitespace=False,
    )
    heat_of = Text(
        "Key of the volume whose heat the profile `heat` replays.",
        max_length=26,
        default="",
        allow_blank=True,
    )


class BenchmarkBody(MatrixBody):
    """An order."""

    shows = BenchmarkShape
    title = Text("A title for people.", max_length=TITLE_LIMIT, default="", allow_blank=True)
    window = DailyWindowBody(
        "When its runs begin; null: at any time.", allow_null=True, default=None
    )


class PauseBody(Body):
    """How."""

    now = Boolean(
        "True stops the current run, which is repeated after `resume`; false lets it finish.",
        default=False,
    )


class ShareBody(Body):
    """For how long."""

    days = Integer("Days.", min_value=1, max_value=MOST_DAYS, default=DAYS)


class ImportedFileBody(Body):
    """A file as text, as fio and YABS write it."""

    made_plain = ("content",)
    name = Text("Its name; the name of a log says which values it has.", max_length=200)
    content = Text("Its content.", max_length=MOST_CHARACTERS, trim_whitespace=False)


class ImportBody(Body):
    """Files of one or more runs. Logs come with the JSON of their run."""

    files = ImportedFileBody("The files.", many=True, allow_empty=False, max_length=MOST_FILES)
    title = Text("A title for people.", max_length=TITLE_LIMIT, default="", allow_blank=True)
    machine = Text("Where it was measured.", max_length=200, default="", allow_blank=True)


class VerificationBody(Body):
    """An exported benchmark."""

    document = Anything("The document from `export` or a shared page; some of its runs are enough.")
