"""What a cache of each size would bring to a volume: its heat, held against its own figures and
those of its host. The arithmetic is `storage.analysis.curve`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b
from math import isnan
from typing import Final

import msgspec
from django.core.cache import cache

from storage.agent.heat.trace_filter import CHUNK_BYTES, SHARE
from storage.agent.state.heat_files import OFF, STOPPED, UNAVAILABLE
from storage.analysis.curve.cache_policy import CachePolicy, bcache, lvmcache
from storage.analysis.curve.heat import HeatRecord
from storage.analysis.curve.prospects import (
    HostRates,
    VolumeWaits,
    prospects,
    prospects_by_policy,
)
from storage.analysis.curve.queueing import SLOW_MS
from storage.analysis.disk_activity import busy_courses
from storage.analysis.disk_users import disk_below
from storage.analysis.forecast import OwnTraffic, Use
from storage.analysis.heat_store import by_kind, heat_of
from storage.formatting import seconds as seconds_text
from storage.inventory.facts import HostFacts
from storage.metrics.counters import LATENCY_BOUNDS_NS
from storage.metrics.rates import CachedBy
from storage.metrics.samples.aggregate import aggregate
from storage.metrics.samples.chunk_store import VOLUMES
from storage.metrics.waiting import FAST_MS, waited_seconds, waited_write_seconds
from storage.models import Host, Placement
from storage.naming import AGENT_PATH
from storage.planner.wish import TechnologyName
from storage.volumes.ownership import theirs_since
from storage.volumes.snapshot import VolumeSnapshot

DAY: Final = 86_400
HEAT_BACK: Final = timedelta(days=14)
FIGURES_BACK: Final = timedelta(days=7)
LEAST_SECONDS: Final = 6 * 3600
"""Less observation says nothing that a customer should spend money on."""
CACHED_SECONDS: Final = 600
OBSTACLES: Final = {
    "": "its agent is too old to count heat. Run a new enrolment command on the host.",
    OFF: f"root does not let heat be counted. As root on the host: {AGENT_PATH} allow-heat",
    STOPPED: "the unit tiercel-heat does not run. On the host: systemctl status tiercel-heat",
    UNAVAILABLE: "its kernel does not let itself be traced.",
}
HDD_IOPS: Final = 335.0
"""Of the published runs (tests/data): what two HDDs in RAID1 served of reads slower than 2 ms. It
is taken where a host's own figures do not tell."""
LEAST_SLOW_IOS: Final = 1_000
LEAST_BUSY: Final = 0.02
LEAST_MISSES: Final = 10_000
FIGURES: Final = VOLUMES.only(
    "dt_ms",
    "latency_counts",
    "slow_latency_counts",
    "fast_reads",
    "fast_read_ms",
    "promotions",
    "read_misses",
    "write_misses",
)


@dataclass(frozen=True, slots=True)
class MeasuredHost:
    """What a host's own figures of a week say: `rates`, and `promotion_share`, which part of the
    misses (0 to 1) its lvmcaches took in."""

    rates: HostRates
    promotion_share: float


def heat_forecast(
    row: VolumeSnapshot,
    use: Use,
    sizes_bytes: Collection[int],
    now: datetime,
    *,
    writeback: bool = False,
) -> OwnTraffic | None:
    """The forecast of caches of these sizes, of the technology that the volume's layout has; None
    where too little heat was counted, or none of its host's figures are known. What was forecast in
    the last minutes is not worked out again."""
    sizes = sorted({size for size in sizes_bytes if 0 < size <= row.volume.size_bytes})
    if row.facts is None or row.host is None or not sizes or use.on_ssd or not use.reads:
        return None
    asked = blake2b(f"{sizes} {writeback}".encode(), digest_size=12).hexdigest()
    name = f"heat:{row.volume.pk}:{asked}"
    known = cache.get(name)
    if known is None:
        known = msgspec.to_builtins(_forecast(row, use, sizes, now, writeback=writeback))
        cache.set(name, {"forecast": known}, CACHED_SECONDS)
    else:
        known = known["forecast"]
    return msgspec.convert(known, OwnTraffic | None)


def missing_heat(row: VolumeSnapshot, now: datetime) -> str:
    """Why there is no forecast for the volume, in a sentence for people."""
    host = row.host
    if host is None or row.facts is None or row.placement is None:
        return "The volume is not on any host."
    if not row.volume.counts_heat:
        return "What this volume reads and writes again may not be counted."
    if host.heat_state in OBSTACLES:
        return f"{host.name}: {OBSTACLES[host.heat_state]}"
    seconds = sum(record.seconds for record in _hourly(row, now))
    if seconds < LEAST_SECONDS:
        counted = seconds_text(seconds) if seconds else "nothing"
        return (
            f"What this volume reads again is not known yet: {counted} counted so far of "
            f"{seconds_text(LEAST_SECONDS)} needed."
        )
    return "The volume read too little for a forecast."


def _hourly(row: VolumeSnapshot, now: datetime) -> list[HeatRecord]:
    """The usable hours of the last weeks, since the volume is its customer's."""
    since = theirs_since(row.volume)
    begin = now - HEAT_BACK if since is None else max(since, now - HEAT_BACK)
    records = by_kind(heat_of(row.volume, begin)).get((CHUNK_BYTES, SHARE), [])
    return [record for record in records if record.is_usable]


def _forecast(
    row: VolumeSnapshot, use: Use, sizes: Sequence[int], now: datetime, *, writeback: bool
) -> OwnTraffic | None:
    records = _hourly(row, now)
    seconds = sum(record.seconds for record in records)
    if seconds < LEAST_SECONDS or row.facts is None or row.placement is None:
        return None
    figures = host_figures(row.placement.host, row.facts, row.placement.vg_uuid, now)
    policy = policy_of(row.technology.name, figures.promotion_share, writeback=writeback)
    of_sizes = prospects(records, waits_of(use), figures.rates, policy, sizes)
    return OwnTraffic(seconds, of_sizes) if of_sizes else None


