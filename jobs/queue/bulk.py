"""Carries out one change for many volumes: a job for each, or the reason against it. A worker
does it in the background, volume by volume."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, NamedTuple

import pghistory
from django.contrib.auth.models import AbstractBaseUser
from django.core import signing
from django.db import InterfaceError, OperationalError, transaction
from django.db.models.functions import Now

from jobs import notify_workers
from jobs.failpoints import durable
from jobs.models import BulkChange, Halt, Job, Kind, Origin, State
from jobs.queue.reservations import reserved
from jobs.queue.submit import Busy, ChangeRequest, holder_of, submit
from jobs.requester import Requester
from storage.access import Right, may
from storage.analysis.size_forecasts import mode_of
from storage.bulk_changes import Action, PlannedChange
from storage.database_clock import database_now
from storage.models import Customer, Volume
from storage.planner import Disks, Refused
from storage.planner.wish import Wish
from storage.request_id import during_request
from storage.row_locks import Gone, hold_one
from storage.volumes.ownership import disown, give, refusal_to_give, refusal_to_take
from storage.volumes.snapshot import BlockingJob, VolumeSnapshot, snapshots_of

log = logging.getLogger(__name__)

SALT: Final = "jobs.bulk.3"
"""Change it with the shape of the signed data: an older page is then too old."""
SEALED_SECONDS: Final = 3600
AT_ONCE: Final = 20
"""Volumes per task: workers have jobs to run, too."""
INTERNAL: Final = (
    "The panel itself failed with this volume. See the worker's log, then change the volume on its "
    "own page."
)
KEPT: Final = timedelta(days=30)
KINDS: Final = {
    Action.MANAGE: Kind.TAG_VOLUME,
    Action.ADD_CACHE: Kind.ADD_CACHE,
    Action.SET_MODE: Kind.SET_CACHE,
    Action.REMOVE_CACHE: Kind.REMOVE_CACHE,
    Action.RETIRE: Kind.RETIRE_VOLUME,
}


class ConfirmedVolume(NamedTuple):
    """Of one volume its key, what it is to become (None for what touches no host), the fingerprint
    of the steps and where they allocate. Without a fingerprint the cache must still be the one that
    it had (`cache_name`)."""

    key: str
    wish: dict[str, Any] | None
    fingerprint: str
    disks: Disks
    cache_name: str = ""


@dataclass(frozen=True, slots=True)
class ConfirmedChange:
    """What a person confirmed: the action, its option's key, and the volumes."""

    action: Action
    option: str
    items: tuple[ConfirmedVolume, ...]


@dataclass(frozen=True, slots=True)
class VolumeOutcome:
    """A volume, its job, and one sentence. `is_done`: accepted, or done at once."""

    volume: Volume
    job: Job | None
    is_done: bool
    note: str


def reserved_by_group(rows: Iterable[VolumeSnapshot]) -> dict[str, int]:
    """The SSD space that is promised to jobs, by group, on the hosts of the rows."""
    reserved_bytes: dict[str, int] = {}
    hosts = {row.host.pk: (row.host, row.facts) for row in rows if row.host and row.facts}
    for host, facts in hosts.values():
        reserved_bytes |= reserved(host, facts)
    return reserved_bytes


def blocking_jobs(rows: Iterable[VolumeSnapshot]) -> dict[int, BlockingJob]:
    """The jobs that change volumes of the rows, by the volumes' primary keys."""
    unfinished = Job.objects.unfinished().filter(dry_run=False)
    changing = unfinished.filter(volume__in=[row.volume.pk for row in rows])
    return {
        volume_id: BlockingJob(key, state == State.NEEDS_ATTENTION)
        for volume_id, key, state in changing.values_list("volume_id", "key", "state")
        if volume_id is not None
    }


