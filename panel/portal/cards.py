"""A volume as its customer meets it: the answer, the last hour as a line, what is changing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from jobs.models import Job
from panel.portal.glance import Glance, glance
from panel.portal.hour import Hour, hours_of
from storage.models import Volume
from storage.rows import VolumeRow, rows_of
from storage.spark import Spark, spark
from storage.templatetags.units import ms, percent

WIDTH, HEIGHT = 240, 40


@dataclass(frozen=True, slots=True)
class Card:
    """`line` draws the last hour and `line_says` names what it draws; `hour` is None where that
    had no sample, `running` where no change of plan runs."""

    row: VolumeRow
    glance: Glance
    hour: Hour | None
    line: Spark
    line_says: str
    running: Job | None

    @property
    def volume(self) -> Volume:
        return self.row.volume


def cards_of(volumes: Iterable[Volume], running: Mapping[int, Job], now: datetime) -> list[Card]:
    """The cards in the order of `volumes`; `running` has the change of plan that runs, by primary
    key of the volume. The number of queries does not depend on that of volumes."""
    volumes = list(volumes)
    hours = hours_of(volumes, now)
    return [
        _card(row, hours.get(row.volume.pk), running.get(row.volume.pk), now)
        for row in rows_of(volumes)
    ]


def _card(row: VolumeRow, hour: Hour | None, running: Job | None, now: datetime) -> Card:
    wish = row.wish
    found = glance(
        row.latest,
        hour,
        row.cache,
        on_ssd=wish is not None and wish.tier == "ssd",
        is_stale=row.is_stale,
        age_seconds=(now - row.volume.created_at).total_seconds(),
        first_seconds=2 * settings.TIERCEL_SAMPLE_SECONDS,
    )
    if row.cache is not None:
        values = hour.hit_rates if hour is not None else []
        line, says = (
            spark(values, WIDTH, HEIGHT, 1, say=percent),
            "Reads from the fast cache, last hour",
        )
    else:
        values = hour.read_times if hour is not None else []
        line, says = spark(values, WIDTH, HEIGHT, say=ms), "Time a read takes, last hour"
    return Card(row, found, hour, line, says, running)
