"""A volume that was traced."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta

from storage.analysis.curve.heat import NS
from storage.analysis.heat_store import packed, unpacked
from storage.byte_sizes import KIB, MIB
from storage.models import HeatDay, HeatTrace, TraceState
from tests.scene import Scene
from tests.storage.analysis.curve.traces import heat, zipf_load


def trace(there: Scene, state: TraceState = TraceState.RUNNING) -> HeatTrace:
    """One of a quarter of an hour that began five minutes ago."""
    now = datetime.now(UTC)
    begun = now - timedelta(minutes=5)
    return HeatTrace.objects.create(
        volume=there.volume,
        host=there.host,
        minutes=15,
        chunk_bytes=64 * KIB,
        state=state,
        begun_at=begun,
        ends_at=begun + timedelta(minutes=15),
        until_ns=int((begun + timedelta(minutes=15)).timestamp()) * NS,
        not_before=now + timedelta(minutes=15),
    )


def count_trace(made: HeatTrace) -> None:
    """It is done, and its records are stored."""
    assert made.begun_at is not None
    records = []
    for chunk_bytes in (4 * KIB, made.chunk_bytes, MIB):
        load = zipf_load(1.1, 6_000, made.volume.size_bytes // (64 * KIB))
        record = next(heat(load, share=4, seconds=900))
        begun_ns = (made.until_ns or 0) - 890 * NS
        records.append(dataclasses.replace(record, chunk_bytes=chunk_bytes, begun_ns=begun_ns))
    day = datetime.fromtimestamp(begun_ns / NS, UTC).date()
    row, _ = HeatDay.objects.get_or_create(
        volume=made.volume, day=day, defaults={"records": packed([])}
    )
    HeatDay.objects.filter(volume=made.volume, day=day).update(
        records=packed([*unpacked(row.records), *records])
    )
    HeatTrace.objects.filter(pk=made.pk).update(
        state=TraceState.DONE, ended_at=made.begun_at + timedelta(minutes=15)
    )
