"""Whatever a guest writes to its disk, the host stays root's and the other guests' volumes work."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from storage.agent.guests import hiding
from storage.agent.operations.boot import boot
from storage.agent.state import udev_links
from storage.agent.state.policy import Policy
from tests.contract.client import MIB, Agent
from tests.contract.fake_world import FakeWorld
from tests.fake import FakeHost
from tests.fake.fixtures import make_fake_host as make_fake_host
from tests.fake.parts import Signature, Written
from tests.hostile.ending import ends
from tests.hostile.fake_guest import play
from tests.hostile.scenarios import EVERY, MARK, Group, Scenario, Superblock


@pytest.fixture
def host(make_fake_host: Callable[..., FakeHost]) -> FakeHost:
    """A host as hide-guests leaves it."""
    return make_fake_host()


@pytest.fixture
def agent(host: FakeHost) -> Agent:
    return Agent(FakeWorld(host))


def attack(host: FakeHost, agent: Agent, scenario: Scenario) -> tuple[str, Written]:
    """The volume of the hostile guest, which has a neighbour, and what it wrote."""
    other = agent.backing() if scenario.layout == "bcache" else agent.volume()
    if isinstance(scenario.writes, Group) and scenario.writes.like == "guest":
        play(host, Scenario("an honest guest", "bcache", Group()), other)
    volume = agent.backing() if scenario.layout == "bcache" else agent.volume()
    return volume, play(host, scenario, volume, other)


def unharmed(host: FakeHost, agent: Agent, written: Written) -> None:
    """Nothing of the guest is started or written down, and a neighbour's job goes through."""
    text = b"".join(host.machine.files.values()).decode()
    assert MARK not in text
    assert not any(MARK in word for argv in host.executed for word in argv)
    assert not any(MARK in link for link in host.machine.links)
    assert written.starts == 0, "the host took what the guest wrote for its own"
    neighbour = agent.volume()
    assert FakeWorld(host).path_of(neighbour[2:]) == agent.lv(neighbour)["kname"]
    hello = agent.data("hello")
    assert not any(each["code"] in ("cmd_failed", "busy") for each in hello["problems"])
    corrections = " ".join(each["correction"] for each in hello["problems"])
    assert MARK not in corrections


@pytest.mark.parametrize("scenario", EVERY, ids=str)
def test_a_host_that_hides_guests_is_unharmed(
    host: FakeHost, agent: Agent, scenario: Scenario
) -> None:
    volume, written = attack(host, agent, scenario)
    unharmed(host, agent, written)
    assert boot(host)[1] == []
    unharmed(host, agent, written)
    ends(agent, volume, scenario.layout)


@pytest.mark.parametrize("scenario", EVERY, ids=str)
def test_nor_is_one_that_was_restarted(host: FakeHost, agent: Agent, scenario: Scenario) -> None:
    volume, written = attack(host, agent, scenario)
    host.root.reboot()
    assert boot(host)[1] == []
    unharmed(host, agent, written)
    ends(agent, volume, scenario.layout)


@pytest.mark.parametrize("type", ["btrfs", "zfs_member", "stratis"])
@pytest.mark.parametrize("layout", ["plain", "bcache"])
def test_no_pool_of_a_guests_is_looked_into(
    host: FakeHost, agent: Agent, type: str, layout: str
) -> None:
    volume = agent.backing() if layout == "bcache" else agent.volume()
    written = Written(type, False, signature=Signature(type, host.machine.uuid4()))
    host.root.guest_writes(host.root.lv(volume), written)
    assert written.starts == 0
    host.root.reboot()
    assert boot(host)[1] == []
    assert written.starts == 0


def takes_the_name(scenario: Scenario) -> bool:
    return isinstance(scenario.writes, Group) and scenario.writes.name == "vg0"


SEEN = [each for each in EVERY if not takes_the_name(each)]
SETS = [Superblock("bcache"), Superblock("bcache", cache_device=True)]


@pytest.mark.parametrize("scenario", SEEN, ids=str)
def test_nor_is_one_whose_lvm_looks_into_guests_disks(
    host: FakeHost, agent: Agent, scenario: Scenario
) -> None:
    agent.backing()
    volume, written = attack(host, agent, scenario)
    with host.changing() as machine:
        machine.files["/etc/lvm/lvmlocal.conf"] = b""
    unharmed(host, agent, written)
    assert boot(host)[1] == []
    unharmed(host, agent, written)
    ends(agent, volume, scenario.layout)
    known = {lv["vg_name"] for lv in agent.inventory()["lvs"]}
    assert known == {"vg0"}


