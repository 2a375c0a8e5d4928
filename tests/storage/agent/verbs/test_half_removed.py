"""A removal that was killed half-way: LVM keeps its flag `cleaner`, and no change of policy takes
it off."""

from __future__ import annotations

import pytest

from tests.contract.client import MIB, Agent
from tests.fake import FakeHost


@pytest.fixture
def volume(host: FakeHost, agent: Agent) -> str:
    """The removal of its writeback cache was killed while LVM flushed."""
    volume, pool = agent.cached("writeback")
    host.root.dirty(volume, 32 * MIB)
    host.cut_next("lvconvert")
    op = agent.start("cache.detach", {"lv": volume, "pool": pool, "dirty_limit_bytes": 64 * MIB})
    host.wait_for_ops()
    host.advance(16)
    assert agent.outcome(op)["state"] == "interrupted"
    return volume


def policies(agent: Agent, volume: str) -> tuple[str, str]:
    """The kernel's, and the one that LVM has stored."""
    cache = agent.lv(volume)["cache"]
    return cache["policy"], cache["lvm_policy"]


def test_the_cache_goes_on_emptying_itself_beside_lvms_policy(
    host: FakeHost, agent: Agent, volume: str
) -> None:
    assert policies(agent, volume) == ("cleaner", "smq")
    host.root.reboot()
    assert policies(agent, volume) == ("cleaner", "smq")
    assert host.run(["lvchange", "-y", "--cachepolicy", "smq", f"vg0/{volume}"]).rc == 0
    assert policies(agent, volume) == ("cleaner", "smq")


def test_the_policy_is_not_put_back_in_vain(agent: Agent, host: FakeHost, volume: str) -> None:
    ran = list(host.executed)
    with agent.unchanged():
        wished = {"lv": volume, "policy": "smq", "migration_threshold": 4096}
        args, expect = agent.call("cache.set", wished)
        error = agent.ask("cache.set", args, expect)["error"]
    assert error["code"] == "degraded" and "was interrupted" in error["message"]
    assert "remove the cache (cache.detach), then add one again" in error["correction"]
    assert host.executed == ran
    agent.do("cache.set", {"lv": volume, "migration_threshold": 4096})


def test_the_removal_is_finished_and_a_cache_added_again(
    host: FakeHost, agent: Agent, volume: str
) -> None:
    pool = f"c-{volume[2:]}"
    agent.do("cache.detach", {"lv": volume, "pool": pool, "dirty_limit_bytes": 64 * MIB})
    agent.pool(volume)
    agent.do("cache.attach", {"lv": volume, "pool": pool, "mode": "writeback"})
    assert policies(agent, volume) == ("smq", "smq")


def test_a_change_of_mode_that_ends_puts_it_back_too(agent: Agent, volume: str) -> None:
    agent.do("cache.set", {"lv": volume, "mode": "writethrough", "policy": "smq"})
    assert policies(agent, volume) == ("smq", "smq")


def test_a_cleaner_that_lvm_has_stored_is_put_back(agent: Agent) -> None:
    volume, _ = agent.cached("writeback")
    agent.do("cache.flush", {"lv": volume, "dirty_limit_bytes": 0})
    assert policies(agent, volume) == ("cleaner", "cleaner")
    agent.do("cache.set", {"lv": volume, "policy": "smq"})
    assert policies(agent, volume) == ("smq", "smq")
