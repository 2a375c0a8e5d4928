"""How much SSD the volumes of many hosts want: what advice would name, without inventories."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from storage.analysis.advice.past_loads import COLUMNS, DAY, LOOK_BACK, MOST_AT_ONCE, was_uncached
from storage.analysis.advice.suggestion import within
from storage.analysis.advice.usual_wait import ENOUGH_DAYS, LEAST_WAIT_SECONDS, usual_wait
from storage.analysis.size_choice import by_traffic
from storage.metrics.rates import Sums
from storage.metrics.samples.aggregate import aggregate
from storage.models import SizeForecast
from storage.models.key_sets import any_of
from storage.volumes.cache_sizes import SIZES_BYTES


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
    ids = [each.volume_id for each in of]
    known = SizeForecast.objects.filter(pk__in=any_of(ids), cache_bytes=0)
    days, sizes = _days(ids, now), dict(known.values_list("pk", "enough_bytes"))
    demand = defaultdict[int, SsdDemand](SsdDemand)
    for each in of:
        wait = usual_wait(days.get(each.volume_id, []))
        if wait.days >= ENOUGH_DAYS and wait.reads * DAY >= LEAST_WAIT_SECONDS:
            offered = within(SIZES_BYTES, each.size_bytes)
            wanted = sizes.get(each.volume_id)
            if wanted is None:
                wanted = by_traffic(offered, wait.bytes_per_day).size_bytes or 0
            helped = frozenset([each.volume_id]) if wanted else frozenset[int]()
            demand[each.host_id] += SsdDemand(1, wait.reads * DAY, wanted, helped)
    return dict(demand)


def _days(volume_ids: Sequence[int], now: datetime) -> Mapping[int, list[Sums]]:
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    days = defaultdict[int, list[Sums]](list)
    for first in range(0, len(volume_ids), MOST_AT_ONCE):
        some = volume_ids[first : first + MOST_AT_ONCE]
        for each in aggregate(
            some, midnight - LOOK_BACK, midnight, kind=COLUMNS, step=DAY, apart=True
        ):
            if was_uncached(each):
                days[each.subject_id].append(each.sums)
    return days
