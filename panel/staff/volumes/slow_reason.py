"""Why a volume is slow: the disk that it waits for, and who keeps that one busy."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlencode

from django.urls import reverse

from storage.analysis.disk_activity import disks_then
from storage.analysis.disk_condition import LOOKED_AT, slow_disk
from storage.analysis.disk_users import UsedDisk
from storage.formatting import ms
from storage.health.slowness import LEAST_SHARE, NAMED
from storage.models import Volume
from storage.stored_inventory import inventory_of
from storage.volumes.snapshot import VolumeSnapshot

SECONDS: Final = round(LOOKED_AT.total_seconds())


@dataclass(frozen=True, slots=True)
class SlowReason:
    """`users` are those with the greatest parts of the disk's I/O time, and their parts; `all_url`
    shows every user of every disk of the host at that time."""

    how_slow: str
    disk: UsedDisk
    users: tuple[tuple[Volume, float], ...]
    all_url: str


def slow_reason(row: VolumeSnapshot, now: datetime) -> SlowReason | None:
    """None where its reads are not slow now, or where no disk explains it."""
    read_ms = row.latest.read_ms if row.latest is not None and not row.is_stale else None
    limit = row.slow_limit
    if row.host is None or read_ms is None or read_ms < limit.ms:
        return None
    facts = inventory_of(row.host)
    then = disks_then(row.host, facts, now - LOOKED_AT, now) if facts is not None else None
    disk = slow_disk(row.volume.pk, then) if then is not None else None
    if then is None or disk is None:
        return None
    users = tuple(
        (then.volumes[user.volume_id], user.share)
        for user in disk.users[:NAMED]
        if user.volume_id in then.volumes and user.share >= LEAST_SHARE
    )
    asked = urlencode({"at": f"{now:%Y-%m-%dT%H:%M:%SZ}", "for": SECONDS})
    how_slow = f"Reads take {ms(read_ms)} on average ({limit.ms} ms is slow)."
    return SlowReason(how_slow, disk, users, f"{reverse('host', args=[row.host.key])}?{asked}#who")