def sign_drafts(
    action: Action, option: str, drafts: Iterable[PlannedChange], reader: object
) -> str:
    """What was shown and can be done, as signed text for a hidden field; valid for its
    `reader` (a primary key) alone."""
    items = [
        ConfirmedVolume(
            each.row.volume.key,
            each.wish.to_json() if each.wish else None,
            each.fingerprint,
            each.disks,
            each.row.cache.name if each.row.cache is not None else "",
        )
        for each in drafts
        if each.refused is None
    ]
    return signing.dumps([action.value, option, items], salt=f"{SALT}:{reader}", compress=True)


def signed_drafts(text: str, reader: object) -> ConfirmedChange:
    """Raises `django.core.signing.BadSignature` for anything `sign_drafts` did not
    make for this reader, and once it is an hour old."""
    action, option, items = signing.loads(text, salt=f"{SALT}:{reader}", max_age=SEALED_SECONDS)
    return ConfirmedChange(Action(action), option, tuple(ConfirmedVolume(*item) for item in items))


def begin_bulk(deal: ConfirmedChange, requester: Requester, back: str = "") -> BulkChange:
    """Store a confirmed change, and notify a worker after commit; `go_on` carries it out. Old
    changes are deleted."""
    BulkChange.objects.filter(created_at__lt=Now() - KEPT).delete()
    change = BulkChange.objects.create(
        actor_id=requester.actor.pk if requester.actor is not None else None,
        origin=requester.origin,
        token=requester.token,
        address=requester.address,
        request_id=requester.request_id,
        action=deal.action.value,
        option=deal.option,
        back=back,
        items=[list(item) for item in deal.items],
    )
    notify_workers.bulk_change(change.pk)
    return change


def due_changes() -> list[int]:
    """Ids of the changes that a worker can continue now; none while all jobs are paused."""
    if Halt.objects.exists():
        return []
    return list(BulkChange.objects.unfinished().values_list("pk", flat=True))


def go_on(change_id: int) -> bool:
    """Begin the next volumes of a change, each in its own transaction; returns whether more may be
    left. Returns at once while another worker holds the change."""
    return all(_begin_next(change_id) for _ in range(AT_ONCE))


@durable("bulk")
def _begin_next(change_id: int) -> bool:
    """Judge and begin the next volume for the person who confirmed the change and must still be
    allowed to; False where there is nothing to do now.

    An unexpected error is the volume's result, with a trace in the log. If the database is
    unreachable nothing is recorded, and the reaper announces the change again.
    """
    unheld = BulkChange.objects.select_for_update(skip_locked=True, of=("self",))
    change = unheld.select_related("actor").filter(pk=change_id).first()
    if change is None or not change.left_count or Halt.objects.exists():
        return False
    actor = change.actor
    if change.action == Action.ALLOCATE and _is_at_work(change):
        return False
    if actor is None or not may(actor, Right.OPERATE):
        change.end(f"{actor or 'Who confirmed this'} may no longer change volumes.")
        return False
    item = change.items[len(change.outcomes)]
    volumes = Volume.objects.select_related("customer", "cache_plan")
    volume = volumes.filter(key=item[0]).first()
    if volume is None:
        outcome = [item[0], item[0], "", False, "The volume no longer exists."]
    else:
        made = _carried_out(change, volume, item, actor)
        job_key = made.job.key if made.job is not None else ""
        outcome = [item[0], volume.label, job_key, made.is_done, made.note]
    change.outcomes.append(outcome)
    change.save(update_fields=["outcomes"])
    return bool(change.left_count)


def _is_at_work(change: BulkChange) -> bool:
    """Whether a job of the change may still free SSD: the reaper announces the change again."""
    keys = [key for _, _, key, is_done, _ in change.outcomes if key and is_done]
    begun = Job.objects.unfinished().filter(key__in=keys)
    return begun.exclude(state=State.NEEDS_ATTENTION).exists()


@transaction.atomic
def cancel_bulk(change: BulkChange, person: str) -> int:
    """End the change before the volumes that were not begun; returns their number. Accepted jobs
    continue."""
    locked = BulkChange.objects.select_for_update().get(pk=change.pk)
    return locked.end(f"Cancelled by {person} before it began.")


