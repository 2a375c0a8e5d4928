"""What the panel makes of real disks: the reports are those of `tests/real_disks.py`."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal

import pytest

from storage.agent.kernel import smartctl
from storage.health.smart_endurance import (
    CANDIDATES,
    GIB,
    MIB,
    PROOF_BYTES,
    SECTOR,
    Calibration,
    WrittenCounter,
    advanced,
    counter_of,
    settled,
)
from storage.health.smart_reading import SmartHealth
from storage.host_data import decoded
from tests import real_disks
from tests.bench.packages import NotHere
from tests.real_disks import RealDisk

TERA, GIGA = 10**12, 10**9
# smartctl itself writes the amount behind the counter: "852 433 [436 GB]", "16.184.623 [8,28 TB]".
NVME_AMOUNT = re.compile(r"^Data Units Written:.*\[([\d.,]+) (TB|GB)\]", re.MULTILINE)
SCSI_AMOUNT = re.compile(r"^write:(?: +\d+){5} +(\d+)[.,](\d{3}) ", re.MULTILINE)

# None where two units are possible by what is known of the model. smartctl's database names the
# unit for the others; of these, two of Intel's count the same amount twice.
ATA_BYTES: dict[str, int | None] = {
    "GIGABYTE GP-GSTFS31100TNTD": 15089 * GIB,
    "KINGSTON SA400S37240G": 9251 * GIB,
    "KINGSTON SA400S37480G": 3691 * GIB,
    "Patriot Burst": 12197 * GIB,
    "SPCC Solid State Disk": 6456 * GIB,
    "INTEL SSDSC2KB480G8": 7154 * 32 * MIB,
    "INTEL SSDSC2BB120G6": 1412735 * 32 * MIB,
    "APPLE SSD SM0256F": 81979088 * MIB,
    "Biwintech SSD SX500 512GB": None,
    "INTEL SSDSC2BB120G4L": None,
    "HS-SSD-C100 120G": None,
    "LITEONIT LCT-512L9S-11 2.5 7mm 512GB": None,
    "Apacer AS340 240GB": None,
    "ST2000NM000A-2J2100": None,
    "OOS12000G": None,
}


@pytest.fixture(scope="module")
def disks() -> list[tuple[RealDisk, SmartHealth]]:
    try:
        found = list(real_disks.disks())
    except NotHere as why:
        pytest.skip(str(why))
    return [
        (disk, decoded(smartctl.health(disk.document), SmartHealth, disk.source)) for disk in found
    ]


def test_fifty_models_are_read(disks: list[tuple[RealDisk, SmartHealth]]) -> None:
    assert len({health.model for _, health in disks}) >= 50
    assert {health.protocol for _, health in disks} == {"ATA", "NVMe", "SCSI"}
    for disk, health in disks:
        assert health.model == disk.model.strip(), disk.source
        assert health.serial and health.passed is not None, disk.source


def test_nvme_and_sas_disks_wrote_what_smartctl_says(
    disks: list[tuple[RealDisk, SmartHealth]],
) -> None:
    compared = 0
    for disk, health in disks:
        counter = counter_of(health)
        nvme, scsi = NVME_AMOUNT.search(disk.text), SCSI_AMOUNT.search(disk.text)
        if nvme:
            assert counter is not None and counter.written_bytes is not None
            written = Decimal(counter.written_bytes) / (TERA if nvme[2] == "TB" else GIGA)
            said = Decimal(nvme[1].replace(",", "."))
            # smartctl cuts off what three digits do not hold.
            last_digit = Decimal(1).scaleb(int(said.as_tuple().exponent))
            assert said <= written < said + last_digit, disk.source
        elif scsi:
            assert counter is not None
            assert counter.written_bytes == int(scsi[1] + scsi[2]) * 10**6, disk.source
        compared += bool(nvme or scsi)
    assert compared >= 25


def test_no_unit_of_an_ata_disk_is_guessed(disks: list[tuple[RealDisk, SmartHealth]]) -> None:
    found: dict[str, int | None] = {}
    for _, health in disks:
        counter = counter_of(health)
        # Of one model there are two disks, neither of which has a unit.
        if health.protocol == "ATA" and counter is not None:
            found[health.model] = counter.written_bytes
    assert found == ATA_BYTES


def after_proof(counter: WrittenCounter, claimed_bytes: int, unit_bytes: int) -> int | None:
    """The unit that holds once the kernel wrote 64 GiB to a disk that counts in `unit_bytes`."""
    claim = replace(counter, unit_bytes=claimed_bytes, standing="model")
    moved = replace(claim, raw=claim.raw + PROOF_BYTES // unit_bytes)
    begun = advanced(Calibration(), claim, "b", 1000)
    proven = advanced(begun, moved, "b", 1000 + PROOF_BYTES // SECTOR)
    return settled(moved, proven).unit_bytes


def test_a_wrong_unit_of_any_of_them_is_found_within_64_gib(
    disks: list[tuple[RealDisk, SmartHealth]],
) -> None:
    tried = 0
    for _, health in disks:
        counter = counter_of(health)
        if health.protocol != "ATA" or counter is None:
            continue
        for unit_bytes in (SECTOR, MIB, 32 * MIB, GIB):
            for claimed_bytes in CANDIDATES:
                tried += 1
                assert after_proof(counter, claimed_bytes, unit_bytes) == unit_bytes, health.model
    assert tried >= 15 * 4 * 15


def test_a_counter_that_two_attributes_have_says_one_amount(
    disks: list[tuple[RealDisk, SmartHealth]],
) -> None:
    for _, health in disks:
        same = [row.raw for row in health.attributes if row.name == "Host_Writes_32MiB"]
        assert len(set(same)) <= 1, health.model


def test_a_disk_whose_own_verdict_is_bad_has_not_passed(
    disks: list[tuple[RealDisk, SmartHealth]],
) -> None:
    failing = {health.model for _, health in disks if not health.passed}
    assert failing == {"WDC WD20EARS-00MVWB0"}
