"""Devices that LVM has no volume for are reported, with what to do, and no others are."""

from __future__ import annotations

import dataclasses

import pytest

from storage.agent.facts.hello import hello
from storage.agent.facts.inventory import inventory
from storage.agent.facts.orphan_devices import orphans
from storage.agent.kernel import dm, lvm
from storage.agent.state.policy import Policy
from storage.inventory.facts import decode
from storage.inventory.orphan import Orphan
from tests.fake import FakeHost
from tests.fake.fixtures import fake_host as fake_host
from tests.fake.hands import Hands
from tests.fake.parts import Lv

WHY = "LVM has no such volume in vg0"


@pytest.fixture
def lost(fake_host: FakeHost) -> Lv:
    """One volume whose metadata is lost beside one that is well."""
    hands = Hands(fake_host)
    hands.add_lv("mail", 64 << 20)
    hands.add_lv("web-data", 64 << 20)
    return hands.lose_metadata("web-data")


def codes(host: FakeHost) -> set[str]:
    return {problem["code"] for problem in hello(host)["problems"]}


def test_the_inventory_names_it_and_hello_says_what_to_do(fake_host: FakeHost, lost: Lv) -> None:
    facts = decode(inventory(fake_host, Policy(("vg0",))))
    assert facts.orphans == (Orphan("vg0-web--data", str(lost.kname), lost.uuid, WHY),)
    assert [lv.name for lv in facts.public_lvs()] == ["mail"]
    problem = next(each for each in hello(fake_host)["problems"] if each["code"] == "orphan_device")
    assert (problem["severity"], problem["subject"]) == ("warning", "vg0-web--data")
    assert f"vg0-web--data ({lost.kname})" in problem["message"] and WHY in problem["message"]
    assert problem["correction"].endswith("dmsetup remove vg0-web--data")


def test_a_host_whose_devices_all_have_their_volumes_has_none(fake_host: FakeHost) -> None:
    Hands(fake_host).add_lv("mail", 64 << 20)
    assert inventory(fake_host, Policy(("vg0",)))["orphans"] == []
    assert "orphan_device" not in codes(fake_host)


def test_nothing_is_said_on_a_report_without_locks_nor_of_what_is_just_made(
    fake_host: FakeHost, lost: Lv
) -> None:
    report, devices = lvm.read(fake_host), dm.dm_devices(fake_host)
    there = fake_host.list("/sys/block")
    assert [each["uuid"] for each in orphans(report, devices, there)] == [lost.uuid]
    assert orphans(dataclasses.replace(report, stale=True), devices, there) == []
    assert orphans(dataclasses.replace(report, consistent=False), devices, there) == []
    assert orphans(report, devices, set(there) - {str(lost.kname)}) == []


def test_what_is_of_a_group_that_lvm_does_not_see_is_called_so(fake_host: FakeHost) -> None:
    away = dm.DmDevice("dm-7", "guest-root", "a" * 38, "b" * 38, "", False)
    (found,) = orphans(lvm.read(fake_host), [away], ["dm-7"])
    assert found["why"] == "LVM sees no volume group that it is of"
