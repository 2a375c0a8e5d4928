"""A past for both customers of the demo: a week of invented samples, an order in it, and its proof,
reckoned from those samples as any other.

The volumes it belongs to are on no host, and each one's label ends with `SEEDED`, so that every
page, chart, list and answer of the API that shows a figure of them says so. Nothing invented is
ever mixed with what the demo's host measures: it is no host's load and no volume's latest figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal

from django.db import transaction

from jobs.models import Job, Kind, Origin, State
from panel.models.order import Intent, Order, OrderState
from panel.models.proof import ProofState
from panel.orders.pricing.quote import quote
from panel.proofs.measure import advance, begin_proof
from storage.byte_sizes import GIB
from storage.models import CachePlan, Customer, Member, Volume
from storage.naming import new_key
from storage.planner.wish import Wish
from tests.demo.settings import SEEDED
from tests.fleet import load
from tests.fleet.machine import Invented

if TYPE_CHECKING:
    from storage.models import Host

WEEK, DAY = timedelta(days=7), timedelta(days=1)
WEEK_SECONDS, DAY_SECONDS = 600, 60
"""The last day has the samples of a chart of it, the week before it those of an average."""
ORDERED_AGO: Final = timedelta(hours=11)
TOOK: Final = timedelta(seconds=14)
COMPARED: Final = timedelta(hours=4)


@dataclass(frozen=True, slots=True)
class Past:
    """A volume that was slow until its customer bought `plan`. `working_set` is the share of it
    that is read again and again."""

    customer: str
    name: str
    plan: str
    layout: Literal["plain", "bcache"]
    iops: float
    working_set: float

    @property
    def label(self) -> str:
        return f"{self.name} {SEEDED}"


PASTS: Final = (
    Past("Northwind Web", "shop archive", "Boost S", "plain", 420.0, 0.12),
    Past("Bluewater Data", "reports", "Boost M", "bcache", 380.0, 0.9),
)
SIZE_BYTES: Final = 4 * GIB


@dataclass(frozen=True, slots=True)
class Kept:
    past: Past
    volume: Volume
    plan: CachePlan


@transaction.atomic
def volumes(now: datetime) -> list[Kept]:
    """The volumes of the past with their samples up to `now`; `orders` makes what was bought."""
    found = [_volume(past, now) for past in PASTS]
    attached = now - ORDERED_AGO + TOOK
    for start, end, seconds in (
        (now - DAY - WEEK, now - DAY, WEEK_SECONDS),
        (now - DAY, now, DAY_SECONDS),
    ):
        load.store_past([_source(kept, attached) for kept in found], start, end, seconds)
    return found


@transaction.atomic
def orders(found: list[Kept], host: Host, now: datetime) -> list[Order]:
    """What the customers bought then, with its report. Jobs need a host: it never did them, and
    has no step or audit line of them."""
    made = [_order(kept, host, now - ORDERED_AGO) for kept in found]
    for order in made:
        proof = begin_proof(order, window_seconds=int(COMPARED.total_seconds()))
        if proof is not None:
            # Longer than the demo's own orders are waited for, whose caches are warm in a minute.
            proof.warm_by = now - COMPARED - timedelta(minutes=5)
            proof.save(update_fields=["warm_by"])
            advance(proof, now)
        if proof is None or proof.state != ProofState.READY:
            raise RuntimeError(f"the invented samples of {order.volume} prove nothing")
    return made


def _volume(past: Past, now: datetime) -> Kept:
    plan = CachePlan.objects.get(name=past.plan)
    volume = Volume.objects.create(
        customer=Customer.objects.get(name=past.customer), label=past.label, layout=past.layout,
        size_bytes=SIZE_BYTES, managed=True, cache_plan=plan,
    )  # fmt: skip
    volume.created_at = now - DAY - WEEK
    volume.save(update_fields=["created_at"])
    return Kept(past, volume, plan)


def _source(kept: Kept, attached: datetime) -> load.Source:
    past, size = kept.past, kept.plan.size_bytes or 0
    invented = Invented(
        key=kept.volume.key, lv_uuid="", lv_name="", label=past.label, guest="",
        technology="lvmcache" if past.layout == "plain" else "bcache", layout=past.layout,
        size_bytes=SIZE_BYTES, cache_bytes=size, mode=kept.plan.mode, is_managed=True,
        is_retired=False, iops=past.iops, phase=0.3, working_set=past.working_set,
    )  # fmt: skip
    return load.Source(kept.volume.pk, 0, invented, cached_at=attached)


def _order(kept: Kept, host: Host, at: datetime) -> Order:
    volume, plan = kept.volume, kept.plan
    member = Member.objects.select_related("user", "customer").get(customer=volume.customer)
    job = Job.objects.create(
        kind=Kind.ADD_CACHE, host=host, volume=volume, wish=Wish(SIZE_BYTES).to_json(),
        state=State.SUCCEEDED, actor=member.user, origin=Origin.PORTAL, cache_plan=plan,
        price_minor=plan.price_minor, currency=plan.currency, created_at=at, started_at=at,
        ended_at=at + TOOK, explanation="Invented: seeded for the demo.",
    )  # fmt: skip
    money = quote(at, 0, plan.price_minor, plan.currency)
    return Order.objects.create(
        customer=member.customer, volume=volume, job=job, intent=Intent.UPGRADE,
        state=OrderState.COMPLETED, actor=member.user, to_plan=plan, currency=money.currency,
        price_minor=money.price_minor, charge_minor=money.charge_minor,
        next_invoice_minor=money.next_invoice_minor, next_invoice_at=money.next_invoice_at,
        idempotency_key=f"seeded-{new_key()}", created_at=at, ended_at=at + TOOK,
    )  # fmt: skip
