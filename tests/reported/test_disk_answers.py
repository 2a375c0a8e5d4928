"""What smartctl finds and says: which disk an answer is of, and what silence means."""

from __future__ import annotations

import json
from typing import Any

import pytest

from storage.agent.kernel import smartctl
from storage.health.smart_endurance import wear_of
from storage.health.smart_findings import baseline_after, error_counts, findings
from storage.health.smart_reading import DiskAnswer, decode_smart
from tests.reported.host import disk_answers
from tests.smart_disks import ata, attribute, nvme, sas
from tests.storage.health.test_smart_findings import NOW, codes
from tests.storage.health.test_smart_written import health_of


def answers(**described: Any) -> dict[str, DiskAnswer]:
    disks = json.loads(json.dumps(disk_answers(**described)))
    reply = decode_smart({"installed": True, "version": "7.3", "message": "", "disks": disks})
    return {each.place: each for each in reply.disks}


def text_of(answer: DiskAnswer) -> str:
    made = findings(answer, {}, None, None, NOW)
    return "\n".join(f"{each.code}: {each.message} {each.correction}" for each in made)


def drive(size: str, removable: str) -> dict[str, str]:
    return {"/sys/block/sdz/size": size, "/sys/block/sdz/removable": removable,
            "/sys/block/sdz/dev": "65:0"}  # fmt: skip


BRIDGE = {"smartctl": {"version": [7, 3], "exit_status": 1,
                       "messages": [{"string": "/dev/sdz: Unknown USB bridge"}]}}  # fmt: skip


@pytest.mark.parametrize(
    ("size", "removable", "is_listed"),
    [("0", "1", False), ("4096", "1", True), ("0", "0", True)],
)
def test_only_a_drive_that_has_no_medium_has_no_health(
    size: str, removable: str, is_listed: bool
) -> None:
    found = answers(
        files=drive(size, removable),
        smartctl={"devices": [{"name": "/dev/sdz", "rc": 1, "document": BRIDGE}]},
    )
    assert bool(found) is is_listed
    assert not is_listed or "disk_unread" in text_of(found["/dev/sdz"])


def controllers_disk(**fields: Any) -> dict[str, Any]:
    return {"smartctl": {"version": [7, 3], "exit_status": 4},
            "device": {"type": "megaraid,4", "protocol": "SCSI"}, "serial_number": "S4",
            **fields}  # fmt: skip


def test_a_disk_behind_a_controller_that_gives_no_verdict_is_reported() -> None:
    refusing = controllers_disk(smart_support={"available": False})
    whole = sas("M", "S3")
    volume = {"smartctl": {"version": [7, 3], "exit_status": 4},
              "device": {"type": "scsi", "protocol": "SCSI"}, "serial_number": "V"}  # fmt: skip
    found = answers(
        smartctl={"devices": [
            {"name": "/dev/sda", "document": volume},
            {"name": "/dev/bus/0", "type": "megaraid,3", "document": whole},
            {"name": "/dev/bus/0", "type": "megaraid,4", "rc": 4, "document": refusing},
        ]}
    )  # fmt: skip
    assert text_of(found["/dev/sda"]) == text_of(found["/dev/bus/0 (megaraid,3)"]) == ""
    assert "megaraid,4" in text_of(found["/dev/bus/0 (megaraid,4)"])


def test_an_ata_or_nvme_disk_has_a_verdict_to_give() -> None:
    for document in (ata("M", "S", []), nvme("M", "S")):
        assert codes(document) == []
        assert codes({**document, "smart_status": {}}) == ["disk_unread"]


def nvme_host(controller: str, **spaces: str) -> str:
    """The name of the answer of /dev/nvme0, which is of the subsystem `controller`; `spaces` are
    namespaces with theirs."""
    files = {f"/sys/block/{name}/device/subsysnqn": nqn for name, nqn in spaces.items() if nqn}
    if controller:
        files["/sys/class/nvme/nvme0/subsysnqn"] = controller
    disks = [{"name": name, "dev": f"259:{at}"} for at, name in enumerate(spaces)]
    document = nvme("M", "S")
    found = answers(
        disks=[] if files else disks,
        files={**files, **{f"/sys/block/{name}/size": "9" for name in spaces if files}},
        smartctl={"devices": [{"name": "/dev/nvme0", "type": "nvme", "document": document}]},
    )
    return found["/dev/nvme0 (nvme)"].name


def test_the_digits_of_an_nvme_name_say_nothing_of_its_controller() -> None:
    assert nvme_host("nqn.b", nvme0n1="nqn.a", nvme1n1="nqn.b") == "nvme1n1"
    assert nvme_host("nqn.c", nvme0n1="nqn.a", nvme1n1="nqn.b") == ""
    assert nvme_host("nqn.a", nvme0n1="nqn.a", nvme0n2="nqn.a") == ""
    assert nvme_host("", nvme0n1="") == "nvme0n1"


