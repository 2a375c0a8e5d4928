"""The verb `smart`: disks are asked one by one, and one that hangs costs the others nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from storage.agent import REPLY_LIMIT
from storage.agent.kernel import smartctl
from storage.agent.kernel.local_host import CommandResult
from storage.agent.operations import disk_checks
from tests.contract.client import Agent
from tests.fake import FakeHost
from tests.smart_disks import ata, attribute, nvme, statistic


def disks(agent: Agent) -> dict[str, Any]:
    return {disk["device"]: disk for disk in agent.data("smart")["disks"]}


def test_a_disk_says_its_health(agent: Agent, host: FakeHost) -> None:
    with host.changing() as machine:
        machine.disks[0].smart = ata(
            "SAMSUNG MZ7LH480HAHQ-00005",
            "S1",
            [attribute(241, "Total_LBAs_Written", 1000, value=99)],
            statistics=[statistic(1, 24, 1000)],
            wwn={"naa": 5, "oui": 0x2538, "id": 0xE40A1B2C3},
        )
        machine.disks[0].counters.write(0, 4096, 1)
    disk = disks(agent)["/dev/sda"]
    assert (disk["state"], disk["name"], disk["exit_status"]) == ("read", "sda", 0)
    assert disk["sectors_written"] == 4096
    health = disk["health"]
    assert (health["model"], health["serial"]) == ("SAMSUNG MZ7LH480HAHQ-00005", "S1")
    assert health["wwn"] == "5002538e40a1b2c3"
    assert health["statistics"] == [{"page": 1, "offset": 24, "value": 1000}]
    (row,) = health["attributes"]
    assert (row["name"], row["raw"], row["value"]) == ("Total_LBAs_Written", 1000, 99)


def test_a_host_without_smartctl_says_so(agent: Agent, host: FakeHost) -> None:
    with host.changing() as machine:
        machine.missing_tools.add("smartctl")
    reply = agent.ask("smart")
    assert reply["ok"]
    assert (reply["data"]["installed"], reply["data"]["disks"]) == (False, [])


def test_a_disk_that_hangs_costs_its_own_figures_alone(agent: Agent, host: FakeHost) -> None:
    host.hang_disk("/dev/sdb")
    answers = disks(agent)
    assert {device: disk["state"] for device, disk in answers.items()} == {
        "/dev/sda": "read",
        "/dev/sdb": "hung",
        "/dev/sdc": "read",
        "/dev/sdd": "read",
    }
    assert "does not answer" in answers["/dev/sdb"]["message"]
    assert answers["/dev/sdb"]["health"] is None
    assert agent.ask("sample")["ok"] and agent.ask("inventory")["ok"]


def test_disks_behind_a_program_that_hangs_elsewhere_are_asked_all_the_same(
    agent: Agent, host: FakeHost
) -> None:
    host.hang_next("lvm")
    assert not agent.ask("inventory")["ok"]
    assert {disk["state"] for disk in disks(agent).values()} == {"read"}


def test_a_sleeping_disk_is_not_woken(agent: Agent, host: FakeHost) -> None:
    with host.changing() as machine:
        machine.disks[2].sleeps = True
    disk = disks(agent)["/dev/sdc"]
    assert (disk["state"], disk["health"]) == ("standby", None)


def test_disks_that_hang_cost_a_limited_time_and_not_always_the_same_others(
    agent: Agent, host: FakeHost
) -> None:
    hanging = [f"/dev/bus/{number}" for number in range(8)]
    with host.changing() as machine:
        for device in hanging:
            machine.hidden_disks[device, "megaraid,0"] = nvme("Quick", "N")
            host.hang_disk(device)
    there = {*hanging, "/dev/sda", "/dev/sdb", "/dev/sdc", "/dev/sdd"}
    asked = set()
    for _ in range(12):
        began_ns = host.boottime_ns()
        reply = agent.data("smart")
        assert host.boottime_ns() - began_ns <= 140e9
        assert reply["message"] == "" and {disk["device"] for disk in reply["disks"]} == there
        assert "unasked" in {disk["state"] for disk in reply["disks"]}
        asked |= {disk["device"] for disk in reply["disks"] if disk["state"] == "read"}
        host.advance(60)
    assert asked == {"/dev/sda", "/dev/sdb", "/dev/sdc", "/dev/sdd"}


def test_a_scan_that_does_not_end_is_said(agent: Agent, host: FakeHost) -> None:
    host.slow_next("smartctl", 30.0)
    reply = agent.data("smart")
    assert (reply["disks"], reply["message"]) == ([], "smartctl --scan did not end in time.")


def test_disks_that_are_too_many_for_one_reading_are_listed_and_read_by_the_next_ones(
    agent: Agent, host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smartctl, "DISKS_LIMIT", 1)
    read = set()
    for _ in range(40):
        reply = agent.data("smart")
        states = [disk["state"] for disk in reply["disks"]]
        assert sorted(states) == ["read", "unasked", "unasked", "unasked"]
        assert reply["message"] == ""
        read |= {disk["device"] for disk in reply["disks"] if disk["state"] == "read"}
        host.advance(60)
    assert read == {"/dev/sda", "/dev/sdb", "/dev/sdc", "/dev/sdd"}


def test_more_disks_than_one_answer_holds_are_counted(
    agent: Agent, host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smartctl, "LISTED_LIMIT", 1)
    reply = agent.data("smart")
    assert len(reply["disks"]) == 1
    assert reply["message"] == "The host has 4 disks, and only 1 are listed."


def test_a_smartctl_that_prints_no_json_is_said_to_be_old(agent: Agent, host: FakeHost) -> None:
    host.fail_next("smartctl", 1, "unrecognized option")
    reply = agent.data("smart")
    assert reply["disks"] == [] and "smartmontools 7.0 or newer" in reply["message"]


def test_disks_behind_a_controller_have_no_name_of_the_kernel(agent: Agent, host: FakeHost) -> None:
    with host.changing() as machine:
        machine.hidden_disks["/dev/bus/6", "megaraid,3"] = ata("WD4000FYYX", "W3", [])
        machine.hidden_disks["/dev/sg0", "cciss,1"] = ata("MB0500EBNCR", "H1", [])
    answers = disks(agent)
    for device, kind in (("/dev/bus/6", "megaraid,3"), ("/dev/sg0", "cciss,1")):
        disk = answers[device]
        assert (disk["type"], disk["name"], disk["sectors_written"]) == (kind, "", None)
        assert disk["health"]["serial"] in ("W3", "H1")


@pytest.mark.parametrize(
    "scanned",
    [
        {"name": "/dev/sda; rm -rf /", "type": "scsi"},
        {"name": "--help", "type": "scsi"},
        {"name": "/dev/../etc/shadow", "type": "scsi"},
        {"name": "/dev/sda", "type": "sat -s off"},
        {"name": 5, "type": "scsi"},
        {"name": "/dev/sda"},
        "sda",
    ],
)
def test_nothing_odd_of_a_scan_becomes_a_command(host: FakeHost, scanned: Any) -> None:
    document = json.dumps({"smartctl": {"version": [7, 3]}, "devices": [scanned]})
    host._failures["smartctl"] = [CommandResult(0, document)]
    assert smartctl.scan(host) == ((), "7.3")


def test_what_a_disk_says_wrongly_is_left_out() -> None:
    document: dict[str, Any] = dict(ata("M", "S", [attribute(5, "Reallocated_Sector_Ct", 3)]))
    document["ata_smart_attributes"]["table"] += ["no row", {"id": "5"}, {"id": 6, "raw": {}}]
    document["user_capacity"] = {"bytes": -1}
    document["temperature"] = {"current": "hot"}
    document["power_on_time"] = {"hours": 1 << 70}
    document["rotation_rate"] = True
    document["smart_status"] = {"passed": "yes"}
    document["ata_device_statistics"] = {"pages": [{"number": 1, "table": [{"offset": 24}]}, 7]}
    health = smartctl.health(document)
    assert [row["id"] for row in health["attributes"]] == [5]
    empty = ("size_bytes", "temperature_celsius", "power_on_hours", "rotation_rpm", "passed")
    assert [health[name] for name in empty] == [None] * len(empty)
    assert health["statistics"] == []


@pytest.mark.parametrize("output", ["", "no JSON", "[]", "[" * 100_000, '{"device": 3}'])
def test_output_that_is_none_is_a_disk_that_failed(host: FakeHost, output: str) -> None:
    host._failures["smartctl"] = [CommandResult(0, output, "cannot open\nmore")]
    answer = smartctl.ask_disk(host, smartctl.SmartTarget("/dev/sda", ""))
    assert (answer.state, answer.health) == ("failed", None)
    assert answer.message == "cannot open"


@pytest.mark.parametrize(
    ("status", "state"),
    [(0, "read"), (1, "failed"), (2, "failed"), (3, "standby"), (4, "read"), (8, "read"),
     (64 + 128, "read"), (16 + 4, "read"), (-9, "failed")],
)  # fmt: skip
def test_the_bits_of_the_exit_status(host: FakeHost, status: int, state: str) -> None:
    host._failures["smartctl"] = [CommandResult(status, json.dumps(ata("M", "S", [])))]
    answer = smartctl.ask_disk(host, smartctl.SmartTarget("/dev/sda", ""))
    assert (answer.state, answer.exit_status) == (state, status)


def test_the_answer_of_a_large_host_is_small(host: FakeHost) -> None:
    """A disk with all the attributes and statistics there can be."""
    rows = [attribute(number, "A" * 30, 2**47, value=100) for number in range(1, 40)]
    pages = [statistic(1, 8 * number, 2**40) for number in range(100)]
    health = smartctl.health(ata("M" * 40, "S" * 20, rows, statistics=pages))
    assert len(json.dumps(health)) * smartctl.DISKS_LIMIT < REPLY_LIMIT / 2


@pytest.mark.parametrize("count", [2, 5, 10, 20])
def test_in_whatever_rhythm_the_panel_asks_every_disk_is_the_first_one_some_time(
    count: int,
) -> None:
    targets = [smartctl.SmartTarget(f"/dev/sd{n}", "") for n in range(count)]
    rounds = range(0, 20 * count * 50 * 60 * 10**9, 50 * 60 * 10**9)
    first = {disk_checks._turned(targets, at_ns)[0] for at_ns in rounds}
    assert first == set(targets)
