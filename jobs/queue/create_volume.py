"""The record of a volume that does not exist yet, and the job or preview that creates it."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from jobs.models import Job, Kind
from jobs.queue.submit import submit
from jobs.requester import Requester
from storage.models import Placement, Volume
from storage.naming import volume_name
from storage.planner import Refused
from storage.planner.wish import Wish
from storage.row_locks import hold
from storage.volumes.wish_forms import GroupChoice


@transaction.atomic
def create(
    volume: Volume, group: GroupChoice, wish: Wish, requester: Requester, *, dry_run: bool
) -> Job:
    """Write the new `volume` down and ask for it; raises `Refused`. A preview has a record too: the
    volume's name is in its commands."""
    volume.layout, volume.size_bytes = wish.layout, wish.size_bytes
    volume.previewed_at = timezone.now() if dry_run else None
    volume.save()
    Placement.objects.create(
        volume=volume,
        host=group.host,
        vg_name=group.vg_name,
        vg_uuid=group.vg_uuid,
        lv_name=volume_name(volume.key),
    )
    return submit(
        kind=Kind.CREATE_VOLUME,
        volume=volume,
        wish=wish,
        actor=requester.actor,
        dry_run=dry_run,
        door=requester.door,
        token=requester.token,
        address=requester.address,
    )


@transaction.atomic
def discard(volume: Volume) -> None:
    """Forget a volume that was only ever previewed; raises `Refused` for any other."""
    hold(volume, against_jobs=True)
    placed = Placement.objects.filter(volume=volume, lv_uuid__isnull=False).exists()
    if placed or Job.objects.filter(volume=volume, dry_run=False).exists():
        raise Refused(
            "in_use",
            f"{volume} exists on its host, or a job is creating it.",
            "Cancel the job first; a volume that exists cannot be discarded.",
        )
    Job.objects.filter(volume=volume).delete()
    volume.delete()
