"""What the plans earn. Amounts are minor units, each currency apart: none is converted into
another."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Sum
from django.db.models.functions import TruncMonth

from panel.models import LineKind, UsageLine
from panel.orders.pricing import prices
from panel.orders.pricing.prices import Agreed
from panel.orders.pricing.quote import period
from storage.access import Person
from storage.byte_sizes import GIB
from storage.models import Placement, Volume

MONTHS: Final = 12


@dataclass(frozen=True, slots=True)
class Money:
    """An amount of one currency."""

    minor: int
    currency: str


@dataclass(frozen=True, slots=True)
class SoldCache:
    """A volume with a plan: its price a month, and the SSD space that its cache takes now."""

    volume: Volume
    agreed: Agreed
    host_id: int | None
    cache_bytes: int

    @property
    def minor(self) -> int:
        """What a month of it earns; a trial earns nothing."""
        return 0 if self.agreed.is_trial else self.agreed.price.minor


@dataclass(slots=True)
class Takings:
    """What some volumes earn a month. `key` is that of the plan or the host that they share."""

    name: str
    key: str = ""
    paying: int = 0
    trials: int = 0
    free: int = 0
    sold_bytes: int = 0
    trial_bytes: int = 0
    minor: Counter[str] = field(default_factory=Counter)
    earning_bytes: Counter[str] = field(default_factory=Counter)

    def add(self, cache: SoldCache) -> None:
        """Count one more."""
        currency = cache.agreed.price.currency
        self.trials += cache.agreed.is_trial
        self.paying += cache.minor > 0
        self.free += not cache.minor and not cache.agreed.is_trial
        self.sold_bytes += cache.cache_bytes
        self.trial_bytes += cache.cache_bytes * cache.agreed.is_trial
        if cache.minor:
            self.minor[currency] += cache.minor
            self.earning_bytes[currency] += cache.cache_bytes

    @property
    def paid_bytes(self) -> int:
        """Of the volumes that earn something: what the money is divided by."""
        return self.earning_bytes.total()

    @property
    def free_bytes(self) -> int:
        """Given away, and not on trial."""
        return self.sold_bytes - self.paid_bytes - self.trial_bytes

    @property
    def money(self) -> list[Money]:
        """By currency; none where nothing is earned."""
        return [Money(minor, currency) for currency, minor in sorted(self.minor.items())]

    @property
    def per_gib(self) -> list[Money]:
        """What a GiB of SSD that is paid for earns a month."""
        return [
            Money(round(minor * GIB / self.earning_bytes[currency]), currency)
            for currency, minor in sorted(self.minor.items())
            if self.earning_bytes[currency]
        ]


def sold_caches(user: Person) -> list[SoldCache]:
    """Every volume in service with a plan."""
    volumes = Volume.objects.visible_to(user).in_service().filter(cache_plan__isnull=False)
    known = prices.agreed(volumes)
    places = Placement.objects.filter(volume__in=volumes, until=None)
    lies = {
        volume_id: (host_id, cache_bytes or 0)
        for volume_id, host_id, cache_bytes in places.values_list(
            "volume_id", "host_id", "cache_bytes"
        )
    }
    return [
        SoldCache(volume, known[volume.pk], *lies.get(volume.pk, (None, 0)))
        for volume in volumes.select_related("cache_plan", "customer")
    ]


def in_all(caches: Iterable[SoldCache]) -> Takings:
    total = Takings("All plans")
    for cache in caches:
        total.add(cache)
    return total


def by_plan(caches: Iterable[SoldCache]) -> list[Takings]:
    """The plans that are sold, those that earn most first."""
    rows: dict[int, Takings] = {}
    for cache in caches:
        plan = cache.volume.cache_plan
        if plan is not None:
            rows.setdefault(plan.pk, Takings(plan.name, plan.key)).add(cache)
    return sorted(rows.values(), key=_first)


def by_host(caches: Iterable[SoldCache], names: dict[int, tuple[str, str]]) -> list[Takings]:
    """The hosts that something is sold on, those that earn most first; `names` has name and key."""
    rows: dict[int, Takings] = {}
    for cache in caches:
        if cache.host_id in names:
            rows.setdefault(cache.host_id, Takings(*names[cache.host_id])).add(cache)
    return sorted(rows.values(), key=_first)


def _first(row: Takings) -> tuple[int, int, str]:
    return (-max(row.minor.values(), default=0), -row.sold_bytes, row.name)


@dataclass(frozen=True, slots=True)
class InvoicedMonth:
    """`minor` is what the lines of the month come to: months and charges less credits."""

    begin: datetime
    minor: int
    charged: int
    credited: int


def invoiced(user: Person, at: datetime) -> dict[str, list[InvoicedMonth]]:
    """By currency, the last twelve months, oldest first; without those before the first line."""
    sums: defaultdict[str, dict[tuple[datetime, str], int]] = defaultdict(dict)
    begins = months(at)
    rows = UsageLine.objects.visible_to(user).filter(period_start__gte=begins[0])
    for row in (
        rows.annotate(month=TruncMonth("period_start"))
        .values("month", "currency", "kind")
        .annotate(minor=Sum("amount_minor"))
        .order_by()
    ):
        sums[row["currency"]][row["month"], row["kind"]] = row["minor"]
    return {currency: list(_filled(begins, sums[currency])) for currency in sorted(sums)}


def _filled(
    begins: Iterable[datetime], sums: dict[tuple[datetime, str], int]
) -> Iterator[InvoicedMonth]:
    first = min(month for month, _ in sums)
    for begin in begins:
        charged = sums.get((begin, LineKind.CHARGE), 0) + sums.get((begin, LineKind.RECURRING), 0)
        credited = sums.get((begin, LineKind.CREDIT), 0)
        if begin >= first:
            yield InvoicedMonth(begin, charged - credited, charged, credited)


def months(at: datetime) -> list[datetime]:
    """The begins of this month and the eleven before it, the oldest first."""
    begins = [period(at)[0]]
    while len(begins) < MONTHS:
        begins.append(period(begins[-1] - timedelta(days=1))[0])
    return begins[::-1]
