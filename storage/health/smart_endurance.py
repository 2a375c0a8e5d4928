"""How much was written to a disk in all its life (the counter, its unit, and the proof), how worn
an SSD is, and when it is worn out. Pure.

No attribute of ATA has a standard unit. A counter is taken, best first, from a standard (NVMe, ATA
device statistics, SCSI), from an attribute whose name says the unit, and from a table of models.
Then it is measured: while the kernel writes 64 GiB to the disk, the counter moves by so many units.
What is neither known nor measured is unknown; it is never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal

from storage.formatting import counted, size
from storage.health.smart_reading import SmartAttribute, SmartHealth
from storage.host_data import INT_LIMIT, Count

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SECTOR: Final = 512
NVME_UNIT: Final = 512_000
PROOF_BYTES: Final = 64 * GIB

Standing = Literal["standard", "name", "model", "operator", "measured", "unknown"]

UNIT_IN_NAME: Final = {
    "Host_Writes_32MiB": 32 * MIB,
    "Host_Writes_GiB": GIB,
    "Lifetime_Writes_GiB": GIB,
    "Total_Writes_GiB": GIB,
    "Host_Writes_MiB": MIB,
}
"""smartctl's names that say the unit, which only its database gives. Those in GB are not here:
makers say GB for both 10^9 bytes and GiB. Names with NAND or Flash count what the SSD writes to
its own cells, which is more."""

COUNTERS: Final = re.compile(
    r"Total_LBAs_Written|Total_Host_LBA_Written|Lifetime_Wts_Frm_Hst_GB"
    r"|(Total|Host|Lifetime)_Writes(_\w+)?"
)
"""Names that may count what the host wrote, whatever the unit: to be measured."""


@dataclass(frozen=True, slots=True)
class ModelRow:
    """The unit of one attribute of some models, where its name does not say it, and how that is
    known. None: it is known that the name misleads, and not what holds."""

    models: re.Pattern[str]
    attribute: tuple[int, str]
    unit_bytes: int | None
    reason: str


MODELS: Final = (
    ModelRow(
        re.compile(r"SAMSUNG MZ7|Samsung SSD (8[3-7]0|PM8\d\d|SM8\d\d)", re.I),
        (241, "Total_LBAs_Written"),
        SECTOR,
        "Samsung's SATA SSDs count sectors of 512 bytes: where one has the device statistics "
        "page (860 EVO), that shows the same number.",
    ),
    ModelRow(
        re.compile(r"(Micron_|MTFD|CT\d+(MX|BX)\d{3}SSD)", re.I),
        (246, "Total_LBAs_Written"),
        SECTOR,
        "Micron and Crucial count sectors of 512 bytes: attribute 247 counts the pages "
        "written for the host beside it, and both give the same amount.",
    ),
    ModelRow(
        re.compile(r"TOSHIBA THNSN8(120P|240P|480P|960P|1Q92)CSE", re.I),
        (241, "Total_LBAs_Written"),
        32 * MIB,
        "Toshiba HK4R counts 32 MiB, whatever older versions of smartmontools call it "
        "(smartmontools issue 312).",
    ),
    ModelRow(
        re.compile(r"HFS\d+G3\w+|SK ?hynix SC311", re.I),
        (241, "Total_LBAs_Written"),
        SECTOR,
        "SK hynix SC311 counts sectors: with them, the amount fits its count of bytes written to "
        "the cells (smartmontools pull request 107).",
    ),
    ModelRow(
        re.compile(r"SSDSC\w+R", re.I),
        (241, "Total_LBAs_Written"),
        None,
        "Dell's Intel SSDs show one number as LBAs and as 32 MiB. Attribute 225 says which.",
    ),
    ModelRow(
        re.compile(r"SATADOM|SuperMicro|SSD-DM\d{3}|InnoDisk", re.I),
        (241, "Total_LBAs_Written"),
        None,
        "SATA DOMs count MiB, 32 MiB or sectors, by firmware: it must be measured.",
    ),
)


@dataclass(frozen=True, slots=True)
class WrittenCounter:
    """`raw` times `unit_bytes` were written, as `source` counts. The unit is None where it is
    unknown; `reason` says how it is known, or why it is not."""

    source: str
    raw: int
    unit_bytes: int | None
    standing: Standing
    reason: str

    @property
    def written_bytes(self) -> int | None:
        return None if self.unit_bytes is None else self.raw * self.unit_bytes


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was compared so far: while the kernel wrote `kernel_bytes`, the counter `source` moved
    by `raw_delta`. The last figures are kept for the next comparison. `unit_bytes` is what an
    earlier window of `PROOF_BYTES` proved, `refuted_bytes` the unit that it disproved without
    finding another."""

    source: str = ""
    boot_id: str = ""
    sectors: Count = 0
    raw: Count = 0
    kernel_bytes: Count = 0
    raw_delta: Count = 0
    unit_bytes: Count | None = None
    refuted_bytes: Count | None = None


