"""One volume from one sample to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from storage.metrics.counters import DiskCounters, Latency, VolumeCounters
from storage.metrics.rates.cache_delta import (
    CacheDelta,
    cache_delta,
    guest_device,
    guest_disk,
    has_latency,
)
from storage.metrics.rates.disk import SLACK_IO, is_plausible, subtract
from storage.metrics.rates.gaps import GapReason

MAX_INTERVAL_MS: Final = 900_000


@dataclass(frozen=True, slots=True)
class CounterReading:
    """One volume's counters with where and when they were read."""

    host_id: int
    boot_id: str
    boottime_ns: int
    counters: VolumeCounters


@dataclass(frozen=True, slots=True)
class Gap:
    reason: GapReason


@dataclass(frozen=True, slots=True)
class Delta:
    """What the guest did in `dt_ms` of the host's CLOCK_BOOTTIME, and what its cache did."""

    dt_ms: int
    reads: int
    writes: int
    read_sectors: int
    write_sectors: int
    read_ms: int
    write_ms: int
    busy_ms: int
    weighted_ms: int
    cache: CacheDelta
    cache_gap: GapReason | None
    latency_counts: tuple[int, ...] | None


def delta(before: CounterReading | None, after: CounterReading) -> Delta | Gap:
    """What happened between two samples of one volume."""
    if before is None:
        return Gap(GapReason.FIRST)
    reason = _discontinuity(before, after)
    if reason is not None:
        return Gap(reason)
    dt_ms = (after.boottime_ns - before.boottime_ns) // 1_000_000
    if dt_ms <= 0:
        return Gap(GapReason.CLOCK)
    if dt_ms > MAX_INTERVAL_MS:
        return Gap(GapReason.SILENT)
    old, new = before.counters, after.counters
    disk = subtract(guest_disk(old), guest_disk(new))
    if disk is None:
        return Gap(GapReason.RESET)
    if not is_plausible(disk, dt_ms):
        return Gap(GapReason.IMPLAUSIBLE)
    cache = cache_delta(old, new, disk)
    return Delta(
        dt_ms=dt_ms,
        reads=disk.reads,
        writes=disk.writes,
        read_sectors=disk.read_sectors,
        write_sectors=disk.write_sectors,
        read_ms=disk.read_ms,
        write_ms=disk.write_ms,
        busy_ms=disk.busy_ms,
        weighted_ms=disk.weighted_ms,
        cache=cache if isinstance(cache, CacheDelta) else CacheDelta(),
        cache_gap=cache if isinstance(cache, GapReason) else None,
        latency_counts=_latency(old.latency, new.latency, disk) if has_latency(new) else None,
    )


def _discontinuity(before: CounterReading, after: CounterReading) -> GapReason | None:
    old, new = before.counters, after.counters
    if (before.host_id, old.lv_uuid) != (after.host_id, new.lv_uuid):
        return GapReason.MOVED
    if before.boot_id != after.boot_id:
        return GapReason.REBOOTED
    if old.kname != new.kname or guest_device(old) != guest_device(new):
        return GapReason.REPLACED
    return None


def _latency(
    old: Latency | None, new: Latency | None, disk: DiskCounters
) -> tuple[int, ...] | None:
    """I/Os per latency bucket. None when the region was made anew (after an extend) in between."""
    if old is None or new is None:
        return None
    counts = tuple(b - a for a, b in zip(old.counts, new.counts, strict=True))
    most = 3 * (disk.reads + disk.writes + disk.discards) // 2 + SLACK_IO
    return counts if min(counts) >= 0 and sum(counts) <= most else None
