"""What happened, as one list for programs: rows that triggers of the database write in the same
transaction as their cause, whichever code wrote it (`storage.event_list`)."""

from __future__ import annotations

from typing import Self

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models.functions import Now

from storage.access import Person, is_staff, member
from storage.models.customer import Customer


class EventKind(models.TextChoices):
    """The kind of an event: a family, a full stop, and what happened."""

    JOB_QUEUED = "job.queued", "a job was accepted"
    JOB_STARTED = "job.started", "a worker took the job"
    JOB_RESUMED = "job.resumed", "a person let the job go on"
    JOB_SUCCEEDED = "job.succeeded", "the job is done"
    JOB_FAILED = "job.failed", "the job failed"
    JOB_CANCELLED = "job.cancelled", "the job was cancelled"
    JOB_NEEDS_ATTENTION = "job.needs_attention", "the job waits for a decision"
    VOLUME_ADDED = "volume.added", "there is a new record of a volume"
    VOLUME_MANAGED = "volume.managed", "a volume that was found is managed now"
    VOLUME_ASSIGNED = "volume.assigned", "the volume was given to the customer"
    VOLUME_WITHDRAWN = "volume.withdrawn", "the volume was taken from the customer"
    VOLUME_RENAMED = "volume.renamed", "its label or its external id changed"
    VOLUME_RESIZED = "volume.resized", "its size changed"
    VOLUME_RETIRED = "volume.retired", "it was switched off; its data are kept"
    VOLUME_RESTORED = "volume.restored", "it is in service again"
    VOLUME_DESTROYED = "volume.destroyed", "it was wiped and removed"
    VOLUME_MOVED = "volume.moved", "it was moved"
    VOLUME_MISSING = "volume.missing", "its host no longer lists it"
    VOLUME_RETURNED = "volume.returned", "its host lists it again"
    CACHE_ADDED = "cache.added", "the volume has a cache now"
    CACHE_CHANGED = "cache.changed", "size, mode or technology of its cache changed"
    CACHE_REMOVED = "cache.removed", "its cache was removed"
    CACHE_TROUBLED = "cache.troubled", "the cache has a problem, or another problem than before"
    CACHE_RECOVERED = "cache.recovered", "the cache has no problem any more"
    HOST_ADDED = "host.added", "there is a new record of a host"
    HOST_PENDING = "host.pending", "it must be enrolled again"
    HOST_UNVERIFIED = "host.unverified", "its fingerprint waits to be accepted"
    HOST_ACTIVE = "host.active", "it is in use"
    HOST_QUARANTINED = "host.quarantined", "it answered with another key"
    HOST_REMOVED = "host.removed", "it was taken out of the panel"
    HOST_UNREACHABLE = "host.unreachable", "a contact failed"
    HOST_REACHABLE = "host.reachable", "it answers again"
    HOST_MAINTENANCE_BEGAN = "host.maintenance_began", "its jobs wait, or its end was changed"
    HOST_MAINTENANCE_ENDED = "host.maintenance_ended", "a person ended the maintenance"
    HOST_CHANGED = "host.changed", "restart, other kernel, other versions, other disks"
    ORDER_PLACED = "order.placed", "a change of plan was ordered"
    ORDER_AUTHORISING = "order.authorising", "the billing system is asked"
    ORDER_PENDING = "order.pending", "the billing system will answer later"
    ORDER_RUNNING = "order.running", "its job may work"
    ORDER_COMPLETED = "order.completed", "the plan has changed"
    ORDER_FAILED = "order.failed", "the order failed; nothing is charged"
    ORDER_REFUSED = "order.refused", "the billing system refused it"
    ORDER_CANCELLED = "order.cancelled", "a person cancelled it"
    ORDER_PROOF = "order.proof", "its effect was measured, or cannot be"
    ALERT_OPENED = "alert.opened", "a problem lasts long enough to be an alert"
    ALERT_REMAINS = "alert.remains", "it is still there"
    ALERT_WORSENED = "alert.worsened", "it became worse"
    ALERT_FLAPPING = "alert.flapping", "it is intermittent"
    ALERT_ESCALATED = "alert.escalated", "the next tier is notified"
    ALERT_ACKNOWLEDGED = "alert.acknowledged", "a person took responsibility for it"
    ALERT_UNACKNOWLEDGED = "alert.unacknowledged", "its acknowledgement ended"
    ALERT_SILENCED = "alert.silenced", "its messages are silenced"
    ALERT_RESOLVED = "alert.resolved", "it is over"


FAMILIES = tuple(dict.fromkeys(kind.partition(".")[0] for kind in EventKind.values))


class EventQuerySet(models.QuerySet["Event"]):
    def visible_to(self, user: Person) -> Self:
        """The only way from a request to events: staff see all, members those of their customers,
        which happened while it was theirs."""
        return self if is_staff(user) else self.filter(member(user, "customer__members"))

    def listed(self) -> Self:
        """Those that have their place, in order. What has none yet gets one behind them."""
        return self.filter(position__isnull=False).order_by("position")

    def of_kinds(self, kinds: list[str]) -> Self:
        """Those of any of the kinds; `job.*` is a family. All for none."""
        if not kinds:
            return self
        whole = [kind.removesuffix("*") for kind in kinds if kind.endswith(".*")]
        any_of = models.Q(kind__in=kinds)
        for start in whole:
            any_of |= models.Q(kind__startswith=start)
        return self.filter(any_of)


class Event(models.Model):
    """One thing that happened, never changed. `key` names it for ever, also to receivers of
    webhooks. `position` is its place in the list: given after the commit, so that what is read
    behind a place never gains a row before it; null until then. `customer` is whose people see it
    too, as it was then (null: the staff's alone, or of a customer that was deleted since);
    `customer_key` and `customer_external_id` name the customer for ever, as at that time.
    `subject` is what it is about, `volume:KEY`, `host:KEY` or `alert:KEY`; events of one subject
    are delivered one after the other. The other keys are "" where there is none. `data` is for
    everybody who sees the row, `internal` for staff only. `version` is that of both: another one
    means that a field went or means something else."""

    key = models.CharField(max_length=36, unique=True, editable=False)
    position = models.BigIntegerField(null=True, unique=True, editable=False)
    kind = models.CharField(max_length=32)
    version = models.PositiveSmallIntegerField(default=1, db_default=1)
    at = models.DateTimeField(db_default=Now(), editable=False)
    customer = models.ForeignKey(
        Customer, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    customer_key = models.CharField(max_length=26, blank=True, db_default="")
    customer_external_id = models.CharField(max_length=64, blank=True, db_default="")
    subject = models.CharField(max_length=40)
    volume_key = models.CharField(max_length=26, blank=True)
    host_key = models.CharField(max_length=26, blank=True)
    job_key = models.CharField(max_length=26, blank=True)
    order_key = models.CharField(max_length=26, blank=True)
    alert_key = models.CharField(max_length=26, blank=True)
    data = models.JSONField(default=dict)
    internal = models.JSONField(default=dict)

    objects = EventQuerySet.as_manager()

    class Meta:
        indexes = (
            models.Index(
                fields=("id",), condition=models.Q(position=None), name="event_without_place"
            ),
            models.Index(fields=("customer", "position"), name="event_of_customer"),
            BrinIndex(fields=("at",), name="event_at"),
        )

    def __str__(self) -> str:
        return f"{self.kind} of {self.subject}"
