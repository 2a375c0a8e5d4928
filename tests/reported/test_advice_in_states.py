"""What root is advised to type fits the state at that time: nothing that mdadm or LVM refuses,
and nothing that mends another fault."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from storage.agent.calls.refusals import Refusal
from storage.agent.operations.disk_checks import check_array
from storage.planner.member_wish import refusal_of
from tests.reported.host import ReportedHost, Seen
from tests.reported.test_lvm_states import GONE, cached, mirrored_pool, raid
from tests.reported.test_md_states import IN_SYNC, host, members
from tests.smart_disks import ata, attribute, nvme
from tests.storage.health.test_smart_findings import made

ADD = "mdadm --manage /dev/{} --add /dev/NEW"
DEGRADED = {"name": "md126", "degraded": "1", "members": members(sda1="in_sync")}


# --- Arrays --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metadata", "takes"),
    [
        ("1.2", "md126"),
        ("0.90", "md126"),
        ("none", "md126"),
        ("external:/md127/0", "md127"),
        ("external:-md127/1", "md127"),
        ("external:/md_imsm0/0", "md_imsm0"),
    ],
)
def test_a_disk_is_put_into_the_container_of_firmwares_raid(metadata: str, takes: str) -> None:
    seen = host({**DEGRADED, "metadata_version": metadata})
    assert ADD.format(takes) in seen.text
    assert takes == "md126" or ADD.format("md126") not in seen.text
    refusal = refusal_of(seen.host, seen.array("md126"), allowed=True)
    assert (refusal is None) is (takes == "md126")
    assert refusal is None or ADD.format(takes) in refusal.correction


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("idle", "Replace the disk: mdadm"),
        ("frozen", "echo idle > /sys/block/md126/md/sync_action"),
        ("check", "Wait until it is idle (check). Then replace the disk: mdadm"),
        ("repair", "Wait until it is idle (repair). Then replace the disk: mdadm"),
        ("reshape", "Wait until it is idle (reshape). Then replace the disk: mdadm"),
    ],
)
def test_a_disk_is_put_in_when_the_array_can_fill_it(action: str, words: str) -> None:
    assert words in host({**DEGRADED, "sync_action": action}).text


@pytest.mark.parametrize("between", ["kpartx", "luks", "none"])
def test_no_disk_of_the_host_is_put_into_an_array_of_a_guest_whatever_lies_between(
    between: str,
) -> None:
    described: dict[str, Any] = {
        "policy": {"vgs": ["tank"]},
        "disks": [{"name": "sda"}],
        "lvm": {
            "vgs": [{"name": "tank"}],
            "pvs": [{"name": "/dev/sda", "vg": "tank"}],
            "lvs": [{"vg": "tank", "name": "web", "devices": ["/dev/sda(0)"],
                     "tags": "tiercel,tiercel.volume=abcdefgh"}],
        },
        "arrays": [{"name": "md127", "degraded": "1", "members": {"dm-7": ["in_sync", "0"]}}],
        "links": {"/sys/block/dm-7/slaves/dm-0": "/sys/block/dm-0"},
    }  # fmt: skip
    if between == "none":
        described["arrays"][0]["members"] = {"dm-0": ["in_sync", "0"]}
    seen = Seen(**described)
    assert seen.codes == ["guest_array"]
    assert "tank/web" in seen.text and "--add" not in seen.text
    assert {each.code for each in seen.findings} == {"guest_array"}
    machine: Any = ReportedHost(**described)
    named = {"array": "md127", "uuid": seen.array("md127").uuid}
    with pytest.raises(Refusal, match="lies on a logical volume"):
        check_array(machine, named)


def test_an_array_in_an_unknown_state_says_how_far_it_is_in_our_own_words() -> None:
    seen = host(
        {"name": "md0", "members": IN_SYNC, "array_state": "dreaming", "sync_action": "resync",
         "sync_completed": "600 / 1200", "sync_speed": "1"}
    )  # fmt: skip
    assert "/proc/mdstat" not in seen.text
    assert "50 % is done, and about 5 min are left" in seen.text


# --- LVM -----------------------------------------------------------------------------------------


def test_a_disk_that_is_back_is_given_to_lvm_again() -> None:
    described = cached(mode="writethrough")
    described["lvm"]["pvs"][1]["missing"] = True
    seen = Seen(**described)
    assert "vgextend --restoremissing tank /dev/sdb" in seen.text
    assert "Reconnect the disk." not in seen.text
    away = cached({"vg": "tank", "name": "old", "devices": [f"{GONE}(0)"]}, mode="writethrough")
    assert "--restoremissing" not in Seen(**away).text


def group(**vg: Any) -> dict[str, Any]:
    """A group of which a disk is missing, in another odd state as well."""
    described = cached({"vg": "tank", "name": "old", "devices": [f"{GONE}(0)"]})
    for pv in described["lvm"]["pvs"]:
        pv["fields"] = vg
    return described


@pytest.mark.parametrize(
    ("fields", "code", "typed"),
    [
        ({"vg_allocation_policy": "contiguous"}, "vg_allocation", "vgchange"),
        ({"vg_mda_size": "1048576", "vg_mda_free": "1000"}, "vg_metadata_full", "pvcreate"),
        ({"pv_allocatable": "0"}, "pv_not_allocatable", "pvchange"),
    ],
)
def test_nothing_of_a_group_is_to_be_changed_while_a_disk_is_missing(
    fields: dict[str, str], code: str, typed: str
) -> None:
    ill = Seen(**group(**fields))
    assert code in ill.codes and typed not in ill.text
    well = cached(mode="writethrough")
    for pv in well["lvm"]["pvs"]:
        pv["fields"] = fields
    assert typed in Seen(**well).text


def test_a_missing_disk_is_not_to_be_made_allocatable() -> None:
    seen = Seen(**group(pv_allocatable="0"))
    assert "/dev/[unknown]" not in seen.text


def test_an_exported_group_is_imported_before_anything_else() -> None:
    described = cached(mode="writethrough", policy={"vgs": ["tank"], "alone_vgs": ["tank"]})
    for pv in described["lvm"]["pvs"]:
        pv["fields"] = {"vg_exported": "1", "pv_exported": "1"}
    seen = Seen(**described)
    assert "vgimport tank" in seen.text and "--alone" not in seen.text
    (vg,) = seen.host.vgs
    assert not vg.allowed


@pytest.mark.parametrize("active", [True, False])
def test_a_mirror_is_repaired_only_while_it_is_active(active: bool) -> None:
    legs = raid("safe", ["/dev/sda", GONE], role="public", active=active)
    seen = Seen(**cached(*legs))
    text = "\n".join(each.correction for each in seen.findings if each.subject == "tank/safe")
    assert "lvconvert --repair tank/safe" in text
    assert ("lvchange -ay tank/safe" in text) is not active


def test_a_mirror_below_a_cache_that_is_off_is_activated_with_its_volume() -> None:
    described = cached(*mirrored_pool("/dev/sdc", GONE))
    described["lvm"]["lvs"][0]["active"] = False
    assert "lvchange -ay tank/web. Then: " in Seen(**described).text


def test_a_cache_that_is_off_is_not_to_be_written_back_by_it() -> None:
    described = cached()
    described["lvm"]["lvs"][0]["active"] = False
    text = Seen(**described).text
    assert "lvchange -ay tank/web" in text and "cleaner" not in text
    assert "cleaner" in Seen(**cached()).text


# --- Disks ---------------------------------------------------------------------------------------


def advice(document: dict[str, Any]) -> list[tuple[str, bool]]:
    """Each finding's code, and whether the disk is to be replaced."""
    return [(each.code, "replace the disk" in each.correction) for each in made(document)]


WARM = [attribute(190, "Airflow_Temperature_Cel", 61, value=39, failed="now")]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (nvme("M", "S", critical_warning=0x02), [("disk_hot", False)]),
        (nvme("M", "S", critical_warning=0x06), [("disk_failing", True)]),
        (nvme("M", "S", critical_warning=0x01), [("disk_failing", True)]),
        (ata("M", "S", WARM, rotation_rpm=7200, celsius=50), [("disk_hot", False)]),
        (ata("M", "S", WARM, rotation_rpm=7200, celsius=61), [("disk_hot", False)]),
        (
            ata("M", "S", [attribute(194, "Temperature_Celsius", 60, failed="now")]),
            [("disk_hot", False)],
        ),
        (
            ata("M", "S", [*WARM, attribute(5, "Reallocated_Sector_Ct", 9, failed="now")]),
            [("attribute_failed", True), ("disk_hot", False)],
        ),
        (ata("M", "S", [attribute(190, "Airflow_Temperature_Cel", 61, failed="past")]), []),
    ],
)
def test_a_warm_disk_is_cooled_and_not_replaced(
    document: dict[str, Any], expected: list[tuple[str, bool]]
) -> None:
    assert advice(copy.deepcopy(document)) == expected
