"""md arrays: what their state means, and what may be done about it in that state."""

from __future__ import annotations

from typing import Any

import pytest

from storage.inventory.disk_list import devices_of
from storage.planner.member_wish import refusal_of
from tests.reported.host import Seen

SILENT = dict.fromkeys(
    ("degraded", "sync_action", "sync_completed", "sync_speed", "mismatch_cnt", "sync_min")
)
"""Files that the kernel makes for active arrays with copies alone."""
ADDS = "--add /dev/NEW"


def host(*arrays: dict[str, Any], **described: Any) -> Seen:
    """Four disks with a partition each, and these arrays below a group `tank`."""
    names = ("sda", "sdb", "sdc", "sdd")
    disks = [
        {"name": name, "dev": f"8:{at * 16}", "partitions": [f"{name}1"], "rota": False}
        for at, name in enumerate(names)
    ]
    lvm = {
        "vgs": [{"name": "tank"}],
        "pvs": [{"name": f"/dev/{arrays[0]['name']}", "vg": "tank"}],
        "lvs": [],
    }
    return Seen(**{"disks": disks, "arrays": arrays, "lvm": lvm, "policy": {"vgs": ["tank"]},
                   **described})  # fmt: skip


def members(**states: str) -> dict[str, list[str]]:
    """Each with its words; one that is in sync has a slot."""
    slots = iter(range(9))
    return {
        name: [words, "journal" if "journal" in words else
               str(next(slots)) if "in_sync" in words else "none"]
        for name, words in states.items()
    }  # fmt: skip


