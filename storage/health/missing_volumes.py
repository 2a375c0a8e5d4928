"""Missing volumes: recorded volumes that a host's inventory no longer contains."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from storage.models import Host, Placement


def settle(host: Host, at: datetime, held: Iterable[int]) -> int:
    """A person says that the missing volumes of a host are gone for good: they lie nowhere from
    `at` on, but for those `held` (primary keys of volumes). Records, figures and customers stay.
    Returns how many."""
    missing = Placement.objects.filter(host=host, until=None, missing_since__isnull=False)
    return missing.exclude(volume__in=list(held)).update(until=at)
