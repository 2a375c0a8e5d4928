"""Kinds of problems of jobs, and of the panel itself."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Final

from storage.problems.problem_kind import ProblemKind

_panel: Final = partial(ProblemKind, about="panel", listing="all_jobs")

JOB_KINDS: Final = (
    _panel(
        "job_undecided",
        "Job needs a decision",
        "{count} jobs need a decision",
        "The volume stays locked until a person decides.",
        about="job",
        family="job",
        hold_seconds=0,
        resolve_seconds=0,
        listing="undecided_jobs",
    ),
    _panel(
        "job_failed",
        "Job failed",
        "{count} jobs failed",
        "The job failed and will not be retried.",
        about="job",
        family="job",
        hold_seconds=0,
        resolve_seconds=0,
        listed_for=timedelta(days=2),
        once_unlisted="It failed 2 days ago and is no longer reported. No later job has fixed it.",
        listing="failed_jobs",
    ),
    _panel(
        "halt",
        "All jobs paused",
        "All jobs are paused",
        "No new step starts on any host until an admin resumes jobs.",
        # Jobs are paused on purpose: only a long pause is a problem.
        hold_seconds=1800,
        resolve_seconds=0,
    ),
    _panel(
        "jobs_untaken",
        "No worker takes jobs",
        "No worker takes jobs",
        "Nothing changes on any host.",
        family="worker",
        # It lasted for a minute before it was a problem.
        hold_seconds=0,
        resolve_seconds=60,
    ),
    _panel(
        "worker_silent",
        "Worker silent",
        "No worker gives a sign of life",
        "Nothing changes on any host.",
        family="worker",
        hold_seconds=0,
        resolve_seconds=60,
    ),
    _panel(
        "housekeeping_silent",
        "Housekeeping silent",
        "Housekeeping gives no sign of life",
        "Alerts, mails and orders are not handled.",
        hold_seconds=0,
        resolve_seconds=60,
    ),
    _panel(
        "workers_busy",
        "All workers busy",
        "All workers are busy",
        "Jobs begin late.",
        family="worker",
        # Many jobs at once are no fault; that they wait for long is.
        hold_seconds=600,
        resolve_seconds=60,
    ),
    _panel(
        "slot_stuck",
        "Part of a worker hangs",
        "Parts of a worker or collector hang",
        "Fewer jobs run at a time.",
        hold_seconds=0,
        resolve_seconds=60,
    ),
    _panel(
        "collector_silent",
        "Collector silent",
        "No collector gives a sign of life",
        "Charts and hit rates have a gap, and advice is based on old data.",
        resolve_seconds=60,
    ),
    _panel(
        "beat_silent",
        "Beat silent",
        "Beat gives no sign of life",
        "Hosts are not sampled, alerts are not judged, and waiting jobs are not resumed.",
        resolve_seconds=60,
    ),
)
