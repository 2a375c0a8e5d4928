"""The same scenarios on the lab's kernel, LVM, md, bcache and udev: PLATFORM= says whose."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from storage.inventory.facts import decode
from tests.contract.client import Agent
from tests.contract.lab_world import LabWorld
from tests.hostile.ending import ends
from tests.hostile.lab_guest import Written, harm, play
from tests.hostile.scenarios import EVERY, Group, Scenario

QUICK = "the host's own group, copied"
"""The one that `make test` plays on the lab. The fake host plays every one."""

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("lab"), pytest.mark.timeout(900)]


@pytest.fixture
def world(lab_world: LabWorld) -> Iterator[LabWorld]:
    lab_world.reset()
    yield lab_world
    lab_world.reset()


@pytest.fixture
def agent(world: LabWorld) -> Agent:
    return Agent(world)


def attack(world: LabWorld, agent: Agent, scenario: Scenario) -> tuple[str, Written]:
    """The volume of the hostile guest, and what it wrote."""
    like = None
    if isinstance(scenario.writes, Group) and scenario.writes.like == "guest":
        honest = Scenario("an honest guest", "bcache", Group())
        like = play(world, agent, honest, agent.backing()).group
    volume = agent.backing() if scenario.layout == "bcache" else agent.volume()
    return volume, play(world, agent, scenario, volume, like)


def is_unharmed(world: LabWorld, agent: Agent, written: Written) -> None:
    """Nothing of the guest is at work or written down, and a neighbour's job goes through."""
    assert harm(world, written) == []
    neighbour = agent.volume()
    assert world.path_of(neighbour[2:]) == agent.lv(neighbour)["kname"]
    facts = decode(agent.inventory())
    assert [vg.name for vg in facts.vgs if vg.allowed] == ["vg0"]
    assert {lv.vg_name for lv in facts.lvs} == {"vg0"}
    codes = {problem["code"] for problem in agent.data("hello")["problems"]}
    assert not codes & {"cmd_failed", "busy", "unsupported", "stuck"}


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(each, marks=() if str(each) == QUICK else pytest.mark.thorough, id=str(each))
        for each in EVERY
    ],
)
def test_a_host_that_hides_guests_is_unharmed(
    world: LabWorld, agent: Agent, scenario: Scenario
) -> None:
    volume, written = attack(world, agent, scenario)
    is_unharmed(world, agent, written)
    ends(agent, volume, scenario.layout)


@pytest.mark.thorough
@pytest.mark.parametrize("partition", [False, True])
def test_what_is_written_is_a_group_to_an_lvm_that_looks(
    world: LabWorld, agent: Agent, partition: bool
) -> None:
    """Else the others would show nothing."""
    volume = agent.backing()
    play(world, agent, Scenario("", "bcache", Group(partition=partition)), volume)
    every = '["a|.*|"]'
    looks = f"devices {{ global_filter={every} filter={every} use_devicesfile=0 }}"
    vgs = ["vgs", "--noheadings", "-o", "vg_name,lv_count", "--config", looks]
    assert ["guestvg", "1"] in [line.split() for line in world.lab.run(vgs).stdout.splitlines()]
