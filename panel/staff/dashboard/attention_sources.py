"""Everything that may need a person, gathered from hosts, jobs and the global stop."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Exists, Max, OuterRef, Q

from jobs.models import OVER, Halt, Job, JobQuerySet, State, Step
from panel.staff.dashboard.attention import Concern, Subject
from panel.staff.hosts.fleet import HostSummaryRow
from storage.access import Person
from storage.formatting import size
from storage.health.inventory_findings import MADE_FROM_INVENTORY, InventoryFinding
from storage.models import Volume

FAILED_LATELY: Final = timedelta(days=2)
UNDONE_LIMIT: Final = 200
LEAST_FREE: Final = 0.1
"""Less than this share free is soon too little to sell; bars of space warn there too."""
ROOM: Final = "Add a disk, or move volumes to another host."
PASSING_DURING_JOBS: Final = frozenset({"drift", "unfinished", "volume_inactive"})


def of_host(
    line: HostSummaryRow, locked_volumes: Collection[str], labels: Mapping[str, str]
) -> Iterator[Concern]:
    """Troubles of one host; differences that a job on the volume is about to end are left out."""
    room = tuple(_of_room(line))
    if not (line.problems or line.findings or room):
        return
    subject = Subject(line.host.name, "host", line.host.key)
    shown_elsewhere = MADE_FROM_INVENTORY if line.outline is not None else frozenset()
    for problem in line.problems:
        if problem.severity != "info" and problem.code not in shown_elsewhere:
            yield Concern(
                problem.code,
                problem.severity,
                subject,
                problem.message,
                problem.since,
                problem.correction,
                host=subject,
            )
    for finding in line.findings:
        if finding.code in PASSING_DURING_JOBS and finding.volume in locked_volumes:
            continue
        yield Concern(
            finding.code,
            finding.severity,
            _subject(finding, subject, labels),
            finding.message,
            finding.began,
            finding.correction,
            host=subject,
        )
    for code, text in room:
        yield Concern(code, "warning", subject, text, None, ROOM, host=subject)


def _subject(finding: InventoryFinding, host: Subject, labels: Mapping[str, str]) -> Subject:
    if finding.volume:
        name = labels.get(finding.volume, finding.subject)
        return Subject(f"{name} on {host.name}", "volume", finding.volume)
    return replace(host, name=f"{finding.subject} on {host.name}")


def labels_of(user: Person, lines: Iterable[HostSummaryRow]) -> dict[str, str]:
    """What people call the volumes that findings name, by key."""
    keys = {finding.volume for line in lines for finding in line.findings if finding.volume}
    named = Volume.objects.visible_to(user).filter(key__in=keys)
    return dict(named.values_list("key", "label"))


def _of_room(line: HostSummaryRow) -> Iterator[tuple[str, str]]:
    """Code and sentence of each kind of space that is nearly gone."""
    outline = line.outline
    if outline is None:
        return
    for code, what, free, total in (
        ("ssd_full", "SSD space", outline.fast_free_bytes, outline.fast_total_bytes),
        ("hdd_full", "space on slow disks", outline.slow_free_bytes, outline.slow_total_bytes),
    ):
        if total and free < total * LEAST_FREE:
            yield code, f"{size(free)} of {size(total)} {what} are free."


def of_halt(halt: Halt | None) -> Iterator[Concern]:
    if halt is not None:
        every = Subject("All hosts", "jobs")
        what = f"All jobs are paused{halt.cause}{'' if halt.reason else '.'}"
        yield Concern("halt", "warning", every, what, halt.since)


def of_jobs(jobs: JobQuerySet, at: datetime) -> Iterator[Concern]:
    """Jobs that wait for a decision, and those that failed lately unless a later one of the same
    volume did better or is at work."""
    later = Job.objects.filter(volume=OuterRef("volume"), dry_run=False, pk__gt=OuterRef("pk"))
    better = later.filter(~Q(state__in=OVER) | Q(state=State.SUCCEEDED))
    failed = Q(state=State.FAILED, ended_at__gt=at - FAILED_LATELY) & ~Exists(better)
    undone = list(jobs.filter(Q(state=State.NEEDS_ATTENTION) | failed).told()[:UNDONE_LIMIT])
    halted = [job.pk for job in undone if not job.is_over]
    steps = Step.objects.filter(job__in=halted).values_list("job_id")
    last_steps = dict(steps.annotate(Max("ended_at")))
    for job in undone:
        is_failed = job.state == State.FAILED
        yield Concern(
            "job_failed" if is_failed else "job_undecided",
            "error",
            Subject(f"{job.label} on {job.host.name}", "job", job.key),
            job.sentence,
            job.ended_at or last_steps.get(job.pk) or job.started_at,
            str(job.error.get("correction", "")),
            f"{job.get_kind_display()}, {job.error.get('code', 'unknown')}",
        )
