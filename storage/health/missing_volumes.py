"""Missing volumes: recorded volumes that a host's inventory no longer contains."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from storage.models import Host, Placement, Volume


def settle_missing_volumes(host: Host, at: datetime, held: Iterable[int]) -> int:
    """A person says that the missing volumes of a host are gone for good, but for those `held`
    (primary keys of volumes). Returns how many."""
    missing = Placement.objects.filter(host=host, until=None, missing_since__isnull=False)
    return leave_host(missing.exclude(volume__in=list(held)), at)


def leave_host(placements: Iterable[Placement], at: datetime) -> int:
    """A person says that these volumes are gone from their hosts: they have no place from `at` on,
    and no customer pays for their caches. Records, figures and customers stay. Returns how many."""
    ended = list(placements)
    with transaction.atomic():
        volumes = Volume.objects.filter(pk__in=[each.volume_id for each in ended])
        volumes.exclude(cache_plan=None).update(cache_plan=None)
        return Placement.objects.filter(pk__in=[each.pk for each in ended]).update(until=at)
