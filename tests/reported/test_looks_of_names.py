"""What a thing is, the kernel and LVM decide, and not how its name looks."""

from __future__ import annotations

from typing import Any

import pytest

from storage.agent.calls.names import kernel_name
from storage.agent.facts.counter_sample import sample
from storage.agent.kernel import attachment, disks
from storage.agent.kernel.smartctl import SmartTarget
from storage.agent.operations import disk_checks
from storage.health.smart_endurance import wear_of
from storage.health.smart_findings import error_counts
from storage.inventory.device_tree import is_part_of
from storage.inventory.disk_list import devices_of
from storage.planner.member_wish import refusal_of
from tests.reported.host import ReportedHost
from tests.reported.test_md_states import IN_SYNC, host, members
from tests.smart_disks import ata, attribute
from tests.storage.health.test_smart_written import health_of

# --- Arrays and disks ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["md0", "md127", "md_home", "md_d0", "md_vg-data", "md_RAID"])
def test_an_array_may_have_any_name(name: str) -> None:
    assert kernel_name(name) == name
    seen = host({"name": name, "degraded": "1", "members": members(sda1="in_sync")})
    assert seen.codes == ["array_degraded"]
    assert {use.disk.name: use.serves for use in devices_of(seen.host)}["sda"] == (
        f"{name} → tank",
    )
    assert refusal_of(seen.host, seen.array(name), allowed=True) is None


@pytest.mark.parametrize("name", ["../sda", "md/home", "-x", "md 0", "md0\n", "", "Md0", "a" * 33])
def test_what_leads_elsewhere_is_no_name_of_a_device(name: str) -> None:
    with pytest.raises(ValueError):
        kernel_name(name)


@pytest.mark.parametrize(
    ("part", "disk", "is_one"),
    [
        ("sda1", "sda", True),
        ("sdaa1", "sda", False),
        ("sdaa1", "sdaa", True),
        ("nvme0n1p1", "nvme0n1", True),
        ("nvme0n10p1", "nvme0n1", False),
        ("nvme10n1p1", "nvme0n1", False),
        ("md_home1", "md_home", True),
        ("md_d0p1", "md_d0", True),
        ("md12", "md1", False),
        ("md1p2", "md1", True),
        ("mmcblk0p1", "mmcblk0", True),
        ("mmcblk0boot0", "mmcblk0", False),
        ("bcache10", "bcache1", False),
        ("dm-10", "dm-1", False),
        ("cciss/c0d0p1", "cciss/c0d0", True),
        ("cciss/c0d01", "cciss/c0d0", False),
    ],
)
def test_a_partition_is_one_of_its_own_disk(part: str, disk: str, is_one: bool) -> None:
    assert is_part_of(part, disk) is is_one


@pytest.mark.parametrize(("hidden", "is_listed"), [("1", False), ("0", True), (None, True)])
def test_one_path_to_an_nvme_namespace_is_no_disk(hidden: str | None, is_listed: bool) -> None:
    names = ("nvme0n1", "nvme0c1n1")
    files = {f"/sys/block/{name}/device/model": "M" for name in names}
    files["/proc/diskstats"] = "\n".join(
        f"259 {n} {name} {'1 ' * 17}" for n, name in enumerate(names)
    )
    if hidden is not None:
        files["/sys/block/nvme0c1n1/hidden"] = hidden
    machine: Any = ReportedHost(files=files)
    listed = {disk["name"] for disk in sample(machine)[0]["disks"]}
    assert ("nvme0c1n1" in listed) is is_listed and "nvme0n1" in listed
    assert ("nvme0c1n1" in disks.disk_names(machine)) is is_listed


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("drbd0", "DRBD"),
        ("nbd3", "NBD"),
        ("rbd1", "Ceph RBD"),
        ("rnbd0", "RNBD"),
        ("etherd!e1.0", "ATA over Ethernet"),
        ("sda", ""),
        ("rssda", ""),
        ("pmem0", ""),
        ("vda", ""),
    ],
)
def test_a_disk_that_comes_over_a_network_is_known_by_its_driver(name: str, how: str) -> None:
    machine: Any = ReportedHost(disks=[{"name": name}])
    assert attachment.elsewhere(machine, name) == how


# --- smartctl ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("", "sda"),
        ("sat", "sda"),
        ("sat,auto", "sda"),
        ("sat,12", "sda"),
        ("nvme", "sda"),
        ("sntjmicron", "sda"),
        ("sntrealtek", "sda"),
        ("usbcypress", "sda"),
        ("usbjmicron", "sda"),
        ("usbjmicron,1", ""),
        ("megaraid,3", ""),
        ("sat+megaraid,3", ""),
        ("cciss,0", ""),
        ("aacraid,0,0,1", ""),
        ("jmb39x-q,2", ""),
    ],
)
def test_a_type_with_a_number_is_one_of_many_disks_and_any_other_is_the_device(
    kind: str, name: str
) -> None:
    machine: Any = ReportedHost(disks=[{"name": "sda"}])
    assert disk_checks.kernel_name(machine, SmartTarget("/dev/sda", kind)) == name


@pytest.mark.parametrize(
    ("model", "row", "percent"),
    [
        ("CT500MX500SSD1", attribute(202, "Percent_Lifetime_Remain", 12, value=88), 12),
        ("Crucial_CT240M500SSD1", attribute(202, "Percent_Lifetime_Remain", 12, value=88), 12),
        ("Micron_5100_MTFDDAK480TCB", attribute(202, "Percent_Lifetime_Remain", 3, value=97), 3),
        ("ACT500", attribute(202, "Percent_Lifetime_Remain", 12, value=88), None),
        ("CT500MX500SSD1", attribute(202, "Data_Address_Mark_Errs", 12, value=88), None),
        ("INTEL SSDSC2BB480G4", attribute(233, "Media_Wearout_Indicator", 0, value=93), 7),
        ("WDC WDS500G2B0A", attribute(233, "Media_Wearout_Indicator", 0, value=93), None),
        ("Samsung SSD 860 EVO 1TB", attribute(177, "Wear_Leveling_Count", 61, value=95), 5),
        ("TOSHIBA THNSNJ", attribute(177, "Wear_Leveling_Count", 61, value=95), None),
    ],
)
def test_a_field_of_wear_is_read_as_the_maker_of_the_model_means_it(
    model: str, row: dict[str, Any], percent: int | None
) -> None:
    wear = wear_of(health_of(ata(model, "S", [row])))
    assert (None if wear is None else wear.percent) == percent


@pytest.mark.parametrize(
    ("number", "name", "counts"),
    [
        (5, "Reallocated_Sector_Ct", {"reallocated": 7}),
        (5, "Unknown_Attribute", {}),
        (196, "Reallocated_Event_Count", {}),
        (197, "Current_Pending_Sector", {"pending": 7}),
        (197, "Current_Pending_ECC_Cnt", {}),
        (198, "Offline_Uncorrectable", {"uncorrectable": 7}),
        (198, "Offline_Scan_Time", {}),
        (199, "UDMA_CRC_Error_Count", {"crc": 7}),
        (199, "Write_Sectors_Tot_Ct", {}),
        (187, "Uncorrectable_Error_Cnt", {"reported": 7}),
    ],
)
def test_an_attribute_counts_by_its_number_and_its_name(
    number: int, name: str, counts: dict[str, int]
) -> None:
    assert error_counts(health_of(ata("M", "S", [attribute(number, name, 7)]))) == counts


def test_an_array_with_a_name_is_whole_like_any_other() -> None:
    assert host({"name": "md_home", "members": IN_SYNC}).codes == []
