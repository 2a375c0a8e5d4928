"""What has come to a standstill in the panel itself: jobs that no worker takes, a process
without a sign of life. `work_record` asks PostgreSQL, `standstills` judges; pages, alerts, health
checks, `doctor` and `/metrics` say what it says.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Literal, NamedTuple

from django.conf import settings
from django.db import connection

from jobs.models import PartKind
from jobs.notify_workers import queue_of
from storage import row_security
from storage.formatting import counted, seconds

SILENT: Final = timedelta(seconds=30)
"""Several signs were left out."""
UNTAKEN: Final = timedelta(seconds=60)
"""How long a job may be due before a worker takes it."""
UNLEASED: Final = timedelta(minutes=2)
"""How long a slot may work on a job that it no longer holds: longer than releasing one takes."""
STUCK: Final = timedelta(minutes=15)
"""No task without a job takes this long."""

SIGNS: Final = """
SELECT sign.kind, sign.node, sign.queues, sign.seen_at, sign.doing, sign.busy_since, sign.took_at,
    held.is_ours AND job.lease_until > statement_timestamp(),
    CASE WHEN held.is_ours THEN job.lease_until ELSE job.updated_at END
FROM jobs_lifesign sign LEFT JOIN jobs_job job ON sign.doing <> '' AND job.key = sign.doing
CROSS JOIN LATERAL (SELECT coalesce(job.state = 'running'
    AND starts_with(job.lease_owner, sign.process || ':'), false)) AS held (is_ours)
WHERE NOT sign.is_stopped ORDER BY sign.kind, sign.node, sign.slot
"""
# As `jobs.queue.reaper.due`, without what a hold keeps from beginning. A job is due since it was
# last changed: it was accepted, confirmed, or began to wait.
DUE: Final = """
SELECT statement_timestamp(), EXISTS (SELECT FROM storage_host WHERE state = 'active'),
    CASE WHEN host.site = ANY(%s) THEN host.site ELSE '' END AS of_site,
    count(job.id), min(CASE job.state WHEN 'running'
        THEN job.lease_until ELSE greatest(job.updated_at, job.not_before) END)
FROM (VALUES (1)) AS one LEFT JOIN (jobs_job job JOIN storage_host host ON host.id = job.host_id)
    ON NOT job.state IN ('succeeded', 'failed', 'cancelled')
    AND (job.state = 'running' AND job.lease_until < statement_timestamp()
        OR (job.state = 'waiting' OR job.state = 'queued' AND job.awaits = '')
        AND coalesce(job.not_before <= statement_timestamp(), true))
    AND NOT EXISTS (SELECT FROM jobs_halt)
    AND NOT coalesce(host.maintenance_since <= statement_timestamp()
        AND coalesce(host.maintenance_until > statement_timestamp(), true), false)
    AND CASE WHEN host.window_start < host.window_end
        THEN (statement_timestamp() AT TIME ZONE 'UTC')::time >= host.window_start
            AND (statement_timestamp() AT TIME ZONE 'UTC')::time < host.window_end
        WHEN host.window_start >= host.window_end
        THEN (statement_timestamp() AT TIME ZONE 'UTC')::time >= host.window_start
            OR (statement_timestamp() AT TIME ZONE 'UTC')::time < host.window_end
        ELSE true END
