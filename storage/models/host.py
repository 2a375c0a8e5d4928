"""A storage host: its address, its expected identity, and its last report."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Self

import pghistory
import pgtrigger
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from storage.access import Person, is_staff
from storage.database_clock import touched
from storage.inventory.facts import HostFacts, decode
from storage.name_validators import demand_name
from storage.naming import new_key
from storage.natural_order import natural_order
from storage.planner.daily_window import DailyWindow

SILENT_ROUNDS = 3
"""A host is silent after this many sample intervals without an answer."""
UNDO_HOURS = 24
"""What an agent does whose policy does not say."""
SITE_LIMIT = 64
TAG_LIMIT = 32
MOST_TAGS = 12
DIRTY_LIMIT_PERCENT = 50
FAST_READ_MS = 5
"""Reads that take less on average are fast. An HDD without a queue takes about 8 ms."""
SLOW_READ_MS = 20
BUSY_PERCENT = 90
MOST_SLOW_MS = 10_000
"""A dm-cache writes back under load only from 75 % on: half says that it has begun to pile up."""


def silent_seconds() -> int:
    """After how many seconds figures count as old, and their host as silent."""
    return SILENT_ROUNDS * int(settings.TIERCEL_SAMPLE_SECONDS)


def tags_of(text: str) -> list[str]:
    """Words with spaces or commas between them, in small letters, each once; raises
    `ValidationError`."""
    tags = list(dict.fromkeys(text.casefold().replace(",", " ").split()))
    if any(len(tag) > TAG_LIMIT for tag in tags):
        raise ValidationError(f"A tag has at most {TAG_LIMIT} characters.")
    if len(tags) > MOST_TAGS:
        raise ValidationError(f"A host has at most {MOST_TAGS} tags.")
    return tags


class HostState(models.TextChoices):
    """pending -> unverified -> active <-> quarantined.

    pending: the enrolment command was printed, the host has not answered yet.
    unverified: it reported its key; a person must compare the fingerprint and accept it.
    active: pinned key, reachable by worker and collector.
    quarantined: it answered with another key; nothing is sent until a person decides.
    removed, from any of them: a person took it out of the panel; nothing is sent to it ever again.
    """

    PENDING = "pending", "waiting for the host"
    UNVERIFIED = "unverified", "fingerprint to accept"
    ACTIVE = "active", "active"
    QUARANTINED = "quarantined", "quarantined"
    REMOVED = "removed", "removed"


def undo_hours(hello: Mapping[str, Any]) -> int:
    """How long a host keeps a retired volume, as its hello says."""
    policy = hello.get("policy")
    hours = policy.get("undo_hours") if isinstance(policy, dict) else None
    return hours if type(hours) is int else UNDO_HOURS


class HostQuerySet(models.QuerySet["Host"]):
    def visible_to(self, user: Person) -> Self:
        """The only way from a request to hosts: customers see none, staff none that was removed."""
        return self.exclude(state=HostState.REMOVED) if is_staff(user) else self.none()

    def removed_for(self, user: Person) -> Self:
        """Removed hosts, for the staff: their jobs and their audit trail still name them."""
        return self.filter(state=HostState.REMOVED) if is_staff(user) else self.none()

    def active(self) -> Self:
        return self.filter(state=HostState.ACTIVE)

    def without_inventory(self) -> Self:
        """Leaves `facts` in the database: lists of hosts never look at these megabytes."""
        return self.defer("facts")


@pghistory.track(
    pghistory.InsertEvent(),
    pghistory.UpdateEvent(row=pghistory.Old),
    pghistory.DeleteEvent(),
    # Secrets, and what only repeats the host's reports.
    exclude=[
        "sealed_key",
        "enrol_digest",
        "enrol_expires_at",
        "name_order",
        "hello",
        "hello_at",
        "facts",
        "facts_at",
        "problems",
        "error",
        "refresh_error",
        "parts_changed_at",
        "last_seen_at",
        "updated_at",
        "facts_digest",
    ],
    context_field=pghistory.ContextJSONField(),
    append_only=True,
)
class Host(models.Model):
    """`host_key` is the pinned key (one OpenSSH public key line); `host_key_seen` the key that
    waits for a person: the first one reported, or a changed one that caused the quarantine.
    `sealed_key` is our private key, sealed so that only worker and collector can open it.
    `hello` and `facts` are the agent's last answers as it gave them; `problems` are preflight
    problems, `{code, severity, message, correction}`; `error` is why the last contact failed,
    `{code, message, correction}`, empty after a good one. `facts_digest`, which the database keeps,
    shows whether `facts` are those that one knows (`storage.stored_inventory`). From
    `maintenance_since` to `maintenance_until` (null = until a person ends it) jobs wait; between
    `window_start` and `window_end` (UTC, may span midnight; both or neither) jobs may begin, at any
    time where they are null. From `cache_window_start` to `cache_window_end`, on the clock of
    `cache_window_zone`, jobs begin that write much to the slow disks, unless who asks for one
    says otherwise (null: at once). `site` and `tags` are words of the staff, to group and find
    hosts by; but for limits (`storage.models.tag_limit`) nothing depends on them. A cache of which
    more than
    `dirty_limit_percent` is dirty is a problem, and so are reads of a volume that take
    `slow_read_ms` on average (null: another limit holds, `storage.volumes.slow_limit`), and an HDD
    that is busy for `busy_percent` of the time. With `leaves_writeback`, Tiercel itself sets caches
    in writeback mode to writethrough once the SSD mirror below them lost a disk. `removed_at` is
    when a person removed the host (null = it is there): its keys and reports are erased, its name
    is free again, and the row stays for its jobs and the history of its volumes. `accepted_faults`
    are faults of its kernel that people live with: `{code: {at, by, reason}}`
    (`storage.health.accepted_faults`). `updated_at` is kept by the database: when anything else
    than the reports of the host changed.
    """

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    name = models.CharField(max_length=64, validators=[demand_name])
    name_order = natural_order("name")
    address = models.CharField(max_length=255)
    port = models.PositiveIntegerField(
        default=22, validators=[MinValueValidator(1), MaxValueValidator(65535)]
    )
    account = models.CharField(max_length=32, default="tiercel")
    state = models.CharField(max_length=16, choices=HostState.choices, default=HostState.PENDING)
    machine_id = models.CharField(max_length=64, blank=True)
    host_key = models.TextField(blank=True)
    host_key_seen = models.TextField(blank=True)
    public_key = models.TextField(blank=True)
    sealed_key = models.BinaryField(default=bytes)
    enrol_digest = models.CharField(max_length=64, blank=True)
    enrol_expires_at = models.DateTimeField(null=True, blank=True)
    hello = models.JSONField(default=dict, blank=True)
    hello_at = models.DateTimeField(null=True, blank=True)
    facts = models.JSONField(default=dict, blank=True)
    facts_at = models.DateTimeField(null=True, blank=True)
    facts_digest = models.CharField(max_length=32, db_default="", editable=False)
    problems = models.JSONField(default=list, blank=True)
    error = models.JSONField(default=dict, blank=True)
    refresh_error = models.JSONField(
        default=dict, db_default=models.Value({}, models.JSONField()), blank=True
    )
    parts_changed_at = models.DateTimeField(null=True, blank=True)
    last_seen_at = models.DateTimeField(null=True, blank=True)
    maintenance_since = models.DateTimeField(null=True, blank=True)
    maintenance_until = models.DateTimeField(null=True, blank=True)
    maintenance_reason = models.CharField(max_length=200, blank=True)
    window_start = models.TimeField(null=True, blank=True)
    window_end = models.TimeField(null=True, blank=True)
    cache_window_start = models.TimeField(null=True, blank=True)
    cache_window_end = models.TimeField(null=True, blank=True)
    cache_window_zone = models.CharField(max_length=64, blank=True, default="", db_default="")
    site = models.CharField(max_length=SITE_LIMIT, blank=True, default="", db_default="")
    tags = ArrayField(models.CharField(max_length=TAG_LIMIT), blank=True, default=list)
    dirty_limit_percent = models.PositiveSmallIntegerField(
        default=DIRTY_LIMIT_PERCENT,
        db_default=DIRTY_LIMIT_PERCENT,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
    )
    slow_read_ms = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_SLOW_MS)],
    )
    busy_percent = models.PositiveSmallIntegerField(
        default=BUSY_PERCENT,
        db_default=BUSY_PERCENT,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
    )
    leaves_writeback = models.BooleanField(default=False, db_default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)
    removed_at = models.DateTimeField(null=True, blank=True)
    accepted_faults = models.JSONField(default=dict, blank=True, db_default={})

    objects = HostQuerySet.as_manager()

    class Meta:
        ordering = ("name_order",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(state__in=HostState.values), name="host_state_known"
            ),
            models.CheckConstraint(
                condition=~models.Q(state=HostState.ACTIVE) | ~models.Q(host_key=""),
                name="host_active_has_pinned_key",
            ),
            models.CheckConstraint(
                condition=models.Q(window_start=None, window_end=None)
                | models.Q(window_start__isnull=False, window_end__isnull=False),
                name="host_window_whole",
            ),
            models.CheckConstraint(
                condition=models.Q(
                    cache_window_start=None, cache_window_end=None, cache_window_zone=""
                )
                | models.Q(cache_window_start__isnull=False, cache_window_end__isnull=False)
                & ~models.Q(cache_window_zone=""),
                name="host_cache_window_whole",
            ),
            models.CheckConstraint(
                condition=models.Q(state=HostState.REMOVED, removed_at__isnull=False)
                | (~models.Q(state=HostState.REMOVED) & models.Q(removed_at=None)),
                name="host_removed_has_time",
            ),
            models.UniqueConstraint(
                fields=("name",),
                condition=~models.Q(state=HostState.REMOVED),
                name="host_name_once",
                violation_error_message="Another host has this name.",
            ),
            models.UniqueConstraint(
                fields=("machine_id",),
                condition=~models.Q(machine_id="") & ~models.Q(state=HostState.REMOVED),
                name="host_machine_id_once",
                violation_error_message="This machine is already enrolled under another name.",
            ),
        )
        indexes = (models.Index(fields=("updated_at",), name="host_updated"),)
        triggers = (
            touched(
                "host_touched",
                # The database knows the order of names only once the row is written.
                "name_order",
                "enrol_digest",
                "enrol_expires_at",
                "sealed_key",
                "hello",
                "hello_at",
                "facts",
                "facts_at",
                "facts_digest",
                "last_seen_at",
            ),
            # A generated column would be computed anew with every contact.
            pgtrigger.Trigger(
                name="host_facts_digest",
                operation=pgtrigger.Insert | pgtrigger.UpdateOf("facts", "facts_digest"),  # type: ignore[no-untyped-call]
                when=pgtrigger.Before,
                func="NEW.facts_digest = md5(NEW.facts::text); RETURN NEW;",
            ),
        )

    def __str__(self) -> str:
        return self.name

    def is_in_maintenance(self, now: datetime) -> bool:
        """Whether its jobs wait: a maintenance ends by itself when its time has come."""
        if self.maintenance_since is None:
            return False
        return self.maintenance_until is None or now < self.maintenance_until

    @property
    def cache_window(self) -> DailyWindow | None:
        """When jobs begin that write much to the slow disks; None for at once."""
        if self.cache_window_start is None or self.cache_window_end is None:
            return None
        return DailyWindow(self.cache_window_start, self.cache_window_end, self.cache_window_zone)

    @property
    def in_maintenance(self) -> bool:
        """`is_in_maintenance` now, for templates."""
        return self.is_in_maintenance(timezone.now())

    @property
    def inventory(self) -> HostFacts | None:
        """The last inventory, decoded; None before the first one."""
        return decode(self.facts) if self.facts else None

    @property
    def allowed_vgs(self) -> tuple[str, ...]:
        """Volume groups that root on the host lets Tiercel change; none = observe-only."""
        policy = self.hello.get("policy")
        names = policy.get("vgs") if isinstance(policy, dict) else None
        return tuple(names) if isinstance(names, list) else ()

    @property
    def others_rise_percent(self) -> int | None:
        """By how much the p95 of other volumes may rise beside zeroing and moves; None where the
        host does not say."""
        policy = self.hello.get("policy")
        percent = policy.get("others_rise_percent") if isinstance(policy, dict) else None
        return percent if type(percent) is int else None

    @property
    def clears_freed(self) -> bool | None:
        """Whether what a volume leaves behind is cleared; None where the host does not say."""
        policy = self.hello.get("policy")
        clears = policy.get("clear_freed") if isinstance(policy, dict) else None
        return clears if type(clears) is bool else None

    @property
    def replaces_members(self) -> bool | None:
        """Whether root lets Tiercel put disks into arrays; None where the host does not say."""
        policy = self.hello.get("policy")
        replaces = policy.get("replace_members") if isinstance(policy, dict) else None
        return replaces if type(replaces) is bool else None

    @property
    def heat_state(self) -> str:
        """What the agent says of its service that counts heat (`docs/agent-protocol.md`); "" of an
        older agent."""
        heat = self.hello.get("heat")
        state = heat.get("state") if isinstance(heat, dict) else None
        return state if isinstance(state, str) else ""

    @property
    def benchmark_quota_bytes(self) -> int | None:
        """How much of its disks root lets benchmarks take for a while, 0 for none; None where the
        host does not say."""
        quota = self._benchmarks.get("quota_bytes")
        return quota if type(quota) is int else None

    @property
    def fio_version(self) -> str:
        """ "3.33"; "" where the host has no fio, or does not say."""
        version = self._benchmarks.get("fio")
        return version if isinstance(version, str) else ""

    @property
    def _benchmarks(self) -> Mapping[str, Any]:
        benchmarks = self.hello.get("benchmarks")
        return benchmarks if isinstance(benchmarks, dict) else {}

    @property
    def undo_hours(self) -> int:
        """How long the host keeps a retired volume; root sets it there."""
        return undo_hours(self.hello)
