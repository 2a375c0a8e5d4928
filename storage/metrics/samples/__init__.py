"""Samples of volumes: recorded from a host's counters, read as figures.

The tables are `storage.models.sample`, the arithmetic is `storage.metrics.rates`.
"""

from storage.metrics.samples.latest import Latest, latest, latest_of
from storage.metrics.samples.sample_round import Recorded, ensure_partitions, record
from storage.metrics.samples.window import FiguresWindow, window

__all__ = [
    "FiguresWindow",
    "Latest",
    "Recorded",
    "ensure_partitions",
    "latest",
    "latest_of",
    "record",
    "window",
]
