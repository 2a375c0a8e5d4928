"""The figures of a volume's heat that a benchmark replays: copied once, when it is ordered."""

from __future__ import annotations

from datetime import datetime

from storage.analysis.curve.miss_ratio import miss_ratio_curve
from storage.analysis.curve.replay import heat_figures
from storage.analysis.heat_forecast import LEAST_SECONDS, hourly_heat
from storage.benchmarks.heat_profile import HeatFigures
from storage.volumes.snapshot import VolumeSnapshot


def heat_replay(row: VolumeSnapshot, now: datetime) -> HeatFigures | None:
    """None where too little of it was counted (`storage.analysis.heat_forecast.missing_heat` says
    why)."""
    records = hourly_heat(row, now)
    curve = miss_ratio_curve(records, row.volume.size_bytes)
    if curve is None or sum(record.seconds for record in records) < LEAST_SECONDS:
        return None
    return heat_figures(curve, records)
