"""bcache that root made of whole disks is in the inventory, with what stands on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from panel.staff.hosts.storage_stack import stack_of
from storage.agent.facts.hello import hello
from storage.agent.facts.inventory import inventory
from storage.agent.state.policy import Policy
from storage.inventory.facts import BareBacking, decode, encode
from tests.contract.client import Agent
from tests.contract.fake_world import FakeWorld
from tests.fake import FakeHost
from tests.fake.parts import GIB


@pytest.fixture
def host(make_fake_host: Callable[..., FakeHost]) -> FakeHost:
    """A host with an SSD to spare, sdb."""
    return make_fake_host(single_ssd=True)


def found(host: FakeHost) -> dict[str, Any]:
    return inventory(host, Policy(("vg0",)))


def test_it_is_reported_and_the_panel_reads_it(host: FakeHost) -> None:
    made = host.root.make_bcache("sdd", "sdb", mode="writeback")
    facts = decode(found(host))
    backing = BareBacking("sdd", "bcache0", made.cset_uuid, "writeback", "clean", 0, ())
    assert facts.backings == (backing,)
    assert decode(encode(facts)) == facts
    assert [(cset.device, cset.lv_uuid) for cset in facts.csets] == [("sdb", None)]


def test_a_volume_is_none_and_an_older_agent_tells_of_none(host: FakeHost) -> None:
    Agent(FakeWorld(host)).backing()
    data = found(host)
    assert data.pop("backings") == []
    assert decode(data).backings == ()


def test_its_users_are_listed_but_not_the_volumes_of_its_group(host: FakeHost) -> None:
    host.root.make_bcache("sdd", "sdb")
    host.root.add_lv("web12", GIB, "bcache0")
    assert found(host)["backings"][0]["users"] == []
    host.root.mount("/dev/bcache0", "/srv")
    assert [user["name"] for user in found(host)["backings"][0]["users"]] == ["/srv"]


def test_a_group_on_it_is_as_slow_as_the_disk_that_has_the_data(host: FakeHost) -> None:
    host.root.make_bcache("sdd", "sdb")
    assert host.read("/sys/block/bcache0/queue/rotational") == b"0\n"
    tiers = {pv["name"]: pv["tier"] for pv in found(host)["pvs"]}
    assert tiers == {"sda": "fast", "sdc": "slow", "bcache0": "slow"}


def test_the_page_draws_the_group_on_bcache_and_that_on_its_disks(host: FakeHost) -> None:
    host.root.make_bcache("sdd", "sdb", mode="writeback")
    stack = stack_of(decode(found(host)))
    chains = [chain for tier in stack.groups[0].tiers for chain in tier.devices]
    (chain,) = [chain for chain in chains if chain[-1][0].name == "bcache0"]
    assert [[box.name for box in stage] for stage in chain] == [["sdd", "sdb"], ["bcache0"]]
    assert chain[-1][0].detail == "bcache, writeback, single device"
    assert [box.name for chain in stack.loose for stage in chain for box in stage] == ["vda"]


def test_writeback_of_a_whole_group_on_one_ssd_is_reported(host: FakeHost) -> None:
    host.root.make_bcache("sdd", "sdb", mode="writeback")
    (problem,) = [
        each for each in hello(host)["problems"] if each["code"] == "writeback_single_ssd"
    ]
    assert problem["message"].startswith("bcache0 (on sdd) uses writeback")
    assert "writethrough > /sys/class/block/sdd/bcache/cache_mode" in problem["correction"]
