"""The heat of a volume that a benchmark replays."""

from __future__ import annotations

from storage.access import Person
from storage.analysis.heat_forecast import missing_heat
from storage.analysis.heat_replay import heat_replay
from storage.benchmarks.heat_profile import HeatFigures
from storage.database_clock import database_now
from storage.models import Volume
from storage.planner import Refused
from storage.volumes.snapshot import snapshots_of


def replayed_heat(user: Person, key: str) -> HeatFigures:
    """What was counted of the volume until now; raises `Refused` where the person sees no volume of
    this key, or too little was counted."""
    rows = snapshots_of(Volume.objects.visible_to(user).filter(key=key))
    if not rows:
        raise Refused(
            "not_found",
            "No volume that you may see has this key.",
            "Open the volume: the last part of its address is the key.",
        )
    now = database_now()
    figures = heat_replay(rows[0], now)
    if figures is None:
        raise Refused("not_read", missing_heat(rows[0], now), "Choose another volume or load.")
    return figures


def replay_limit(figures: HeatFigures) -> str:
    """What a replay does not show, in sentences for people."""
    points = f"{100 * figures.most_off:.0f}" if figures.most_off >= 0.005 else "less than 1"
    return (
        "A cache of any size that keeps the most recently used data has a hit rate within "
        f"{points} percentage points of the one with the volume's own I/O."
    )
