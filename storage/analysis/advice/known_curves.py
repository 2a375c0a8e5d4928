"""Curves of the volumes that wait on a host, worked out ahead by a worker: a curve takes a second
of computing, and advice ranks hundreds of volumes.

They lie in the cache, not in the database: what is lost there is worked out again.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec
from django.core.cache import cache

from storage.analysis.advice.past_loads import past_loads
from storage.analysis.advice.usage import uses
from storage.analysis.advice.usual_wait import LEAST_WAIT_SECONDS, UsualWait, usual_wait
from storage.analysis.forecast import OwnTraffic
from storage.analysis.heat_forecast import forecast_of_kinds
from storage.analysis.heat_store import curves_name, enough_name
from storage.analysis.host_rates import host_figures
from storage.analysis.measured_use import use_of
from storage.analysis.size_choice import enough_of
from storage.analysis.size_curve import curve_sizes
from storage.models import HeatDay, Host, Volume
from storage.planner.technologies.lookup import TECHNOLOGIES
from storage.planner.wish import TechnologyName
from storage.stored_inventory import inventory_of
from storage.volumes.snapshot import snapshots_of

KINDS: Final[tuple[tuple[TechnologyName, bool], ...]] = tuple(
    (each.name, writeback) for each in TECHNOLOGIES for writeback in (False, True)
)
"""Each technology in writethrough and in writeback."""
WORN: Final = timedelta(days=1)
"""A curve of two weeks says the same a day later."""
KEPT: Final = timedelta(days=3)
MOST: Final = 20
"""Of a host: those of its volumes that wait longest for each GiB of theirs."""


class KnownCurves(msgspec.Struct, frozen=True):
    """What the heat of a volume says of each of `KINDS`, in their order; None: nothing."""

    at: datetime
    forecasts: tuple[OwnTraffic | None, ...]

    def of(self, technology: TechnologyName, *, writeback: bool) -> OwnTraffic | None:
        """The forecast of that technology and mode."""
        return self.forecasts[KINDS.index((technology, writeback))]


def known_curves(keys: Collection[str]) -> dict[str, KnownCurves]:
    """Those that are known, by key of the volume. No query."""
    packed: Mapping[str, str] = cache.get_many([curves_name(each) for each in keys])
    return {name.rpartition(":")[2]: _unpacked(each) for name, each in packed.items()}


def known_sizes(keys: Collection[str]) -> dict[str, int]:
    """The size that is enough, 0 where none helps, by key of the volume; those without a curve are
    missing. No query."""
    sizes: Mapping[str, int] = cache.get_many([enough_name(each) for each in keys])
    return {name.rpartition(":")[2]: size_bytes for name, size_bytes in sizes.items()}


def work_out(host: Host, now: datetime) -> int:
    """Work out the curves of the host's waiting volumes that are not known, or worn; returns of
    how many."""
    facts = inventory_of(host)
    if facts is None:
        return 0
    rows = snapshots_of(Volume.objects.placed_on(host).in_service(), {host.pk: facts})
    counted = set(
        HeatDay.objects.filter(volume__in=[row.volume.pk for row in rows])
        .values_list("volume_id", flat=True)
        .distinct()
    )
    rows = [row for row in rows if row.cache is None and row.volume.pk in counted]
    past = past_loads([row.volume.pk for row in rows], now)
    waits = {pk: usual_wait([day.uncached for day in each.days]) for pk, each in past.items()}
    of_rows = uses(rows, {pk: each.whole for pk, each in past.items()})
    waiting = longest(
        {
            use.row.volume.pk: (waits[use.row.volume.pk], use.row.volume.size_bytes)
            for use in of_rows
        }
    )
    keys = {row.volume.pk: row.volume.key for row in rows}
    known = known_curves([keys[pk] for pk in waiting])
    due = {pk for pk in waiting if keys[pk] not in known or known[keys[pk]].at < now - WORN}
    of_groups = {}
    for row in rows:
        if row.volume.pk not in due or row.placement is None:
            continue
        vg_uuid = row.placement.vg_uuid
        if vg_uuid not in of_groups:
            of_groups[vg_uuid] = host_figures(host, facts, vg_uuid, now)
        sizes = curve_sizes(row.volume.size_bytes)
        forecasts = forecast_of_kinds(row, use_of(row, now), KINDS, sizes, of_groups[vg_uuid], now)
        curves = KnownCurves(now, tuple(forecasts))
        cache.set(curves_name(row.volume.key), _packed(curves), KEPT.total_seconds())
        if (own := curves.of(row.technology.name, writeback=False)) is not None:
            enough = enough_of(own.prospects)
            size_bytes = enough.size_bytes if enough is not None else 0
            cache.set(enough_name(row.volume.key), size_bytes, KEPT.total_seconds())
    return len(due)


def longest(waits: Mapping[int, tuple[UsualWait, int]]) -> list[int]:
    """The keys of the `MOST` that wait longest for each byte of theirs, reads and writes alike."""
    by_wait = {
        key: (wait.reads + wait.writes) / size_bytes
        for key, (wait, size_bytes) in waits.items()
        if wait.seconds_per_day >= LEAST_WAIT_SECONDS
    }
    return sorted(by_wait, key=lambda key: -by_wait[key])[:MOST]


def _packed(curves: KnownCurves) -> str:
    return b64encode(zlib.compress(msgspec.json.encode(curves))).decode()


def _unpacked(packed: str) -> KnownCurves:
    return msgspec.json.decode(zlib.decompress(b64decode(packed)), type=KnownCurves)
