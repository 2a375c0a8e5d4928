"""One volume from one sample to the next."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final

from storage.inventory.cache_counts import by_column
from storage.metrics.counters import DiskCounters, Latency, VolumeCounters
from storage.metrics.rates.cache_delta import (
    CacheDelta,
    cache_delta,
    guest_device,
    guest_disk,
    has_latency,
)
from storage.metrics.rates.disk import HALF, WRAP, counts_since, is_plausible, subtract
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
    """What the guest did in `dt_ms` of the host's CLOCK_BOOTTIME, and what its cache did.

    `read_us` and `write_us` are the times of dm-stats, exact where `read_ms` and `write_ms` are
    ticks of the kernel's clock; a flush is not in them. `flushes` are in `writes`, `flush_ms` in
    `write_ms` (to a tick for each write). All four are None of a bcache volume and of older agents.
    `suspended_ms` is how long its I/O was frozen, as far as the two samples show."""

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
    discards: int | None = None
    discard_sectors: int | None = None
    discard_ms: int | None = None
    read_us: int | None = None
    write_us: int | None = None
    flushes: int | None = None
    flush_ms: int | None = None
    suspended_ms: int | None = None

    @property
    def columns(self) -> dict[str, Any]:
        """The figures by the columns of `storage.models.sample.Interval`."""
        cache = self.cache
        return {
            **{name: getattr(self, name) for name in _OF_DISK},
            **{name: getattr(cache, name) for name in _OF_LEGS},
            **by_column(cache.counts),
        }


_OF_DISK: Final = tuple(
    each.name for each in fields(Delta) if each.name not in ("cache", "cache_gap")
)
_OF_LEGS: Final = tuple(each.name for each in fields(CacheDelta) if each.name != "counts")


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
    change = cache_delta(old, new, disk, dt_ms)
    old_latency = old.latency if has_latency(new) else None
    new_latency = new.latency if has_latency(new) else None
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
        cache=change.cache,
        cache_gap=change.gap,
        latency_counts=counts_since(_counts(old_latency), _counts(new_latency), disk),
        discards=disk.discards,
        discard_sectors=disk.discard_sectors,
        discard_ms=disk.discard_ms,
        **_precise(old_latency, new_latency, disk),
        suspended_ms=dt_ms * (old.suspended + new.suspended) // 2,
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


def _counts(latency: Latency | None) -> tuple[int, ...] | None:
    return None if latency is None else latency.counts


def _precise(old: Latency | None, new: Latency | None, disk: DiskCounters) -> dict[str, Any]:
    """What dm-stats report besides their buckets; nothing where the region was made anew."""
    if old is None or new is None or counts_since(old.counts, new.counts, disk) is None:
        return {}
    times = {
        "read_us": _microseconds(old.read_ns, new.read_ns),
        "write_us": _microseconds(old.write_ns, new.write_ns),
    }
    if old.flushes is None or new.flushes is None:
        return times
    flushes = new.flushes - old.flushes
    if not 0 <= flushes <= disk.writes:
        return times
    flush_ms = None
    if old.flush_ms is not None and new.flush_ms is not None:
        # Without a flush it is the rounding of the writes, which also may make it negative.
        flush_ms = (new.flush_ms - old.flush_ms) % WRAP if flushes else 0
    return {
        **times,
        "flushes": flushes,
        "flush_ms": 0 if flush_ms is not None and flush_ms >= HALF else flush_ms,
    }


def _microseconds(a_ns: int | None, b_ns: int | None) -> int | None:
    if a_ns is None or b_ns is None or not 0 <= b_ns - a_ns < HALF * 1_000_000:
        return None
    return (b_ns - a_ns) // 1000
