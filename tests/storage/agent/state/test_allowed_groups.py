"""Root allows a group, not a name: its uuid decides, and what was once allowed stays protected."""

from __future__ import annotations

import json
from typing import Any

import pytest

from storage.agent.facts.inventory import storage
from storage.agent.guests import hiding
from storage.agent.kernel.paths import MountedDevice
from storage.agent.operations.boot import boot
from storage.agent.state import admin, policy, udev_links
from tests.contract.client import Agent, pool_args
from tests.fake import FakeHost


def group(host: FakeHost) -> Any:
    return next(vg for vg in storage(host, policy.load_policy(host))["vgs"])


def files(host: FakeHost) -> list[bytes | None]:
    return [host.read(path) for path in (hiding.PATH, udev_links.PATH)]


@pytest.fixture
def sold(host: FakeHost, agent: Agent) -> str:
    """A bcache volume in a group that root has allowed."""
    admin.allow_vg(host, "vg0")
    volume = agent.backing()
    boot(host)
    return volume


def test_a_group_that_is_denied_stays_hidden_from_the_host_and_comes_back(
    host: FakeHost, agent: Agent, sold: str
) -> None:
    before = files(host)
    admin.deny_vg(host, "vg0")
    with agent.unchanged():
        assert agent.refused("pool.create", pool_args("aaaaaaaa")) == "observe_only"
    agent.world.restart()
    assert agent.world.boot()[0] == 0
    assert agent.lv(sold)["bcache"]["device"] is not None
    assert files(host) == before


def test_a_group_that_is_renamed_stays_hidden_and_is_not_changed_under_its_new_name(
    host: FakeHost, agent: Agent, sold: str
) -> None:
    before = files(host)
    with host.changing() as machine:
        machine.vgs[0].name = "vg1"
    agent.world.restart()
    assert agent.world.boot()[0] == 0
    assert not group(host)["allowed"]
    assert files(host) == before
    admin.allow_vg(host, "vg1")
    assert group(host)["allowed"]
    assert json.loads(host.read(policy.PATH) or b"")["vgs"] == ["vg1"]


def test_that_no_other_machine_uses_a_group_is_said_of_that_group_alone(host: FakeHost) -> None:
    def alone() -> list[str]:
        return list(json.loads(host.read(policy.PATH) or b"")["alone"])

    admin.allow_vg(host, "vg0", alone=True)
    with host.changing() as machine:
        machine.vgs[0].name = "vg1"
    admin.allow_vg(host, "vg1")
    assert (alone(), group(host)["alone"]) == (["vg1"], True)
    with host.changing() as machine:
        machine.vgs[0].uuid = machine.lvm_uuid()
    assert not group(host)["alone"]
    admin.allow_vg(host, "vg1")
    assert alone() == []


@pytest.mark.parametrize("is_salvaged", [True, False])
def test_a_policy_that_cannot_be_used_takes_nothing_from_the_guests(
    host: FakeHost, agent: Agent, sold: str, is_salvaged: bool
) -> None:
    before = files(host)
    document = json.loads(host.read(policy.PATH) or b"")
    spoiled = json.dumps({**document, "undo_hours": "a day"}) if is_salvaged else "{"
    host.save(policy.PATH, spoiled.encode())
    agent.world.restart()
    agent.world.boot()
    assert agent.lv(sold)["bcache"]["device"] is not None
    assert files(host) == before
    assert not group(host)["allowed"]


@pytest.mark.parametrize(
    ("name", "is_same", "words"),
    [
        ("vg1", True, "is called vg1 now"),
        ("vg0", False, "is another one than root allowed"),
        ("vg1", False, "is not on this host"),
    ],
)
def test_a_name_that_no_longer_means_the_allowed_group_is_a_problem(
    host: FakeHost, agent: Agent, sold: str, name: str, is_same: bool, words: str
) -> None:
    def found() -> list[str]:
        problems = agent.data("hello")["problems"]
        return [each["message"] for each in problems if each["code"] == "policy_vg_missing"]

    assert found() == []
    with host.changing() as machine:
        machine.vgs[0].name = name
        machine.vgs[0].uuid = machine.vgs[0].uuid if is_same else machine.lvm_uuid()
    (message,) = found()
    assert words in message


def test_another_group_of_an_allowed_name_is_not_allowed(
    host: FakeHost, agent: Agent, sold: str
) -> None:
    with host.changing() as machine:
        machine.vgs[0].uuid = machine.lvm_uuid()
    assert not group(host)["allowed"]
    fresh = Agent(agent.world)
    with fresh.unchanged():
        assert fresh.refused("pool.create", pool_args("aaaaaaaa")) == "vg_not_allowed"


def test_the_uuids_of_groups_that_an_older_agent_named_are_noted_at_boot(host: FakeHost) -> None:
    assert policy.load_policy(host).vg_uuids == {}
    boot(host)
    assert policy.load_policy(host).vg_uuids == {"vg0": group(host)["uuid"]}


def test_a_mounted_file_system_of_several_devices_stays_the_hosts_own(
    host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """btrfs of several volumes is mounted only once udev has shown the kernel each of them; of one
    it is mounted without. What is mounted comes and goes, and each initramfs has the rules."""
    parts = [host.root.add_lv(name, 64 << 20) for name in ("srv", "srv2")]
    alone = host.root.add_lv("web12", 64 << 20)
    points = {"srv": "/srv", "srv2": "/srv", "web12": "/mnt"}
    devices = [MountedDevice(f"253:{lv.minor}", points[lv.name]) for lv in (*parts, alone)]
    monkeypatch.setattr(hiding, "mounted", lambda host: devices)
    boot(host)
    lines = (host.read(hiding.PATH) or b"").decode().splitlines()
    let_through = "".join(line for line in lines if line.endswith('GOTO="tiercel_end"'))
    assert all(lv.dm_uuid in let_through for lv in parts)
    assert alone.dm_uuid not in let_through