def counter_of(health: SmartHealth) -> WrittenCounter | None:
    """The disk's best counter, before anything is measured; None where it has none."""
    standard = _standard(health)
    if standard is not None:
        return standard
    rows = [row for row in health.attributes if COUNTERS.fullmatch(row.name)]
    for row in rows:
        unit_bytes = UNIT_IN_NAME.get(row.name)
        if unit_bytes is not None and health.known:
            said = "smartctl's database names the unit for this model."
            return WrittenCounter(_source(row), row.raw, unit_bytes, "name", said)
    for row in rows:
        for model in MODELS:
            if (row.id, row.name) == model.attribute and model.models.search(health.model):
                standing: Standing = "unknown" if model.unit_bytes is None else "model"
                return WrittenCounter(
                    _source(row), row.raw, model.unit_bytes, standing, model.reason
                )
    if not rows:
        return None
    doubt = "Disks count this in different units, and this model's is not known."
    return WrittenCounter(_source(rows[0]), rows[0].raw, None, "unknown", doubt)


def _standard(health: SmartHealth) -> WrittenCounter | None:
    if health.nvme is not None and health.nvme.data_units_written is not None:
        raw = health.nvme.data_units_written
        said = "The NVMe standard counts 1000 sectors of 512 bytes."
        return WrittenCounter("NVMe data units", raw, NVME_UNIT, "standard", said)
    sectors = health.statistic(1, 24)
    if sectors is not None and health.logical_block_bytes:
        said = "The ATA standard counts logical sectors."
        unit_bytes = health.logical_block_bytes
        return WrittenCounter("ATA device statistics", sectors, unit_bytes, "standard", said)
    if health.scsi is not None and health.scsi.written_bytes is not None:
        raw, said = health.scsi.written_bytes, "The SCSI error counter log counts bytes."
        return WrittenCounter("SCSI error counter log", raw, 1, "standard", said)
    return None


def _source(row: SmartAttribute) -> str:
    return f"attribute {row.id} {row.name}"


def advanced(
    before: Calibration,
    counter: WrittenCounter,
    boot_id: str,
    sectors: int | None,
    operator_unit_bytes: int | None = None,
) -> Calibration:
    """After one more reading. Only two readings of one start of the host are compared, of one
    counter that did not go back."""
    if sectors is None:
        return before
    if before.source != counter.source:
        return Calibration(counter.source, boot_id, sectors, counter.raw)
    last = replace(before, boot_id=boot_id, sectors=sectors, raw=counter.raw)
    if before.boot_id != boot_id or sectors < before.sectors or counter.raw < before.raw:
        return last
    last = replace(
        last,
        kernel_bytes=before.kernel_bytes + (sectors - before.sectors) * SECTOR,
        raw_delta=before.raw_delta + counter.raw - before.raw,
    )
    if max(last.kernel_bytes, last.raw_delta) > INT_LIMIT:
        return replace(last, kernel_bytes=0, raw_delta=0)
    return _judged(last, counter, operator_unit_bytes)


def _judged(
    window: Calibration, counter: WrittenCounter, operator_unit_bytes: int | None
) -> Calibration:
    """A window that is wide enough proves a unit, disproves one, or must be wider."""
    if window.kernel_bytes < PROOF_BYTES:
        return window
    emptied = replace(window, kernel_bytes=0, raw_delta=0)
    claimed = operator_unit_bytes or counter.unit_bytes
    units = {*CANDIDATES, *([claimed] if claimed else [])}
    fitting = [unit_bytes for unit_bytes in units if _fits(window, unit_bytes)]
    if len(fitting) > 1:
        return window
    if fitting:
        return replace(emptied, unit_bytes=fitting[0], refuted_bytes=None)
    # One window may hold writes that the disk does not count (zeroes written by a command).
    if window.unit_bytes is not None:
        return emptied
    return replace(emptied, refuted_bytes=claimed)


