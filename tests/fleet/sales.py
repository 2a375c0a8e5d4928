"""What was sold on a fleet: an order for each volume with a plan, its result, and the lines that
were written for invoices since."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any

from jobs.models import Job
from panel.models import (
    Intent,
    LineKind,
    Mandate,
    Order,
    OrderState,
    Proof,
    ProofState,
    SoldOutView,
    SsdPrice,
    UsageLine,
)
from panel.orders.pricing.quote import period
from storage.models import CachePlan, Customer, Volume
from tests.fleet.load import FAST_MS, SLOW_MS
from tests.fleet.measured import measured
from tests.panel.proofs.results import RESULT

MONTHS = 9
DAY = 86_400
USUAL = 0.7
"""Of the reads of a volume whose cache has no samples."""
TRIALS = 7
"""One of so many orders is a trial."""
VERDICTS = ("gain", "gain", "gain", "gain", "none", "gain", "unclear", "gain", "loss")


def sell(volumes: Sequence[Volume], now: datetime, seed: int, *, tries: Customer) -> None:
    """What the customers may spend, and orders, reports and lines of the volumes that have a plan
    and a customer; the first of `tries` that no job changes is a trial that runs."""
    _authorise(now)
    random = Random(seed)
    sold = [volume for volume in volumes if volume.cache_plan and volume.customer]
    known = measured([volume.pk for volume in sold])
    rates = [(known[each.pk].hit_rate if each.pk in known else None) or USUAL for each in sold]
    busy = set(Job.objects.unfinished().filter(dry_run=False).values_list("volume_id", flat=True))
    idle = (volume for volume in sold if volume.pk not in busy)
    tried = next((volume for volume in idle if volume.customer == tries), None)
    orders = Order.objects.bulk_create(
        _order(volume, now, random, rate, is_trial=volume is tried or n % TRIALS == TRIALS - 1)
        for n, (volume, rate) in enumerate(zip(sold, rates, strict=True))
    )
    Proof.objects.bulk_create(
        _proof(order, VERDICTS[n % len(VERDICTS)], rates[n], random)
        for n, order in enumerate(orders)
        if n % 5
    )
    UsageLine.objects.bulk_create(line for order in orders for line in _lines(order, now))
    _left([volume for volume in volumes if not volume.cache_plan and volume.customer], now)
    SsdPrice.objects.create(minor_per_tb=180_00, currency="EUR")


def _left(volumes: Sequence[Volume], now: datetime) -> None:
    """Of these without a plan, one cancelled it, some let their trial run out, and the customers of
    others saw plans sold out."""
    plan = CachePlan.objects.order_by("pk").first()
    if plan is None:
        return
    for n, volume in enumerate(volumes[:6]):
        assert volume.customer is not None
        bought = Order(
            customer=volume.customer, volume=volume, state=OrderState.COMPLETED, to_plan=plan,
            intent=Intent.UPGRADE if n < 2 else Intent.TRIAL, currency=plan.currency,
            price_minor=plan.price_minor if n < 2 else 0, charge_minor=0, next_invoice_minor=0,
            next_invoice_at=now, trial_until=None if n < 2 else now - timedelta(days=20 + n),
            ended_at=now - timedelta(days=40 + n),
        )  # fmt: skip
        bought.save()
        Order.objects.create(
            customer=volume.customer, volume=volume, state=OrderState.COMPLETED, from_plan=plan,
            intent=Intent.DOWNGRADE if n < 2 else Intent.REVERT, currency=plan.currency,
            reverts=None if n < 2 else bought, price_minor=0, charge_minor=0,
            from_price_minor=bought.price_minor, next_invoice_minor=0, next_invoice_at=now,
            ended_at=now - timedelta(days=9 + n),
        )  # fmt: skip
    SoldOutView.objects.bulk_create(
        SoldOutView(volume=volume, plan=plan, seen_at=now - timedelta(days=3))
        for volume in volumes[::3]
    )


def _authorise(now: datetime) -> None:
    """Every customer gave a payment authorisation that covers some plans more."""
    Mandate.objects.bulk_create(
        Mandate(
            customer=customer, currency="EUR", cap_charge_minor=100_00, cap_period_minor=1_000_00,
            earliest_next_at=now - timedelta(days=1), changed_at=now,
        )
        for customer in Customer.objects.all()
    )  # fmt: skip


def _order(volume: Volume, now: datetime, random: Random, rate: float, *, is_trial: bool) -> Order:
    """It was forecast about the hit rate that came."""
    plan = volume.cache_plan
    assert plan is not None
    days = random.uniform(1, 6) if is_trial else random.uniform(9, 30 * MONTHS)
    ended_at = now - timedelta(days=days)
    likely = min(0.97, rate * random.uniform(0.93, 1.05))
    low, high = likely - random.uniform(0.04, 0.12), min(0.99, likely + random.uniform(0.02, 0.06))
    price = 0 if is_trial else plan.price_minor
    return Order(
        customer=volume.customer,
        volume=volume,
        intent=Intent.TRIAL if is_trial else Intent.UPGRADE,
        state=OrderState.COMPLETED,
        to_plan=plan,
        currency=plan.currency,
        price_minor=price,
        charge_minor=price // 2,
        next_invoice_minor=price,
        next_invoice_at=period(ended_at)[1],
        trial_until=now + timedelta(days=7 - days) if is_trial else None,
        expected={
            "kind": "own_traffic",
            "observed_seconds": 5 * DAY,
            "hit_rate": likely,
            "hit_rate_low": low,
            "hit_rate_high": high,
            "read_ms_low": read_ms(high),
            "read_ms_high": read_ms(low),
        },
        created_at=ended_at - timedelta(minutes=2),
        ended_at=ended_at,
    )


def _proof(order: Order, verdict: str, rate: float, random: Random) -> Proof:
    before, after = {
        "gain": (0.0, rate),
        "none": (0.0, 0.02),
        "loss": (rate, 0.85 * rate),
        "unclear": (0.0, 0.3 * rate),
    }[verdict]
    at, hour = order.ended_at or order.created_at, timedelta(hours=1)
    return Proof(
        order=order,
        state=ProofState.READY,
        before_start=at - 3 * hour,
        before_end=at - hour,
        block_seconds=300,
        warm_by=at + hour,
        was_warm=True,
        after_start=at + hour,
        after_end=at + 3 * hour,
        result=_result(verdict, before, after, random),
        verdict=verdict,
        ended_at=at + 3 * hour,
    )


def _result(verdict: str, before: float, after: float, random: Random) -> dict[str, Any]:
    """Of so large shares of the reads that came from SSD."""
    crowd, change, iops = random.uniform(0.7, 1.6), after - before, random.uniform(20, 400)
    least = 0.4 if verdict == "unclear" else 0.03
    taken = read_ms(after, crowd) / read_ms(before, crowd)
    return RESULT | {
        "verdict": verdict,
        "confidence": random.uniform(0.96, 0.999),
        "hit_rate_before": before,
        "hit_rate_after": after,
        "hit_rate_change": change,
        "hit_rate_change_low": change - least,
        "hit_rate_change_high": change + least,
        "read_ms_before": read_ms(before, crowd),
        "read_ms_after": read_ms(after, crowd),
        "read_times": taken,
        "read_times_low": taken * (1 - least),
        "read_times_high": taken * (1 + least),
        "read_ms_p50_before": FAST_MS if before > 0.5 else SLOW_MS * crowd,
        "read_ms_p50_after": FAST_MS if after > 0.5 else SLOW_MS * crowd,
        "read_ms_p95_before": 2.4 * SLOW_MS * crowd,
        "read_ms_p95_after": (1.6 if after < 0.95 else 0.03) * SLOW_MS * crowd,
        "read_iops_before": iops,
        "read_iops_after": iops * random.uniform(0.9, 1.3),
        "slow_reads_spared_per_second": iops * change,
    }


def read_ms(hit_rate: float, crowd: float = 1.0) -> float:
    """What a read takes on average, of which such a share comes from SSD."""
    return hit_rate * FAST_MS + (1 - hit_rate) * SLOW_MS * crowd


def _lines(order: Order, now: datetime) -> Iterator[UsageLine]:
    if not order.price_minor or order.ended_at is None:
        return
    begin, end = period(order.ended_at)
    yield _line(
        order, f"{order.key}-charge", LineKind.CHARGE, order.charge_minor, order.ended_at, end
    )
    while end <= now:
        begin, end = period(end)
        name = f"{order.volume.key}-{begin:%Y-%m}"
        yield _line(order, name, LineKind.RECURRING, order.price_minor, begin, end)


def _line(
    order: Order, name: str, kind: LineKind, minor: int, begin: datetime, end: datetime
) -> UsageLine:
    return UsageLine(
        name=name,
        kind=kind,
        customer=order.customer,
        volume=order.volume,
        order=order if kind == LineKind.CHARGE else None,
        description=f"{order.to_plan} for {order.volume.label}",
        currency=order.currency,
        amount_minor=minor,
        period_start=begin,
        period_end=end,
    )
