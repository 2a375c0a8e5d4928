"""How worn an SSD is, and when it is worn out. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from storage.formatting import counted, size
from storage.health.smart_reading import SmartAttribute, SmartHealth

TB: Final = 10**12
WORN_OUT: Final = 100
WINDOW: Final = timedelta(days=30)
LEAST_WINDOW: Final = timedelta(days=7)
LEAST_PERCENT: Final = 2
"""The percentage moves by whole points: one more may have been due anyway."""
LEAST_HOURS: Final = 30 * 24
FAR: Final = timedelta(days=20 * 365)


@dataclass(frozen=True, slots=True)
class Wear:
    """`percent` of the rated endurance is used; it may exceed 100."""

    percent: int
    source: str


@dataclass(frozen=True, slots=True)
class WearRow:
    """An attribute of some models that says what is left, in its normalised value or raw."""

    models: re.Pattern[str]
    attribute: tuple[int, str]
    raw: bool
    reason: str


WEAR: Final = (
    WearRow(
        re.compile(r"SAMSUNG MZ7|Samsung SSD 8[3-7]0", re.I),
        (177, "Wear_Leveling_Count"),
        False,
        "Of Samsung's, an 860 EVO has the standard's page beside it, with 100 minus this value.",
    ),
    WearRow(
        re.compile(r"INTEL SSDS|SSDSC", re.I),
        (233, "Media_Wearout_Indicator"),
        False,
        "Intel documents it as falling from 100 to 1 with the cells' rated cycles.",
    ),
    WearRow(
        re.compile(r"SSDSC\w+R", re.I),
        (245, "Percent_Life_Remaining"),
        False,
        "Dell's name for it; raw and value agree.",
    ),
    WearRow(
        re.compile(r"Micron_|MTFD|CT\d+\w+SSD", re.I),
        (202, "Percent_Lifetime_Remain"),
        False,
        "Micron's raw value counts what is used, and its value is 100 minus that.",
    ),
    WearRow(
        re.compile(r"KINGSTON", re.I),
        (231, "SSD_Life_Left"),
        True,
        "Kingston keeps the percentage in the raw value; not all of its models normalise it.",
    ),
    WearRow(
        re.compile(r"TS\d+\w+", re.I),
        (169, "Remaining_Lifetime_Perc"),
        True,
        "Transcend keeps the percentage in the raw value; the normalised one stays at 100.",
    ),
)

RATED: Final = (
    (re.compile(r"Samsung SSD 970 EVO Plus 250GB"), 150 * TB),
    (re.compile(r"Samsung SSD (970 EVO Plus|970 EVO|860 EVO) 500GB"), 300 * TB),
    (re.compile(r"Samsung SSD (970 EVO Plus|970 EVO|860 EVO) 1TB"), 600 * TB),
    (re.compile(r"SAMSUNG MZ7LH240H"), 341 * TB),
    (re.compile(r"SAMSUNG MZ7LH480H"), 683 * TB),
    (re.compile(r"SAMSUNG MZ7LH960H"), 1366 * TB),
    (re.compile(r"SAMSUNG MZ7LH1T9H"), 2733 * TB),
)
"""Rated endurance of the makers' data sheets (PM883: 1.3 drive writes a day for three years)."""


@dataclass(frozen=True, slots=True)
class WearPoint:
    """One reading in the past; either figure may be missing."""

    at: datetime
    written_bytes: int | None
    percent: int | None


@dataclass(frozen=True, slots=True)
class WearForecast:
    """When the disk is worn out; None where that is more than 20 years away. `assumption` is a
    sentence that says what must go on for that."""

    at: datetime | None
    assumption: str


