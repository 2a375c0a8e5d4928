"""Benchmarks of the disks and caches of a host, their runs, and the raw files of these. They are
kept for ever."""

from __future__ import annotations

import gzip
from typing import Final, Self

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from storage.access import Person, is_staff
from storage.benchmarks.matrix import Cell, Spec
from storage.models.host import Host
from storage.naming import new_key
from storage.planner.daily_window import DailyWindow

TITLE_LIMIT: Final = 128


class BenchmarkState(models.TextChoices):
    """wanted -> running <-> paused -> done | failed | cancelled.

    One that was cancelled ends (`ended_at`) once the host has stopped its run."""

    WANTED = "wanted", "waiting"
    RUNNING = "running", "running"
    PAUSED = "paused", "paused"
    DONE = "done", "done"
    FAILED = "failed", "failed"
    CANCELLED = "cancelled", "cancelled"


class RunState(models.TextChoices):
    """wanted -> running -> done | failed | void | cancelled; wanted -> cancelled.

    void: it was stopped before its end, and another run of the cell takes its place."""

    WANTED = "wanted", "waiting"
    RUNNING = "running", "running"
    DONE = "done", "done"
    FAILED = "failed", "failed"
    VOID = "void", "stopped early"
    CANCELLED = "cancelled", "cancelled"


class BenchmarkOrigin(models.TextChoices):
    """Where its figures come from."""

    ORDERED = "ordered", "ordered here"
    IMPORTED = "imported", "imported"
    PUBLISHED = "published", "published"


class BenchmarkPurpose(models.TextChoices):
    """What its figures are for."""

    PLAIN = "plain", "comparison"
    GATE = "gate", "kernel gate"


UNFINISHED: Final = (BenchmarkState.WANTED, BenchmarkState.RUNNING, BenchmarkState.PAUSED)
UNFINISHED_RUN: Final = (RunState.WANTED, RunState.RUNNING)
TO_FOLLOW: Final = models.Q(ended_at=None, not_before__isnull=False)
"""Benchmarks of which a worker has something to do, now or later."""


class BenchmarkQuerySet(models.QuerySet["Benchmark"]):
    def visible_to(self, user: Person) -> Self:
        return self if is_staff(user) else self.none()

    def unfinished(self) -> Self:
        return self.filter(state__in=UNFINISHED)


class Benchmark(models.Model):
    """A matrix of runs that a person ordered for a `host` (`spec`: `storage.benchmarks.matrix.Spec`
    as JSON), or results from elsewhere, which have neither. A worker has something to do at
    `not_before`; null: nothing, until a person resumes it. Runs begin between `window_start` and
    `window_end` on the clock of `window_zone`; null: at any time. `message` with `correction` is
    why it failed, or waits (for what may pass: since `waits_since`). A visitor with `share_key`
    sees its figures until `share_until`."""

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    host = models.ForeignKey(
        Host, null=True, blank=True, on_delete=models.PROTECT, related_name="benchmarks"
    )
    title = models.CharField(max_length=TITLE_LIMIT, blank=True)
    origin = models.CharField(
        max_length=9, choices=BenchmarkOrigin.choices, default=BenchmarkOrigin.ORDERED
    )
    purpose = models.CharField(
        max_length=5, choices=BenchmarkPurpose.choices, default=BenchmarkPurpose.PLAIN
    )
    spec = models.JSONField(default=dict, blank=True)
    state = models.CharField(
        max_length=9, choices=BenchmarkState.choices, default=BenchmarkState.WANTED
    )
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    address = models.GenericIPAddressField(null=True, blank=True)
    request_origin = models.CharField(max_length=8)
    token = models.CharField(max_length=64, blank=True)
    window_start = models.TimeField(null=True, blank=True)
    window_end = models.TimeField(null=True, blank=True)
    window_zone = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    begun_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    not_before = models.DateTimeField(null=True, blank=True, db_default=Now())
    waits_since = models.DateTimeField(null=True, blank=True)
    message = models.CharField(max_length=512, blank=True)
    correction = models.CharField(max_length=512, blank=True)
    share_key = models.CharField(max_length=32, blank=True)
    share_until = models.DateTimeField(null=True, blank=True)

    objects = BenchmarkQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(origin=BenchmarkOrigin.ORDERED, host__isnull=False)
                | (
                    ~models.Q(origin=BenchmarkOrigin.ORDERED)
                    & models.Q(state=BenchmarkState.DONE, ended_at__isnull=False)
                ),
                name="benchmark_of_host_or_done",
            ),
            models.CheckConstraint(
                condition=models.Q(
                    state__in=(BenchmarkState.DONE, BenchmarkState.FAILED), ended_at__isnull=False
                )
                | models.Q(state=BenchmarkState.CANCELLED)
                | models.Q(state__in=UNFINISHED, ended_at=None),
                name="benchmark_over_has_end",
            ),
            models.CheckConstraint(
                condition=models.Q(window_start=None, window_end=None, window_zone="")
                | models.Q(window_start__isnull=False, window_end__isnull=False)
                & ~models.Q(window_zone=""),
                name="benchmark_window_whole",
            ),
            models.CheckConstraint(
                condition=models.Q(share_key="", share_until=None)
                | (~models.Q(share_key="") & models.Q(share_until__isnull=False)),
                name="benchmark_share_whole",
            ),
            models.UniqueConstraint(
                fields=("share_key",),
                condition=~models.Q(share_key=""),
                name="benchmark_share_key_once",
            ),
        )
        indexes = (
            models.Index(fields=("not_before",), condition=TO_FOLLOW, name="benchmark_to_follow"),
        )

    def __str__(self) -> str:
        return self.title or f"benchmark {self.key}"

    @property
    def is_over(self) -> bool:
        return self.state not in UNFINISHED

    @property
    def matrix(self) -> Spec:
        """What was ordered; raises `BadSpec` for results from elsewhere."""
        return Spec.from_json(self.spec)

    @property
    def window(self) -> DailyWindow | None:
        """The window in which its runs begin; None for at any time."""
        if self.window_start is None or self.window_end is None:
            return None
        return DailyWindow(self.window_start, self.window_end, self.window_zone)


