"""A new SSD is taken into a VG, if it is empty, free and the one that was meant."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from storage.agent.kernel import attachment
from tests.contract.client import Agent
from tests.fake import FakeHost
from tests.fake.parts import GIB, Disk

NEW = {"device": "sde", "serial": "ssd2"}


@pytest.fixture
def host(make_fake_host: Callable[..., FakeHost]) -> FakeHost:
    made = make_fake_host()
    with made.changing() as machine:
        machine.disks.append(Disk("sde", 4 * GIB, False, "LAB-SSD", "ssd2", minor=64))
    return made


def test_an_empty_disk_becomes_room_on_ssd(agent: Agent) -> None:
    args, expect = agent.call("ssd.prepare", NEW)
    with agent.unchanged():
        (step,) = agent.preview(("ssd.prepare", args, expect))
    assert step["error"] is None
    outcome = agent.do("ssd.prepare", NEW)
    assert [each["shell"] for each in outcome["commands"]] == [
        "pvcreate --metadatasize 16m /dev/sde",
        "vgextend vg0 /dev/sde",
    ]
    pv = next(pv for pv in agent.inventory()["pvs"] if pv["name"] == "sde")
    assert (pv["vg_name"], pv["tier"], pv["redundant"]) == ("vg0", "fast", False)
    assert agent.do("ssd.prepare", NEW)["commands"] == []


def test_a_broken_try_is_finished(host: FakeHost, agent: Agent) -> None:
    host.fail_next("vgextend")
    op = agent.start("ssd.prepare", NEW)
    assert agent.outcome(op)["state"] == "failed"
    ran = agent.do("ssd.prepare", NEW)["commands"]
    assert [each["shell"] for each in ran] == ["vgextend vg0 /dev/sde"]


def test_a_disk_with_anything_on_it_is_refused(host: FakeHost, agent: Agent) -> None:
    with host.changing() as machine:
        machine.signed["/dev/sde"] = "ext4"
    with agent.unchanged():
        assert agent.refused("ssd.prepare", NEW) == "not_fresh"


def test_a_disk_that_other_machines_reach_would_make_the_whole_group_theirs(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = attachment.elsewhere
    monkeypatch.setattr(
        attachment, "elsewhere", lambda on, name: "iSCSI" if name == "sde" else local(on, name)
    )
    with agent.unchanged():
        assert agent.refused("ssd.prepare", NEW) == "unsupported"
    policy = json.dumps({"vgs": ["vg0"], "alone": ["vg0"]}).encode()
    host.save("/etc/tiercel/agent.json", policy)
    agent.do("ssd.prepare", NEW)


def test_a_mounted_disk_is_refused(host: FakeHost, agent: Agent) -> None:
    host.root.mount("/dev/sde", "/mnt/backup")
    with agent.unchanged():
        assert agent.refused("ssd.prepare", NEW) == "in_use"


def test_another_serial_number_is_another_disk(agent: Agent) -> None:
    with agent.unchanged():
        assert agent.refused("ssd.prepare", {**NEW, "serial": "ssd3"}) == "stale"


def test_a_disk_with_other_sectors_is_refused_before_anything_is_written(
    host: FakeHost, agent: Agent
) -> None:
    with host.changing() as machine:
        next(disk for disk in machine.disks if disk.name == "sde").sector_bytes = 4096
    with agent.unchanged():
        assert agent.refused("ssd.prepare", NEW) == "unsupported"
    assert not any(argv[0] == "pvcreate" for argv in host.executed)
