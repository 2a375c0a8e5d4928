"""A volume in a customer's list: its answer, a sparkline of the last hour, the change in
progress."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType

from django.conf import settings
from django.utils.translation import gettext

from jobs.models import Job
from panel.charts.sparkline import Spark, spark
from panel.models import Order
from panel.portal.last_hour import Hour, hours_of
from panel.portal.plan_texts import trial_left
from panel.portal.speed_summary import SpeedSummary, summarise_speed
from storage.formatting import ms, percent
from storage.models import Volume
from storage.planner.technologies.technology import Cache
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of

SMALL = (340, 40)
LARGE = (480, 60)
"""Width and height of the line in pixels, before it is stretched to the width of its card: in a
list, and on a page of its own."""


@dataclass(frozen=True, slots=True)
class Card:
    """`cache` is the row's with as much in it as the last sample found. `line` draws the last hour
    and `line_says` names what it draws; `hour` is None where that had no sample, `running` where no
    change of plan runs. `may_buy`: a plan can be ordered for it, as far as a list looks.
    `trial_left` is what is left of its free trial, "" where it is on none."""

    row: VolumeSnapshot
    cache: Cache | None
    glance: SpeedSummary
    hour: Hour | None
    line: Spark
    line_says: str
    running: Job | None
    may_buy: bool = False
    trial_left: str = ""

    @property
    def volume(self) -> Volume:
        return self.row.volume


def cards_of(
    volumes: Iterable[Volume],
    running: Mapping[int, Job],
    now: datetime,
    size: tuple[int, int] = SMALL,
    *,
    orderable: Collection[int] = (),
    trials: Mapping[int, Order] = MappingProxyType({}),
) -> list[Card]:
    """The cards in the order of `volumes`; a list's have lines of read times, which compare:
    they have one axis.
    `running` has the change of plan that runs, by primary key of the volume, `trials` the free
    trial that it is on, and `orderable` the keys of those a plan can be ordered for.
    The number of queries does not depend on that of volumes."""
    volumes = list(volumes)
    hours = hours_of(volumes, now)
    known = [ms for hour in hours.values() for ms in hour.read_times if ms is not None]
    top_ms = max(known, default=None) if size == SMALL else None
    cards = [
        _card(row, hours.get(row.volume.pk), running.get(row.volume.pk), now, size, top_ms)
        for row in snapshots_of(volumes)
    ]
    return [
        replace(
            card,
            may_buy=card.volume.pk in orderable,
            trial_left=trial_left(trials[card.volume.pk], now) if card.volume.pk in trials else "",
        )
        for card in cards
    ]


def _card(
    row: VolumeSnapshot,
    hour: Hour | None,
    running: Job | None,
    now: datetime,
    size: tuple[int, int],
    top_ms: float | None,
) -> Card:
    wish, cache = row.wish, _cache_now(row)
    speed = summarise_speed(
        row.latest,
        hour,
        cache,
        on_ssd=wish is not None and wish.tier == "ssd",
        is_stale=row.is_stale,
        age_seconds=(now - row.volume.created_at).total_seconds(),
        first_seconds=2 * settings.TIERCEL_SAMPLE_SECONDS,
        slow=row.slow_time if row.is_slow else None,
    )
    mark = hour.changed_part if hour is not None else None
    if cache is not None and size == LARGE:
        values = hour.hit_rates if hour is not None else []
        line = spark(values, *size, 1, say=percent, mark=mark)
        says = gettext("reads from SSD, last hour")
    else:
        values = hour.read_times if hour is not None else []
        line = spark(values, *size, top_ms, say=ms, mark=mark)
        says = gettext("read time, last hour")
    return Card(row, cache, speed, hour, line, says, running)


def _cache_now(row: VolumeSnapshot) -> Cache | None:
    """The cache with as much in it as the last sample found: inventories are older."""
    used_bytes = row.latest.used_bytes if row.latest is not None else None
    if row.cache is None or used_bytes is None:
        return row.cache
    return replace(row.cache, used_bytes=used_bytes)
