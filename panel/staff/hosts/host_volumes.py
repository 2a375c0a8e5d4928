"""The volumes of a host for its page: a few columns of all volumes, read in one query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import connection

from storage.inventory.facts import HostFacts
from storage.metrics.rates import CachedBy, Sums, figures
from storage.models import Host, Placement
from storage.models.host import silent_seconds
from storage.planner.current_wish import wish_now
from storage.planner.technologies.lookup import layout_of
from storage.planner.wish import BadWish

COLUMNS = (
    "volume_id",
    "lv_uuid",
    "volume__key",
    "volume__label",
    "volume__layout",
    "volume__managed",
    "volume__adopted_at",
    "volume__latest_sample__gap",
    "volume__latest_sample__dt_ms",
    "volume__latest_sample__read_ms",
    "volume__latest_sample__write_ms",
)
# A gap has no figures.
WHOLE: Final = "gap = '' AND dt_ms > 0"
BCACHE: Final = (
    f"{WHOLE} AND technology = {CachedBy.BCACHE:d}"
    " AND read_hits IS NULL AND slow_read_sectors IS NOT NULL"
)
SUMS: Final = {
    "reads": ("reads", WHOLE),
    "read_ms": ("read_ms", WHOLE),
    "read_hits": ("read_hits", WHOLE),
    "read_misses": ("read_misses", WHOLE),
    "bcache_reads": ("reads", BCACHE),
    "bcache_read_sectors": ("read_sectors", BCACHE),
    "backing_read_sectors": ("slow_read_sectors", BCACHE),
}
"""Of `storage.metrics.rates.Sums`: what is added up, and of which intervals."""
TOGETHER: Final = (
    "WITH here AS (SELECT * FROM storage_latestsample WHERE volume_id IN"  # noqa: S608 (constants)
    " (SELECT volume_id FROM storage_placement WHERE host_id = %s AND until IS NULL))"
    " SELECT max(at),"
    f" sum(reads * 1000::float8 / dt_ms) FILTER (WHERE {WHOLE}),"
    f" sum(writes * 1000::float8 / dt_ms) FILTER (WHERE {WHOLE}),"
    f" sum((read_ms + write_ms)::float8 / dt_ms) FILTER (WHERE {WHOLE}), "
    + ", ".join(
        f"coalesce(sum({what}) FILTER (WHERE {which}), 0)::bigint" for what, which in SUMS.values()
    )
    + " FROM here WHERE at > (SELECT max(at) FROM here) - make_interval(secs => %s)"
)


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
    here = Placement.objects.filter(host=host, until=None, volume__previewed_at=None)
    rows = here.values_list(*COLUMNS)
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
        ) in rows
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
        wish_now(facts, lv, layout_of(resident.layout))
    except BadWish:
        return False
    return True


def figures_of(host: Host) -> HostFigures:
    """What the host's volumes did in their last interval, however old: callers show its age. One
    query, whatever their number."""
    with connection.cursor() as cursor:
        cursor.execute(TOGETHER, [host.pk, silent_seconds()])
        at, reads, writes, waits, *sums = cursor.fetchone()
    together = figures(Sums(**dict(zip(SUMS, sums, strict=True))))
    return HostFigures(
        at=at,
        read_iops=reads,
        write_iops=writes,
        read_ms=together.read_ms,
        waits=waits,
        hit_rate=together.hit_rate,
        accesses=together.accesses,
    )
