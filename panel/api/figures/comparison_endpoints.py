"""What the cards beside the charts show: who kept the disks of a host busy, who wrote to an SSD,
and what a job changed. Staff only."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Any, ClassVar, Final

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import Job
from panel.api.framework import described
from panel.api.framework.resource import Resource, bad_parameter, since, whole
from panel.api.framework.shape import Shape
from panel.api.resource_json import job_ref, ref, volume_ref
from panel.api.response_shapes import Json, Ref
from panel.models import Scope
from panel.proofs.job_comparison import compare_job
from storage.analysis.disk_activity import DisksThen, disks_then
from storage.analysis.disk_users import UsedDisk
from storage.analysis.ssd_writers import SPANS, known_as, ssd_writers
from storage.database_clock import database_now
from storage.health.smart_records import DiskCondition, conditions_of
from storage.metrics.rates import FiguresWindow
from storage.models import Host
from storage.stored_inventory import inventory_of

USUAL: Final = timedelta(minutes=5)
LONGEST: Final = timedelta(days=366)
MOST_MINUTES: Final = 7 * 24 * 60
AFTERS: Final = ("right", "latest")
FIGURES: Final = (
    "read_iops",
    "write_iops",
    "read_bytes_per_second",
    "write_bytes_per_second",
    "read_ms",
    "write_ms",
    "latency_ms_p50",
    "latency_ms_p95",
    "latency_ms_p99",
    "hit_rate",
    "write_hit_rate",
)


class DiskUserShape(Shape):
    """A volume that a disk worked for."""

    volume = Ref(allow_null=True, help_text="Null: it is forgotten.")
    in_flight = serializers.FloatField(help_text="I/Os of it under way, on average.")
    share = serializers.FloatField(help_text="Its part of the disk's I/O time, 0 to 1.")
    is_estimate = serializers.BooleanField(
        help_text="True: the volume lies on several disks, and this is its usual part."
    )


class UsedDiskShape(Shape):
    """A disk or array, and whom it worked for."""

    disk = serializers.CharField(help_text="Such as sda.")
    is_fast = serializers.BooleanField(help_text="True: an SSD.")
    busy = serializers.FloatField(
        allow_null=True, help_text="Share of the time in which it had I/O under way; null: unknown."
    )
    in_flight = serializers.FloatField(help_text="I/Os under way, on average.")
    other_share = serializers.FloatField(
        allow_null=True, help_text="What no volume explains, 0 to 1; null: not known."
    )
    users = DiskUserShape(many=True, help_text="The volumes, the greatest first.")


class DiskUsersShape(Shape):
    """The disks of a host over a time."""

    start = serializers.DateTimeField()
    end = serializers.DateTimeField()
    items = UsedDiskShape(many=True)


class HostDiskUsers(Resource):
    """Who kept the disks of a host busy."""

    staff_only = True
    read_scope = Scope.HOSTS_READ
    parameters: ClassVar = {"GET": ("from", "to")}

    @extend_schema(
        operation_id="host_disk_users",
        summary="Show who kept the disks of a host busy",
        parameters=[
            OpenApiParameter(
                "from", OpenApiTypes.DATETIME, description="Default: five minutes before `to`."
            ),
            OpenApiParameter("to", OpenApiTypes.DATETIME, description="Default: now."),
        ],
        responses={200: DiskUsersShape, **described.problems(400, 403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """Every disk and array, with the volumes by their share of its time. Empty before the first
        inventory."""
        host = get_object_or_404(Host.objects.visible_to(self.user), key=key)
        end = since(request, "to") or timezone.now()
        start = since(request, "from") or end - USUAL
        if not timedelta() < end - start <= LONGEST:
            message = f"Before `to`, by at most {LONGEST.days} days."
            raise bad_parameter("from", "out_of_range", message)
        facts = inventory_of(host)
        then = disks_then(host, facts, start, end) if facts is not None else None
        items = [_used_json(disk, then) for disk in then.disks] if then is not None else []
        return Response(DiskUsersShape({"start": start, "end": end, "items": items}).data)


def _used_json(disk: UsedDisk, then: DisksThen) -> Json:
    names = ("is_fast", "busy", "in_flight", "other_share")
    users = [
        {**asdict(user), "volume": volume_ref(then.volumes.get(user.volume_id))}
        for user in disk.users
    ]
    return {**{name: getattr(disk, name) for name in names}, "disk": disk.name, "users": users}


class SsdWriterShape(Shape):
    """What a volume wrote to an SSD."""

    volume = Ref()
    written_bytes = serializers.IntegerField(help_text="Bytes that it wrote there.")
    promoted_bytes = serializers.IntegerField(
        allow_null=True,
        help_text="Of these, copies of what it read; null: it lies there, or nobody counts them.",
    )
    share = serializers.FloatField(help_text="Of all that was written, 0 to 1.")


class SsdWritersShape(Shape):
    """Who wears an SSD. Where `total_bytes` is null, shares are of what volumes explain."""

    start = serializers.DateTimeField()
    end = serializers.DateTimeField()
    total_bytes = serializers.IntegerField(
        allow_null=True, help_text="What the SSD counted in that time; null: not known."
    )
    other_bytes = serializers.IntegerField(
        allow_null=True, help_text="What no volume explains; null: not known."
    )
    other_share = serializers.FloatField(
        allow_null=True, help_text="The same as a share, 0 to 1; null: not known."
    )
    uncounted = serializers.IntegerField(
        help_text="bcache volumes whose writes nobody counts; they are within the other bytes."
    )
    items = SsdWriterShape(many=True, help_text="The volumes, the greatest first.")


class DiskWriters(Resource):
    """Who wrote to an SSD."""

    staff_only = True
    read_scope = Scope.HOSTS_READ
    parameters: ClassVar = {"GET": ("span",)}

    @extend_schema(
        operation_id="host_disk_writers",
        summary="Show who wrote to an SSD",
        parameters=[described.query("span", "How long until now; 7d.", enum=list(SPANS))],
        responses={200: SsdWritersShape, **described.problems(400, 403, 404)},
    )
    def get(self, request: Request, key: str, disk: str) -> Response:
        """404 where the disk is no SSD, or the host was not read yet."""
        span = request.query_params.get("span", "7d")
        if span not in SPANS:
            raise bad_parameter("span", "invalid", f"One of {', '.join(SPANS)}.")
        host = get_object_or_404(Host.objects.visible_to(self.user), key=key)
        facts, now = inventory_of(host), database_now()
        conditions = (each for each in conditions_of(host, now) if each.disk.key == disk)
        condition = next(conditions, None)
        if facts is None or condition is None or not _is_ssd(condition):
            raise Http404
        name = known_as(facts, condition)
        if name is None:
            raise Http404
        writers = ssd_writers(condition, facts, name, now, SPANS[span][1])
        names = ("start", "end", "total_bytes", "other_bytes", "other_share", "uncounted")
        data: Json = {name: getattr(writers, name) for name in names}
        data["items"] = [
            {**asdict(each), "volume": ref("api-volume", each.key, each.label)}
            for each in writers.volumes
        ]
        return Response(SsdWritersShape(data).data)


def _is_ssd(condition: DiskCondition) -> bool:
    return condition.health is not None and condition.health.is_ssd


class WindowFiguresShape(Shape):
    """The figures of a volume over a time; null where nothing can be said."""

    start = serializers.DateTimeField()
    end = serializers.DateTimeField()

    def get_fields(self) -> dict[str, Any]:
        return super().get_fields() | {
            name: serializers.FloatField(allow_null=True, help_text="As in the series of a volume.")
            for name in FIGURES
        }


class ComparedShape(Shape):
    """One figure before and after, in words for people."""

    what = serializers.CharField(help_text="Which figure.")
    before = serializers.CharField(help_text="With its unit; -: not known.")
    after = serializers.CharField(help_text="With its unit; -: not known.")
    difference = serializers.CharField(allow_blank=True, help_text="In words; empty: none.")
    verdict = serializers.CharField(allow_blank=True, help_text="better, worse, or empty.")


class JobComparisonShape(Shape):
    """A volume before and after one of its jobs."""

    job = Ref()
    before = WindowFiguresShape(allow_null=True, help_text="Null: there are no figures.")
    after = WindowFiguresShape(allow_null=True, help_text="Null: there are no figures.")
    items = ComparedShape(many=True, help_text="Figure by figure; empty: `lacks` says why.")
    lacks = serializers.CharField(
        allow_blank=True, help_text="Why there is no comparison; empty: there is one."
    )
    cut = serializers.CharField(
        allow_blank=True, help_text="Which side another job made shorter; empty: none."
    )


class JobComparisonView(Resource):
    """What a job changed."""

    staff_only = True
    read_scope = Scope.JOBS_READ
    parameters: ClassVar = {"GET": ("minutes", "after")}

    @extend_schema(
        operation_id="job_comparison",
        summary="Compare a volume before and after a job",
        parameters=[
            OpenApiParameter("minutes", OpenApiTypes.INT, description="How long each side is; 15."),
            described.query(
                "after",
                "`right`: right after the job, which is the default; `latest`: until now, when a "
                "cache is warm.",
                enum=list(AFTERS),
            ),
        ],
        responses={200: JobComparisonShape, **described.problems(400, 403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """As on the volume's page. 404 for dry runs and for jobs that are about no volume."""
        minutes = whole(request, "minutes", 15, 1, MOST_MINUTES)
        after = request.query_params.get("after", AFTERS[0])
        if after not in AFTERS:
            raise bad_parameter("after", "invalid", f"One of {', '.join(AFTERS)}.")
        jobs = Job.objects.visible_to(self.user).select_related("volume")
        job = get_object_or_404(jobs, key=key, dry_run=False, volume__isnull=False)
        compared = compare_job(
            job, timedelta(minutes=minutes), timezone.now(), latest=after == "latest"
        )
        data = {
            "job": job_ref(job),
            "before": _window_json(compared.before),
            "after": _window_json(compared.after),
            "items": compared.rows,
            "lacks": compared.lacks,
            "cut": compared.cut,
        }
        return Response(JobComparisonShape(data).data)


def _window_json(window: FiguresWindow | None) -> Json | None:
    if window is None:
        return None
    return {name: getattr(window, name) for name in ("start", "end", *FIGURES)}