def wear_of(health: SmartHealth) -> Wear | None:
    """None where the disk does not say, or nobody knows how to read what it says."""
    if health.nvme is not None and health.nvme.percentage_used is not None:
        return Wear(health.nvme.percentage_used, "NVMe")
    if health.scsi is not None and health.scsi.percentage_used is not None:
        return Wear(health.scsi.percentage_used, "SCSI")
    standard = health.statistic(7, 8)
    if standard is not None:
        return Wear(standard, "ATA device statistics")
    for row in WEAR:
        for attribute in health.attributes:
            named = (attribute.id, attribute.name) == row.attribute
            left = _left(attribute, row) if named and row.models.match(health.model) else None
            if left is not None:
                return Wear(WORN_OUT - left, f"attribute {attribute.id} {attribute.name}")
    return None


def _left(attribute: SmartAttribute, row: WearRow) -> int | None:
    left = attribute.raw if row.raw else attribute.value
    return left if left is not None and left <= WORN_OUT else None


def rated_bytes(model: str) -> int | None:
    """What the maker's data sheet promises can be written; None where it is not known here."""
    return next((total for pattern, total in RATED if pattern.match(model)), None)


def forecast(
    points: Sequence[WearPoint],
    now: datetime,
    endurance_bytes: int | None,
    power_on_hours: int | None,
) -> WearForecast | None:
    """`points` in order of time, the last one is now's. The earliest of: what is written against
    the rated endurance, and the disk's own percentage; None without either."""
    recent = [point for point in points if now - point.at <= WINDOW]
    candidates = [
        _by_bytes(recent, now, endurance_bytes),
        _by_percent(recent, now) or _by_life(points, now, power_on_hours),
    ]
    made = [each for each in candidates if each is not None]
    return min(made, key=lambda each: each.at or now + 2 * FAR, default=None)


def _by_bytes(
    points: Sequence[WearPoint], now: datetime, endurance_bytes: int | None
) -> WearForecast | None:
    series = [(point.at, point.written_bytes) for point in points]
    pace = _pace([(at, value) for at, value in series if value is not None])
    if endurance_bytes is None or pace is None:
        return None
    last, per_day, days = pace
    assumption = (
        f"If {size(per_day)} a day are written as in the last {counted(days, 'day')}, until the "
        f"rated {endurance_bytes / TB:.0f} TB."
    )
    return WearForecast(_date(now, endurance_bytes - last, per_day), assumption)


def _by_percent(points: Sequence[WearPoint], now: datetime) -> WearForecast | None:
    series = [(point.at, point.percent) for point in points]
    known = [(at, value) for at, value in series if value is not None]
    pace = _pace(known)
    if pace is None or known[-1][1] - known[0][1] < LEAST_PERCENT:
        return None
    last, per_day, days = pace
    assumption = f"If it wears as in the last {counted(days, 'day')}, by its own percentage."
    return WearForecast(_date(now, WORN_OUT - last, per_day), assumption)


def _by_life(
    points: Sequence[WearPoint], now: datetime, power_on_hours: int | None
) -> WearForecast | None:
    percent = points[-1].percent if points else None
    if not percent or power_on_hours is None or power_on_hours < LEAST_HOURS:
        return None
    per_day = percent / (power_on_hours / 24)
    assumption = f"If it wears as on average in its {power_on_hours // 24} days of running."
    return WearForecast(_date(now, WORN_OUT - percent, per_day), assumption)


def _pace(series: Sequence[tuple[datetime, int]]) -> tuple[int, float, int] | None:
    """The last value, its growth a day, and over how many days; None for too short a time."""
    if len(series) < 2 or series[-1][0] - series[0][0] < LEAST_WINDOW:
        return None
    days = (series[-1][0] - series[0][0]) / timedelta(days=1)
    return series[-1][1], max(0.0, (series[-1][1] - series[0][1]) / days), round(days)


def _date(now: datetime, left: float, per_day: float) -> datetime | None:
    if left <= 0:
        return now
    if per_day <= 0 or left / per_day > FAR / timedelta(days=1):
        return None
    return now + timedelta(days=left / per_day)
