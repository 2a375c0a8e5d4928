"""The figures that the demo reports: read from the samples, which come from kernel counters."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from storage.metrics.samples import FiguresWindow, window
from storage.models import Volume
from tests.demo.settings import SAMPLE_SECONDS

WINDOW = timedelta(seconds=12)
# The figures are those of the first whole interval that ends at least 60 s after the attach.
WARM_UP = timedelta(seconds=60 - SAMPLE_SECONDS)
PATIENCE_SECONDS = 120
POLL_SECONDS = 1.0


def covered(volume: Volume, start: datetime, span: timedelta = WINDOW) -> FiguresWindow:
    """The volume's figures from `start` on, once samples cover most of `span`."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        now = timezone.now()
        if now > start:
            found = window(volume, start, now)
            if found.seconds >= span.total_seconds() * 2 / 3:
                return found
        time.sleep(POLL_SECONDS)
    raise RuntimeError(
        f"no samples of {volume} since {start:%H:%M:%S}: see the collector's lines in the log"
    )


def summary(figures: FiguresWindow, layout: str) -> dict[str, Any]:
    """IOPS, latency and hit rate as READY prints them; None = unknown. bcache volumes have no
    percentiles, only the average."""
    latency = (
        {"read_ms_avg": _rounded(figures.read_ms, 2)}
        if layout == "bcache"
        else {"read_ms_p50": _rounded(figures.latency_p50_ms, 2)}
    )
    return {
        "iops": _rounded(figures.read_iops, 0),
        **latency,
        "hit_rate": _rounded(figures.hit_rate, 4),
    }


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
