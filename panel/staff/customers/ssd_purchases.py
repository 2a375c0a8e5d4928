"""Which SSDs to buy next: for the hosts where most is wanted that does not fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from jobs.queue.ssd_allocation import allocation_of
from panel.models import SsdPrice
from panel.staff.customers.ssd_space import HostSpace
from storage.access import Person
from storage.analysis.advice.demand import SsdDemand
from storage.analysis.advice.suggestion import hours_text
from storage.analysis.host_allocation import NEXT_SSDS
from storage.analysis.sales.ssd_purchase import (
    Purchase,
    SoldUnit,
    SsdCost,
    SsdSize,
    purchase,
)
from storage.analysis.ssd_shares import capacity_name
from storage.formatting import counted, size
from storage.models import Host
from storage.stored_inventory import inventory_of
from storage.templatetags.money import amount

MOST_HOSTS: Final = 3
"""Hosts for which something is proposed: the inventory of each is read, and its SSD divided."""
TIMES: Final = "\N{MULTIPLICATION SIGN}"


@dataclass(frozen=True, slots=True)
class HostDemand:
    """What is wanted on a host: by volumes that `waits` says wait for HDDs, and by those whose
    customers saw a plan sold out (`sold_out`, by primary key)."""

    waits: SsdDemand = field(default_factory=SsdDemand)
    sold_out: frozenset[int] = frozenset()

    @property
    def volumes(self) -> int:
        """Each counts as one unit."""
        return len(self.waits.helped | self.sold_out)

    def __add__(self, other: HostDemand) -> HostDemand:
        return HostDemand(self.waits + other.waits, self.sold_out | other.sold_out)

    @property
    def reasons(self) -> str:
        """As "9 volumes wait for HDDs, customers of 6 more saw a plan sold out"; "" for none."""
        helped, others = len(self.waits.helped), len(self.sold_out - self.waits.helped)
        parts = []
        if helped:
            parts.append(f"{counted(helped, 'volume')} wait{'s' if helped == 1 else ''} for HDDs")
        if others:
            of = f"{others:,} more" if helped else counted(others, "volume")
            parts.append(f"customers of {of} saw a plan sold out")
        text = ", ".join(parts)
        return f"{text[:1].upper()}{text[1:]}"


@dataclass(frozen=True, slots=True)
class HostPurchase:
    """What to buy for a host, and who wants it."""

    space: HostSpace
    wanted: HostDemand
    unit: SoldUnit
    of: Purchase

    @property
    def what(self) -> str:
        """How many SSDs of which capacity."""
        return f"{self.of.copies} {TIMES} {capacity_name(self.of.size.ssd_bytes)} SSD"

    @property
    def room(self) -> str:
        """How many more units fit, and how many of them are wanted, where not all are."""
        more = f"{self.of.more:,} {TIMES} {self.unit.name} more"
        return more if self.of.wanted == self.of.more else f"{more}, {self.of.wanted:,} wanted now"

    @property
    def money(self) -> str:
        """What it earns, and where its price is known when it is paid back."""
        earns = f"{amount(self.of.minor, self.of.currency)} a month"
        if self.of.payback_months is None or self.of.cost_minor is None:
            return earns
        cost = amount(self.of.cost_minor, self.of.currency)
        return f"{earns}; costs {cost}, paid back in {counted(self.of.payback_months, 'month')}"

    @property
    def why(self) -> str:
        """In a sentence."""
        saved = self.of.size.saved_seconds_per_day
        gain = f"; it would save {hours_text(saved)} of waiting a day" if saved is not None else ""
        room = self.space.room
        fits = f"{room:,} fit{'s' * (room == 1)}" if room else "none fits"
        return f"{self.wanted.reasons}, {fits}{gain}."


def wanted_words(wanted: HostDemand, lacking: int | None) -> str:
    """Who wants so much, what it takes, and how many do not fit (None: that is not known)."""
    if not wanted.volumes:
        return "No volume waits for its HDD, and no customer saw a plan sold out."
    takes = ""
    if wanted.waits.wanted_bytes:
        takes = f"; advised caches take {size(wanted.waits.wanted_bytes)}"
    fits = ""
    if lacking is not None:
        fits = f"; {lacking:,} do{'es' if lacking == 1 else ''} not fit" if lacking else "; all fit"
    return f"{wanted.reasons}{takes}{fits}."


def short_hosts(
    wanted: Iterable[tuple[HostSpace, HostDemand]],
) -> list[tuple[HostSpace, HostDemand]]:
    """Those where more is wanted than fits, where most is missing first."""
    short = [(space, wants) for space, wants in wanted if wants.volumes > space.room]
    return sorted(short, key=lambda each: (each[0].room - each[1].volumes, each[0].name))


def purchases(
    user: Person,
    unit: SoldUnit,
    short: Sequence[tuple[HostSpace, HostDemand]],
    rate: SsdCost | None,
    now: datetime,
) -> list[HostPurchase]:
    """For the first of `short`, what earns most first."""
    some = short[:MOST_HOSTS]
    hosts = Host.objects.visible_to(user).in_bulk([space.host_id for space, _ in some])
    purchases = [
        HostPurchase(space, wants, unit, of)
        for space, wants in some
        if space.host_id in hosts
        and (of := _purchase(hosts[space.host_id], unit, space, wants, rate, now))
    ]
    return sorted(purchases, key=lambda each: (-each.of.minor, each.space.name))


def _purchase(
    host: Host,
    unit: SoldUnit,
    space: HostSpace,
    wants: HostDemand,
    rate: SsdCost | None,
    now: datetime,
) -> Purchase | None:
    """By the group of the host that has most SSD. Where the allocator offers no size, as without
    forecasts of its volumes, any that is sold will do."""
    allocation = allocation_of(host, now, with_yields=False)
    groups = sorted(allocation.groups, key=lambda each: -each.total_bytes)
    offers = groups[0].next_ssds if groups else ()
    sizes = [SsdSize(each.ssd_bytes, each.saved_seconds_per_day) for each in offers]
    facts, copies = inventory_of(host), 1
    if facts is not None and groups:
        copies += any(pv.redundant for pv in facts.pvs_of(groups[0].vg.uuid, "fast"))
    return purchase(
        unit,
        free_bytes=space.free_bytes,
        wanted=wants.volumes,
        sizes=sizes or [SsdSize(each) for each in NEXT_SSDS],
        copies=copies,
        rate=rate,
    )


def ssd_rate() -> SsdCost | None:
    """What the owner entered; None without a price."""
    price = SsdPrice.objects.first()
    return SsdCost(price.minor_per_tb, price.currency) if price is not None else None
