"""What was written to a disk: the unit is right or unknown, and measured where it can be."""

from __future__ import annotations

from typing import Any

import pytest

from storage.agent.kernel import smartctl
from storage.health.smart_endurance import (
    CANDIDATES,
    PROOF_BYTES,
    Calibration,
    WrittenCounter,
    advanced,
    counter_of,
    settled,
    wear_of,
)
from storage.health.smart_reading import SmartHealth
from storage.host_data import decoded
from tests.smart_disks import ata, attribute, nvme
from tests.storage.health.smart_models import MODELS, ModelCase

GIB = 1 << 30
MIB = 1 << 20


def health_of(document: Any) -> SmartHealth:
    """As the panel has it: through the agent."""
    return decoded(smartctl.health(document), SmartHealth, "health")


def written(model: str, raw: int, name: str = "Total_LBAs_Written") -> WrittenCounter:
    counter = counter_of(health_of(ata(model, "S", [attribute(241, name, raw)])))
    assert counter is not None
    return counter


def measured(
    model: str,
    unit_bytes: float,
    *,
    claimed_bytes: int | None = None,
    gib: int = 66,
    readings: int = 6,
    restart_at: int | None = None,
) -> tuple[WrittenCounter, Calibration]:
    """A disk that really counts `unit_bytes`, over so many readings."""
    calibration = Calibration()
    for number in range(readings + 1):
        total_bytes = gib * GIB * number // readings
        counter = written(model, 1000 + int(total_bytes / unit_bytes))
        boot = "later" if restart_at is not None and number >= restart_at else "first"
        since = 0 if boot == "first" else restart_at or 0
        sectors = gib * GIB * (number - since) // readings // 512
        calibration = advanced(calibration, counter, boot, sectors, claimed_bytes)
    return settled(counter, calibration, claimed_bytes), calibration


@pytest.mark.parametrize("case", MODELS, ids=lambda case: str(case.model))
def test_the_unit_of_a_model_is_right_or_unknown(case: ModelCase) -> None:
    health = health_of(case.document)
    counter = counter_of(health)
    assert (None if counter is None else counter.written_bytes) == case.written_bytes
    wear = wear_of(health)
    assert (None if wear is None else wear.percent) == case.percent
    if counter is not None:
        assert (counter.unit_bytes is None) == (counter.standing == "unknown")
        assert counter.reason and counter.source


def test_there_are_at_least_40_models() -> None:
    assert len({case.model for case in MODELS}) >= 40


def test_a_disk_without_any_counter_has_none() -> None:
    assert counter_of(health_of(ata("M", "S", [attribute(242, "Total_LBAs_Read", 5)]))) is None


@pytest.mark.parametrize("unit_bytes", CANDIDATES)
def test_an_unknown_unit_is_measured(unit_bytes: int) -> None:
    counter, _ = measured("SuperMicro SSD", unit_bytes)
    assert (counter.standing, counter.unit_bytes) == ("measured", unit_bytes)


def test_the_sata_dom_that_counts_mib_is_found_out() -> None:
    unproven, _ = measured("SuperMicro SSD", MIB, gib=60)
    assert (unproven.standing, unproven.written_bytes) == ("unknown", None)
    proven, _ = measured("SuperMicro SSD", MIB)
    assert proven.written_bytes == proven.raw * MIB


@pytest.mark.parametrize("really", [unit for unit in CANDIDATES if unit != 512])
def test_a_wrong_entry_of_the_table_is_found_within_64_gib(really: int) -> None:
    model = "SAMSUNG MZ7LH480HAHQ-00005"
    assert written(model, 1).unit_bytes == 512
    counter, calibration = measured(model, really, gib=64, readings=8)
    assert (counter.standing, counter.unit_bytes) == ("measured", really)
    assert "The table's unit was wrong: 512 bytes" in counter.reason
    assert calibration.kernel_bytes == 0, "the next window begins"


def test_a_counter_that_counts_something_else_loses_its_unit() -> None:
    counter, _ = measured("SAMSUNG MZ7LH480HAHQ-00005", 512 / 2.7)
    assert (counter.standing, counter.written_bytes) == ("unknown", None)
    assert "did not move by units of 512 bytes" in counter.reason


def test_one_odd_window_does_not_undo_a_proof() -> None:
    _, proof = measured("SAMSUNG MZ7LH480HAHQ-00005", 512)
    assert proof.unit_bytes == 512
    before = written("SAMSUNG MZ7LH480HAHQ-00005", 10**9)
    start = advanced(proof, before, "boot", 0)
    odd = advanced(start, before, "boot", PROOF_BYTES // 512)
    assert settled(before, odd).standing == "measured"


def test_only_readings_of_one_start_of_the_host_are_compared() -> None:
    _, calibration = measured("SuperMicro SSD", MIB, gib=120, readings=6, restart_at=3)
    assert calibration.unit_bytes == MIB
    small = Calibration()
    for number in range(40):
        counter = written("SuperMicro SSD", number * 20 * 1024)
        small = advanced(small, counter, f"boot {number}", 10**9)
    assert (small.kernel_bytes, small.unit_bytes) == (0, None)


def test_a_counter_that_goes_back_is_not_compared() -> None:
    first = advanced(Calibration(), written("X", 500), "b", 0)
    assert advanced(first, written("X", 400), "b", 2**30).kernel_bytes == 0
    assert advanced(first, written("X", 600), "b", None) == first


def test_another_counter_begins_anew() -> None:
    _, proof = measured("SuperMicro SSD", MIB)
    other = written("SuperMicro SSD", 7, "Host_Writes_GiB")
    assert settled(other, proof).standing == "name"
    assert advanced(proof, other, "b", 1).unit_bytes is None


def test_what_an_operator_enters_holds_until_it_is_measured_otherwise() -> None:
    entered, _ = measured("SuperMicro SSD", MIB, claimed_bytes=512, gib=10)
    assert (entered.standing, entered.unit_bytes) == ("operator", 512)
    found, _ = measured("SuperMicro SSD", MIB, claimed_bytes=512)
    assert (found.standing, found.unit_bytes) == ("measured", MIB)
    assert "The unit that was entered was wrong: 512 bytes" in found.reason
    odd, _ = measured("SuperMicro SSD", 777_777, claimed_bytes=777_777)
    assert (odd.standing, odd.unit_bytes) == ("measured", 777_777)


def test_a_standard_keeps_its_unit_where_nothing_else_fits() -> None:
    """An NVMe disk that is zeroed by a command counts nothing."""
    counter = counter_of(health_of(nvme("M", "S", units_written=1000)))
    assert counter is not None
    start = advanced(Calibration(), counter, "b", 0)
    after = settled(counter, advanced(start, counter, "b", PROOF_BYTES // 512))
    assert (after.standing, after.unit_bytes) == ("standard", 512_000)
    assert "did not move" in after.reason


@pytest.mark.parametrize("gib", [64, 66, 100, 500])
def test_gb_and_gib_are_distinguished(gib: int) -> None:
    for unit_bytes in (10**9, GIB):
        counter, _ = measured("Unheard Of", unit_bytes, gib=gib, readings=1)
        assert counter.unit_bytes in (unit_bytes, None)
    counter, _ = measured("Unheard Of", 10**9, gib=500, readings=1)
    assert counter.unit_bytes == 10**9
