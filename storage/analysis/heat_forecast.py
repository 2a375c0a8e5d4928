"""What a cache of each size would bring to a volume: its heat, held against its own figures and
those of its host. The arithmetic is `storage.analysis.curve`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import blake2b
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
    without_cache,
)
from storage.analysis.curve.queueing import SLOW_MS
from storage.analysis.forecast import ForecastInputs, OwnTraffic, PastForecasts, Use
from storage.analysis.heat_store import by_kind, heat_of
from storage.analysis.host_rates import host_figures, slow_of
from storage.formatting import seconds as seconds_text
from storage.host_data import prepare
from storage.metrics.waiting import FAST_MS, waited_seconds, waited_write_seconds
from storage.models import ForecastRecord
from storage.naming import AGENT_PATH
from storage.planner import Refused
from storage.planner.technologies.lookup import TECHNOLOGIES
from storage.planner.wish import SEQUENTIAL_CUTOFF_BYTES, TechnologyName
from storage.volumes.ownership import owned_since
from storage.volumes.snapshot import VolumeSnapshot

DAY: Final = 86_400
CacheKind = tuple[TechnologyName, bool]
ForecastByKind = Mapping[CacheKind, OwnTraffic]
KINDS: Final[tuple[CacheKind, ...]] = tuple(
    (each.name, writeback) for each in TECHNOLOGIES for writeback in (False, True)
)
"""Each technology in writethrough and in writeback."""
HEAT_BACK: Final = timedelta(days=14)
LEAST_SECONDS: Final = 6 * 3600
"""Less observation says nothing that a customer should spend money on."""
TOO_LITTLE: Final = "The volume read too little for a forecast."
CACHED_SECONDS: Final = 600
OBSTACLES: Final = {
    "": (
        "unsupported",
        "its agent is too old to count heat.",
        "Run a new enrolment command on the host.",
    ),
    OFF: (
        "observe_only",
        "root does not let heat be counted.",
        f"As root on the host: {AGENT_PATH} allow-heat",
    ),
    STOPPED: (
        "not_now",
        "the unit tiercel-heat does not run.",
        "On the host: systemctl status tiercel-heat",
    ),
    UNAVAILABLE: (
        "unsupported",
        "its kernel does not let itself be traced.",
        "Move the volume to a host with a newer kernel.",
    ),
}
"""Why a host counts no heat, by the state that it reports: a code, what is wrong, and what to
do."""
LEAST_SLOW_IOS: Final = 1_000
LEAST_MISSED: Final = 1e-4
"""A cache that misses nothing is taken to miss this share of the reads."""


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
    sizes = _sizes_of(row, sizes_bytes)
    if row.facts is None or row.host is None or not sizes or use.on_ssd or not use.reads:
        return None
    asked = blake2b(f"{sizes} {writeback}".encode(), digest_size=12).hexdigest()
    name = f"heat:{row.volume.key}:{asked}"
    known = cache.get(name)
    if known is None:
        known = msgspec.to_builtins(_forecast(row, use, sizes, now, writeback=writeback))
        cache.set(name, {"forecast": known}, CACHED_SECONDS)
    else:
        known = known["forecast"]
    prepare(OwnTraffic)
    return msgspec.convert(known, OwnTraffic | None)


def heat_obstacle(row: VolumeSnapshot) -> Refused | None:
    """Why the volume's heat is not counted; None where it is."""
    host = row.host
    if host is None or row.facts is None or row.placement is None:
        return Refused("absent", "The volume is not on any host.", "Put it on a host first.")
    if not row.volume.counts_heat:
        return Refused(
            "not_allowed",
            "What this volume reads and writes again may not be counted.",
            "Allow it on the volume's page, if its customer agrees.",
        )
    if host.heat_state in OBSTACLES:
        code, message, correction = OBSTACLES[host.heat_state]
        return Refused(code, f"{host.name}: {message}", correction)
    return None


def missing_heat(row: VolumeSnapshot, now: datetime) -> str:
    """Why there is no forecast for the volume, in sentences for people."""
    obstacle = heat_obstacle(row)
    if obstacle is not None:
        return f"{obstacle.message} {obstacle.correction}"
    if row.wish is not None and row.wish.tier == "ssd":
        return "The volume is on SSD and needs no cache."
    seconds = sum(record.seconds for record in hourly_heat(row, now))
    if seconds < LEAST_SECONDS:
        counted = seconds_text(seconds) if seconds else "nothing"
        return (
            f"What this volume reads again is not known yet: {counted} counted so far of "
            f"{seconds_text(LEAST_SECONDS)} needed."
        )
    return TOO_LITTLE


def has_enough_heat(row: VolumeSnapshot, now: datetime) -> bool:
    """Whether there is a forecast for the volume, as far as its heat decides."""
    if heat_obstacle(row) is not None or (row.wish is not None and row.wish.tier == "ssd"):
        return False
    return sum(record.seconds for record in hourly_heat(row, now)) >= LEAST_SECONDS


