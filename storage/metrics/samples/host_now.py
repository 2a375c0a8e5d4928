"""Total I/O of each host's volumes in its last round of samples, summed by the database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import connection
from django.db.models import Min

from storage.models import Host, Placement

# The greatest of the arrays is that of the busiest volume.
QUERY: Final = """
SELECT host_id, at, sum(reads * 1000::float8 / dt_ms), sum(writes * 1000::float8 / dt_ms),
    max(ARRAY[coalesce(busy_ms::float8 / dt_ms, -1), volume_id]),
    coalesce(sum(dirty_bytes), 0)::bigint
FROM storage_latestsample GROUP BY host_id, at
"""


@dataclass(frozen=True, slots=True)
class HostNow:
    """The last round of a host, taken at `at`: I/O a second of all its volumes, the share of time
    (0 to 1) in which the busiest of them, `busiest_id`, had I/O under way, and what lies on SSD
    alone. None where no volume had a difference to tell."""

    at: datetime
    read_iops: float | None
    write_iops: float | None
    busy: float | None
    busiest_id: int
    dirty_bytes: int


def hosts_now() -> dict[int, HostNow]:
    """By primary key of the host; those never sampled are missing. One query."""
    hosts: dict[int, HostNow] = {}
    with connection.cursor() as cursor:
        cursor.execute(QUERY)
        for host_id, at, reads, writes, (busy, busiest), dirty in cursor.fetchall():
            # A volume that is gone keeps its last sample: only the host's last round counts.
            if host_id not in hosts or hosts[host_id].at < at:
                hosts[host_id] = HostNow(at, reads, writes, _share(busy), int(busiest), dirty)
    return hosts


def due_since(hosts: Iterable[Host]) -> dict[int, datetime]:
    """Since when each host has had volumes to sample, by its primary key; hosts without one that
    is there are missing. One query, none without a host."""
    placements = Placement.objects.filter(
        host__in=[host.pk for host in hosts], until=None, lv_uuid__isnull=False, missing_since=None
    )
    return dict(placements.values_list("host_id").annotate(Min("since")))


def _share(busy: float) -> float | None:
    """Unknown is -1 in the query; a device can count a little more time than there was."""
    return None if busy < 0 else min(1.0, busy)
