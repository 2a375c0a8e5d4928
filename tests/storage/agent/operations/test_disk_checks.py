"""Self-tests of disks and checks of arrays begin only where they slow no I/O and wake no disk."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.client import Agent
from tests.fake import FakeHost
from tests.smart_disks import ata

HDD: Any = {"rotation_rpm": 7200}


@pytest.fixture
def host(host: FakeHost) -> FakeHost:
    """sda, a member of md0, and sdc are disks that say how they are."""
    with host.changing() as machine:
        machine.disks[0].smart = ata("SSD", "S1", [])
        machine.disks[2].smart = ata("HDD", "H1", [], **HDD)
    return host


def ask(agent: Agent, **fields: str) -> dict[str, Any]:
    args = {"device": "/dev/sdc", "type": "", "serial": "H1", "kind": "short", **fields}
    return agent.ask("disk.test", args)


def begun(host: FakeHost) -> list[str]:
    return [str(argv[-1]) for argv in host.executed if argv[0] == "smartctl" and "-t" in argv]


def test_a_self_test_begins_and_the_next_reading_says_how_far_it_is(
    agent: Agent, host: FakeHost
) -> None:
    assert ask(agent)["ok"]
    disks = {disk["device"]: disk for disk in agent.data("smart")["disks"]}
    assert disks["/dev/sdc"]["health"]["running_test"] == {"remaining_percent": 90}
    assert disks["/dev/sdc"]["health"]["test_minutes"] == {"short": 2, "long": 600}
    assert disks["/dev/sda"]["health"]["running_test"] is None


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"serial": "H2"}, "stale"),
        ({"device": "/dev/sdz"}, "not_found"),
        ({"type": "megaraid,3"}, "not_found"),
        ({"device": "/dev/../etc/passwd"}, "bad_request"),
        ({"device": "-d"}, "bad_request"),
        ({"kind": "captive"}, "bad_request"),
    ],
)
def test_only_the_disk_that_was_meant_is_tested(
    agent: Agent, host: FakeHost, fields: dict[str, str], code: str
) -> None:
    assert ask(agent, **fields)["error"]["code"] == code
    assert begun(host) == []


def test_a_sleeping_disk_is_not_woken_for_a_test(agent: Agent, host: FakeHost) -> None:
    with host.changing() as machine:
        machine.disks[2].sleeps = True
    error = ask(agent)["error"]
    assert (error["code"], "asleep" in error["message"]) == ("busy", True)
    assert begun(host) == []


def test_a_disk_of_an_array_that_is_rebuilt_is_left_alone(agent: Agent, host: FakeHost) -> None:
    with host.changing() as machine:
        machine.arrays[0].sync_action = "recover"
    error = ask(agent, device="/dev/sda", serial="S1")["error"]
    assert (error["code"], "md0 is at work on sda: recover" in error["message"]) == ("busy", True)
    assert ask(agent)["ok"], "another disk is free"


def test_one_test_at_a_time(agent: Agent, host: FakeHost) -> None:
    assert ask(agent)["ok"]
    assert ask(agent, kind="long")["error"]["code"] == "already_exists"


def test_a_disk_that_knows_no_self_tests_says_so(agent: Agent, host: FakeHost) -> None:
    serial = next(d for d in agent.data("smart")["disks"] if d["device"] == "/dev/sdd")
    error = ask(agent, device="/dev/sdd", serial=serial["health"]["serial"])["error"]
    assert error["code"] == "unsupported"
    assert error["message"].endswith("Short offline self test failed [unsupported scsi opcode]")


def test_a_host_without_smartctl_tests_nothing(agent: Agent, host: FakeHost) -> None:
    with host.changing() as machine:
        machine.missing_tools.add("smartctl")
    assert ask(agent)["error"]["code"] == "missing_tool"


def check(agent: Agent, host: FakeHost, **fields: str) -> dict[str, Any]:
    args = {"array": "md0", "uuid": host.machine.arrays[0].uuid, **fields}
    return agent.ask("array.check", args)


def test_an_array_is_checked_and_the_inventory_says_how_far(agent: Agent, host: FakeHost) -> None:
    assert check(agent, host)["ok"]
    with host.changing() as machine:
        machine.arrays[0].sync_completed = "1000 / 4000"
    (array,) = agent.data("inventory")["arrays"]
    assert (array["sync_action"], array["sync_speed_kib"]) == ("check", 200_000)
    assert (array["sync_done_sectors"], array["sync_total_sectors"]) == (1000, 4000)
    assert check(agent, host)["error"]["code"] == "already_exists"


def test_an_idle_array_says_what_its_last_check_found(agent: Agent, host: FakeHost) -> None:
    with host.changing() as machine:
        machine.arrays[0].mismatch_sectors = 128
    (array,) = agent.data("inventory")["arrays"]
    assert (array["mismatch_sectors"], array["disk_count"]) == (128, 2)
    assert (array["sync_done_sectors"], array["sync_speed_kib"]) == (None, None)
    assert [member["slot"] for member in array["members"]] == ["0", "1"]


def test_a_degraded_array_is_not_checked(agent: Agent, host: FakeHost) -> None:
    with host.changing() as machine:
        machine.arrays[0].failed.add("sdb")
    error = check(agent, host)["error"]
    assert error["code"] == "degraded" and "mdadm --manage /dev/md0 --add" in error["correction"]


def test_an_array_that_is_rebuilt_is_not_checked(agent: Agent, host: FakeHost) -> None:
    with host.changing() as machine:
        machine.arrays[0].sync_action = "resync"
    assert check(agent, host)["error"]["code"] == "busy"


@pytest.mark.parametrize(
    ("fields", "code"), [({"uuid": "other"}, "stale"), ({"array": "md9"}, "not_found"),
                         ({"array": "sda"}, "not_found"), ({"array": "../x"}, "bad_request")],
)  # fmt: skip
def test_only_the_array_that_was_meant_is_checked(
    agent: Agent, host: FakeHost, fields: dict[str, str], code: str
) -> None:
    assert check(agent, host, **fields)["error"]["code"] == code


def test_a_host_that_only_lets_the_panel_look_begins_no_check(agent: Agent, host: FakeHost) -> None:
    host.save("/etc/tiercel/agent.json", b'{"vgs": []}')
    assert ask(agent)["error"]["code"] == "observe_only"
    array = next(each for each in agent.data("inventory")["arrays"] if each["name"] == "md0")
    reply = agent.ask("array.check", {"array": "md0", "uuid": array["uuid"]})
    assert reply["error"]["code"] == "observe_only"
    assert begun(host) == [] and not any(each[0] == "write" for each in host.executed)