class BenchmarkRun(models.Model):
    """One run of a `cell` (`storage.benchmarks.matrix.Cell` as JSON); `repeat` counts from 0. `key`
    is what the host calls it. The jobs that did it have it as `Job.benchmark_run`. `outcome` is the
    host's word ("finished", "stopped", "failed"; "" before it has any), `reached_seconds` how far
    its measured part came. `conditions` is what else the host said of itself; `summary` is a
    `storage.benchmarks.summary.RunSummary` as JSON, null before there is one. `is_on_host`: the
    host may have a result of it that is still to be fetched, or to be forgotten there.
    `is_put_off`: a person paused the benchmark and did not wait for the run. `gate_boot` is the
    boot in which it is to be done, where it is one of a gate."""

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="runs")
    number = models.PositiveIntegerField()
    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    cell = models.JSONField(default=dict, blank=True)
    repeat = models.PositiveSmallIntegerField(default=0)
    state = models.CharField(max_length=9, choices=RunState.choices, default=RunState.WANTED)
    boot_id = models.CharField(max_length=64, blank=True)
    kernel = models.CharField(max_length=128, blank=True)
    fio_version = models.CharField(max_length=32, blank=True)
    outcome = models.CharField(max_length=8, blank=True)
    reached_seconds = models.PositiveIntegerField(null=True, blank=True)
    begun_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    message = models.CharField(max_length=512, blank=True)
    correction = models.CharField(max_length=512, blank=True)
    conditions = models.JSONField(default=dict, blank=True)
    summary = models.JSONField(null=True, blank=True)
    gate_boot = models.ForeignKey(
        "storage.GateBoot", null=True, blank=True, on_delete=models.CASCADE, related_name="runs"
    )
    is_on_host = models.BooleanField(default=False)
    is_put_off = models.BooleanField(default=False)

    class Meta:
        ordering = ("number",)
        constraints = (
            models.UniqueConstraint(
                fields=("benchmark", "number"), name="benchmark_run_number_once"
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=RunState.values), name="benchmark_run_state_known"
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=UNFINISHED_RUN, ended_at=None)
                | (~models.Q(state__in=UNFINISHED_RUN) & models.Q(ended_at__isnull=False)),
                name="benchmark_run_over_has_end",
            ),
            models.UniqueConstraint(
                fields=("benchmark",),
                condition=models.Q(state=RunState.RUNNING),
                name="benchmark_one_run_at_a_time",
            ),
        )

    def __str__(self) -> str:
        return f"run {self.number} of {self.benchmark}"

    @property
    def is_over(self) -> bool:
        return self.state not in UNFINISHED_RUN

    @property
    def matrix_cell(self) -> Cell:
        """What it does; raises `BadSpec` for one from elsewhere that says less."""
        return Cell.from_json(self.cell)


class BenchmarkFile(models.Model):
    """A raw file of a run as the host wrote it, packed with gzip; `size_bytes` is its own size."""

    run = models.ForeignKey(BenchmarkRun, on_delete=models.CASCADE, related_name="files")
    name = models.CharField(max_length=64)
    packed = models.BinaryField()
    size_bytes = models.PositiveBigIntegerField()

    class Meta:
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(fields=("run", "name"), name="benchmark_file_name_once"),
        )

    def __str__(self) -> str:
        return f"{self.name} of {self.run}"

    @property
    def content(self) -> bytes:
        """As the host wrote it."""
        return gzip.decompress(self.packed)
