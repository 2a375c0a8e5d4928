"""A job: what was requested, and its state. Only `jobs.engine.transitions` writes `Job.state`; its
runner writes everything else.

Each kind of job has its words here. A verb of the agent needs its own kind only where a person asks
for exactly that; as a step of another job it needs none.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Self

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from storage.access import Person, is_staff
from storage.database_clock import touched
from storage.formatting import size
from storage.models import BenchmarkRun, CachePlan, Host, Volume
from storage.naming import new_key
from storage.planner.daily_window import DailyWindow, opening_words
from storage.request_id import LIMIT as REQUEST_ID_LIMIT
from storage.request_id import current_request_id
from storage.templatetags.units import stamp
from storage.volumes.ownership import customer_then


class Kind(models.TextChoices):
    """What a person asked for. The runner does not read the kind: the wish says what to do.

    The database knows these values (job_kind_known): a new one needs a migration."""

    CREATE_VOLUME = "create-volume", "Create volume"
    TAG_VOLUME = "tag-volume", "Manage existing volume"
    EXTEND_VOLUME = "extend-volume", "Extend volume"
    MOVE_VOLUME = "move-volume", "Move volume"
    RETIRE_VOLUME = "retire-volume", "Retire volume"
    RESTORE_VOLUME = "restore-volume", "Restore volume"
    DESTROY_VOLUME = "destroy-volume", "Destroy volume"
    ADD_CACHE = "add-cache", "Add cache"
    SET_CACHE = "set-cache", "Change cache"
    REPLACE_CACHE = "replace-cache", "Replace cache"
    FLUSH_CACHE = "flush-cache", "Flush cache"
    REMOVE_CACHE = "remove-cache", "Remove cache"
    DROP_CACHE = "drop-cache", "Drop lost cache"
    REPAIR_VOLUME = "repair-volume", "Repair volume"
    PREPARE_SSD = "prepare-ssd", "Add SSD"
    REPLACE_MEMBER = "replace-member", "Replace disk of array"
    BENCHMARK = "benchmark", "Benchmark run"


OF_DISKS = (Kind.PREPARE_SSD, Kind.REPLACE_MEMBER)
"""What gives a disk of a host another use."""
OF_HOST = (*OF_DISKS, Kind.BENCHMARK)
"""What is about a host's disks, and no volume."""
CHANGING_SPEED = frozenset(
    {
        Kind.ADD_CACHE,
        Kind.SET_CACHE,
        Kind.REPLACE_CACHE,
        Kind.REMOVE_CACHE,
        Kind.DROP_CACHE,
        Kind.MOVE_VOLUME,
    }
)
"""After these a volume may be as fast as it never was before."""
WINDOWED = frozenset({Kind.REPLACE_CACHE, Kind.FLUSH_CACHE, Kind.REMOVE_CACHE})
"""What writes much to the slow disks: it waits for the window of its host, where that has one
(`Host.cache_window`)."""
DESTROYING = frozenset({Kind.DESTROY_VOLUME, Kind.DROP_CACHE})
"""What gives up data, or copies of data: a token needs a scope of its own for it."""


@dataclass(frozen=True, slots=True)
class KindWords:
    """A verb with its object, for each time; `{}` is the volume, or the device."""

    doing: str
    done: str
    do: str


def _words(doing: str, done: str, do: str, rest: str = "{}") -> KindWords:
    return KindWords(f"{doing} {rest}", f"{done} {rest}", f"{do} {rest}")


WORDS: dict[str, KindWords] = {
    Kind.CREATE_VOLUME: _words("Creating", "Created", "create"),
    Kind.TAG_VOLUME: _words("Putting", "Put", "put", "{} under management"),
    Kind.EXTEND_VOLUME: _words("Extending", "Extended", "extend"),
    Kind.MOVE_VOLUME: _words("Moving", "Moved", "move"),
    Kind.RETIRE_VOLUME: _words("Retiring", "Retired", "retire"),
    Kind.RESTORE_VOLUME: _words("Restoring", "Restored", "restore"),
    Kind.DESTROY_VOLUME: _words("Destroying", "Destroyed", "destroy"),
    Kind.ADD_CACHE: _words("Adding", "Added", "add", "a cache to {}"),
    Kind.SET_CACHE: _words("Changing", "Changed", "change", "the cache of {}"),
    Kind.REPLACE_CACHE: _words("Replacing", "Replaced", "replace", "the cache of {}"),
    Kind.FLUSH_CACHE: _words("Flushing", "Flushed", "flush", "the cache of {}"),
    Kind.REMOVE_CACHE: _words("Removing", "Removed", "remove", "the cache of {}"),
    Kind.DROP_CACHE: _words("Dropping", "Dropped", "drop", "the lost cache of {}"),
    Kind.REPAIR_VOLUME: _words("Repairing", "Repaired", "repair"),
    Kind.PREPARE_SSD: _words("Adding", "Added", "add", "the SSD {}"),
    Kind.REPLACE_MEMBER: _words("Replacing", "Replaced", "replace", "a disk of {}"),
    Kind.BENCHMARK: _words("Running", "Ran", "run", "a benchmark in {}"),
}


