"""The volumes on a host as its page needs them: few columns of all of them, read in one query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, FloatField, Max, Q, Subquery, Sum
from django.db.models.functions import Cast, NullIf

from storage.attention import silent_seconds
from storage.caches import wish_now
from storage.facts import HostFacts
from storage.models import Host, LatestSample, Placement
from storage.rates import Sums, Technology, figures
from storage.wish import BadWish

COLUMNS = (
    *("volume_id", "lv_uuid", "volume__key", "volume__label", "volume__layout"),
    *("volume__managed", "volume__adopted_at", "volume__latest_sample__gap"),
    *("volume__latest_sample__dt_ms", "volume__latest_sample__read_ms"),
    "volume__latest_sample__write_ms",
)
WHOLE = Q(gap="", dt_ms__gt=0)
"""An interval that has figures: a gap has none."""
BCACHE = Q(technology=Technology.BCACHE, read_hits=None, slow_read_sectors__isnull=False)


@dataclass(frozen=True, slots=True)
class Resident:
    """One volume that lies on the host. `waits` is how many seconds its reads and writes waited in
    one second of its last interval, those at once counted each; None where that is unknown."""

    volume_id: int
    lv_uuid: str | None
    key: str
    label: str
    layout: str
    managed: bool
    is_adopted: bool
    waits: float | None


@dataclass(frozen=True, slots=True)
class HostFigures:
    """All volumes of a host together, over the last interval of each. None where unknown. The last
    round was taken `at`, and what is much older does not count: its volume is gone. `waits` as for
    one volume; `accesses` is the denominator of the hit rate."""

    at: datetime | None
    read_iops: float | None
    write_iops: float | None
    read_ms: float | None
    waits: float | None
    hit_rate: float | None
    accesses: int

    def is_stale(self, now: datetime) -> bool:
        """Whether the last round is too old to be what the host does now."""
        return self.at is not None and (now - self.at).total_seconds() > silent_seconds()


def residents_of(host: Host) -> tuple[Resident, ...]:
    """In no order. One query."""
    found = Placement.objects.filter(host=host, until=None).values_list(*COLUMNS)
    return tuple(
        Resident(
            volume_id,
            lv_uuid,
            key,
            label,
            layout,
            managed,
            adopted_at is not None,
            None if gap or not dt_ms else ((read_ms or 0) + (write_ms or 0)) / dt_ms,
        )
        for (
            volume_id, lv_uuid, key, label, layout,
            managed, adopted_at, gap, dt_ms, read_ms, write_ms,
        ) in found
    )  # fmt: skip


def untagged(facts: HostFacts, residents: Iterable[Resident]) -> int:
    """How many were adopted and could carry our tag by now, but do not: root allowed their group
    since."""
    waiting = [each for each in residents if each.is_adopted and not each.managed]
    return sum(_is_taggable(facts, each) for each in waiting)


def _is_taggable(facts: HostFacts, resident: Resident) -> bool:
    lv = facts.lv(resident.lv_uuid) if resident.lv_uuid is not None else None
    vg = facts.vg(lv.vg_uuid) if lv is not None else None
    if lv is None or vg is None or not vg.allowed:
        return False
    try:
        wish_now(facts, lv, "bcache" if resident.layout == "bcache" else "plain")
    except BadWish:
        return False
    return True


def figures_of(host: Host) -> HostFigures:
    """What the host's volumes did in their last interval, however old: who shows it tells its age.
    One query, whatever their number."""
    here = LatestSample.objects.filter(volume__placement__host=host, volume__placement__until=None)
    newest = Subquery(here.order_by("-at").values("at")[:1])
    since = newest - timedelta(seconds=silent_seconds())
    found = here.filter(at__gt=since).aggregate(
        at=Max("at"),
        read_rate=Sum(_each_second("reads"), filter=WHOLE),
        write_rate=Sum(_each_second("writes"), filter=WHOLE),
        waits=Sum(_each_second("read_ms") + _each_second("write_ms"), filter=WHOLE),
        sum_reads=Sum("reads", filter=WHOLE),
        sum_read_ms=Sum("read_ms", filter=WHOLE),
        sum_read_hits=Sum("read_hits", filter=WHOLE),
        sum_read_misses=Sum("read_misses", filter=WHOLE),
        sum_bcache_reads=Sum("reads", filter=WHOLE & BCACHE),
        sum_bcache_read_sectors=Sum("read_sectors", filter=WHOLE & BCACHE),
        sum_backing_read_sectors=Sum("slow_read_sectors", filter=WHOLE & BCACHE),
    )
    sums: dict[str, Any] = {
        name.removeprefix("sum_"): int(value or 0)
        for name, value in found.items()
        if name.startswith("sum_")
    }
    together = figures(Sums(**sums))
    return HostFigures(
        at=found["at"],
        read_iops=found["read_rate"],
        write_iops=found["write_rate"],
        read_ms=together.read_ms,
        waits=None if found["waits"] is None else found["waits"] / 1000,
        hit_rate=together.hit_rate,
        accesses=together.accesses,
    )


def _each_second(column: str) -> Any:
    """A count of the interval as a rate."""
    return Cast(F(column), FloatField()) * 1000.0 / NullIf(F("dt_ms"), 0)
