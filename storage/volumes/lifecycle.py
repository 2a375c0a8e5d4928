"""Records of volumes that are retired or destroyed."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from storage.models import Placement, Volume
from storage.planner.wish import Wish


@transaction.atomic
def follow(placement: Placement, wish: Wish, at: datetime) -> None:
    """The host has made it so: the volume is retired, or destroyed at `at`. Nobody pays for the
    cache of a volume that is off; a destroyed one lies nowhere, and its record stays."""
    volume = Volume.objects.filter(pk=placement.volume_id)
    volume.update(wish=wish.lasting.to_json(), cache_plan=None)
    if wish.life == "gone":
        volume.update(destroyed_at=at)
        Placement.objects.filter(pk=placement.pk).update(until=at, missing_since=None)
