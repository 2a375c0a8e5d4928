"""What is on a host enters the record. The jobs of adoption: a tag on the host for each adopted
volume if the host's policy allows it, and the reasons against undoing an adoption. And a volume
that was changed on its host, accepted as it is there now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from jobs import notify_workers
from jobs.models import Job, Kind
from jobs.queue.submit import Busy, ChangeRequest, cancel, holder_of, submit
from jobs.requester import Requester
from storage.adoption import AdoptionQuestion, Judgement, adopt_volumes, release
from storage.database_clock import database_now
from storage.health.drift import accept_refusal, drift_of
from storage.models import Volume
from storage.planner import Refused, plan
from storage.planner.wish import Wish
from storage.row_locks import Gone, hold_one
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of

RECORDED = (
    "Assigned, not tagged: root has not allowed {group} yet. Then press Tag them on the Adopt page."
)
LATER = "Recorded. To tag it, press Tag them on the Adopt page."
TAGGED = "Assigned; already tagged."

TAGS_AT_ONCE = 100
"""Jobs that one request makes: each reads the host's whole inventory, about 80 ms for 400 volumes,
and a page must answer."""


@dataclass(frozen=True, slots=True)
class Tagging:
    """The job that tags a volume, or why there is none."""

    job: Job | None
    note: str


@dataclass(frozen=True, slots=True)
class Adopted:
    """A row and the result of its tag; None where it was not adopted."""

    judgement: Judgement
    volume: Volume | None
    tagging: Tagging | None


@dataclass(frozen=True, slots=True)
class Undone:
    """Volumes that no longer have a customer, and those that stay, with the reason."""

    released: tuple[Volume, ...]
    kept: tuple[tuple[Volume, str], ...]


def adopt_and_tag(
    asks: Sequence[AdoptionQuestion],
    user: AbstractBaseUser,
    requester: Requester,
    *,
    make_customers: bool,
) -> tuple[Adopted, ...]:
    """Adopt what can be adopted in one transaction; then a tag job for each volume of a group
    that root on the host allows. A refused job leaves the adoption as it is."""
    judged = adopt_volumes(asks, user, database_now(), make_customers=make_customers)
    keys = [each.candidate.key for each in judged if each.is_good and each.candidate]
    adopted = Volume.objects.filter(key__in=keys).select_related("customer")
    rows = {row.volume.key: row for row in snapshots_of(adopted)}
    results, made = [], 0
    for each in judged:
        row = rows.get(each.candidate.key) if each.is_good and each.candidate else None
        if row is None:
            results.append(Adopted(each, None, None))
            continue
        is_late = made >= TAGS_AT_ONCE and row.vg is not None and row.vg.allowed
        tagging = Tagging(None, LATER) if is_late else tag_volume(row, requester)
        made += tagging.job is not None
        results.append(Adopted(each, row.volume, tagging))
    return tuple(results)


def tag_volume(row: VolumeSnapshot, requester: Requester) -> Tagging:
    """A job that tags the volume, where that is needed and allowed."""
    wish, group = row.wish, row.vg
    if row.volume.managed:
        return Tagging(None, TAGGED)
    if group is None or not group.allowed:
        name = group.name if group is not None else "its volume group"
        return Tagging(None, RECORDED.format(group=name))
    if wish is None:
        return Tagging(None, "Assigned, not tagged: Tiercel does not change this kind of cache.")
    try:
        if changed := beyond_tag(row, wish):
            return Tagging(None, f"Assigned, not tagged: the tag job would also {changed}.")
        job = submit(ChangeRequest(Kind.TAG_VOLUME, row.volume, wish), requester)
    except Refused as refused:
        return Tagging(None, f"Assigned, not tagged: {refused.message}")
    except Busy as busy:
        return Tagging(busy.job, "Assigned; another job holds the volume.")
    return Tagging(job, "Assigned; a job adds the tag.")


def beyond_tag(row: VolumeSnapshot, wish: Wish) -> str:
    """What the job would do to the volume besides tagging it, "" for nothing; raises `Refused`. An
    adoption changes no setting, not even of a cache that is being emptied by hand."""
    if row.facts is None or row.placement is None:
        return ""
    steps = plan(row.facts, row.placement.target, wish)
    titles = [step.title for step in steps if step.verb != "volume.tag"]
    return ", ".join(title[:1].lower() + title[1:] for title in titles)


def untagged(user: AbstractBaseUser) -> list[VolumeSnapshot]:
    """Adopted volumes without our tag whose group is allowed by now and that no job holds."""
    locked = Job.objects.unfinished().filter(dry_run=False).values("volume")
    adopted = Volume.objects.visible_to(user).filter(adopted_at__isnull=False, managed=False)
    return [
        row
        for row in snapshots_of(adopted.exclude(pk__in=locked).select_related("customer"))
        if row.vg is not None and row.vg.allowed and row.wish is not None
    ]


def release_adopted(volumes: Iterable[Volume], requester: Requester) -> Undone:
    """Release adopted volumes on which no job has run since; a job that still waits is cancelled.
    Customers that an adoption made stay."""
    released, kept = [], []
    for volume in volumes:
        try:
            reason = _undo(volume, requester)
        except Gone as gone:
            reason = str(gone)
        if reason:
            kept.append((volume, reason))
        else:
            released.append(volume)
    return Undone(tuple(released), tuple(kept))


@transaction.atomic
def _undo(volume: Volume, requester: Requester) -> str:
    """Why the adoption stays; "" where it is undone."""
    locked = hold_one(volume, against_jobs=True)
    if locked.adopted_at is None:
        return "The volume was not adopted."
    since = Job.objects.filter(volume=locked, dry_run=False, created_at__gte=locked.adopted_at)
    for job in since.unfinished().filter(started_at=None):
        cancel(job, requester)
    if since.exclude(started_at=None).exists() or since.unfinished().exists():
        return "A job has run on the volume since. First remove what that job created."
    if locked.cache_plan_id is not None:
        return "The customer pays for a cache plan of this volume. End the plan first."
    release(locked)
    return ""


@transaction.atomic
def accept_drift(volume: Volume) -> None:
    """What the host has of the volume becomes its record; nothing on the host changes. Raises
    `Busy` where a job changes it now, and `Refused`, also (`stale`) where nothing differs."""
    row = snapshots_of([hold_one(volume, against_jobs=True)])[0]
    if (holder := holder_of(row.volume)) is not None:
        raise Busy(holder)
    drift = drift_of(row)
    if drift is None:
        raise Refused("stale", f"{row.volume} is as recorded.", "There is nothing to accept.")
    if (refusal := accept_refusal(row, drift)) is not None:
        raise refusal
    if row.wish is not None:
        row.volume.wish = row.wish.to_json()
        row.volume.save(update_fields=["wish"])
    if row.host is not None:
        # The next inventory removes the difference from the lists of problems.
        notify_workers.host(row.host.pk)
