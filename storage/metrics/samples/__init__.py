"""Samples of volumes: recorded from a host's counters, read as figures.

The tables are `storage.models.sample`, the arithmetic is `storage.metrics.rates`.
"""

from storage.metrics.rates import FiguresWindow
from storage.metrics.samples.latest import Latest, latest, latest_of
from storage.metrics.samples.sample_round import (
    HostRound,
    Recorded,
    ensure_partitions,
    record_all,
    record_sample,
)
from storage.metrics.samples.window import window

__all__ = [
    "FiguresWindow",
    "HostRound",
    "Latest",
    "Recorded",
    "ensure_partitions",
    "latest",
    "latest_of",
    "record_all",
    "record_sample",
    "window",
]
