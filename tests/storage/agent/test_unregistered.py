"""A cache device whose cache set is not registered: left by a removal that was killed half-way."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import pytest

from storage.agent.verbs import cset
from storage.naming import new_key
from tests.contract.client import Agent, argvs, cset_args
from tests.fake import FakeHost
from tests.fake.parts import Signature

CSET, OTHER = "6a7c1e4e-1b57-4c0e-8a53-90e54ab1c001", "7b8d2f5f-1b57-4c0e-8a53-90e54ab1c002"


def attach(agent: Agent, volume: str, uuid: str) -> None:
    wished = {"cache_mode": "writeback", "sequential_cutoff_bytes": 0}
    agent.do("bcache.attach", {"lv": volume, "cset_uuid": uuid, **wished})


def forget(host: FakeHost, uuid: str) -> None:
    """The kernel does not know the cache set any more; its superblock stays."""
    with host.changing() as machine:
        machine.csets[:] = [cset for cset in machine.csets if cset.uuid != uuid]


@pytest.fixture
def left(host: FakeHost, agent: Agent) -> tuple[str, str]:
    """A volume at work with a new cache, and the name of the old cache's device."""
    volume = agent.backing()
    old, uuid = agent.cset(volume)
    made = cset_args(volume.removeprefix("v-")) | {"name": f"s-{new_key()}"}
    agent.do("cset.create", made)
    attach(agent, volume, made["cset_uuid"])
    forget(host, uuid)
    return volume, old


def test_the_unregistered_device_of_an_old_cache_is_removed(
    agent: Agent, left: tuple[str, str]
) -> None:
    volume, old = left
    args, expect = agent.call("cset.remove", {"name": old})
    with agent.unchanged():
        (step,) = agent.preview(("cset.remove", args, expect))
    outcome = agent.do("cset.remove", args, **expect)
    ran = argvs(outcome["commands"])
    assert [argv[0] for argv in ran] == ["wipefs", "blkdiscard", "lvremove"]
    assert ran == argvs(step["commands"])
    assert old not in agent.names()
    assert agent.lv(volume)["bcache"]["state"] != "no cache"
    assert agent.do("cset.remove", args, **expect)["commands"] == []


def test_so_is_one_whose_superblock_is_wiped_already(
    host: FakeHost, agent: Agent, left: tuple[str, str]
) -> None:
    with host.changing():
        host.root.lv(left[1]).signature = None
    agent.do("cset.remove", {"name": left[1]})
    assert left[1] not in agent.names()


def test_one_that_carries_anything_else_stays(
    host: FakeHost, agent: Agent, left: tuple[str, str]
) -> None:
    with host.changing():
        host.root.lv(left[1]).signature = Signature("ext4", "u", "", False, 0, 0)
    with agent.unchanged():
        assert agent.refused("cset.remove", {"name": left[1]}) == "not_ours"


def test_a_set_that_is_registered_has_to_be_named(agent: Agent) -> None:
    volume = agent.backing()
    name, uuid = agent.cset(volume)
    with agent.unchanged():
        assert agent.refused("cset.remove", {"name": name}) == "stale"
    attach(agent, volume, uuid)
    with agent.unchanged():
        assert agent.refused("cset.remove", {"name": name}) == "stale"


def test_the_very_set_that_a_volume_is_attached_to_stays(host: FakeHost, agent: Agent) -> None:
    volume = agent.backing()
    name, uuid = agent.cset(volume)
    attach(agent, volume, uuid)
    forget(host, uuid)
    with agent.unchanged():
        assert agent.refused("cset.remove", {"name": name}) == "stale"
    with host.changing() as machine:
        machine.backings.clear()
        lv = host.root.lv(volume)
        assert lv.signature is not None
        lv.signature = dataclasses.replace(lv.signature, cset_uuid=uuid)
    with agent.unchanged():
        assert agent.refused("cset.remove", {"name": name}) == "dirty"


@pytest.mark.parametrize(
    ("state", "attached", "written", "waits"),
    [
        ("clean", None, CSET, True),
        ("dirty", None, OTHER, False),
        ("dirty", None, None, True),
        ("no cache", None, CSET, False),
        ("clean", CSET, CSET, True),
        ("clean", OTHER, CSET, False),
    ],
)
def test_another_volume_that_waits_for_a_cache_set_is_asked_for_which(
    monkeypatch: pytest.MonkeyPatch,
    state: str,
    attached: str | None,
    written: str | None,
    waits: bool,
) -> None:
    monkeypatch.setattr(cset, "superblock", lambda view, vg, lv: written)
    backing = {"state": state, "cset_uuid": attached}
    lv = {"vg_name": "vg0", "name": "v-other", "bcache": backing}
    assert cset._waits_for(cast("Any", None), lv, CSET) == waits
