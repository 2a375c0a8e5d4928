"""The rates of each volume group of each host, measured over weeks, and what is learned from them
for a host that has few figures of its own."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from typing import Final

import numpy as np

from storage.analysis.curve.prospects import HostRates
from storage.analysis.curve.queueing import SLOW_MS
from storage.analysis.disk_activity import array_members, busy_courses
from storage.analysis.priors import LearnedRate, Measured, learned
from storage.inventory.device_tree import disk_below, is_part_of
from storage.inventory.facts import HostFacts
from storage.metrics.counters import LATENCY_BOUNDS_NS
from storage.metrics.rates import CachedBy
from storage.metrics.samples.aggregate import aggregate
from storage.metrics.samples.chunk_store import VOLUMES
from storage.metrics.waiting import FAST_MS
from storage.models import Host, MeasuredRate, Placement, RateKind
from storage.models.measured_rate import HARDWARE_CHARACTERS
from storage.row_security import beyond
from storage.stored_inventory import inventory_of

RATES_BACK: Final = timedelta(days=28)
BUSY_BACK: Final = timedelta(days=7)
HOUR: Final = 3600
PUBLISHED: Final[Mapping[str, float]] = {
    RateKind.PROMOTION_SHARE: 1.0,
    RateKind.HDD_IOPS: 335.0,
    RateKind.SSD_READ_MS: FAST_MS,
}
"""HDD: of the published runs (tests/data), what two HDDs in RAID1 served of slow reads. That every
miss is promoted is on the cautious side: it costs the HDD most."""
ENOUGH: Final[Mapping[str, float]] = {
    RateKind.PROMOTION_SHARE: 10_000,
    RateKind.HDD_IOPS: 10_000,
    RateKind.SSD_READ_MS: 10_000,
}
"""Misses, busy seconds and reads."""
LIMITS: Final[Mapping[str, tuple[float, float]]] = {
    RateKind.PROMOTION_SHARE: (0.0, 1.0),
    RateKind.HDD_IOPS: (PUBLISHED[RateKind.HDD_IOPS] / 10, 1e6),
    RateKind.SSD_READ_MS: (0.0, SLOW_MS),
}
FIGURES: Final = VOLUMES.only(
    "dt_ms",
    "latency_counts",
    "fast_reads",
    "fast_read_ms",
    "promotions",
    "read_misses",
    "write_misses",
)


@dataclass(frozen=True, slots=True)
class MeasuredHost:
    """What is known of a volume group of a host: which part of the misses (0 to 1) its lvmcaches
    take in, its disks, and which part of the time its HDDs are busy now (0 to 1)."""

    promotion_share: LearnedRate
    hdd_iops: LearnedRate
    ssd_read_ms: LearnedRate
    hdd_utilisation: float

    @property
    def rates(self) -> HostRates:
        return HostRates(
            ssd_read_ms=self.ssd_read_ms.rate,
            hdd_iops=self.hdd_iops.rate,
            hdd_utilisation=self.hdd_utilisation,
        )


@beyond()
def host_figures(host: Host, facts: HostFacts, vg_uuid: str, now: datetime) -> MeasuredHost:
    """Of one volume group: what was measured there, on hosts with the same disks, or published.
    The volumes of all customers on the host count, and no figure of a single one is shown."""
    stored = {
        row.kind: Measured(row.amount, row.weight)
        for row in MeasuredRate.objects.filter(host=host, vg_uuid=vg_uuid)
    }
    own = stored or measured_rates(host, facts, vg_uuid, now)
    others = _others(host, facts, vg_uuid)
    rates = {
        kind: learned(own.get(kind), others[kind], PUBLISHED[kind], ENOUGH[kind])
        for kind in PUBLISHED
    }
    end = _whole_hour(now)
    busy = _busy_seconds(host, facts, vg_uuid, end - BUSY_BACK, end)
    return MeasuredHost(
        promotion_share=rates[RateKind.PROMOTION_SHARE],
        hdd_iops=rates[RateKind.HDD_IOPS],
        ssd_read_ms=rates[RateKind.SSD_READ_MS],
        hdd_utilisation=busy[0] / busy[1] if busy[1] else 0.0,
    )


def measured_rates(
    host: Host, facts: HostFacts, vg_uuid: str, now: datetime
) -> dict[str, Measured]:
    """The rates of a volume group over the last weeks, by kind; what never happened is missing."""
    end = _whole_hour(now)
    begin = end - RATES_BACK
    placed = Placement.objects.filter(host=host, vg_uuid=vg_uuid, until=None)
    volume_ids = list(placed.values_list("volume_id", flat=True))
    step = RATES_BACK // timedelta(seconds=1)
    slow_ios = fast_reads = fast_ms = promotions = misses = 0.0
    for each in aggregate(volume_ids, begin, end, kind=FIGURES, step=step, apart=True):
        counts = each.counts
        slow_ios += slow_of(each.histograms["latency_counts"])
        fast_reads += counts.get("fast_reads") or 0
        fast_ms += counts.get("fast_read_ms") or 0
        if each.last["technology"] == CachedBy.DM_CACHE:
            promotions += counts.get("promotions") or 0
            misses += (counts.get("read_misses") or 0) + (counts.get("write_misses") or 0)
    busy_seconds, _ = _busy_seconds(host, facts, vg_uuid, begin, end)
    sums = {
        RateKind.PROMOTION_SHARE: (promotions, misses),
        RateKind.HDD_IOPS: (slow_ios, busy_seconds if slow_ios else 0.0),
        RateKind.SSD_READ_MS: (fast_ms, fast_reads),
    }
    return {
        kind.value: Measured(_within(kind, amount / weight), weight)
        for kind, (amount, weight) in sums.items()
        if weight
    }


def measure_hosts(now: datetime) -> None:
    """Store the rates of all volume groups of active hosts."""
    for host in Host.objects.active():
        facts = inventory_of(host)
        if facts is None:
            continue
        placed = Placement.objects.filter(host=host, until=None)
        for vg_uuid in placed.values_list("vg_uuid", flat=True).distinct().order_by():
            for kind, each in measured_rates(host, facts, vg_uuid, now).items():
                MeasuredRate.objects.update_or_create(
                    host=host,
                    vg_uuid=vg_uuid,
                    kind=kind,
                    defaults={
                        "hardware": hardware(facts, vg_uuid, kind),
                        "amount": each.rate,
                        "weight": each.weight,
                        "measured_at": now,
                    },
                )
    MeasuredRate.objects.filter(measured_at__lt=now - RATES_BACK).delete()


def hardware(facts: HostFacts, vg_uuid: str, kind: str) -> str:
    """How many disks of which models a rate depends on: the HDDs of a volume group, or its SSDs;
    "" where a host does not say."""
    tier = "slow" if kind == RateKind.HDD_IOPS else "fast"
    below = {disk_below(facts, pv.name) for pv in facts.pvs_of(vg_uuid, tier)}
    members = array_members(facts, below)
    names = set(chain(below - members.keys(), *members.values()))
    disks = [disk for disk in facts.disks if any(is_part_of(name, disk.name) for name in names)]
    models = Counter(disk.model for disk in disks)
    if not models or "" in models:
        return ""
    text = ", ".join(f"{number} x {model}" for model, number in sorted(models.items()))
    return text[:HARDWARE_CHARACTERS]


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


def _others(host: Host, facts: HostFacts, vg_uuid: str) -> Mapping[str, list[Measured]]:
    """What hosts with the same disks measured, by kind: one figure of each."""
    rates = defaultdict[str, list[Measured]](list)
    for kind in PUBLISHED:
        same = hardware(facts, vg_uuid, kind)
        if not same:
            continue
        rows = MeasuredRate.objects.filter(kind=kind, hardware=same).exclude(host=host)
        of_hosts = {row.host_id: row for row in rows.order_by("weight")}
        rates[kind] = [Measured(row.amount, row.weight) for row in of_hosts.values()]
    return rates


def _busy_seconds(
    host: Host, facts: HostFacts, vg_uuid: str, begin: datetime, end: datetime
) -> tuple[float, float]:
    """How long the busiest HDD or array of a volume group was busy, of how many seconds known."""
    names = {disk_below(facts, pv.name) for pv in facts.pvs_of(vg_uuid, "slow")}
    courses = busy_courses(host, facts, begin, end, HOUR)
    known = [
        (HOUR * float(np.nansum(course)), HOUR * float(np.count_nonzero(~np.isnan(course))))
        for name, course in courses.items()
        if name in names
    ]
    return max(known, default=(0.0, 0.0))


def _whole_hour(now: datetime) -> datetime:
    """Up to then buckets of an hour are read, not the intervals of weeks one by one."""
    return now.replace(minute=0, second=0, microsecond=0)


def _within(kind: str, rate: float) -> float:
    low, high = LIMITS[kind]
    return min(high, max(low, rate))