CANDIDATES: Final = (
    SECTOR, KIB, 4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 128 * KIB, NVME_UNIT, 10**6, MIB,
    16 * MIB, 32 * MIB, 64 * MIB, 128 * MIB, 10**9, GIB,
)  # fmt: skip
"""No two lie so close that a window of 64 GiB cannot tell them apart."""
TOLERANCE: Final = 0.02
"""Of what the kernel wrote: the two counters are not read in one moment."""
COARSENESS: Final = 1.5
"""Units that the counter may be off at both ends of the window."""


def _fits(window: Calibration, unit_bytes: int) -> bool:
    expected = window.kernel_bytes / unit_bytes
    return abs(window.raw_delta - expected) <= TOLERANCE * expected + COARSENESS


def settled(
    counter: WrittenCounter, calibration: Calibration, operator_unit_bytes: int | None = None
) -> WrittenCounter:
    """The counter with what was measured, or else what the operator says, applied. A measured
    unit stands above both; a standard's stays where the measurement finds no other."""
    measured = calibration if calibration.source == counter.source else Calibration()
    claimed = operator_unit_bytes or counter.unit_bytes
    if measured.unit_bytes is not None:
        reason = "Measured against what the kernel wrote to the disk."
        if claimed not in (None, measured.unit_bytes):
            reason += f" {_whose(counter, operator_unit_bytes)} was wrong: {claimed} bytes."
        return replace(counter, unit_bytes=measured.unit_bytes, standing="measured", reason=reason)
    if claimed is not None and measured.refuted_bytes == claimed:
        reason = (
            f"While the kernel wrote {PROOF_BYTES // GIB} GiB, the counter did not move by units "
            f"of {claimed} bytes, nor by any other that disks use."
        )
        if counter.standing == "standard":
            return replace(counter, reason=f"{counter.reason} {reason}")
        return replace(counter, unit_bytes=None, standing="unknown", reason=reason)
    if operator_unit_bytes is not None:
        return replace(
            counter,
            unit_bytes=operator_unit_bytes,
            standing="operator",
            reason="An operator entered this unit.",
        )
    return counter


def _whose(counter: WrittenCounter, operator_unit_bytes: int | None) -> str:
    if operator_unit_bytes is not None:
        return "The unit that was entered"
    return {"name": "The name's unit", "model": "The table's unit"}.get(
        counter.standing, "The standard's unit"
    )


# --- Wear ----------------------------------------------------------------------------------------

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
    families: re.Pattern[str] = re.compile(r"")


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
        re.compile(r"Micron_|MTFD|(Crucial_)?CT\d+\w+SSD", re.I),
        (202, "Percent_Lifetime_Remain"),
        False,
        "Micron's raw value counts what is used, and its value is 100 minus that.",
    ),
    WearRow(
        re.compile(r""),
        (231, "SSD_Life_Left"),
        False,
        "SandForce's controllers count down the normalised value; their raw value is 0 or 1.",
        re.compile(r"SandForce", re.I),
    ),
    WearRow(
        re.compile(r"KINGSTON", re.I),
        (231, "SSD_Life_Left"),
        True,
        "Kingston's Phison drives keep the percentage in the raw value; not all normalise it.",
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
    """None where the disk does not report it, or reports it in a way that is unknown here."""
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
            is_meant = row.models.match(health.model) and row.families.match(health.family)
            left = _left(attribute, row) if named and is_meant else None
            if left is not None:
                return Wear(WORN_OUT - left, f"attribute {attribute.id} {attribute.name}")
    return None


def _left(attribute: SmartAttribute, row: WearRow) -> int | None:
    left = attribute.raw if row.raw else attribute.value
    if row.raw and attribute.raw <= 1 and (attribute.value or 0) > WORN_OUT // 10:
        # The two contradict each other: the raw value is none of life, as SandForce's.
        return None
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
