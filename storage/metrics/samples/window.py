"""A volume's figures over one time window."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timedelta

from django.conf import settings

from storage.metrics.rates import FiguresWindow, Sums, figures
from storage.metrics.samples.aggregate import FIGURES, aggregate
from storage.models import Volume


def kept() -> timedelta:
    """How long samples are kept as they were measured."""
    return timedelta(days=settings.TIERCEL_SAMPLES_KEPT_DAYS)


def window(volume: Volume, start: datetime, end: datetime) -> FiguresWindow:
    """The figures of a volume from `start` to `end`. Without samples every rate is None."""
    if end <= start:
        raise ValueError("a window ends after its start")
    whole = aggregate([volume.pk], start, end, kind=FIGURES, begun_since=start)
    sums = whole[0].sums if whole else Sums()
    last = whole[0].last if whole else {}
    return FiguresWindow(
        **asdict(figures(sums)),
        start=start,
        end=end,
        intervals=sums.intervals,
        cache_size_bytes=last.get("cache_size_bytes"),
        used_bytes=last.get("used_bytes"),
        dirty_bytes=last.get("dirty_bytes"),
    )
