"""Rounds of a host with one volume or many, as the collector records them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from storage.metrics.samples import Recorded, record_sample
from storage.metrics.samples.sample_round import make_partition
from storage.models import Host, Volume
from tests import make
from tests.storage import wire

# The database's own clock guards young partitions, so tests live today.
NOON = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)


def noon_gone() -> datetime:
    """Yesterday's noon with room for its samples: for what must lie before now, also in tests that
    run in the morning."""
    gone = NOON - timedelta(days=1)
    make_partition(gone.date())
    return gone


def placed(host: Host) -> tuple[Volume, str]:
    """A volume on the host with its LV's uuid."""
    volume = make.volume()
    lv_uuid = make.placement(volume, host).lv_uuid
    assert lv_uuid is not None
    return volume, lv_uuid


def take(
    host: Host,
    seconds: float,
    *volumes: dict[str, Any],
    start: datetime = NOON,
    boot: str = "boot-1",
) -> Recorded:
    """Record a round that many seconds after `start`, the host's boot being an hour before it."""
    at = start + timedelta(seconds=seconds)
    return record_sample(host, wire.sample(*volumes), wire.stamp(3600 + seconds, boot), at)


def reading(lv_uuid: str, reads: int, **fields: Any) -> dict[str, Any]:
    """A volume of which a guest has read that many blocks of 4 KiB, in 0.5 ms each."""
    disk = wire.disk(reads=reads, read_sectors=8 * reads, read_ms=reads // 2)
    return wire.volume(lv_uuid, disk=disk, **fields)