def hourly_heat(row: VolumeSnapshot, now: datetime) -> list[HeatRecord]:
    """The usable hours of the last weeks, since the volume is its customer's."""
    since = owned_since(row.volume)
    begin = now - HEAT_BACK if since is None else max(since, now - HEAT_BACK)
    records = by_kind(heat_of(row.volume, begin)).get((CHUNK_BYTES, SHARE), [])
    return [record for record in records if record.is_usable]


def _forecast(
    row: VolumeSnapshot, use: Use, sizes: Sequence[int], now: datetime, *, writeback: bool
) -> OwnTraffic | None:
    records = hourly_heat(row, now)
    seconds = sum(record.seconds for record in records)
    if seconds < LEAST_SECONDS or row.facts is None or row.placement is None:
        return None
    figures = host_figures(row.placement.host, row.facts, row.placement.vg_uuid, now)
    waits = _waits(use, figures.rates)
    technology, promoted = row.technology.name, figures.promotion_share.rate
    policy = policy_of(technology, promoted, cutoff_of(row), writeback=writeback)
    past = past_forecasts(technology)
    of_sizes = prospects(records, waits, figures.rates, policy, sizes, widened=past.widened)
    inputs = ForecastInputs(
        technology=technology,
        promotion_share=figures.promotion_share,
        hdd_iops=figures.hdd_iops,
        ssd_read_ms=figures.ssd_read_ms,
        hdd_utilisation=figures.hdd_utilisation,
        past=past,
    )
    if not of_sizes:
        return None
    without = without_cache(waits)
    return OwnTraffic(
        seconds, of_sizes, inputs, without, waited_seconds_per_day=waits.seconds_per_day
    )


def _waits(use: Use, rates: HostRates) -> VolumeWaits:
    waits = waits_of(use)
    return with_few_misses(waits, use.reads * DAY / use.seconds, rates) if use.has_cache else waits


def with_few_misses(waits: VolumeWaits, reads_per_day: float, rates: HostRates) -> VolumeWaits:
    """The waits of a volume whose cache may miss so seldom that they do not show what a miss takes:
    then it takes at least what the host's HDDs take, or a smaller cache would seem as good."""
    missed = max(LEAST_MISSED, 1 - waits.hit_rate)
    if waits.slow_reads * reads_per_day >= LEAST_SLOW_IOS:
        return waits
    slow_ms = max(waits.slow_read_ms, 1000 / rates.hdd_iops)
    waited = max(waits.read_seconds_per_day, missed * reads_per_day * slow_ms / 1000)
    return replace(
        waits,
        hit_rate=1 - missed,
        slow_reads=missed,
        slow_read_ms=slow_ms,
        read_seconds_per_day=min(waited, float(DAY)),
    )


def past_forecasts(technology: str) -> PastForecasts:
    """How the measured forecasts of a technology held."""
    row = ForecastRecord.objects.filter(technology=technology).first()
    return PastForecasts(row.orders, row.within, row.widened) if row else PastForecasts()


def cutoff_of(row: VolumeSnapshot) -> int:
    """The sequential cutoff in bytes of the bcache that the volume has, else of one that Tiercel
    makes."""
    backing = row.lv.bcache if row.lv is not None and row.cache is not None else None
    return SEQUENTIAL_CUTOFF_BYTES if backing is None else backing.sequential_cutoff_bytes


def forecast_of_kinds(
    row: VolumeSnapshot, use: Use, sizes_bytes: Collection[int], now: datetime
) -> ForecastByKind:
    """The forecast for each of `KINDS`, whatever the volume's layout; none where too little heat
    was counted."""
    records = hourly_heat(row, now)
    seconds = sum(record.seconds for record in records)
    sizes = _sizes_of(row, sizes_bytes)
    if seconds < LEAST_SECONDS or row.facts is None or row.placement is None:
        return {}
    if use.on_ssd or not use.reads or not sizes:
        return {}
    figures = host_figures(row.placement.host, row.facts, row.placement.vg_uuid, now)
    promoted, cutoff_bytes = figures.promotion_share.rate, cutoff_of(row)
    widened = {each.name: past_forecasts(each.name).widened for each in TECHNOLOGIES}
    policies = [
        (policy_of(name, promoted, cutoff_bytes, writeback=writeback), widened[name])
        for name, writeback in KINDS
    ]
    waits = _waits(use, figures.rates)
    by_policy = prospects_by_policy(records, waits, figures.rates, policies, sizes)
    without = without_cache(waits)
    return {
        kind: OwnTraffic(
            seconds, each, without=without, waited_seconds_per_day=waits.seconds_per_day
        )
        for kind, each in zip(KINDS, by_policy, strict=True)
        if each
    }


def _sizes_of(row: VolumeSnapshot, sizes_bytes: Collection[int]) -> list[int]:
    """The smallest first, without any that is no cache of the volume."""
    return sorted({size for size in sizes_bytes if 0 < size <= row.volume.size_bytes})


def policy_of(
    technology: TechnologyName, promotion_share: float, cutoff_bytes: int, *, writeback: bool
) -> CachePolicy:
    """What a cache of that technology does; `cutoff_bytes` is the sequential cutoff of a bcache."""
    if technology == "bcache":
        return bcache(writeback=writeback, bypasses_sequential=cutoff_bytes > 0)
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
