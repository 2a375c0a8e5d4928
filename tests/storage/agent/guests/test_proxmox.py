"""Volumes of Proxmox VE, which switches them off with their guests."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.client import Agent
from tests.contract.fake_world import FakeWorld
from tests.fake import FakeHost
from tests.fake.fixtures import fake_host as fake_host

STORAGE = b"lvm: fast\n\tvgname vg0\n"


def stopped(host: FakeHost, disk: str) -> tuple[Agent, str]:
    """A managed volume, off; a Proxmox guest that is off has `disk`."""
    agent = Agent(FakeWorld(host))
    volume = agent.volume()
    host.save("/etc/pve/storage.cfg", STORAGE)
    disk = disk.format(volume=volume, key=volume[2:])
    host.save("/etc/pve/qemu-server/101.conf", f"name: web12\nscsi0: {disk},size=32G\n".encode())
    with host.changing():
        host.root.lv(volume).minor = None
    return agent, volume


def problems(agent: Agent) -> list[str]:
    return [each["code"] for each in agent.data("hello")["problems"]]


def retirement(volume: str) -> dict[str, Any]:
    key = volume[2:]
    return {"lv": volume, "retired_name": f"del-{key}", "volume_key": key, "layout": "plain"}


@pytest.mark.parametrize("disk", ["fast:{volume}", "/dev/vg0/{volume}", "/dev/tiercel/{key}"])
def test_a_volume_of_a_guest_that_is_off_is_no_trouble_and_has_its_user(
    fake_host: FakeHost, disk: str
) -> None:
    agent, volume = stopped(fake_host, disk)
    (user,) = agent.lv(volume)["users"]
    assert (user["kind"], user["name"], user["pid"]) == ("proxmox", "web12", None)
    assert "volume_inactive" not in problems(agent)


def test_a_volume_that_no_guest_names_is_reported_as_off(fake_host: FakeHost) -> None:
    agent, volume = stopped(fake_host, "fast:other")
    assert agent.lv(volume)["users"] == []
    assert "volume_inactive" in problems(agent)


def test_a_volume_that_is_off_with_its_guest_is_not_retired(fake_host: FakeHost) -> None:
    agent, volume = stopped(fake_host, "fast:{volume}")
    with agent.unchanged():
        assert agent.refused("volume.retire", retirement(volume)) == "in_use"
    fake_host.save("/etc/pve/qemu-server/101.conf", b"name: web12\n")
    agent.do("volume.retire", retirement(volume))
