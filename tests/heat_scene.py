"""A volume whose heat was counted, and whose reads were measured."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import log2

import numpy as np

from storage.analysis.curve.heat import (
    BUCKETS_PER_OCTAVE,
    NS,
    HeatRecord,
    ReuseByKind,
    ReuseTimes,
)
from storage.analysis.heat_store import packed, unpacked
from storage.metrics.counters import LATENCY_BOUNDS_NS
from storage.models import HeatDay, Volume
from tests.scene import Scene, scene
from tests.storage import wire
from tests.storage.analysis.curve.traces import Trace, heat, zipf_load
from tests.storage.metrics.samples.rounds import take

CHUNK_BYTES = 65_536
HOURLY = 2_000
COUNTING = {"policy": {"vgs": ["vg0"]}, "heat": {"state": "running"}}
SLOW_NS = 10_000_000


def counting_scene() -> Scene:
    """On a host whose agent counts heat."""
    return scene(host={"hello": COUNTING})


def count_heat(
    volume: Volume, hours: int, until: datetime, *, is_hot: bool = True, hourly: int = HOURLY
) -> None:
    """The heat of so many hours up to then, of one chunk in 64: hot data, or all read once. The
    volume has about so many I/Os an hour, `HOURLY` or more."""
    octaves = int(log2(hourly / HOURLY))
    count, chunks = (hourly * hours) >> octaves, (volume.size_bytes // CHUNK_BYTES) >> octaves
    load = zipf_load(1.1, count, chunks) if is_hot else read_once(count, chunks)
    begun_ns = int((until - timedelta(hours=hours)).timestamp()) * NS
    for each in heat(load, share=64, hours=hours, begun_ns=begun_ns):
        record = denser(each, octaves)
        day = datetime.fromtimestamp(record.begun_ns / NS, UTC).date()
        row, _ = HeatDay.objects.get_or_create(
            volume=volume, day=day, defaults={"records": packed([])}
        )
        HeatDay.objects.filter(volume=volume, day=day).update(
            records=packed([*unpacked(row.records), record])
        )


def denser(record: HeatRecord, octaves: int) -> HeatRecord:
    """As if each reference were to 2 ** `octaves` neighbours, one after the other: so many times
    the references, to so many times the chunks, each so many times later."""
    times = 1 << octaves

    def more(of: ReuseTimes) -> ReuseTimes:
        later = BUCKETS_PER_OCTAVE * octaves
        return ReuseTimes(of.cold * times, tuple((n + later, m * times) for n, m in of.buckets))

    counted = ("reads", "writes", "read_bytes", "write_bytes", "clock", "clock_before")
    return replace(
        record,
        reuse=ReuseByKind(more(record.reuse.reads), more(record.reuse.writes)),
        **{name: getattr(record, name) * times for name in counted},
    )


def read_once(n: int, volume: int) -> Trace:
    """No chunk is read again, as long as there are enough."""
    chunks = np.random.default_rng(1).permutation(volume)[np.arange(n) % volume]
    return Trace(chunks, np.zeros(n, dtype=bool), volume)


def slow_reads(there: Scene, minutes: int, start: datetime) -> None:
    """100 reads a second of 10 ms each, for so long: its guest waits all the time."""
    bucket = next(n for n, ns in enumerate(LATENCY_BOUNDS_NS) if ns > SLOW_NS)
    for minute in range(minutes + 1):
        reads = 6_000 * minute
        counts = [0] * (len(LATENCY_BOUNDS_NS) + 1)
        counts[bucket] = reads
        disk = wire.disk(reads=reads, read_sectors=8 * reads, read_ms=10 * reads, busy_ms=9 * reads)
        measured = wire.volume(
            there.lv.uuid,
            disk=disk,
            latency={"bounds_ns": list(LATENCY_BOUNDS_NS), "counts": counts},
        )
        take(there.host, 60 * minute, measured, start=start)
