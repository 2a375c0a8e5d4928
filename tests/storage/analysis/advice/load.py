"""Volumes of one host with an hour of samples, without waiting for it."""

from __future__ import annotations

from datetime import datetime, timedelta

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


def sampled(volume: Volume, minutes: int, *, end: datetime = NOW, **per_minute: int) -> None:
    """One sample a minute, the last ending at `end`, each with these sums."""
    names = {field.name for field in Interval._meta.get_fields()}
    zeros = dict.fromkeys(
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
    assert set(per_minute) <= names
    for day in {end.date(), (end - timedelta(minutes=minutes)).date()}:
        make_partition(day)
    Sample.objects.bulk_create(
        Sample(
            ts=end - timedelta(minutes=n), volume=volume, dt_ms=60_000, **{**zeros, **per_minute}
        )
        for n in range(minutes)
    )
