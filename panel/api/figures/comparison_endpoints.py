"""Figures of the cards next to the charts: which volumes kept a host's disks busy, which wrote to
an SSD, and what a job changed. Staff only."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Any, Final

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import Job
from panel.api.framework.api_operations import operation
from panel.api.framework.fields import Boolean, DateTime, Float, Integer, Text
from panel.api.framework.parameters import Moment, Number, OneOf
from panel.api.framework.refs import Ref, ref
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Json, Shape, show
from panel.api.hosts.host_resource import HostResource
from panel.models import Scope
from panel.proofs.job_comparison import compare_job
from storage.analysis.disk_activity import DisksThen, disks_then
from storage.analysis.disk_users import UsedDisk
from storage.analysis.ssd_writers import SPANS, known_as, ssd_writers
from storage.database_clock import database_now
from storage.health.smart_records import DiskCondition, conditions_of
from storage.stored_inventory import inventory_of

USUAL: Final = timedelta(minutes=5)
LONGEST: Final = timedelta(days=366)
MOST_MINUTES: Final = 7 * 24 * 60
FIGURES: Final = {
    "read_iops": "read_iops",
    "write_iops": "write_iops",
    "read_bytes_per_second": "read_bytes_per_s",
    "write_bytes_per_second": "write_bytes_per_s",
    "read_ms": "read_ms",
    "write_ms": "write_ms",
    "latency_ms_p50": "latency_p50_ms",
    "latency_ms_p95": "latency_p95_ms",
    "latency_ms_p99": "latency_p99_ms",
    "hit_rate": "hit_rate",
    "write_hit_rate": "write_hit_rate",
}
"""What programs call the figures (docs/versions.md: it does not change), and what all else does."""


class DiskUserShape(Shape):
    """A volume that used a disk."""

    volume = Ref("Null: its record was deleted.", null=True)
    in_flight = Float("Its I/Os in flight, on average.")
    share = Float("Its share of the disk's I/O time, 0 to 1.")
    is_estimate = Boolean("True: the volume spans several disks, and this is its usual share.")


class UsedDiskShape(Shape):
    """A disk or array, and the volumes that used it."""

    disk = Text("Such as sda.", of="name")
    is_fast = Boolean("True: an SSD.")
    busy = Float("Share of the time with I/O in flight; null: unknown.", null=True)
    in_flight = Float("I/Os in flight, on average.")
    other_share = Float("The share that no volume explains, 0 to 1; null: unknown.", null=True)
    users = DiskUserShape("The volumes, largest share first.", many=True, given=True)


class DiskUsersShape(Shape):
    """The disks of a host over a period."""

    start = DateTime("When it begins.")
    end = DateTime("When it ends.")
    items = UsedDiskShape("The rows of this answer, one each.", many=True)


FROM: Final = Moment("from", "Default: five minutes before `to`.")
TO: Final = Moment("to", "Default: now.")


class HostDiskUsers(HostResource):
    """Who kept the disks of a host busy."""

    @operation(
        "host_disk_users",
        "Show which volumes keep a host's disks busy",
        DiskUsersShape,
        parameters=(FROM, TO),
    )
    def get(self, request: Request, key: str) -> Response:
        """Every disk and array, with its volumes by their share of its I/O time. Empty before the
        first inventory."""
        host = self.host(key, with_inventory=True)
        end = TO.of(request) or timezone.now()
        start = FROM.of(request) or end - USUAL
        if not timedelta() < end - start <= LONGEST:
            raise FROM.refused(f"Before `to`, by at most {LONGEST.days} days.", "out_of_range")
        facts = inventory_of(host)
        then = disks_then(host, facts, start, end) if facts is not None else None
        items = [_used(disk, then) for disk in then.disks] if then is not None else []
        return self.shown({"start": start, "end": end, "items": items})


def _used(disk: UsedDisk, then: DisksThen) -> Json:
    users = [{**asdict(user), "volume": then.volumes.get(user.volume_id)} for user in disk.users]
    return show(UsedDiskShape, disk, users=users)


class SsdWriterShape(Shape):
    """Data that a volume wrote to an SSD."""

    volume = Ref("The volume.", of=lambda writer: ref("api-volume", writer.key, writer.label))
    written_bytes = Integer("Bytes that it wrote there.")
    promoted_bytes = Integer(
        "Of these, bytes promoted after reads; null: the volume is on the SSD, or they are not "
        "counted.",
        null=True,
    )
    share = Float("Of all that was written, 0 to 1.")


class SsdWritersShape(Shape):
    """Which volumes wear an SSD. If `total_bytes` is null, shares are of the bytes that volumes
    explain."""

    start = DateTime("When it begins.")
    end = DateTime("When it ends.")
    total_bytes = Integer("Bytes that the SSD counted in that time; null: unknown.", null=True)
    other_bytes = Integer("Bytes that no volume explains; null: unknown.", null=True)
    other_share = Float("The same as a share, 0 to 1; null: unknown.", null=True)
    uncounted = Integer(
        "bcache volumes whose writes are not counted; they are within the other bytes."
    )
    items = SsdWriterShape("The volumes, largest share first.", of="volumes", many=True)


SPAN: Final = OneOf("span", "Length of the period up to now; 7d.", values=tuple(SPANS))


class DiskWriters(HostResource):
    """Who wrote to an SSD."""

    @operation(
        "host_disk_writers",
        "Show which volumes write to an SSD",
        SsdWritersShape,
        parameters=(SPAN,),
    )
    def get(self, request: Request, key: str, disk: str) -> Response:
        """404 if the disk is not an SSD, or before the host was first read."""
        host = self.host(key, with_inventory=True)
        facts, now = inventory_of(host), database_now()
        conditions = (each for each in conditions_of(host, now) if each.disk.key == disk)
        condition = next(conditions, None)
        if facts is None or condition is None or not _is_ssd(condition):
            raise Http404
        name = known_as(facts, condition)
        if name is None:
            raise Http404
        _, span = SPANS[SPAN.of(request) or "7d"]
        return self.shown(ssd_writers(condition, facts, name, now, span))


def _is_ssd(condition: DiskCondition) -> bool:
    return condition.health is not None and condition.health.is_ssd


class WindowFiguresShape(Shape):
    """The figures of a volume over a period; null where unknown."""

    start = DateTime("When it begins.")
    end = DateTime("When it ends.")

    def get_fields(self) -> dict[str, Any]:
        return super().get_fields() | {
            name: Float("As in the series of a volume.", null=True, of=figure)
            for name, figure in FIGURES.items()
        }


class ComparedShape(Shape):
    """One figure before and after, in words for people."""

    what = Text("The figure.")
    before = Text("With its unit; -: unknown.")
    after = Text("With its unit; -: unknown.")
    difference = Text("In words; empty: none.")
    verdict = Text("better, worse, or empty.")


class JobComparisonShape(Shape):
    """A volume before and after one of its jobs."""

    job = Ref("The job.", given=True)
    before = WindowFiguresShape("Null: there are no figures.", null=True)
    after = WindowFiguresShape("Null: there are no figures.", null=True)
    items = ComparedShape("The compared figures; empty: see `lacks`.", of="rows", many=True)
    lacks = Text("Why there is no comparison; empty: there is one.")
    cut = Text("Which side another job shortened; empty: none.")


MINUTES: Final = Number(
    "minutes", "Minutes of each side; 15.", least=1, most=MOST_MINUTES, default=15
)
AFTER: Final = OneOf(
    "after",
    "`right` (default): right after the job; `latest`: the time up to now, with a warm cache.",
    values=("right", "latest"),
)


class JobComparisonView(Resource):
    """What a job changed."""

    staff_only = True
    read_scope = Scope.JOBS_READ

    @operation(
        "job_comparison",
        "Compare a volume before and after a job",
        JobComparisonShape,
        parameters=(MINUTES, AFTER),
    )
    def get(self, request: Request, key: str) -> Response:
        """As on the volume's page. 404 for dry runs and for jobs without a volume."""
        jobs = Job.objects.visible_to(self.user).select_related("volume")
        job = get_object_or_404(jobs, key=key, dry_run=False, volume__isnull=False)
        is_latest = AFTER.of(request) == "latest"
        minutes = timedelta(minutes=MINUTES.of(request))
        return self.shown(compare_job(job, minutes, timezone.now(), latest=is_latest), job=job)
