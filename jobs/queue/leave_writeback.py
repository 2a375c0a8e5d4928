"""Where a host's settings allow it, sets caches in writeback mode to writethrough when the SSD
mirror below them has lost a disk.

Once for each volume and failure: a person who sets writeback again meanwhile has the last word.
Only when the mirror was whole again does the next failure count.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final

from django.db import connection, transaction

from jobs.engine.steps import add_lines
from jobs.failpoints import durable
from jobs.models import Kind, Origin
from jobs.queue.submit import Busy, ChangeRequest, submit
from jobs.requester import Requester
from storage.database_clock import database_now
from storage.models import CacheCondition, Volume
from storage.models.host import HostState
from storage.planner import Refused
from storage.planner.technologies.degraded_mirror import is_on_degraded
from storage.planner.technologies.lookup import is_lost
from storage.planner.wish import Wish
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of

log = logging.getLogger(__name__)

SAFE_MODE: Final = "writethrough"
REASON: Final = (
    "The SSD mirror below the cache lost a disk. The settings of the host say that Tiercel then "
    "leaves writeback mode."
)
DUE: Final = """
SELECT volume.id, host.id FROM storage_hostoutline outline
JOIN storage_host host ON host.id = outline.host_id
CROSS JOIN LATERAL jsonb_array_elements(outline.findings) found
JOIN storage_volume volume ON volume.key = found->>'volume'
JOIN storage_placement placement ON placement.volume_id = volume.id
    AND placement.host_id = host.id AND placement.until IS NULL
LEFT JOIN storage_cachecondition condition ON condition.volume_id = volume.id
WHERE outline.findings <> '[]' AND host.leaves_writeback AND host.state = %s
    AND found->>'code' IN ('writeback_degraded', 'writeback_degraded_clean') AND volume.managed
    AND condition.left_writeback_at IS NULL
ORDER BY volume.id
"""


def leave_due() -> int:
    """Request the jobs that are due; returns their number."""
    _forget_whole_mirrors()
    with connection.cursor() as cursor:
        cursor.execute(DUE, [HostState.ACTIVE])
        due = list(cursor.fetchall())
    return sum(_leave(volume_id, host_id) for volume_id, host_id in due)


def _forget_whole_mirrors() -> None:
    """Volumes that an inventory shows on intact mirrors, or without a cache."""
    left = CacheCondition.objects.exclude(left_writeback_at=None).exclude(volume=None)
    volumes = Volume.objects.filter(pk__in=left.values("volume"))
    if not volumes:
        return
    rows = snapshots_of(volumes)
    left.filter(volume__in=[row.volume.pk for row in rows if _is_whole(row)]).update(
        left_writeback_at=None
    )


def _is_at_risk(row: VolumeSnapshot) -> bool:
    """Whether the volume's cache lies on a mirror that lost a disk, as far as the last inventory
    says."""
    if row.facts is None or row.lv is None or row.cache is None:
        return False
    return is_on_degraded(row.facts, row.lv)


def _is_whole(row: VolumeSnapshot) -> bool:
    """A cache whose mirror lost all its disks is not intact either."""
    if row.facts is None or row.lv is None:
        return False
    return not _is_at_risk(row) and not is_lost(row.facts, row.lv)


@durable("leave_writeback")
def _leave(volume_id: int, host_id: int) -> bool:
    """Create the job and the note of it in one transaction. While another job holds the volume, or
    the job is refused, the next round tries again."""
    CacheCondition.objects.get_or_create(volume_id=volume_id, defaults={"host_id": host_id})
    condition = CacheCondition.objects.select_for_update().get(volume_id=volume_id)
    [row] = snapshots_of(Volume.objects.filter(pk=volume_id))
    wish = _safe_wish(row)
    if condition.left_writeback_at is not None or wish is None:
        return False
    try:
        with transaction.atomic():
            job = submit(
                ChangeRequest(Kind.SET_CACHE, row.volume, wish),
                Requester(None, origin=Origin.POLICY),
            )
    except (Refused, Busy) as error:
        log.info("volume %s stays in writeback mode: %s", row.volume.key, error)
        return False
    add_lines(job, [REASON])
    condition.left_writeback_at = database_now()
    condition.save(update_fields=["left_writeback_at"])
    return True


def _safe_wish(row: VolumeSnapshot) -> Wish | None:
    """The current wish with the mode changed; None where it need not, or cannot, be changed."""
    wish = row.wish
    if wish is None or wish.cache is None or not _is_at_risk(row):
        return None
    if wish.cache.mode == SAFE_MODE:
        return None
    return replace(wish, cache=wish.cache.with_mode(SAFE_MODE))