def forecast_of_kinds(
    row: VolumeSnapshot,
    use: Use,
    kinds: Sequence[tuple[TechnologyName, bool]],
    sizes_bytes: Sequence[int],
    figures: MeasuredHost,
    now: datetime,
) -> list[OwnTraffic | None]:
    """The forecast for each technology, with writeback or without, whatever the volume's layout.
    `figures` are those of its host and group."""
    records = _hourly(row, now)
    seconds = sum(record.seconds for record in records)
    if seconds < LEAST_SECONDS or use.on_ssd or not use.reads or not sizes_bytes:
        return [None for _ in kinds]
    policies = [
        policy_of(technology, figures.promotion_share, writeback=writeback)
        for technology, writeback in kinds
    ]
    by_policy = prospects_by_policy(records, waits_of(use), figures.rates, policies, sizes_bytes)
    return [OwnTraffic(seconds, each) if each else None for each in by_policy]


def policy_of(
    technology: TechnologyName, promotion_share: float, *, writeback: bool
) -> CachePolicy:
    """What a cache of that technology does."""
    if technology == "bcache":
        return bcache(writeback=writeback)
    return lvmcache(writeback=writeback, promotion_share=promotion_share)


def waits_of(use: Use) -> VolumeWaits:
    """What the volume's I/O meets now. Of reads and writes one histogram is known: the slow ones
    of it are parted between them as their times are."""
    sums = use.sums
    taken_ms = sums.read_ms + sums.write_ms
    slow_ios = slow_of(sums.latency_counts) * sums.read_ms / taken_ms if taken_ms else 0.0
    slow_reads = min(1.0, slow_ios / sums.reads) if sums.reads else 0.0
    read_ms = use.read_ms or 0.0
    slow_ms = (read_ms - (1 - slow_reads) * FAST_MS) / slow_reads if slow_reads else 0.0
    per_day = DAY / use.seconds if use.seconds else 0.0
    return VolumeWaits(
        volume_bytes=use.volume_bytes,
        read_ms=read_ms,
        slow_reads=slow_reads,
        slow_read_ms=max(SLOW_MS, slow_ms),
        read_seconds_per_day=waited_seconds(sums) * per_day,
        write_seconds_per_day=waited_write_seconds(sums) * per_day,
        hit_rate=use.hit_rate or 0.0,
        fast_writes=0.0,
    )


def slow_of(counts: Sequence[int]) -> float:
    """How many I/Os of a histogram took longer than `SLOW_MS`: of the bucket in which that lies,
    the part above it."""
    slow, below_ms = 0.0, 0.0
    for number, bound_ns in zip(counts, (*LATENCY_BOUNDS_NS, None), strict=True):
        above_ms = bound_ns / 1e6 if bound_ns is not None else float("inf")
        if below_ms >= SLOW_MS:
            slow += number
        elif above_ms > SLOW_MS:
            slow += number * (above_ms - SLOW_MS) / (above_ms - below_ms)
        below_ms = above_ms
    return slow


def host_figures(host: Host, facts: HostFacts, vg_uuid: str, now: datetime) -> MeasuredHost:
    """Of the last week, in one volume group; what is not known is taken from the published runs,
    or on the cautious side."""
    begin = now - FIGURES_BACK
    volume_ids = list(
        Placement.objects.filter(host=host, vg_uuid=vg_uuid, until=None).values_list(
            "volume_id", flat=True
        )
    )
    parts = aggregate(
        volume_ids, begin, now, kind=FIGURES, step=FIGURES_BACK // timedelta(seconds=1), apart=True
    )
    slow_ios = fast_reads = fast_ms = promotions = misses = 0.0
    for each in parts:
        counts, technology = each.counts, each.last["technology"] or 0
        own = "latency_counts" if technology == CachedBy.NONE else "slow_latency_counts"
        slow_ios += slow_of(each.histograms[own]) if each.histograms.get(own) else 0
        fast_reads += counts.get("fast_reads") or 0
        fast_ms += counts.get("fast_read_ms") or 0
        if technology == CachedBy.DM_CACHE:
            promotions += counts.get("promotions") or 0
            misses += (counts.get("read_misses") or 0) + (counts.get("write_misses") or 0)
    busy = _busy_share(host, facts, vg_uuid, begin, now)
    iops = HDD_IOPS
    if busy >= LEAST_BUSY and slow_ios >= LEAST_SLOW_IOS:
        iops = slow_ios / (busy * FIGURES_BACK.total_seconds())
    rates = HostRates(
        ssd_read_ms=min(SLOW_MS, fast_ms / fast_reads) if fast_reads else FAST_MS,
        hdd_iops=max(HDD_IOPS / 10, iops),
        hdd_utilisation=busy,
    )
    return MeasuredHost(rates, min(1.0, promotions / misses) if misses >= LEAST_MISSES else 1.0)


def _busy_share(
    host: Host, facts: HostFacts, vg_uuid: str, begin: datetime, now: datetime
) -> float:
    """Of the busiest HDD or array of a volume group, in the time that is known; 0 where none is."""
    names = {disk_below(facts, pv.name) for pv in facts.pvs_of(vg_uuid, "slow")}
    seconds = FIGURES_BACK // timedelta(seconds=1)
    courses = busy_courses(host, facts, begin, now, seconds)
    known = [float(courses[name][0]) for name in names & courses.keys()]
    return max((share for share in known if not isnan(share)), default=0.0)
