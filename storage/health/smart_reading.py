"""What the agent's `smart` says of the disks of a host, and which disk of the inventory each one
is. Pure.

Model, serial and names are the disks' own words: show them escaped, never build with them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec

from storage.host_data import BadHostData, Count, Percent, cleaned, converted
from storage.inventory.facts import Disk, HostFacts

DISKS_LIMIT = 1024
ROWS_LIMIT = 64
Celsius = Annotated[int, msgspec.Meta(ge=-100, le=200)]
Sectors = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""Of 512 bytes: 4 ZiB, so that bytes and sums of them fit where they are stored."""
AttributeId = Annotated[int, msgspec.Meta(ge=0, le=255)]
Short = Annotated[str, msgspec.Meta(max_length=80)]
State = Literal["read", "standby", "unasked", "hung", "slow", "failed"]


@dataclass(frozen=True, slots=True)
class SmartAttribute:
    """One of ATA's, whose meaning is the maker's. `value` is normalised, 100 or more when new;
    `failed` is smartctl's "now", "past" or ""; `text` is how smartctl prints `raw`."""

    id: AttributeId
    name: Short
    value: Count | None
    raw: Count
    text: Short = ""
    failed: Short = ""

    @property
    def count(self) -> int:
        """Some disks keep two numbers in one: smartctl prints the count first."""
        leading = re.match(r"(\d+) \(", self.text, re.ASCII)
        return int(leading[1]) if leading else self.raw


@dataclass(frozen=True, slots=True)
class DeviceStatistic:
    """One of the ATA standard's, by page and offset; valid in the disk's own words."""

    page: Count
    offset: Count
    value: Count


@dataclass(frozen=True, slots=True)
class NvmeLog:
    critical_warning: Count | None = None
    available_spare: Count | None = None
    available_spare_threshold: Count | None = None
    percentage_used: Count | None = None
    data_units_written: Count | None = None
    media_errors: Count | None = None


@dataclass(frozen=True, slots=True)
class ScsiLog:
    """`pending_defects` cannot be read now; an older agent does not say."""

    grown_defects: Count | None = None
    uncorrected_errors: Count | None = None
    written_bytes: Count | None = None
    percentage_used: Count | None = None
    pending_defects: Count | None = None


@dataclass(frozen=True, slots=True)
class SelfTest:
    """`passed` is None where it was stopped, or still runs."""

    kind: Short
    result: Short
    passed: bool | None = None
    at_hours: Count | None = None


@dataclass(frozen=True, slots=True)
class RunningTest:
    """A self-test at work in the disk; some do not say how much is left."""

    remaining_percent: Percent | None = None


@dataclass(frozen=True, slots=True)
class SelfTestMinutes:
    """How long self-tests take, as the disk itself says."""

    short: Count | None = None
    long: Count | None = None


@dataclass(frozen=True, slots=True)
class SmartHealth:
    """`rotation_rpm` is 0 for an SSD, None where the disk does not say. `known` says that
    smartctl's database has the model, without which its names of attributes are guesses."""

    protocol: Short
    model: Short
    serial: Short
    family: Short = ""
    firmware: Short = ""
    wwn: Short = ""
    size_bytes: Count | None = None
    logical_block_bytes: Count | None = None
    rotation_rpm: Count | None = None
    known: bool = False
    passed: bool | None = None
    temperature_celsius: Celsius | None = None
    power_on_hours: Count | None = None
    attributes: Annotated[tuple[SmartAttribute, ...], msgspec.Meta(max_length=ROWS_LIMIT)] = ()
    statistics: Annotated[tuple[DeviceStatistic, ...], msgspec.Meta(max_length=ROWS_LIMIT)] = ()
    nvme: NvmeLog | None = None
    scsi: ScsiLog | None = None
    self_tests: Annotated[tuple[SelfTest, ...], msgspec.Meta(max_length=ROWS_LIMIT)] = ()
    running_test: RunningTest | None = None
    test_minutes: SelfTestMinutes = SelfTestMinutes()

    @property
    def is_ssd(self) -> bool:
        return self.nvme is not None or self.rotation_rpm == 0

    def statistic(self, page: int, offset: int) -> int | None:
        matching = (s.value for s in self.statistics if (s.page, s.offset) == (page, offset))
        return next(matching, None)

    @property
    def key(self) -> str:
        """The same for as long as it is the same disk, in whatever slot or host; "" where it says
        neither serial number nor WWN."""
        if self.serial:
            return f"{self.model} {self.serial}"
        return self.wwn


@dataclass(frozen=True, slots=True)
class DiskAnswer:
    """One disk as it answered. `name` is the kernel's, "" behind a RAID controller;
    `sectors_written` is what the kernel counted on it since the start of the host, in 512 bytes."""

    device: Short
    type: Short
    name: Short
    state: State
    message: str = ""
    sectors_written: Sectors | None = None
    health: SmartHealth | None = None

    @property
    def place(self) -> str:
        return f"{self.device} ({self.type})" if self.type else self.device


@dataclass(frozen=True, slots=True)
class SmartReply:
    """`installed` is False where the host has no smartctl; `message` says what kept all disks, or
    some, from being asked."""

    installed: bool
    version: Short
    message: str
    disks: Annotated[tuple[DiskAnswer, ...], msgspec.Meta(max_length=DISKS_LIMIT)]


def decode_smart(data: object) -> SmartReply:
    """Raises `BadHostData`. A disk whose answer does not fit is one that could not be read."""
    clean = cleaned(data)
    try:
        return converted(clean, SmartReply, "smart")
    except BadHostData:
        if not isinstance(clean, dict) or not isinstance(clean.get("disks"), list):
            raise
    disks = [_readable(answer) for answer in clean["disks"]]
    return converted({**clean, "disks": disks}, SmartReply, "smart")


def _readable(answer: Any) -> Any:
    """The answer of one disk, or that it said what no disk can."""
    try:
        converted(answer, DiskAnswer, "answer")
    except BadHostData as error:
        fields = answer if isinstance(answer, dict) else {}
        failure = {"state": "failed", "message": f"its answer is odd ({error})", "health": None}
        return {**fields, **failure, "sectors_written": None}
    return answer


def disk_of(facts: HostFacts, answer: DiskAnswer) -> Disk | None:
    """The disk of the inventory that gave this answer: by serial number or WWN, which lsblk shows
    for some SAS disks instead. The kernel's name decides only where one of the two is silent: it
    may be another disk's by now."""
    health = answer.health
    named = next((disk for disk in facts.disks if answer.name and disk.name == answer.name), None)
    if health is None:
        return named
    marks = {_plain(mark) for mark in (health.serial, health.wwn) if mark}
    if named is not None and (not marks or not named.serial or _plain(named.serial) in marks):
        return named
    matching = [disk for disk in facts.disks if disk.serial and _plain(disk.serial) in marks]
    # Two paths to one disk, or two disks that say one number: neither is the one.
    return matching[0] if len(matching) == 1 else None


def _plain(mark: str) -> str:
    """udev writes underscores where smartctl has spaces, and 0x before some WWNs."""
    return re.sub(r"[\s_]+", "", mark).lower().removeprefix("0x")
