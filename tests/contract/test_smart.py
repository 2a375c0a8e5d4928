"""What disks say of their own health. Disks of a virtual machine say next to nothing of it."""

from __future__ import annotations

from tests.contract.client import Agent


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
