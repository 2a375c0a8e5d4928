"""Carries out one change for many volumes: a job for each, or the reason against it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, NamedTuple

from django.contrib.auth.models import AbstractBaseUser
from django.core import signing
from django.db import transaction
from django.db.models.functions import Now

from jobs.models import BulkChange, Job, Kind, State
from jobs.queue.reservations import reserved
from jobs.queue.submit import Busy, submit
from storage.bulk_changes import Action, BlockingJob, PlannedChange
from storage.database_clock import database_now
from storage.models import Customer, Volume
from storage.planner import Disks, Refused
from storage.planner.wish import Wish
from storage.row_locks import Gone, hold_one
from storage.volumes.ownership import give, refusal_to_give, refusal_to_take, take
from storage.volumes.snapshot import VolumeSnapshot

SALT: Final = "jobs.bulk.2"
"""Another one whenever what is sealed changes its shape: an older page is then too old."""
SEALED_SECONDS: Final = 3600
AT_ONCE: Final = 20
"""Volumes of one request: a page must answer."""
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
    of the steps and where they allocate."""

    key: str
    wish: dict[str, Any] | None
    fingerprint: str
    disks: Disks


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


def seal(action: Action, option: str, drafts: Iterable[PlannedChange]) -> str:
    """What was shown and can be done, as text for a hidden field that nobody can alter."""
    items = [
        ConfirmedVolume(
            each.row.volume.key,
            each.wish.to_json() if each.wish else None,
            each.fingerprint,
            each.disks,
        )
        for each in drafts
        if each.refused is None
    ]
    return signing.dumps([action.value, option, items], salt=SALT, compress=True)


def unseal(text: str) -> ConfirmedChange:
    """Raises `django.core.signing.BadSignature` for anything `seal` did not make, and once it is
    an hour old."""
    action, option, items = signing.loads(text, salt=SALT, max_age=SEALED_SECONDS)
    return ConfirmedChange(Action(action), option, tuple(ConfirmedVolume(*item) for item in items))


def begin(deal: ConfirmedChange, actor: AbstractBaseUser | None, back: str = "") -> BulkChange:
    """Store what a person confirmed; `go_on` does it. Changes that are long over are forgotten."""
    BulkChange.objects.filter(created_at__lt=Now() - KEPT).delete()
    return BulkChange.objects.create(
        actor_id=actor.pk if actor is not None else None,
        action=deal.action.value,
        option=deal.option,
        back=back,
        items=[list(item) for item in deal.items],
    )


def go_on(
    change: BulkChange,
    customer: Customer | None,
    actor: AbstractBaseUser | None,
    address: str | None,
) -> BulkChange:
    """Do the next volumes of a change, each in a transaction of its own. Whoever asks at the same
    time does others."""
    for _ in range(AT_ONCE):
        with transaction.atomic():
            change = BulkChange.objects.select_for_update().get(pk=change.pk)
            if not change.left_count:
                break
            item = ConfirmedVolume(*change.items[len(change.outcomes)])
            deal = ConfirmedChange(Action(change.action), change.option, (item,))
            named = Volume.objects.filter(key=item.key).select_related("customer", "cache_plan")
            outcomes = carry_out(
                deal, {volume.key: volume for volume in named}, customer, actor, address
            )
            change.outcomes.append(_outcome_json(item, outcomes))
            change.save(update_fields=["outcomes"])
    return change


def _outcome_json(item: ConfirmedVolume, outcomes: list[VolumeOutcome]) -> list[Any]:
    if not outcomes:
        return [item.key, item.key, "", False, "The volume no longer exists."]
    (outcome,) = outcomes
    job_key = outcome.job.key if outcome.job is not None else ""
    return [item.key, outcome.volume.label, job_key, outcome.is_done, outcome.note]


def carry_out(
    deal: ConfirmedChange,
    volumes: Mapping[str, Volume],
    customer: Customer | None,
    actor: AbstractBaseUser | None,
    address: str | None,
) -> list[VolumeOutcome]:
    """One result for each volume of the deal that is in `volumes` (by key); one refusal keeps
    nobody else back. A job whose host has become another since runs nothing."""
    outcomes = []
    for item in deal.items:
        volume = volumes.get(item.key)
        if volume is None:
            continue
        try:
            if deal.action is Action.CUSTOMER:
                outcomes.append(_give(volume, customer))
            elif deal.action is Action.NOBODY:
                outcomes.append(_take(volume))
            elif item.wish is not None:
                kind, wish = KINDS[deal.action], Wish.from_json(item.wish)
                outcomes.append(_submit(volume, kind, wish, item, actor, address))
        except Gone as gone:
            outcomes.append(VolumeOutcome(volume, None, False, str(gone)))
    return outcomes


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
        take(locked)
    return VolumeOutcome(volume, None, True, "The volume no longer belongs to a customer.")


def _held(volume: Volume) -> tuple[Volume, bool]:
    """The volume as it is, and whether a job changes it. A job that is accepted now waits for this
    lock or holds it off."""
    locked = hold_one(volume, against_jobs=True)
    return locked, Job.objects.unfinished().filter(volume=locked, dry_run=False).exists()


def _submit(
    volume: Volume,
    kind: Kind,
    wish: Wish,
    item: ConfirmedVolume,
    actor: AbstractBaseUser | None,
    address: str | None,
) -> VolumeOutcome:
    try:
        job = submit(
            kind=kind,
            volume=volume,
            wish=wish,
            actor=actor,
            address=address,
            fingerprint=item.fingerprint,
            disks=item.disks,
        )
    except Refused as refused:
        return VolumeOutcome(volume, None, False, f"{refused.message} {refused.correction}".strip())
    except Busy as busy:
        return VolumeOutcome(
            volume,
            busy.job,
            False,
            ("Another job holds the volume. Wait until that job has ended."),
        )
    return VolumeOutcome(volume, job, True, "A job makes this change.")
