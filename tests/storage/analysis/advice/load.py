"""Volumes of one host with an hour or weeks of samples, without waiting for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta

from django.utils import timezone

from storage.discovery.ingest import apply_facts
from storage.inventory.facts import HostFacts, LogicalVolume
from storage.metrics.samples.sample_round import make_partition
from storage.models import Host, Sample, Volume
from storage.models.sample import Interval
from tests import make

NOW = timezone.now().replace(microsecond=0)


def known(*lvs: LogicalVolume, **facts: object) -> tuple[Host, HostFacts, dict[str, Volume]]:
    """A host with these LVs in its inventory, and its volumes by the name of the LV."""
    host, found = make.host(last_seen_at=NOW), make.facts(*lvs, **facts)
    apply_facts(host, make.inventory(found), NOW)
    host.refresh_from_db()
    return host, found, {volume.label: volume for volume in Volume.objects.placed_on(host)}


ZEROS = dict.fromkeys(
    (
        "reads",
        "writes",
        "read_sectors",
        "write_sectors",
        "read_ms",
        "write_ms",
        "busy_ms",
        "weighted_ms",
    ),
    0,
)


def sampled(volume: Volume, minutes: int, *, end: datetime = NOW, **per_minute: int) -> None:
    """One sample a minute, the last ending at `end`, each with these sums."""
    names = {field.name for field in Interval._meta.get_fields()}
    assert set(per_minute) <= names
    _record(
        Sample(
            ts=end - timedelta(minutes=n), volume=volume, dt_ms=60_000, **{**ZEROS, **per_minute}
        )
        for n in range(minutes)
    )


QUARTER = timedelta(minutes=15)
Waits = Callable[[datetime], int]
"""How many reads wait at a time, on average, in the quarter of an hour that ends at this moment."""


def sampled_days(volume: Volume, days: int, waiting: Waits, *, end: datetime, **each: int) -> None:
    """One sample each quarter of an hour of so many days up to `end`."""
    rows = []
    for n in range(days * 96):
        ts = end - n * QUARTER
        reads_ms = waiting(ts) * 900_000
        load = {"read_ms": reads_ms, "reads": reads_ms // 10, "busy_ms": min(900_000, reads_ms)}
        values = {**ZEROS, **load, **each}
        rows.append(Sample(ts=ts, volume=volume, dt_ms=900_000, **values))
    _record(rows)


def nightly(ts: datetime) -> int:
    """Eight reads wait from 2:00 to 4:00, none at another time."""
    return 8 if 2 <= (ts - QUARTER).hour < 4 else 0


def burst(hour: datetime) -> Waits:
    """Thirty-two reads wait in the hour that begins then, none in another."""
    return lambda ts: 32 if hour < ts <= hour + timedelta(hours=1) else 0


def _record(samples: Iterable[Sample]) -> None:
    rows = list(samples)
    days: set[date] = {row.ts.date() for row in rows}
    for day in sorted(days):
        make_partition(day)
    Sample.objects.bulk_create(rows)