def _carried_out(
    change: BulkChange, volume: Volume, item: list[Any], actor: AbstractBaseUser
) -> VolumeOutcome:
    """What becomes of one volume, in the name of the request that confirmed the change. A job whose
    host has become another since runs nothing."""
    author = pghistory.context(actor=str(actor), address=change.address, token=change.token)
    try:
        with during_request(change.request_id), transaction.atomic(), author:
            return _carry_out(change, volume, ConfirmedVolume(*item), actor)
    except Gone as gone:
        return VolumeOutcome(volume, None, False, str(gone))
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        log.exception("bulk change %s: volume %s", change.key, volume.key)
        return VolumeOutcome(volume, None, False, INTERNAL)


def _carry_out(
    change: BulkChange, volume: Volume, item: ConfirmedVolume, actor: AbstractBaseUser
) -> VolumeOutcome:
    action = Action(change.action)
    if action is Action.CUSTOMER:
        customers = Customer.objects.visible_to(actor)
        return _give(volume, customers.filter(key=change.option).first())
    if action is Action.NO_CUSTOMER:
        return _take(volume)
    return _submit(change, volume, item, actor)


def _give(volume: Volume, customer: Customer | None) -> VolumeOutcome:
    if customer is None:
        return VolumeOutcome(volume, None, False, "The customer no longer exists.")
    with transaction.atomic():
        locked, is_busy = _held(volume)
        if refused := refusal_to_give(locked, customer, is_busy=is_busy):
            return VolumeOutcome(
                volume, None, False, f"{refused.message} {refused.correction}".strip()
            )
        give(locked, customer, database_now())
    return VolumeOutcome(volume, None, True, f"The volume now belongs to {customer}.")


def _take(volume: Volume) -> VolumeOutcome:
    with transaction.atomic():
        locked, is_busy = _held(volume)
        if refused := refusal_to_take(locked, is_busy=is_busy):
            return VolumeOutcome(
                volume, None, False, f"{refused.message} {refused.correction}".strip()
            )
        disown(locked)
    return VolumeOutcome(volume, None, True, "The volume no longer belongs to a customer.")


def _held(volume: Volume) -> tuple[Volume, bool]:
    """The volume as it is, and whether a job changes it. A job that is accepted now waits for this
    lock or holds it off."""
    locked = hold_one(volume, against_jobs=True)
    return locked, holder_of(locked) is not None


def job_kind(action: Action, volume: Volume, wish: Wish, cache_name: str = "") -> Kind:
    """What a job does that makes `wish` of the volume; raises `Refused` where that is retired, or
    its cache no longer the one that was looked at."""
    if action is not Action.ALLOCATE:
        return KINDS[action]
    [row] = snapshots_of([volume])
    is_same = (row.cache.name if row.cache is not None else "") == cache_name
    has_mode = wish.cache is None or wish.cache.mode == mode_of(row)
    if volume.retired_at is not None or not is_same or not has_mode:
        raise Refused("stale", "The volume was changed since the preview.", "Look at it again.")
    if wish.cache is None:
        return Kind.REMOVE_CACHE
    return Kind.REPLACE_CACHE if row.cache is not None else Kind.ADD_CACHE


def _submit(
    change: BulkChange, volume: Volume, item: ConfirmedVolume, actor: AbstractBaseUser
) -> VolumeOutcome:
    wish = Wish.from_json(item.wish or {})
    try:
        job = submit(
            ChangeRequest(
                job_kind(Action(change.action), volume, wish, item.cache_name),
                volume,
                wish,
                fingerprint=item.fingerprint,
                disks=item.disks,
            ),
            Requester(
                actor, address=change.address, origin=Origin(change.origin), token=change.token
            ),
        )
    except Refused as refused:
        return VolumeOutcome(volume, None, False, f"{refused.message} {refused.correction}".strip())
    except Busy as busy:
        return VolumeOutcome(
            volume,
            busy.job,
            False,
            "Another job holds the volume. Wait until that job has ended.",
        )
    return VolumeOutcome(volume, job, True, "A job makes this change.")
