"""What the plans earn, and how long the SSD space lasts. Amounts are minor units, each currency
apart: none is converted into another."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import F, Sum
from django.db.models.functions import TruncMonth

from jobs.models import Job, Kind, State
from panel.models import LineKind, Order, OrderState, UsageLine
from panel.orders.pricing import prices
from panel.orders.pricing.prices import Agreed
from panel.orders.pricing.quote import period
from storage.access import Person
from storage.byte_sizes import GIB
from storage.models import Host, Placement, Volume
from storage.models.outline import HostOutline

MONTHS: Final = 12
PACE: Final = timedelta(days=90)
LEAST: Final = timedelta(days=7)
YEARS: Final = 10
FULL_SHARE: Final = 0.01
"""With a smaller share free, a host is full."""
LATELY: Final = timedelta(days=30)
SIZED: Final = (
    Kind.ADD_CACHE,
    Kind.REPLACE_CACHE,
    Kind.REMOVE_CACHE,
    Kind.DROP_CACHE,
    Kind.CREATE_VOLUME,
    Kind.EXTEND_VOLUME,
    Kind.MOVE_VOLUME,
    Kind.DESTROY_VOLUME,
)
"""What jobs do with the space on SSDs."""


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


@dataclass(frozen=True, slots=True)
class Growth:
    """How caches and volumes on SSD grew lately. `free_bytes` last until `full_at`, None where they
    do not get fewer, or not within ten years. `is_known`: for long enough to say so."""

    bytes_a_day: float
    days: int
    free_bytes: int
    full_at: datetime | None
    at: datetime
    is_known: bool = True

    @property
    def days_left(self) -> int:
        """Until it is full; 0 where it does not get full."""
        return max(0, (self.full_at - self.at).days) if self.full_at is not None else 0

    @property
    def month_bytes(self) -> float:
        """Of thirty days."""
        return self.bytes_a_day * 30


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
    begins = list(_months(at))
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


def _months(at: datetime) -> Iterator[datetime]:
    """The begins of this month and the eleven before it."""
    begins = [period(at)[0]]
    while len(begins) < MONTHS:
        begins.append(period(begins[-1] - timedelta(days=1))[0])
    return reversed(begins)


def gained(user: Person, at: datetime) -> list[Money]:
    """By how much the orders of the last 30 days changed what a month earns. Trials are not
    counted: they change it when they are kept."""
    done = Order.objects.visible_to(user).filter(
        state=OrderState.COMPLETED, ended_at__gte=at - LATELY
    )
    rows = (
        done.exclude(trial_until__isnull=False)
        .values("currency")
        .annotate(minor=Sum(F("price_minor") - F("from_price_minor")))
        .order_by("currency")
    )
    return [Money(row["minor"], row["currency"]) for row in rows if row["minor"]]


@dataclass(frozen=True, slots=True)
class HostSpace:
    """The SSD space of a host, as it last reported it."""

    host_id: int
    name: str
    key: str
    total_bytes: int
    free_bytes: int

    @property
    def is_full(self) -> bool:
        """Whether too little is left to sell."""
        return self.free_bytes < self.total_bytes * FULL_SHARE


def spaces(user: Person) -> list[HostSpace]:
    """Of every host with an SSD, the fullest first."""
    hosts = HostOutline.objects.filter(
        host__in=Host.objects.visible_to(user), fast_total_bytes__gt=0
    )
    rows = hosts.values_list(
        "host_id", "host__name", "host__key", "fast_total_bytes", "fast_free_bytes"
    )
    spaces = [HostSpace(*row) for row in rows]
    return sorted(spaces, key=lambda each: (each.free_bytes / each.total_bytes, each.name))


def space(of: Iterable[HostSpace]) -> dict[str, int]:
    """Together."""
    hosts = list(of)
    return {
        "total": sum(each.total_bytes for each in hosts),
        "free": sum(each.free_bytes for each in hosts),
    }


@dataclass(frozen=True, slots=True)
class FullForecast:
    """Until when the SSD space lasts: `full` are the hosts that are full by now, `first` is the
    next one to get full and `growth` its growth, None where none does; `all_hosts` is the growth
    of all together."""

    full: tuple[HostSpace, ...]
    first: HostSpace | None
    growth: Growth | None
    all_hosts: Growth


def full_forecast(user: Person, at: datetime, hosts: Iterable[HostSpace]) -> FullForecast:
    """The space of the fleet is no use to a volume whose host is full: hosts are named."""
    hosts = list(hosts)
    growths = growth(user, at, {each.host_id: each.free_bytes for each in hosts})
    dated = [
        (full_at, each)
        for each in hosts
        if not each.is_full and (full_at := growths[each.host_id].full_at) is not None
    ]
    first = min(dated, key=lambda pair: pair[0], default=(None, None))[1]
    return FullForecast(
        full=tuple(each for each in hosts if each.is_full),
        first=first,
        growth=growths[first.host_id] if first is not None else None,
        all_hosts=growths[None],
    )


def growth(user: Person, at: datetime, free_bytes: Mapping[int, int]) -> dict[int | None, Growth]:
    """Of each host (by primary key) and of all (None): how much of the SSDs jobs took and gave back
    in the last 90 days, or since the first one; nothing is known by less than a week of them."""
    rows = Job.objects.visible_to(user).filter(
        kind__in=SIZED, dry_run=False, state=State.SUCCEEDED, ended_at__gte=at - PACE
    )
    sums = Counter[int | None]()
    begin = at
    for host_id, kind, wish, before, ended_at in rows.values_list(
        "host_id", "kind", "wish", "fallback", "ended_at"
    ):
        change = _ssd_bytes(wish) - _ssd_bytes(before)
        if not before and kind != Kind.CREATE_VOLUME:
            # What the volume was before, no wish could say: it lay where it lies.
            change = _cache_bytes(wish)
        sums[host_id] += change
        sums[None] += change
        begin = min(begin, ended_at or at)
    # Where nothing was taken or given back in all of the time, that is known.
    window = at - begin if begin < at else PACE
    frees: dict[int | None, int] = dict(free_bytes.items())
    frees[None] = sum(free_bytes.values())
    return {host_id: _growth(sums[host_id], window, free, at) for host_id, free in frees.items()}


def _growth(change: int, window: timedelta, free: int, at: datetime) -> Growth:
    if window < LEAST:
        return Growth(0.0, window.days, free, None, at, is_known=False)
    pace = change / window.total_seconds()
    full_at = None
    if pace > 0 and free / pace < timedelta(days=365 * YEARS).total_seconds():
        full_at = at + timedelta(seconds=free / pace)
    return Growth(pace * timedelta(days=1).total_seconds(), window.days, free, full_at, at)


def _ssd_bytes(wish: dict[str, Any] | None) -> int:
    """The volume itself where it lies on SSD, and its cache; nothing once it is destroyed."""
    if not wish or wish.get("life") == "gone":
        return 0
    own = int(wish.get("size_bytes") or 0) if wish.get("tier") == "ssd" else 0
    return own + _cache_bytes(wish)


def _cache_bytes(wish: dict[str, Any] | None) -> int:
    cache = (wish or {}).get("cache") or {}
    return int(cache.get("size_bytes") or 0)
