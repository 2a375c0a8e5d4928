"""Which of the host's devices are guests' disks, that LVM is to look away from."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from storage.agent.hello import hello
from storage.agent.inventory import inventory
from storage.agent.policy import Policy
from tests.contract.client import Agent
from tests.contract.fake_world import FakeWorld
from tests.fake import FakeHost
from tests.fake.parts import GIB, Disk, Pv, Vg

KEPT = "to devices/global_filter in /etc/lvm/lvm.conf, in front of the entries that stay there"


@pytest.fixture
def host(make_fake_host: Callable[..., FakeHost]) -> FakeHost:
    """A host with an SSD to spare, sdb."""
    return make_fake_host(single_ssd=True)


def problems(host: FakeHost) -> dict[str, dict[str, str]]:
    return {problem["code"]: problem for problem in hello(host)["problems"]}


def made_by_a_guest(host: FakeHost, kname: str, minor: int, *, major: int = 253) -> None:
    """A guest has a volume group on its disk, and LVM on the host finds it."""
    disk = Disk(kname, GIB, False, major=major, minor=minor)
    with host.changing() as machine:
        machine.vgs.append(Vg("inside", machine.lvm_uuid(), [Pv(disk, machine.lvm_uuid())]))


@pytest.mark.parametrize(("below", "lies"), [("sdd", "vg0"), ("sda", "vg0")])
def test_a_group_on_a_bcache_of_whole_devices_is_the_hosts_own(
    host: FakeHost, below: str, lies: str
) -> None:
    host.root.make_bcache(below, "sdb")
    found = {pv["name"]: pv["vg_name"] for pv in inventory(host, Policy())["pvs"]}
    assert found["bcache0"] == lies
    assert problems(host).keys().isdisjoint({"foreign_vg_on_guest_disk", "bcache_scanned"})


def test_where_the_host_stands_on_bcache_only_guests_devices_are_to_be_filtered(
    host: FakeHost,
) -> None:
    host.root.make_bcache("sdc", "sdb")
    Agent(FakeWorld(host)).backing()
    found = problems(host)
    assert "foreign_vg_on_guest_disk" not in found
    told = found["bcache_scanned"]
    assert told["message"].endswith("Filter only these: bcache1.")
    assert told["correction"].startswith(f'Add "r|^/dev/bcache/by-uuid/UUID|" {KEPT}')
    assert "/sys/block/bcache1/bcache/backing_dev_uuid" in told["correction"]
    assert "what lies on sdc is no guest's disk" in told["correction"]


def test_where_only_guests_have_bcache_all_of_it_is_to_be_filtered(host: FakeHost) -> None:
    Agent(FakeWorld(host)).backing()
    assert problems(host)["bcache_scanned"]["correction"] == f'Add "r|^/dev/bcache.*|" {KEPT}.'


def test_a_group_that_a_guest_made_on_its_bcache_volume_is_told(host: FakeHost) -> None:
    volume = Agent(FakeWorld(host)).backing()
    made_by_a_guest(host, "bcache0", 0, major=251)
    told = problems(host)["foreign_vg_on_guest_disk"]
    (backing,) = host.machine.backings
    assert (backing.lv.name, told["severity"]) == (volume, "error")
    assert told["message"] == "VG inside lies on bcache0, which is a guest's disk."
    assert told["correction"].startswith(f'Add "r|^/dev/bcache/by-uuid/{backing.uuid}|" {KEPT}.')


def test_a_group_that_a_guest_made_on_its_plain_volume_is_told(host: FakeHost) -> None:
    lv = host.root.add_lv("web12", GIB)
    assert lv.minor is not None
    made_by_a_guest(host, str(lv.kname), lv.minor)
    told = problems(host)["foreign_vg_on_guest_disk"]
    assert told["correction"].startswith("Set devices/scan_lvs=0")