@pytest.mark.parametrize(
    ("version", "count"), [([7, 0], 8), ([7, 1], 8), ([7, 2], 64), ([7, 4], 64), ([8, 0], 64)]
)
def test_old_smartctl_tells_the_length_of_a_list_and_not_its_entries(
    version: list[int], count: int
) -> None:
    document = sas("M", "S", defects=64, smartctl={"version": version, "exit_status": 0})
    assert error_counts(health_of(document))["reallocated"] == count


@pytest.mark.parametrize(
    "name",
    ["Reallocated_Sector_Ct", "Reallocate_NAND_Blk_Cnt", "Retired_Block_Count", "New_Bad_Blk_Count",
     "Runtime_Bad_Block", "Later_Bad_Block", "Realloc_Flash_Blocks_Ct", "Retried_Blk_Ct"],
)  # fmt: skip
def test_blocks_that_were_replaced_have_many_names(name: str) -> None:
    document = ata("M", "S", [attribute(5, name, 37)])
    assert codes(document, {"reallocated": 0}) == ["reallocated_rose"]


def test_sectors_that_cannot_be_read_now_are_reported_at_once_and_until_a_person_accepts_them() -> (
    None
):
    rows = [attribute(197, "Current_Pending_Sector", 5), attribute(198, "Offline_Uncorrectable", 2)]
    health = health_of(ata("M", "S", rows, rotation_rpm=7200))
    counts = error_counts(health)
    answer = DiskAnswer("/dev/sda", "", "sda", "read", health=health)
    first = findings(answer, baseline_after({}, counts), None, None, NOW)
    assert [(each.code, each.message) for each in first] == [
        ("uncorrectable_rose", "2 uncorrectable errors."),
        ("pending_rose", "5 pending sectors."),
    ]
    assert findings(answer, counts, None, None, NOW, accepted=counts) == ()


def test_a_count_of_the_past_is_known_from_its_first_reading() -> None:
    for document in (nvme("M", "S", media_errors=7), sas("M", "S", uncorrected=9, defects=3)):
        assert codes(document) == []


def test_a_count_that_a_disk_stops_telling_keeps_its_baseline() -> None:
    assert baseline_after(baseline_after({"crc": 3}, {}), {"crc": 9}) == {"crc": 3}


def log_of(*rows: tuple[str, bool | None]) -> dict[str, Any]:
    table = [{"type": {"string": kind}, "status": {"string": "-", "passed": passed}}
             for kind, passed in rows]  # fmt: skip
    return ata("M", "S", [], ata_smart_self_test_log={"standard": {"table": table}})


SHORT, LONG = "Short offline", "Extended offline"


@pytest.mark.parametrize(
    ("rows", "is_failed"),
    [
        ([(SHORT, True), (LONG, False)], True),
        ([(SHORT, True)] * 20 + [(LONG, False)], True),
        ([(LONG, True), (LONG, False)], False),
        ([("Extended captive", True), (SHORT, False)], False),
        ([(LONG, None), (LONG, False)], True),
        ([("Conveyance offline", True), (SHORT, False)], True),
        ([(SHORT, False), (LONG, True)], True),
        ([(SHORT, True), (LONG, True), (LONG, False)], False),
    ],
)
def test_only_a_newer_extended_test_outdates_one_that_failed(
    rows: list[tuple[str, bool | None]], is_failed: bool
) -> None:
    assert codes(log_of(*rows)) == (["self_test_failed"] if is_failed else [])


def test_a_long_test_of_a_sas_disk_outdates_too() -> None:
    def result(value: int, kind: str) -> dict[str, Any]:
        return {"result": {"value": value, "string": "-"}, "code": {"string": kind}}

    failed = sas("M", "S", scsi_self_test_0=result(0, "Background short"),
                 scsi_self_test_1=result(5, "Background long"))  # fmt: skip
    assert codes(failed) == ["self_test_failed"]
    outdated = sas("M", "S", scsi_self_test_0=result(0, "Background long"),
                   scsi_self_test_1=result(5, "Background long"))  # fmt: skip
    assert codes(outdated) == []


@pytest.mark.parametrize(
    ("model", "family", "value", "raw", "percent"),
    [
        ("KINGSTON SA400S37120G", "Phison Driven SSDs", 14, 86, 14),
        ("KINGSTON SH103S3120G", "SandForce Driven SSDs", 95, 0, 5),
        ("KINGSTON SV300S37A120G", "SandForce Driven SSDs", 100, 1, 0),
        ("KINGSTON SH103S3120G", "", 95, 0, None),
        ("OCZ-AGILITY3", "SandForce Driven SSDs", 88, 0, 12),
        ("KINGSTON SKC400S371T", "Phison Driven SSDs", 100, 74, 26),
    ],
)
def test_a_brand_does_not_say_in_which_field_the_life_of_an_ssd_is(
    model: str, family: str, value: int, raw: int, percent: int | None
) -> None:
    row = attribute(231, "SSD_Life_Left", raw, value=value)
    wear = wear_of(health_of(ata(model, "S", [row], model_family=family)))
    assert (None if wear is None else wear.percent) == percent


def test_the_agent_reads_as_many_tests_as_a_disk_keeps() -> None:
    document = log_of(*[(SHORT, True)] * 21)
    assert len(smartctl.health(document)["self_tests"]) == 21
