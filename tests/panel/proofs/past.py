"""An order in the past of a volume whose samples say what it did."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from jobs.models import Origin
from panel.models import Intent, Order, OrderState
from storage.byte_sizes import GIB
from storage.metrics.rates import CachedBy
from storage.metrics.samples.sample_round import make_partition
from storage.models import CachePlan, Sample, Volume
from tests.panel.portal.shop import Shop, plan, shop
from tests.scene import end, job

NOON = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
STEP = 10
LATENCY = 14


@dataclass(frozen=True, slots=True)
class Past:
    shop: Shop
    order: Order

    @property
    def volume(self) -> Volume:
        return self.order.volume


def sampled(
    volume: Volume,
    start: float,
    end: float,
    *,
    hit_rate: float | None = None,
    read_ms: float = 8.0,
    reads: int = 2000,
    writes: int = 0,
    write_ms: float = 8.0,
    technology: CachedBy = CachedBy.DM_CACHE,
    step: int = STEP,
) -> None:
    """Samples every `step` seconds from `start` to `end` (seconds after `NOON`), `reads` and
    `writes` in each, which take `read_ms` and `write_ms`. `hit_rate` is None without a cache."""
    bucket = 3 if read_ms < 1 else 8
    rows = []
    for n, second in enumerate(range(round(start), round(end), step)):
        rate = min(1.0, max(0.0, (hit_rate or 0) + (0.004 if n % 2 else -0.004)))
        cached: dict[str, Any] = {"technology": CachedBy.NONE}
        counts: list[int] | None = [0] * LATENCY
        if counts is not None:
            counts[bucket] = reads
        if hit_rate is not None and technology == CachedBy.DM_CACHE:
            hits = round(reads * rate)
            cached = {"read_hits": hits, "read_misses": reads - hits}
        elif hit_rate is not None:
            cached, counts = {"slow_read_sectors": round(8 * reads * (1 - rate))}, None
        if hit_rate is not None:
            cached |= {"technology": technology, "cache_size_bytes": 2 * GIB}
        rows.append(
            Sample(
                volume=volume,
                ts=NOON + timedelta(seconds=second + step),
                dt_ms=step * 1000,
                reads=reads,
                writes=writes,
                read_sectors=8 * reads,
                write_sectors=8 * writes,
                read_ms=round(reads * read_ms),
                write_ms=round(writes * write_ms),
                busy_ms=0,
                weighted_ms=0,
                latency_counts=counts,
                **cached,
            )
        )
    # Today's is there from the start, but midnight may have passed since.
    for day in sorted({row.ts.date() for row in rows}):
        make_partition(day)
    Sample.objects.bulk_create(rows)


def ordered(
    at: float = 300, *, took: float = 10, to_plan: CachePlan | None = None, **fields: Any
) -> Past:
    """A completed order whose job began `at` seconds after `NOON`."""
    acme = fields.pop("shop", None) or shop()
    volume = acme.volume
    Volume.objects.filter(pk=volume.pk).update(created_at=NOON - timedelta(days=40))
    begun, done = NOON + timedelta(seconds=at), NOON + timedelta(seconds=at + took)
    bought = to_plan or fields.pop("bought", None) or plan(f"Fast {at}")
    work = job(acme.there, origin=Origin.PORTAL, cache_plan=bought)
    end(work, started_at=begun, ended_at=done)
    defaults: dict[str, Any] = {
        "customer": acme.customer,
        "volume": volume,
        "job": work,
        "intent": Intent.UPGRADE,
        "state": OrderState.COMPLETED,
        "to_plan": bought,
        "currency": "EUR",
        "price_minor": 490,
        "charge_minor": 120,
        "next_invoice_minor": 490,
        "next_invoice_at": done,
        "created_at": begun,
        "ended_at": done,
    }
    order = Order.objects.create(**{**defaults, **fields})
    return Past(acme, Order.objects.select_related("job", "volume", "to_plan").get(pk=order.pk))


def at(seconds: float) -> datetime:
    """That many seconds after `NOON`."""
    return NOON + timedelta(seconds=seconds)
