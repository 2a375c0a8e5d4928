"""Watching a volume closely: for a while the collector asks for its counters every ten seconds,
where others have one interval a minute. It ends by itself."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.db import transaction

from storage.agent.wire.reading_verbs import WATCHED_LIMIT
from storage.metrics.samples.window import CLOSE_SECONDS
from storage.models import Placement, Volume
from storage.models.host import HostState
from storage.planner import Refused
from storage.row_locks import hold_one

EVERY: Final = timedelta(seconds=CLOSE_SECONDS)
USUAL: Final = timedelta(hours=1)
LONGEST: Final = timedelta(hours=24)


@transaction.atomic
def begin_close_watch(unlocked: Volume, until: datetime, now: datetime) -> None:
    """Watch the volume closely until then; another end where it is watched already. Raises
    `Refused` where it lies nowhere, and where the host has as many as it can have."""
    volume = hold_one(unlocked)
    placed = volume.placed
    if placed is None or placed.lv_uuid is None or volume.retired_at or volume.destroyed_at:
        raise Refused("not_found", f"{volume.label} is not active on a host.", "")
    # The host's row is locked, so that two do not take the last place.
    others = Volume.objects.placed_on(placed.host).filter(watched_until__gt=now)
    if others.exclude(pk=volume.pk).count() >= WATCHED_LIMIT:
        raise Refused(
            "busy",
            f"{placed.host.name} has {WATCHED_LIMIT} volumes under close watch, which is the most.",
            "End the watch of another volume of this host.",
        )
    volume.watched_until = until
    volume.save(update_fields=["watched_until"])


@transaction.atomic
def end_close_watch(unlocked: Volume) -> None:
    """Watch the volume as any other. Nothing happens to one that is not watched closely."""
    volume = hold_one(unlocked)
    if volume.watched_until is not None:
        volume.watched_until = None
        volume.save(update_fields=["watched_until"])


def watched(now: datetime) -> dict[int, list[str]]:
    """By primary key of an active host: the uuids of the logical volumes to be asked for. One
    query."""
    placements = Placement.objects.filter(
        host__state=HostState.ACTIVE,
        until=None,
        lv_uuid__isnull=False,
        volume__watched_until__gt=now,
    ).order_by("pk")
    uuids_by_host: dict[int, list[str]] = {}
    for host_id, lv_uuid in placements.values_list("host_id", "lv_uuid"):
        uuids = uuids_by_host.setdefault(host_id, [])
        if len(uuids) < WATCHED_LIMIT and lv_uuid is not None:
            uuids.append(lv_uuid)
    return uuids_by_host
