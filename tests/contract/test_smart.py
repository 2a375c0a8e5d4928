"""What disks say of their own health, and checks of disks and arrays. Disks of a virtual machine
say next to nothing of their health, and know no self-tests."""

from __future__ import annotations

import time

import pytest

from tests.contract.client import Agent
from tests.contract.world import World


def test_every_disk_that_smartctl_knows_is_asked(agent: Agent) -> None:
    reply = agent.data("smart")
    assert reply["installed"] is True and reply["message"] == ""
    assert int(reply["version"].partition(".")[0]) >= 7
    disks = {disk["name"]: disk for disk in reply["disks"]}
    inventory = {disk["name"]: disk for disk in agent.inventory()["disks"]}
    assert {"sda", "sdb", "sdc", "sdd"} <= disks.keys() <= inventory.keys()
    for name, disk in disks.items():
        assert (disk["device"], disk["type"]) == (f"/dev/{name}", "")
        assert disk["state"] == "read" and disk["sectors_written"] >= 0
        health = disk["health"]
        assert health["protocol"] == "SCSI" and health["serial"] == inventory[name]["serial"]
        assert health["size_bytes"] == inventory[name]["size_bytes"]
        assert (health["passed"], health["attributes"], health["nvme"]) == (None, [], None)


@pytest.mark.thorough
def test_a_disk_that_knows_no_self_tests_says_so(agent: Agent) -> None:
    disk = next(each for each in agent.data("smart")["disks"] if each["name"] == "sdc")
    args = {"device": disk["device"], "type": "", "kind": "short"}
    other = agent.ask("disk.test", {**args, "serial": "another"})
    assert other["error"]["code"] == "stale"
    reply = agent.ask("disk.test", {**args, "serial": disk["health"]["serial"]})
    assert reply["error"]["code"] == "unsupported", reply
    assert "self test failed" in reply["error"]["message"], reply


@pytest.mark.thorough
def test_the_kernel_checks_an_array_and_says_how_far_it_is(agent: Agent) -> None:
    (array,) = agent.inventory()["arrays"]
    assert (array["sync_action"], array["sync_done_sectors"]) == ("idle", None)
    assert (array["mismatch_sectors"], array["disk_count"]) == (0, 2)
    assert sorted(member["slot"] for member in array["members"]) == ["0", "1"]
    args = {"array": array["name"], "uuid": array["uuid"]}
    assert agent.ask("array.check", {**args, "uuid": "another"})["error"]["code"] == "stale"
    assert agent.ask("array.check", args)["ok"]
    (begun,) = agent.inventory()["arrays"]
    if begun["sync_action"] == "check":
        assert 0 <= begun["sync_done_sectors"] <= begun["sync_total_sectors"]
        again = agent.ask("array.check", args)
        assert again["ok"] or again["error"]["code"] == "already_exists"


@pytest.mark.thorough
def test_an_interrupted_check_leaves_its_place_and_the_next_one_begins_anew(
    agent: Agent, world: World
) -> None:
    (array,) = agent.inventory()["arrays"]
    _until_idle(agent)
    world.interrupt_check(array["name"])
    left = agent.inventory()["arrays"][0]
    assert left["sync_action"] == "idle"
    assert 0 < left["sync_min_sectors"] < array["size_bytes"] // 512
    assert agent.ask("array.check", {"array": array["name"], "uuid": array["uuid"]})["ok"]
    begun = agent.inventory()["arrays"][0]
    assert begun["sync_min_sectors"] == 0, "all of it is compared"


def _until_idle(agent: Agent) -> None:
    end = time.monotonic() + 120
    while agent.inventory()["arrays"][0]["sync_action"] != "idle":
        if agent.world.name == "fake" or time.monotonic() > end:
            raise AssertionError("the array is at work")
        time.sleep(0.5)
