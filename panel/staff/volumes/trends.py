"""The latest figures of a volume: whether it is fast now, and small arrows that hold them against
its last hour. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from panel.templatetags.chips import Chip
from storage.formatting import ms
from storage.metrics.rates import Figures
from storage.metrics.rates.figures import MIN_ACCESSES
from storage.metrics.samples import FiguresWindow, Latest
from storage.volumes.snapshot import VolumeSnapshot

LOOKED_AT: Final = timedelta(hours=1)
LEAST_SECONDS: Final = 600
"""An hour with less data says nothing of what is usual."""
LEAST_RATIO: Final = 0.1
LEAST_POINTS: Final = 0.02


@dataclass(frozen=True, slots=True)
class Trend:
    """`text` is how much; `is_worse` where the direction itself is bad."""

    text: str
    has_risen: bool
    is_worse: bool


def trends_of(latest: Latest | None, hour: FiguresWindow) -> Mapping[str, Trend | None]:
    """By the name of the figure; None where nothing is known, or it hardly changed."""
    if latest is None or hour.seconds < LEAST_SECONDS:
        return {}
    return {
        "iops": _ratio(_iops(latest), _iops(hour), is_load=True),
        "read_ms": _ratio(latest.read_ms, hour.read_ms, is_load=False),
        "hit_rate": _points(latest.hit_rate, hour.hit_rate),
    }


def _iops(figures: Figures) -> float | None:
    if figures.read_iops is None or figures.write_iops is None:
        return None
    return figures.read_iops + figures.write_iops


def _ratio(latest: float | None, usual: float | None, *, is_load: bool) -> Trend | None:
    if latest is None or not usual or abs(latest - usual) < LEAST_RATIO * usual:
        return None
    has_risen = latest > usual
    text = f"{abs(latest - usual) / usual:.0%}" if latest < 2 * usual else f"{latest / usual:.1f}x"
    return Trend(text.replace("%", " %"), has_risen, has_risen and not is_load)


def _points(latest: float | None, usual: float | None) -> Trend | None:
    if latest is None or usual is None or abs(latest - usual) < LEAST_POINTS:
        return None
    return Trend(f"{abs(latest - usual) * 100:.0f} points", latest > usual, latest < usual)


def speed_answer(row: VolumeSnapshot) -> Chip:
    """What is not known is neither fast nor slow."""
    latest = row.latest
    if latest is None or row.is_stale:
        return Chip("quiet", "wait", "not known: no new figures")
    reads = (latest.read_iops or 0) * latest.seconds
    if latest.read_ms is None or reads < MIN_ACCESSES:
        return Chip("quiet", "info", "too few reads to tell")
    took = f"a read takes {ms(latest.read_ms)}"
    if latest.read_ms >= row.slow_limit.ms:
        return Chip("warning", "warning", f"no, {took}")
    return Chip("ok", "ok", f"yes, {took}")