NEW_CACHES = (Kind.ADD_CACHE, Kind.REPLACE_CACHE)

if TYPE_CHECKING:
    from jobs.models.step import Line, Step


class State(models.TextChoices):
    """queued -> running <-> waiting -> succeeded | failed | cancelled | needs_attention.

    waiting: no worker holds the job; it continues once `not_before` has passed.
    needs_attention: no worker may continue, but the volume stays locked until a person decides.
    """

    QUEUED = "queued", "queued"
    RUNNING = "running", "running"
    WAITING = "waiting", "waiting"
    SUCCEEDED = "succeeded", "succeeded"
    FAILED = "failed", "failed"
    CANCELLED = "cancelled", "cancelled"
    NEEDS_ATTENTION = "needs_attention", "needs attention"


OVER = (State.SUCCEEDED, State.FAILED, State.CANCELLED)
ROW_COLUMNS = (
    "key",
    "kind",
    "dry_run",
    "state",
    "explanation",
    "error",
    "host__name",
    "volume__label",
    "created_at",
    "started_at",
    "ended_at",
    "not_before",
    "awaits",
    "window_start",
    "window_end",
    "window_zone",
)


class Origin(models.TextChoices):
    """The channel of a request."""

    PAGE = "page", "page"
    API = "api", "API"
    PORTAL = "portal", "customer page"
    POLICY = "policy", "policy of the host"


class JobQuerySet(models.QuerySet["Job"]):
    def visible_to(self, user: Person) -> Self:
        """The only way from a request to jobs: staff see all, members those that their customer's
        people requested on their own volumes."""
        if is_staff(user):
            return self
        own = Volume.objects.visible_to(user)
        return self.filter(volume__in=own).asked_by_customer()

    def asked_by_customer(self) -> Self:
        """Changes of plan for the customer who has the volume now, by one of its people or without
        a person (the billing system's, the end of a trial). Where a volume went
        from one customer to another, the new one sees nothing of the old one's, also where a person
        belongs to both."""
        ours = models.Q(actor__memberships__customer=models.F("volume__customer"))
        # An account that is gone leaves its changes without a name.
        plans = models.Q(origin=Origin.PORTAL) | models.Q(price_minor__isnull=False)
        changes = self.filter(models.Q(actor=None) | ours, plans)
        theirs = models.Q(had=None) | models.Q(had=models.F("volume__customer"))
        return changes.alias(had=customer_then("volume", "created_at")).filter(theirs)

    def with_names(self) -> Self:
        """With host, volume and actor in the same query, but not the host's inventory."""
        joined = self.select_related("host", "volume", "actor")
        return joined.defer("host__facts", "host__hello")

    def for_rows(self) -> Self:
        """With only the columns that `Job.sentence`, `parts/job_row.html` and the menu of jobs use:
        columns take half of the time of a page with many jobs."""
        return self.select_related("host", "volume").only(*ROW_COLUMNS)

    def unfinished(self) -> Self:
        return self.exclude(state__in=OVER)


