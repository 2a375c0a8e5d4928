"""What was sold on a fleet: an order for each volume with a plan, its result, and the lines that
were written for invoices since."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from random import Random

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
from tests.panel.proofs.results import TOLD

MONTHS = 9
TRIALS = 7
"""One of so many orders is a trial."""
VERDICTS = ("gain", "gain", "gain", "gain", "none", "gain", "unclear", "gain", "loss")


def sell(volumes: Sequence[Volume], now: datetime, seed: int, *, tries: Customer) -> None:
    """What the customers may spend, and orders, reports and lines of the volumes that have a plan
    and a customer; the first of `tries` that no job changes is a trial that runs."""
    _authorise(now)
    random = Random(seed)
    sold = [volume for volume in volumes if volume.cache_plan and volume.customer]
    busy = set(Job.objects.unfinished().filter(dry_run=False).values_list("volume_id", flat=True))
    idle = (volume for volume in sold if volume.pk not in busy)
    tried = next((volume for volume in idle if volume.customer == tries), None)
    orders = Order.objects.bulk_create(
        _order(volume, now, random, is_trial=volume is tried or n % TRIALS == TRIALS - 1)
        for n, volume in enumerate(sold)
    )
    Proof.objects.bulk_create(_proof(order, n) for n, order in enumerate(orders) if n % 5)
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


def _order(volume: Volume, now: datetime, random: Random, *, is_trial: bool) -> Order:
    plan = volume.cache_plan
    assert plan is not None
    days = random.uniform(1, 6) if is_trial else random.uniform(9, 30 * MONTHS)
    ended_at = now - timedelta(days=days)
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
        expected={"kind": "similar", "hit_rate_low": 0.5, "hit_rate_high": 0.7},
        created_at=ended_at - timedelta(minutes=2),
        ended_at=ended_at,
    )


def _proof(order: Order, n: int) -> Proof:
    verdict, hour = VERDICTS[n % len(VERDICTS)], timedelta(hours=1)
    change = {"gain": 0.22, "none": 0.01, "loss": -0.08, "unclear": 0.04}[verdict]
    after = TOLD["hit_rate_before"] + change
    measured = TOLD | {"verdict": verdict, "hit_rate_change": change, "hit_rate_after": after}
    at = order.ended_at or order.created_at
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
        result=measured,
        verdict=verdict,
        ended_at=at + 3 * hour,
    )


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
