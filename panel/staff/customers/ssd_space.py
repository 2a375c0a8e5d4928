"""How much SSD space hosts have, how long it lasts at the pace of lately, and what still fits.

A host is full once the plan that sells best no longer fits: what is left then earns nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any, Final

from jobs.models import Job, Kind, State
from panel.staff.customers.revenue import SoldCache
from storage.access import Person
from storage.analysis.sales.ssd_purchase import SoldUnit
from storage.models import CachePlan, Host
from storage.models.outline import HostOutline

PACE: Final = timedelta(days=90)
LEAST: Final = timedelta(days=7)
YEARS: Final = 10
FULL_SHARE: Final = 0.01
"""With a smaller share free a host is full, whatever sells."""
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


def best_seller(caches: Iterable[SoldCache]) -> SoldUnit | None:
    """The plan on sale that most volumes have, which space is counted in; None while nothing is
    sold. Of a plan by ratio the middle size counts."""
    sizes = defaultdict[CachePlan, list[int]](list)
    for cache in caches:
        plan = cache.volume.cache_plan
        if plan is not None and plan.on_offer and cache.cache_bytes:
            sizes[plan].append(cache.cache_bytes)
    if not sizes:
        return None
    plan = max(sizes, key=lambda each: (len(sizes[each]), -each.pk))
    cache_bytes = plan.size_bytes or round(median(sizes[plan]))
    return SoldUnit(plan.name, plan.key, cache_bytes, plan.price_minor, plan.currency)


@dataclass(frozen=True, slots=True)
class HostSpace:
    """The SSD space of a host, as it last reported it. With less than `needed_bytes` free nothing
    more is sold there; `unit_bytes` is the size of the best seller, 0 while nothing is sold."""

    host_id: int
    name: str
    key: str
    site: str
    total_bytes: int
    free_bytes: int
    unit_bytes: int = 0

    @property
    def needed_bytes(self) -> int:
        return max(self.unit_bytes, round(self.total_bytes * FULL_SHARE))

    @property
    def is_full(self) -> bool:
        """Whether too little is left to sell."""
        return self.free_bytes < self.needed_bytes

    @property
    def sellable_bytes(self) -> int:
        """What may still be taken before it is full."""
        return max(0, self.free_bytes - self.needed_bytes)

    @property
    def room(self) -> int:
        """How many more of the best seller fit."""
        return self.free_bytes // self.unit_bytes if self.unit_bytes else 0

    @property
    def used_bytes(self) -> int:
        return self.total_bytes - self.free_bytes


def spaces(user: Person, unit: SoldUnit | None = None) -> list[HostSpace]:
    """Of every host with an SSD, the fullest first."""
    hosts = HostOutline.objects.filter(
        host__in=Host.objects.visible_to(user), fast_total_bytes__gt=0
    )
    rows = hosts.values_list(
        "host_id", "host__name", "host__key", "host__site", "fast_total_bytes", "fast_free_bytes"
    )
    unit_bytes = unit.cache_bytes if unit is not None else 0
    every = [HostSpace(*row, unit_bytes) for row in rows]
    return sorted(every, key=lambda each: (each.free_bytes / each.total_bytes, each.name))


@dataclass(frozen=True, slots=True)
class SiteSpace:
    """The SSD space of all hosts of a site together; `room` is how many more of the best seller
    fit, each on one host."""

    site: str
    hosts: int
    full: int
    total_bytes: int
    free_bytes: int
    room: int

    @property
    def used_bytes(self) -> int:
        return self.total_bytes - self.free_bytes


def by_site(of: Iterable[HostSpace]) -> list[SiteSpace]:
    """The fullest site first; hosts without a site are one of their own, called ""."""
    hosts = defaultdict[str, list[HostSpace]](list)
    for each in of:
        hosts[each.site].append(each)
    sites = [together(name, each) for name, each in hosts.items()]
    return sorted(sites, key=lambda each: (each.free_bytes / each.total_bytes, each.site))


def together(site: str, hosts: Iterable[HostSpace]) -> SiteSpace:
    """These hosts as one."""
    every = list(hosts)
    return SiteSpace(
        site,
        len(every),
        sum(each.is_full for each in every),
        sum(each.total_bytes for each in every),
        sum(each.free_bytes for each in every),
        sum(each.room for each in every),
    )


@dataclass(frozen=True, slots=True)
class Growth:
    """How caches and volumes on SSD grew since `begin`. What is free lasts until `full_at`, None
    where it does not get less, or not within ten years. Nothing is known by less than a week."""

    bytes_a_day: float
    begin: datetime
    full_at: datetime | None
    at: datetime

    @property
    def is_known(self) -> bool:
        return self.at >= self.known_at

    @property
    def known_at(self) -> datetime:
        """From when on there is a forecast."""
        return self.begin + LEAST

    @property
    def days(self) -> int:
        """That were measured."""
        return (self.at - self.begin).days

    @property
    def days_left(self) -> int:
        """Until it is full; 0 where it does not get full."""
        return max(0, (self.full_at - self.at).days) if self.full_at is not None else 0

    @property
    def days_to_know(self) -> int:
        """Until there is a forecast, rounded up; 0 where there is one."""
        return max(0, -((self.at - self.known_at) // timedelta(days=1)))


@dataclass(frozen=True, slots=True)
class FullForecast:
    """Until when the SSD space lasts: `full` are the hosts that are full by now, `first` is the
    next one to get full and `growth` its growth, None where none does; `all_hosts` is the growth
    of all together and `growths` that of each, by primary key."""

    full: tuple[HostSpace, ...]
    first: HostSpace | None
    growth: Growth | None
    all_hosts: Growth
    growths: Mapping[int | None, Growth]


def full_forecast(user: Person, at: datetime, hosts: Iterable[HostSpace]) -> FullForecast:
    """The space of the fleet is no use to a volume whose host is full: hosts are named."""
    hosts = list(hosts)
    growths = growth(user, at, {each.host_id: each.sellable_bytes for each in hosts})
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
        growths=growths,
    )


def growth(user: Person, at: datetime, free_bytes: Mapping[int, int]) -> dict[int | None, Growth]:
    """Of each host (by primary key) and of all (None): how much SSD space jobs took and released in
    the last 90 days, or since the first such job, or since the host is here."""
    rows = Job.objects.visible_to(user).filter(
        kind__in=SIZED, dry_run=False, state=State.SUCCEEDED, ended_at__gte=at - PACE
    )
    sums = Counter[int | None]()
    ends = []
    for host_id, kind, wish, before, ended_at in rows.values_list(
        "host_id", "kind", "wish", "fallback", "ended_at"
    ):
        change = _ssd_bytes(wish) - _ssd_bytes(before)
        if not before and kind != Kind.CREATE_VOLUME:
            # No earlier wish says what the volume was: take it as unmoved.
            change = _cache_bytes(wish)
        sums[host_id] += change
        sums[None] += change
        ends.append(ended_at or at)
    hosts = Host.objects.visible_to(user).filter(pk__in=free_bytes)
    begins: dict[int | None, datetime] = dict(hosts.values_list("pk", "created_at"))
    begins[None] = min(begins.values(), default=at)
    # If no job took or released space in the whole period, the growth is known to be zero.
    first = max(at - PACE, min(ends, default=begins[None]))
    frees: dict[int | None, int] = dict(free_bytes.items())
    frees[None] = sum(free_bytes.values())
    return {
        host_id: _growth(sums[host_id], max(first, begins.get(host_id, at)), free, at)
        for host_id, free in frees.items()
    }


def _growth(change: int, begin: datetime, free: int, at: datetime) -> Growth:
    window = at - begin
    if window < LEAST:
        return Growth(0.0, begin, None, at)
    pace = change / window.total_seconds()
    full_at = None
    if pace > 0 and free / pace < timedelta(days=365 * YEARS).total_seconds():
        full_at = at + timedelta(seconds=free / pace)
    return Growth(pace * timedelta(days=1).total_seconds(), begin, full_at, at)


def _ssd_bytes(wish: dict[str, Any] | None) -> int:
    """The volume itself where it lies on SSD, and its cache; nothing once it is destroyed."""
    if not wish or wish.get("life") == "gone":
        return 0
    own = int(wish.get("size_bytes") or 0) if wish.get("tier") == "ssd" else 0
    return own + _cache_bytes(wish)


def _cache_bytes(wish: dict[str, Any] | None) -> int:
    cache = (wish or {}).get("cache") or {}
    return int(cache.get("size_bytes") or 0)