class Job(models.Model):
    """One wish for one volume on one host. `wish` is `storage.planner.wish.Wish.to_json()`; that of
    a job without a volume, which is about disks of its host, a `storage.planner.host_wish.HostWish`
    as JSON. `benchmark_run` is the run that it does, null where it does none, or previews one.

    `explanation` is one sentence on what it does or waits for; `error` is
    `{code, message, correction}`, `{}` while nothing is wrong. A `dry_run` job is a preview: its
    steps stay `planned` and it locks nothing. `attempts` counts failed contacts with the host since
    the last good one. `origin` and `token` record the channel of the request (`token` is the public
    part of an API token's name). A customer's change of plan also records the `cache_plan` (null =
    none) and the price then. Lease and `not_before` are times of the database's clock.
    `started_at` is when a worker first took it, or again after a person resumed it.

    `fallback` is the wish that restores where the job began (null = none); `is_rolling_back`: to
    that one; `is_irrevocable`: the point of no return is passed, and the job can only go forward.
    `claims` counts workers that took the job since it last progressed. `fingerprint` is the digest
    of the confirmed steps, "" without a preview; `disks` says where they allocate
    (`storage.planner.Disks`). `address` is where the request came from. `awaits` names the decision
    that the job must wait for ("" = none); the job holds its volume and its space meanwhile.
    `window_start` to `window_end` on the clock of `window_zone` is the daily window in which alone
    it begins, and goes on with a flush (`jobs.engine.flush_rest`); null: at any time.

    `last_actor`, `last_address`, `last_origin` and `last_token` record the author of the last order
    after the request: a decision, a cancellation, another speed (`last_origin` "" = none yet). They
    are written while a worker holds the job: read them through `jobs.requester`. `request_id` and
    `last_request_id` name the HTTP requests of both (`storage.request_id`), "" for none.
    """

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    kind = models.CharField(max_length=16, choices=Kind.choices)
    host = models.ForeignKey(Host, on_delete=models.PROTECT)
    volume = models.ForeignKey(Volume, null=True, blank=True, on_delete=models.PROTECT)
    benchmark_run = models.ForeignKey(
        BenchmarkRun, null=True, blank=True, on_delete=models.PROTECT, related_name="jobs"
    )
    wish = models.JSONField()
    dry_run = models.BooleanField(default=False)
    state = models.CharField(max_length=16, choices=State.choices, default=State.QUEUED)
    explanation = models.CharField(max_length=500, blank=True)
    error = models.JSONField(default=dict, blank=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    origin = models.CharField(max_length=8, choices=Origin.choices, default=Origin.PAGE)
    token = models.CharField(max_length=64, blank=True)
    cache_plan = models.ForeignKey(
        CachePlan, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    price_minor = models.BigIntegerField(null=True, blank=True)
    currency = models.CharField(max_length=3, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)
    not_before = models.DateTimeField(null=True, blank=True)
    lease_owner = models.CharField(max_length=64, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    cancel_requested = models.BooleanField(default=False)
    attempts = models.PositiveIntegerField(default=0)
    fallback = models.JSONField(null=True, blank=True)
    is_rolling_back = models.BooleanField(default=False)
    is_irrevocable = models.BooleanField(default=False)
    claims = models.PositiveIntegerField(default=0)
    fingerprint = models.CharField(max_length=64, blank=True)
    disks = models.JSONField(default=dict, blank=True)
    address = models.GenericIPAddressField(null=True, blank=True)
    awaits = models.CharField(max_length=100, blank=True)
    window_start = models.TimeField(null=True, blank=True)
    window_end = models.TimeField(null=True, blank=True)
    window_zone = models.CharField(max_length=64, blank=True, default="", db_default="")
    last_actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    last_address = models.GenericIPAddressField(null=True, blank=True)
    last_origin = models.CharField(max_length=8, choices=Origin.choices, blank=True)
    last_token = models.CharField(max_length=64, blank=True)
    request_id = models.CharField(
        max_length=REQUEST_ID_LIMIT, blank=True, default=current_request_id, editable=False
    )
    last_request_id = models.CharField(max_length=REQUEST_ID_LIMIT, blank=True)

    beat = 0.0
    """When this process last prolonged the lease it has, by its monotonic clock; no column."""
    is_without_steps = False
    """What the worker that has the lease knows of its job: it alone adds steps. No column."""

    objects = JobQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(state__in=State.values), name="job_state_known"
            ),
            models.CheckConstraint(condition=models.Q(kind__in=Kind.values), name="job_kind_known"),
            models.CheckConstraint(
                condition=~models.Q(state=State.RUNNING)
                | (~models.Q(lease_owner="") & models.Q(lease_until__isnull=False)),
                name="job_running_has_lease",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=OVER, ended_at__isnull=False)
                | (~models.Q(state__in=OVER) & models.Q(ended_at__isnull=True)),
                name="job_over_has_end",
            ),
            models.UniqueConstraint(
                fields=("volume",),
                condition=models.Q(dry_run=False) & ~models.Q(state__in=OVER),
                name="job_one_per_volume",
                violation_error_message="Another job holds this volume.",
            ),
            models.CheckConstraint(
                condition=models.Q(kind__in=OF_HOST, volume=None)
                | (~models.Q(kind__in=OF_HOST) & models.Q(volume__isnull=False)),
                name="job_of_volume_or_ssd",
            ),
            models.CheckConstraint(
                condition=models.Q(benchmark_run=None) & ~models.Q(kind=Kind.BENCHMARK)
                | models.Q(kind=Kind.BENCHMARK, benchmark_run__isnull=False)
                | models.Q(kind=Kind.BENCHMARK, dry_run=True),
                name="job_of_benchmark_run",
            ),
            models.CheckConstraint(
                condition=models.Q(window_start=None, window_end=None, window_zone="")
                | models.Q(window_start__isnull=False, window_end__isnull=False)
                & ~models.Q(window_zone=""),
                name="job_window_whole",
            ),
            models.UniqueConstraint(
                fields=("host",),
                condition=models.Q(dry_run=False, kind__in=OF_DISKS) & ~models.Q(state__in=OVER),
                name="job_one_ssd_per_host",
                violation_error_message="Another job is about the disks of this host.",
            ),
            models.UniqueConstraint(
                fields=("host",),
                condition=models.Q(dry_run=False, kind=Kind.BENCHMARK) & ~models.Q(state__in=OVER),
                name="job_one_benchmark_per_host",
                violation_error_message="Another benchmark runs on this host.",
            ),
        )
        indexes = (
            models.Index(
                fields=("not_before",), condition=~models.Q(state__in=OVER), name="job_unfinished"
            ),
            models.Index(
                fields=("ended_at",),
                condition=models.Q(dry_run=False, state=State.FAILED),
                name="job_failed_lately",
            ),
            models.Index(fields=("updated_at",), name="job_updated"),
            models.Index(fields=("created_at", "key"), name="job_newest"),
        )
        # That a worker still holds it is nothing new.
        triggers = (touched("job_touched", "lease_until", "lease_owner", "claims", "attempts"),)

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.label}"

    @property
    def label(self) -> str:
        """What it is about: the volume, the array, the device, or the group of a benchmark."""
        if self.volume is not None:
            return self.volume.label
        return str(self.wish.get("array") or self.wish.get("device") or self.wish["vg_name"])

    @property
    def work(self) -> str:
        """What it does, or did, as "Adding a cache to web12 data (512 MiB)"."""
        words = WORDS[self.kind]
        what = (words.done if self.state == State.SUCCEEDED else words.doing).format(self.label)
        cache = self.wish.get("cache") if self.kind in NEW_CACHES else None
        return f"{what} ({size(cache['size_bytes'])})" if cache else what

    @property
    def its_volume(self) -> Volume:
        """For those who deal only with jobs that have one."""
        if self.volume is None:
            raise ValueError(f"job {self.key} has no volume")
        return self.volume

    @property
    def window(self) -> DailyWindow | None:
        """The window in which it may begin; None for at any time."""
        if self.window_start is None or self.window_end is None:
            return None
        return DailyWindow(self.window_start, self.window_end, self.window_zone)

    @property
    def is_over(self) -> bool:
        return self.state in OVER

    @property
    def sentence(self) -> str:
        """Where the job stands, for a person, in one sentence."""
        what = "Preview" if self.dry_run else self.get_kind_display()
        if self.state == State.SUCCEEDED:
            return self.explanation or f"{what}: done in {self._duration()}."
        if self.state == State.FAILED:
            sentence = f"{what} failed: {self.error.get('message', self.explanation)}"
            return f"{sentence} {self.explanation}" if "undone" in self.error else sentence
        if self.state == State.CANCELLED:
            return f"{what}: {self.explanation.rstrip('.') or 'cancelled'}."
        if self.state == State.NEEDS_ATTENTION:
            return f"{what} needs a decision: {self.error.get('message', self.explanation)}"
        if self.state == State.QUEUED and self.awaits:
            return f"{what}: waiting for {self.awaits}."
        if self.window_wait:
            return f"{what}: {self.window_wait[:1].lower()}{self.window_wait[1:]}."
        if self.state == State.QUEUED and self.not_before is not None:
            return f"{what}: starts at {stamp(self.not_before)}."
        if self.state == State.QUEUED:
            return f"{what}: waiting for a worker."
        return f"{what}: {self.explanation.rstrip('.') or 'reading what is on the host'}."

    @property
    def begins_in_window(self) -> datetime | None:
        """When its window opens for it; None for a job that does not wait for that."""
        window, at, now = self.window, self.not_before, timezone.now()
        if window is None or at is None or at <= now or self.dry_run:
            return None
        if self.state == State.QUEUED:
            return at
        opening = window.next_opening(now) if self.state == State.WAITING else None
        return at if opening is not None and at >= opening - timedelta(seconds=5) else None

    @property
    def window_wait(self) -> str:
        """That it waits for its window, and until when, as "Waits for its window: tonight 02:00
        (02:00-05:00 UTC)"; "" for a job that does not."""
        window, at = self.window, self.begins_in_window
        if window is None or at is None:
            return ""
        words = opening_words(at, timezone.now(), window.zone)
        return f"Waits for its window: {words} ({window})"

    def _duration(self) -> str:
        if self.started_at is None or self.ended_at is None:
            return "no time"
        return f"{(self.ended_at - self.started_at).total_seconds():.0f} s"

    @property
    def running_step(self) -> Step | None:
        """The step whose operation was sent, or may have been sent, to the host."""
        return None if self.is_without_steps else self.step_set.filter(state="running").first()

    def lines_after(self, n: int) -> models.QuerySet[Line]:
        """Output lines with a counter above `n`, oldest first."""
        return self.line_set.filter(n__gt=n).order_by("n")