@pytest.mark.parametrize("scenario", [each for each in EVERY if each not in SEEN], ids=str)
def test_a_group_named_as_the_hosts_is_named_with_its_cure(
    host: FakeHost, agent: Agent, scenario: Scenario
) -> None:
    volume, written = attack(host, agent, scenario)
    with host.changing() as machine:
        machine.files["/etc/lvm/lvmlocal.conf"] = b""
    problems = {each["code"]: each for each in agent.data("hello")["problems"]}
    assert problems["foreign_vg_on_guest_disk"]["correction"].endswith("agent.pyz hide-guests")
    reply = agent.ask("volume.create", *agent.call("volume.create", agent.volume_args()))
    assert reply["error"]["correction"].endswith("agent.pyz hide-guests")
    hiding.hide_guests(host, Policy(("vg0",)))
    unharmed(host, agent, written)
    ends(agent, volume, scenario.layout)


def test_guests_disks_stay_hidden_in_a_group_whose_header_a_guest_copied(
    host: FakeHost, agent: Agent
) -> None:
    (copied,) = (each for each in EVERY if each.name == "the host's own group, copied")
    plain = agent.volume()
    volume, _ = attack(host, agent, copied)
    with host.changing() as machine:
        machine.files["/etc/lvm/lvmlocal.conf"] = b""
    boot(host)
    written = play(host, Scenario("", "plain", SETS[0]), plain)
    assert written.starts == 0
    problems = [each["message"] for each in agent.data("hello")["problems"]]
    assert any(volume.replace("-", "--") in message for message in problems)


def test_a_rules_file_that_was_poisoned_is_clean_after_the_boot_unit(
    host: FakeHost, agent: Agent
) -> None:
    volume = agent.volume()
    good = host.machine.files[udev_links.PATH]
    poisoned = good + f'KERNEL=="dm-*", RUN+="/bin/sh -c {MARK}"\n'.encode()
    host.save(udev_links.PATH, poisoned)
    host.fail_next("lvm", 5, "  A disk is slow.\n")
    boot(host)
    assert host.machine.files[udev_links.PATH] == good
    assert volume[2:].encode() in good


def test_a_host_that_looks_into_guests_disks_makes_no_bcache_volume(
    make_fake_host: Callable[..., FakeHost],
) -> None:
    host = make_fake_host(sees_guests=True)
    agent = Agent(FakeWorld(host))
    volume = agent.volume("bcache")
    with agent.unchanged():
        assert agent.refused("bcache.format", {"lv": volume}) == "unsupported"
    hiding.hide_guests(host, Policy(("vg0",)))
    agent.do("bcache.format", {"lv": volume})


def test_nor_does_it_bring_one_back(host: FakeHost, agent: Agent) -> None:
    volume = agent.backing()
    end = {"volume_key": volume[2:], "layout": "bcache", "retired_name": f"del-{volume[2:]}"}
    agent.do("volume.retire", {"lv": volume, **end})
    at = int(agent.lv(end["retired_name"])["tags"][2].partition("=")[2])
    with host.changing() as machine:
        machine.files["/etc/lvm/lvmlocal.conf"] = b""
    back = {"lv": volume, "retired_at": at, **end}
    uuid = agent.lv(end["retired_name"])["uuid"]
    with agent.unchanged():
        assert agent.refused("volume.restore", back, lv_uuid=uuid) == "unsupported"
    plain = agent.volume(size_bytes=64 * MIB)
    assert agent.lv(plain)["active"]


@pytest.mark.parametrize("writes", SETS, ids=["backing", "set"])
def test_what_the_distribution_registered_before_tiercel_came_is_let_go_of(
    host: FakeHost, agent: Agent, writes: Superblock
) -> None:
    volume = agent.volume()
    with host.changing() as machine:
        machine.files.pop(hiding.PATH)
    written = play(host, Scenario("", "plain", writes), volume)
    assert written.starts == 1
    ends(agent, volume, "plain")