IN_SYNC = members(sda1="in_sync", sdb1="in_sync")
STATES: dict[str, tuple[dict[str, Any], str]] = {
    "two of raid5 are gone": (
        {"level": "raid5", "raid_disks": 4, "degraded": "2", "array_state": "broken"},
        "array_failed",
    ),
    "two of raid5 are gone on a kernel without the word": (
        {"level": "raid5", "raid_disks": 4, "degraded": "2", "array_state": "clean"},
        "array_failed",
    ),
    "three of raid6 are gone": (
        {"level": "raid6", "raid_disks": 5, "degraded": "3", "array_state": "active"},
        "array_failed",
    ),
    "two of raid6 are gone": (
        {"level": "raid6", "raid_disks": 5, "degraded": "2"},
        "array_degraded",
    ),
    "both of raid1 are gone": (
        {"degraded": "2", "members": members(sda1="faulty", sdb1="faulty")},
        "array_failed",
    ),
    "one of raid0 is gone": (
        {**SILENT, "level": "raid0", "array_state": "broken"},
        "array_failed",
    ),
    "two of raid10 are gone, of two pairs": (
        {"level": "raid10", "raid_disks": 4, "degraded": "2", "array_state": "active"},
        "array_degraded",
    ),
    "a failed array that claims to recover": (
        {"level": "raid5", "raid_disks": 4, "degraded": "2", "sync_action": "recover"},
        "array_failed",
    ),
    "mdadm did not start it": (
        {**SILENT, "level": "5", "array_state": "inactive", "raid_disks": 3, "sectors": 0,
         "members": members(sdb1="spare")},
        "array_inactive",
    ),
    "root set it read-only": ({"array_state": "readonly"}, "array_read_only"),
    "its journal failed": (
        {"level": "raid5", "raid_disks": 2,
         "members": {**IN_SYNC, "sdc1": ["faulty,journal", "journal"]}},
        "array_read_only",
    ),
    "it takes no I/O": ({"array_state": "suspended"}, "array_unclear"),
    "a word of a later kernel": ({"array_state": "dreaming"}, "array_unclear"),
    "the kernel does not say what is missing": ({"degraded": None}, "array_unclear"),
    "degraded, and nothing wrote since the start": (
        {"degraded": "1", "array_state": "read-auto"},
        "array_degraded",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", STATES)
def test_a_state_is_reported_as_what_it_is_by_agent_and_panel_and_is_not_healthy(what: str) -> None:
    fields, code = STATES[what]
    seen = host({"name": "md0", "members": IN_SYNC, **fields})
    agents = [each["code"] for each in seen.problems if each.get("subject") == "md0"]
    panels = [each.code for each in seen.findings if each.subject == "md0"]
    assert (agents, panels) == ([code], [code])
    assert "md0" in seen.text
    assert not seen.pv("md0").healthy
    assert (ADDS in seen.text) is (code == "array_degraded")
    refusal = refusal_of(seen.host, seen.array("md0"), allowed=True)
    assert code == "array_degraded" or (refusal is not None and refusal.code != "not_found")


WELL: dict[str, dict[str, Any]] = {
    "its copies are compared": {"sync_action": "check", "sync_completed": "10 / 100"},
    "it is new and being filled": {"sync_action": "resync", "sync_completed": "10 / 100"},
    "another array is filled first": {"sync_action": "resync", "sync_completed": "delayed"},
    "it grows": {"level": "raid5", "raid_disks": "3 (2)", "sync_action": "reshape"},
    "it is linear": {**SILENT, "level": "linear"},
    "it is striped mirrors": {"level": "raid10"},
    "its members fail fast": {"members": members(sda1="in_sync,failfast", sdb1="in_sync")},
    "firmware lists its bad blocks": {
        "members": members(sda1="in_sync,external_bbl", sdb1="in_sync"),
    },
    "a spare waits": {"members": members(sda1="in_sync", sdb1="in_sync", sdc1="spare")},
    "it is idle": {"array_state": "active-idle"},
    "nothing wrote to it since the start": {"array_state": "read-auto"},
    "a write is pending": {"array_state": "write-pending"},
    "raid0 has no redundancy files": {**SILENT, "level": "raid0"},
    "its journal works": {
        "level": "raid5", "raid_disks": 2,
        "members": {**IN_SYNC, "sdc1": ["journal", "journal"]},
    },
    "a member is for writes only": {
        "members": members(sda1="in_sync", sdb1="in_sync,write_mostly"),
    },
    "a member is exchanged": {
        "members": {"sda1": ["in_sync", "0"], "sdb1": ["in_sync,want_replacement", "1"],
                    "sdc1": ["spare,replacement", "1"], "sdd1": ["spare", "none"]},
        "sync_action": "recover", "sync_completed": "100 / 1000",
    },
}  # fmt: skip


@pytest.mark.parametrize("what", WELL)
def test_a_normal_state_raises_no_alarm(what: str) -> None:
    seen = host({"name": "md0", "members": IN_SYNC, **WELL[what]})
    assert not [code for code in seen.codes if code.startswith("array")]
    assert seen.pv("md0").healthy
    tones = {use.disk.name: use.tone for use in devices_of(seen.host)}
    assert tones["sda"] == tones["sdb"] == "ok"


def test_a_journal_is_called_one_and_is_no_spare() -> None:
    seen = host({"name": "md0", "members": WELL["its journal works"]["members"], "level": "raid5"})
    assert {use.disk.name: use.state for use in devices_of(seen.host)}["sdc"] == "write journal"
    assert seen.array("md0").spares == ()


def test_the_container_of_firmware_raid_is_always_inactive() -> None:
    halves = {"degraded": "1", "members": {"sdb1": ["in_sync", "0"]}}
    container = {**SILENT, "level": "container", "array_state": "inactive", "raid_disks": 0}
    seen = host({"name": "md126", **halves}, {"name": "md127", "dev": "9:7", **container})
    assert seen.codes == ["array_degraded"] and "md127" not in seen.text


def test_a_name_without_an_array_behind_it_is_no_array() -> None:
    seen = host(
        {"name": "md0", "members": IN_SYNC},
        {**SILENT, "name": "md9", "dev": "9:9", "level": "", "array_state": "clear"},
    )
    assert seen.codes == []


@pytest.mark.parametrize("completed", ["delayed", "100 / 1000"])
def test_no_disk_is_to_be_replaced_while_one_is_filled_or_waits_for_that(completed: str) -> None:
    filled = {"level": "raid5", "raid_disks": 3, "degraded": "1", "sync_action": "recover"}
    spare = {**IN_SYNC, "sdc1": ["spare", "2"]}
    seen = host({"name": "md0", "members": spare, "sync_completed": completed, **filled})
    assert seen.codes == ["array_recovering"] and ADDS not in seen.text
    assert (seen.array("md0").progress is None) is (completed == "delayed")


@pytest.mark.parametrize(
    ("fields", "command"),
    [
        ({"array_state": "read-auto"}, "mdadm --readwrite /dev/md0"),
        ({"sync_action": "frozen"}, "echo idle > /sys/block/md0/md/sync_action"),
    ],
)
def test_a_spare_that_waits_is_let_in_and_no_other_disk_is_asked_for(
    fields: dict[str, Any], command: str
) -> None:
    there = {"sda1": ["in_sync", "0"], "sdc1": ["spare", "none"]}
    seen = host({"name": "md0", "degraded": "1", "members": there, **fields})
    assert seen.codes == ["array_degraded"]
    assert command in seen.text and ADDS not in seen.text


def test_a_read_only_array_that_lacks_a_disk_gets_no_command_to_take_one() -> None:
    seen = host({"name": "md0", "degraded": "1", "array_state": "readonly", "members": IN_SYNC})
    assert "--readwrite" in seen.text and ADDS not in seen.text


def test_a_failed_array_says_to_look_at_its_members_before_anything_is_written() -> None:
    seen = host(
        {"name": "md0", "level": "raid5", "raid_disks": 4, "degraded": "2",
         "members": {"sda1": ["faulty", "none"], "sdb1": ["in_sync", "1"]}}
    )  # fmt: skip
    assert "Put no disk into it" in seen.text
    assert "mdadm --examine /dev/sda1 /dev/sdb1" in seen.text
    states = {use.disk.name: use.state for use in devices_of(seen.host)}
    assert (states["sda"], states["sdb"]) == ("failed", "its array is not running")
