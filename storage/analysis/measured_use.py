"""A volume's recent use, read from its samples, for sentences and forecasts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from storage.analysis.forecast import Stretch, Use, use
from storage.metrics.rates import CachedBy
from storage.metrics.samples.aggregate import FIGURES, Aggregate, aggregate
from storage.volumes.ownership import owned_since
from storage.volumes.snapshot import VolumeSnapshot

LOOK_BACK: Final = timedelta(days=7)
HOUR: Final = 3600


def use_of(row: VolumeSnapshot, now: datetime) -> Use:
    """How the volume was used in the week up to `now`, since it got the cache that it has; what a
    former customer did is not in it. Two queries."""
    start, since = now - LOOK_BACK, owned_since(row.volume)
    begin = max(start, since) if since is not None else start
    # Waiting is computed hour by hour: no hour can lend its unused time to another.
    hours = begin.replace(minute=0, second=0, microsecond=0)
    stretches = [
        _stretch(each)
        for each in aggregate(
            [row.volume.pk],
            hours,
            now,
            kind=FIGURES,
            step=HOUR,
            since=begin,
            begun_since=begin,
            apart=True,
        )
    ]
    wish = row.wish
    on_ssd = wish is not None and wish.tier == "ssd"
    return use(row.volume.size_bytes, stretches, now, on_ssd=on_ssd)


def _stretch(each: Aggregate) -> Stretch:
    return Stretch(
        datetime.fromtimestamp(each.began, UTC),
        datetime.fromtimestamp(each.ended, UTC),
        CachedBy(each.last["technology"] or 0),
        each.last["cache_size_bytes"],
        each.last["used_bytes"],
        each.sums,
    )
