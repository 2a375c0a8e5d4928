"""Which disk of the inventory gave an answer, and that no odd answer gets through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from storage.health.smart_reading import DiskAnswer, decode_smart, disk_of
from storage.host_data import BadHostData
from storage.inventory.facts import Disk, HostFacts
from tests.contract.client import Agent
from tests.contract.fake_world import FakeWorld
from tests.fake import FakeHost
from tests.fake.fixtures import fake_host as fake_host
from tests.fake.fixtures import make_fake_host as make_fake_host
from tests.smart_disks import ata, nvme, sas
from tests.storage.health.test_smart_written import health_of


def facts(**serials: str) -> HostFacts:
    disks = tuple(
        Disk(name, f"8:{16 * number}", 10**12, False, "M", serial, "", 512, False)
        for number, (name, serial) in enumerate(serials.items())
    )
    return HostFacts(True, False, disks, (), (), (), (), ())


def name_of(known: HostFacts, name: str, document: Mapping[str, Any] | None) -> str | None:
    health = None if document is None else health_of(document)
    disk = disk_of(known, DiskAnswer("/dev/x", "", name, "read", health=health))
    return None if disk is None else disk.name


def test_a_disk_is_known_by_its_serial_number() -> None:
    known = facts(sda="S1", sdb="S2")
    assert name_of(known, "sda", ata("M", "S1", [])) == "sda"
    assert name_of(known, "sda", ata("M", "S2", [])) == "sdb", "the kernel's name has moved on"
    assert name_of(known, "sda", ata("M", "S3", [])) is None
    assert name_of(known, "", ata("M", "S2", [])) == "sdb", "behind a controller that shows it"


def test_udev_shows_the_wwn_of_some_sas_disks_as_the_serial_number() -> None:
    known = facts(sda="5000c5001234abcd", sdb="other")
    assert name_of(known, "sda", sas("M", "Z1")) == "sda"
    assert name_of(facts(sda="x", sdb="WD_1 2"), "", ata("M", "WD 1_2", [])) == "sdb"


def test_a_silent_side_leaves_the_kernels_name() -> None:
    assert name_of(facts(sda=""), "sda", ata("M", "S1", [])) == "sda"
    assert name_of(facts(sda="S1"), "sda", ata("M", "", [])) == "sda"
    assert name_of(facts(sda="S1"), "sda", None) == "sda"


def test_of_two_disks_with_one_serial_number_neither_is_meant() -> None:
    known = facts(sda="S1", sdb="S1")
    assert name_of(known, "", ata("M", "S1", [])) is None
    assert name_of(known, "sdb", ata("M", "S1", [])) == "sdb"


def test_a_disk_has_one_key_in_every_slot() -> None:
    assert health_of(ata("M", "S1", [])).key == "M S1"
    assert health_of(sas("M", "")).key == "5000c5001234abcd"
    assert health_of(nvme("M", "")).key == ""


def test_the_agents_reply_is_taken_whole(fake_host: FakeHost) -> None:
    host = fake_host
    with host.changing() as machine:
        machine.disks[0].smart = nvme("SAMSUNG MZQL", "N1", units_written=5)
    reply = decode_smart(Agent(FakeWorld(host)).data("smart"))
    assert reply.installed and [disk.name for disk in reply.disks] == ["sda", "sdb", "sdc", "sdd"]
    assert reply.disks[0].health is not None and reply.disks[0].health.is_ssd


@pytest.mark.parametrize(
    "change",
    [
        {"disks": None},
        {"disks": [{"device": "/dev/sda"}]},
        {"installed": "yes"},
        {"disks": [{"device": "d" * 81, "type": "", "name": "", "state": "read"}]},
    ],
)
def test_an_odd_reply_is_refused(change: dict[str, Any]) -> None:
    whole = {"installed": True, "version": "7.3", "message": "", "disks": []}
    assert decode_smart(whole).disks == ()
    with pytest.raises(BadHostData):
        decode_smart(whole | change)
