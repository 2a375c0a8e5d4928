"""Writeback on one SSD is reported, with a correction that stops no guest."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from storage.agent.facts.hello import hello
from storage.planner.technologies.lookup import of_layout
from tests import make
from tests.contract.client import Agent
from tests.contract.fake_world import FakeWorld
from tests.fake import FakeHost


@pytest.fixture
def host(make_fake_host: Callable[..., FakeHost]) -> FakeHost:
    """Two SSDs that mirror nothing: sda in the group, sdb to spare."""
    return make_fake_host(single_ssd=True)


@pytest.fixture
def agent(host: FakeHost) -> Agent:
    return Agent(FakeWorld(host))


def problem_of(host: FakeHost) -> dict[str, str] | None:
    found = [each for each in hello(host)["problems"] if each["code"] == "writeback_single_ssd"]
    return found[0] if found else None


def cached_by_hand(host: FakeHost, agent: Agent) -> str:
    """The name of a volume with an lvmcache in writeback, which no plan of the panel's made."""
    volume = agent.volume()
    pool = agent.pool(volume, pv="sda")
    agent.do("cache.attach", {"lv": volume, "pool": pool, "mode": "writethrough"})
    with host.changing():
        cache = host.root.lv(volume).cache
        assert cache is not None
        cache.mode = "writeback"
    return volume


def test_a_cache_of_ours_goes_to_writethrough_by_its_page(host: FakeHost, agent: Agent) -> None:
    volume = cached_by_hand(host, agent)
    problem = problem_of(host)
    assert problem is not None and problem["message"].startswith(f"vg0/{volume} uses writeback")
    assert problem["subject"] == f"vg0/{volume}"
    assert "on the volume's page" in problem["correction"]
    assert "lvchange" not in problem["correction"]


def test_a_foreign_cache_is_flushed_before_its_mode_changes(host: FakeHost, agent: Agent) -> None:
    volume = cached_by_hand(host, agent)
    with host.changing():
        host.root.lv(volume).tags.clear()
    problem = problem_of(host)
    assert problem is not None
    cure = problem["correction"]
    assert cure.index("--cachepolicy cleaner") < cure.index("--cachemode writethrough")
    by_hand = of_layout("plain").way_out_of_writeback(make.lv(volume), on_page=False)
    assert by_hand.removeprefix("Replace the failed SSD, or: ") in cure
    assert "Never the mode at once" in cure


@pytest.mark.parametrize(("mode", "is_reported"), [("writeback", True), ("writethrough", False)])
def test_a_cache_set_on_a_bare_ssd_is_judged_by_that_ssd(
    host: FakeHost, agent: Agent, mode: str, is_reported: bool
) -> None:
    by_hand = host.root.make_bcache("sdc", "sdb")
    volume = agent.backing()
    host.root.attach(volume, by_hand, mode)
    problem = problem_of(host)
    assert (problem is not None) is is_reported
    if problem is not None:
        assert problem["message"].startswith(f"vg0/{volume} uses writeback")


def test_a_foreign_bcache_goes_to_writethrough_by_sysfs(host: FakeHost, agent: Agent) -> None:
    by_hand = host.root.make_bcache("sdc", "sdb")
    volume = agent.backing()
    host.root.attach(volume, by_hand, "writeback")
    with host.changing():
        lv = host.root.lv(volume)
        lv.tags.clear()
    problem = problem_of(host)
    assert problem is not None
    assert f"writethrough > /sys/block/{lv.kname}/bcache/cache_mode" in problem["correction"]


def test_a_cache_set_on_a_mirror_made_by_hand_is_safe(
    make_fake_host: Callable[..., FakeHost],
) -> None:
    host = make_fake_host()
    with host.changing() as machine:
        fast = machine.vgs[0].pvs.pop(0)
        assert fast.device.name == "md0"
    by_hand = host.root.make_bcache("sdc", "md0")
    volume = Agent(FakeWorld(host)).backing()
    host.root.attach(volume, by_hand, "writeback")
    assert problem_of(host) is None
