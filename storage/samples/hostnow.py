"""What the volumes of each host did in its last round, added up by the database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import connection

# A volume that is gone keeps its last sample: only those of the host's last round count.
QUERY: Final = """
SELECT host_id, last, sum(reads * 1000.0 / dt_ms)::float8, sum(writes * 1000.0 / dt_ms)::float8,
    max(busy_ms * 1.0 / dt_ms)::float8,
    (array_agg(volume_id ORDER BY busy_ms * 1.0 / dt_ms DESC NULLS LAST))[1],
    coalesce(sum(dirty_bytes), 0)::bigint
FROM (
    SELECT host_id, volume_id, at, reads, writes, busy_ms, dt_ms, dirty_bytes,
        max(at) OVER (PARTITION BY host_id) AS last
    FROM storage_latestsample
) AS latest WHERE at = last GROUP BY host_id, last
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
    with connection.cursor() as cursor:
        cursor.execute(QUERY)
        return {
            host_id: HostNow(at, reads, writes, None if busy is None else min(1.0, busy), *rest)
            for host_id, at, reads, writes, busy, *rest in cursor.fetchall()
        }