GROUP BY of_site ORDER BY of_site
"""


class SlotState(StrEnum):
    """What its last sign says of a slot."""

    IDLE = "idle"
    BUSY = "busy"
    STUCK = "stuck"
    SILENT = "silent"


class Slot(NamedTuple):
    """A slot that was not stopped. `is_leased`: the job that it works on is leased to it, until
    `leased_until`; where it is not, that is when the slot lost it. None: it works on no job."""

    kind: str
    node: str
    queues: str
    seen_at: datetime
    doing: str = ""
    busy_since: datetime | None = None
    took_at: datetime | None = None
    is_leased: bool = False
    leased_until: datetime | None = None

    def state(self, at: datetime) -> SlotState:
        """A busy one proves that it works by its job's lease, or by being done soon. What it does
        is known as of its sign: a job that waits since then has left it."""
        if at - self.seen_at > SILENT:
            return SlotState.SILENT
        if not self.doing or self.busy_since is None:
            return SlotState.IDLE
        return SlotState.BUSY if self.hung_since is None else SlotState.STUCK

    @property
    def hung_since(self) -> datetime | None:
        """When what a busy slot does should have ended; None where it may take as long."""
        if self.is_leased or self.busy_since is None:
            return None
        since = max(self.busy_since, self.leased_until or self.busy_since)
        limit = STUCK if self.leased_until is None else UNLEASED
        return since if self.seen_at - since > limit else None

    def is_living(self, at: datetime) -> bool:
        return self.state(at) in (SlotState.IDLE, SlotState.BUSY)


class DueJobs(NamedTuple):
    """How many jobs of a queue wait for a worker, the first of them since `oldest_at`."""

    queue: str
    total: int
    oldest_at: datetime


@dataclass(frozen=True, slots=True)
class WorkRecord:
    """What the database knows at a moment. `has_hosts`: there is something to collect."""

    at: datetime
    slots: tuple[Slot, ...] = ()
    due_jobs: tuple[DueJobs, ...] = ()
    has_hosts: bool = False

    @property
    def due(self) -> int:
        return sum(each.total for each in self.due_jobs)

    @property
    def oldest_due_at(self) -> datetime | None:
        """None where no job is due."""
        return min((each.oldest_at for each in self.due_jobs), default=None)

    def of(self, kind: str) -> tuple[Slot, ...]:
        return tuple(slot for slot in self.slots if slot.kind == kind)

    def last_sign(self, kind: str) -> datetime | None:
        """None where none of the kind ever signed, or each was stopped."""
        return max((slot.seen_at for slot in self.of(kind)), default=None)

    def is_living(self, kind: str) -> bool:
        """Whether one of the kind can work."""
        return any(slot.is_living(self.at) for slot in self.of(kind))


@dataclass(frozen=True, slots=True)
class Standstill:
    """One thing that is stuck, since when, and what to do about it. `code` is the problem's
    (`storage.problems`)."""

    code: str
    severity: Literal["error", "warning"]
    message: str
    correction: str
    since: datetime


RESTART: Final = "See the {0}'s log, then restart the {0}."


@row_security.beyond()
def work_record() -> WorkRecord:
    """As it is now, by the database's clock, for every user: counts of jobs belong to no customer.
    Two queries."""
    with connection.cursor() as cursor:
        cursor.execute(SIGNS)
        slots = tuple(Slot(*row) for row in cursor.fetchall())
        cursor.execute(DUE, [settings.TIERCEL_DEDICATED_SITES])
        rows = cursor.fetchall()
    at, has_hosts = rows[0][:2]
    due = tuple(DueJobs(queue_of(site), *jobs) for _, _, site, *jobs in rows if jobs[0])
    return WorkRecord(at, slots, due, has_hosts)


def standstills(record: WorkRecord) -> tuple[Standstill, ...]:
    """What is stuck, the worst first. Pure. A part that never signed was not started yet."""
    judged = (
        _workers(record),
        _housekeeping(record),
        _collector(record),
        _beat(record),
        _stuck(record),
    )
    return tuple(each for each in judged if each is not None)


def standstills_now() -> tuple[Standstill, ...]:
    """Those of this moment."""
    return standstills(work_record())


def _workers(record: WorkRecord) -> Standstill | None:
    untaken = [each for due in record.due_jobs if (each := _untaken(record, due)) is not None]
    if untaken:
        return min(untaken, key=lambda each: (each.severity != "error", each.since))
    return _silent(record, PartKind.WORKER, "worker_silent", "No job is run.")


def _untaken(record: WorkRecord, due: DueJobs) -> Standstill | None:
    """A worker takes a job of its queue every few seconds as long as any is due: jobs leave their
    slots for whatever takes long. Where all slots are leased, nothing hangs."""
    at, oldest = record.at, due.oldest_at
    if at - oldest <= UNTAKEN:
        return None
    slots = [slot for slot in record.of(PartKind.WORKER) if due.queue in slot.queues.split(",")]
    living = [slot for slot in slots if slot.is_living(at)]
    took = max((slot.took_at for slot in slots if slot.took_at is not None), default=oldest)
    since = max(took, oldest)
    is_at_work = bool(living) and all(slot.is_leased for slot in living)
    if at - since > UNTAKEN and not is_at_work:
        verb = "is" if due.total == 1 else "are"
        worker = "worker" if due.queue == queue_of("") else f"worker of {due.queue}"
        return Standstill(
            "jobs_untaken",
            "error",
            f"No {worker} took a job for {_for(at, since)} though {due.total:,} {verb} due.",
            RESTART.format("worker"),
            since,
        )
    if living and all(slot.doing for slot in living):
        return _busy(at, len(living), due)
    return None


def _busy(at: datetime, busy: int, due: DueJobs) -> Standstill:
    slots = "The only slot is" if busy == 1 else f"All {busy} slots are"
    jobs = f"{counted(due.total, 'job')} {'waits' if due.total == 1 else 'wait'}"
    return Standstill(
        "workers_busy",
        "warning",
        f"{slots} busy: {jobs} for a worker, the oldest for {_for(at, due.oldest_at)}.",
        "Start another worker, or give the workers more slots (--concurrency).",
        due.oldest_at,
    )


def _housekeeping(record: WorkRecord) -> Standstill | None:
    consequence = "No alert, mail or order is handled, and no lost message is made good."
    return _silent(record, PartKind.HOUSEKEEPING, "housekeeping_silent", consequence)


def _collector(record: WorkRecord) -> Standstill | None:
    if not record.has_hosts:
        return None
    return _silent(record, PartKind.COLLECTOR, "collector_silent", "No host is sampled.")


def _beat(record: WorkRecord) -> Standstill | None:
    return _silent(record, PartKind.BEAT, "beat_silent", "The schedule stands still.")


def _silent(
    record: WorkRecord,
    kind: PartKind,
    code: str,
    consequence: str,
) -> Standstill | None:
    last = record.last_sign(kind)
    if last is None or record.is_living(kind):
        return None
    if record.at - last > SILENT:
        none = "Beat has given no" if kind is PartKind.BEAT else f"No {kind} has given a"
        since = last
        message = f"{none} sign of life for {_for(record.at, since)}."
    else:
        since = min(slot.hung_since or last for slot in record.of(kind))
        message = f"Each slot of every {kind} hangs, the first for {_for(record.at, since)}."
    return Standstill(code, "error", f"{message} {consequence}", RESTART.format(kind), since)


def _stuck(record: WorkRecord) -> Standstill | None:
    at = record.at
    stuck = [slot for slot in record.slots if slot.state(at) is SlotState.STUCK]
    stuck = [slot for slot in stuck if record.is_living(slot.kind)]
    if not stuck:
        return None
    first = min(stuck, key=lambda slot: slot.hung_since or at)
    since = first.hung_since or at
    is_job = first.leased_until is not None
    what = f"the job {first.doing}" if is_job else first.doing
    without = " without its lease" if is_job else ""
    hang = f"{counted(len(stuck), 'slot')} {'hangs' if len(stuck) == 1 else 'hang'}"
    return Standstill(
        "slot_stuck",
        "warning",
        f"{hang}: {first.node} has been at {what} for {_for(at, since)}{without}.",
        RESTART.format(first.kind),
        since,
    )


def _for(at: datetime, since: datetime) -> str:
    return seconds((at - since).total_seconds())


def counts(record: WorkRecord) -> dict[tuple[str, str], int]:
    """How many slots of each kind are in each state."""
    slots = {(kind, state): 0 for kind in PartKind for state in SlotState}
    for slot in record.slots:
        slots[PartKind(slot.kind), slot.state(record.at)] += 1
    return {(str(kind), str(state)): count for (kind, state), count in slots.items()}


def unserved(record: WorkRecord, queues: Iterable[str]) -> set[str]:
    """Those of these queues that no living slot takes messages from."""
    living = [slot for slot in record.slots if slot.is_living(record.at)]
    return set(queues) - {queue for slot in living for queue in slot.queues.split(",")}


def is_alive(record: WorkRecord, node: str) -> bool:
    """Whether this worker, collector or beat can work."""
    return any(slot.node == node and slot.is_living(record.at) for slot in record.slots)
