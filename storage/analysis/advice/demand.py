"""How much SSD the volumes of many hosts want: what advice would name, without inventories."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from hashlib import blake2b

from django.core.cache import cache

from storage.analysis.advice.past_loads import COLUMNS, DAY, LOOK_BACK, MOST_AT_ONCE, was_uncached
from storage.analysis.advice.usual_wait import (
    ENOUGH_DAYS,
    LEAST_WAIT_SECONDS,
    UsualWait,
    usual_wait,
)
from storage.analysis.heat_forecast import CACHED_SECONDS
from storage.analysis.size_choice import by_traffic
from storage.metrics.rates import Sums
from storage.metrics.samples.aggregate import aggregate
from storage.models import SizeForecast
from storage.models.key_sets import any_of
from storage.volumes.cache_sizes import SIZES_BYTES, within


@dataclass(frozen=True, slots=True)
class UncachedVolume:
    """A volume without a cache, and the host that it lies on, by primary key."""

    volume_id: int
    host_id: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class SsdDemand:
    """How many `volumes` wait for slow disks, for `waited_seconds` together on a usual day; caches
    of the advised size for all of them take `wanted_bytes`. `helped` are those that a cache helps,
    by primary key."""

    volumes: int = 0
    waited_seconds: float = 0.0
    wanted_bytes: int = 0
    helped: frozenset[int] = frozenset()

    @property
    def waited_hours(self) -> float:
        return self.waited_seconds / 3600

    def __add__(self, other: SsdDemand) -> SsdDemand:
        return SsdDemand(
            self.volumes + other.volumes,
            self.waited_seconds + other.waited_seconds,
            self.wanted_bytes + other.wanted_bytes,
            self.helped | other.helped,
        )


def demand_by_host(of: Collection[UncachedVolume], now: datetime) -> dict[int, SsdDemand]:
    """By primary key of the host; hosts none of whose volumes wait are missing. Whole days (UTC) of
    the last two weeks count, of which the stored sums of a day are read. A volume that no cache
    helps waits and wants none."""
    ids = sorted(each.volume_id for each in of)
    known = SizeForecast.objects.filter(pk__in=any_of(ids), cache_bytes=0)
    waits, sizes = _waits(ids, now), dict(known.values_list("pk", "enough_bytes"))
    demand = defaultdict[int, SsdDemand](SsdDemand)
    for each in of:
        wait = waits[each.volume_id]
        if wait.days >= ENOUGH_DAYS and wait.reads * DAY >= LEAST_WAIT_SECONDS:
            offered = within(SIZES_BYTES, each.size_bytes)
            wanted = sizes.get(each.volume_id)
            if wanted is None:
                chosen = by_traffic(offered, wait.bytes_per_day, each.size_bytes)
                wanted = chosen.size_bytes or 0
            helped = frozenset([each.volume_id]) if wanted else frozenset[int]()
            demand[each.host_id] += SsdDemand(1, wait.reads * DAY, wanted, helped)
    return dict(demand)


def _waits(volume_ids: Sequence[int], now: datetime) -> Mapping[int, UsualWait]:
    """By primary key. Days that are over do not change, but for samples that come late: what was
    read of them in the last minutes is not read again."""
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    asked = blake2b(f"{midnight} {volume_ids}".encode(), digest_size=12).hexdigest()
    name = f"usual-waits:{asked}"
    waits: list[UsualWait]
    if (known := cache.get(name)) is not None:
        waits = [UsualWait(*each) for each in known]
    else:
        days = _days(volume_ids, midnight)
        waits = [usual_wait(days[each]) for each in volume_ids]
        cache.set(name, [astuple(each) for each in waits], CACHED_SECONDS)
    return dict(zip(volume_ids, waits, strict=True))


def _days(volume_ids: Sequence[int], midnight: datetime) -> defaultdict[int, list[Sums]]:
    days = defaultdict[int, list[Sums]](list)
    for first in range(0, len(volume_ids), MOST_AT_ONCE):
        some = volume_ids[first : first + MOST_AT_ONCE]
        for each in aggregate(
            some, midnight - LOOK_BACK, midnight, kind=COLUMNS, step=DAY, apart=True
        ):
            if was_uncached(each):
                days[each.subject_id].append(each.sums)
    return days
