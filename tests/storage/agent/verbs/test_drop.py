"""cache.drop on a host whose SSD is gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from storage.agent.kernel import dm
from storage.agent.kernel.local_host import CommandResult
from tests.contract.client import MIB, Agent
from tests.contract.fake_caches import FakeCaches
from tests.fake import FakeHost


def test_a_clean_cache_is_given_up_while_the_guest_runs(host: FakeHost, agent: Agent) -> None:
    volume, pool = agent.cached()
    before = agent.lv(volume)
    host.root.guest("web12", f"/dev/vg0/{volume}")
    host.root.lose_pv("md0")
    assert agent.lv(volume)["health"] == "partial"
    detach = {"lv": volume, "pool": pool, "dirty_limit_bytes": 0}
    assert agent.refused("cache.detach", detach) == "degraded"
    args, expect = agent.call("cache.drop", {"lv": volume, "pool": pool})
    (step,) = agent.preview(("cache.drop", args, expect))
    assert step["error"] is None
    outcome = agent.do("cache.drop", args)
    argv = ["lvconvert", "-y", "--uncache", f"vg0/{volume}"]
    assert [each["argv"] for each in outcome["commands"]] == [argv]
    after = agent.lv(volume)
    assert (after["uuid"], after["cache"], after["health"]) == (before["uuid"], None, "")
    assert agent.do("cache.drop", args)["commands"] == []
    problems = {problem["code"] for problem in agent.data("hello")["problems"]}
    assert "pv_missing" in problems


def test_what_is_left_on_an_ssd_that_comes_back_reaches_no_other_guest(
    host: FakeHost, agent: Agent
) -> None:
    """Nothing notes it: whatever is made on that SSD is zeroed before a guest gets it."""
    volume, pool = agent.cached()
    host.root.lose_pv("md0")
    agent.do("cache.drop", {"lv": volume, "pool": pool})
    with host.changing() as machine:
        ssd = next(pv for pv in machine.vgs[0].pvs if pv.missing)
        ssd.missing, ssd.stale = False, set(range(ssd.extents))
    other, _ = agent.cached()
    assert FakeCaches(host).foreign_bytes_after_trim(other) == 0
    on_ssd = agent.volume_args(pvs=["md0"])
    agent.do("volume.create", on_ssd)
    assert host.root.reads_as_zeros(host.root.lv(on_ssd["name"]))


def test_writeback_dirty_or_failed_is_never_given_up(host: FakeHost, agent: Agent) -> None:
    back, back_pool = agent.cached("writeback")
    dirty, dirty_pool = agent.cached()
    failed, failed_pool = agent.cached()
    host.root.dirty(dirty, 16 * MIB)
    host.root.lose_pv("md0")
    with host.changing():
        cache = host.root.lv(failed).cache
        assert cache is not None
        cache.needs_check = True
    with agent.unchanged():
        for volume, pool, code in (
            (back, back_pool, "dirty"),
            (dirty, dirty_pool, "dirty"),
            (failed, failed_pool, "degraded"),
        ):
            assert agent.refused("cache.drop", {"lv": volume, "pool": pool}) == code


def test_a_disk_that_carried_a_volumes_own_data_is_a_case_for_people(
    host: FakeHost, agent: Agent
) -> None:
    volume, pool = agent.cached()
    host.root.add_lv("on-ssd", 64 * MIB, "md0")
    host.root.lose_pv("md0")
    with agent.unchanged():
        assert agent.refused("cache.drop", {"lv": volume, "pool": pool}) == "degraded"


def test_another_pool_than_was_meant_is_stale(host: FakeHost, agent: Agent) -> None:
    volume, _ = agent.cached()
    host.root.lose_pv("md0")
    with agent.unchanged():
        assert agent.refused("cache.drop", {"lv": volume, "pool": "c-aaaaaaaa"}) == "stale"


def test_a_cache_of_which_the_kernel_says_nothing_is_not_taken_for_clean(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume, pool = agent.cached()
    host.root.lose_pv("md0")
    run = host.run

    def silent(argv: Sequence[str], **options: Any) -> Any:
        return CommandResult(0, "") if tuple(argv) == dm.STATUS else run(argv, **options)

    monkeypatch.setattr(host, "run", silent)
    with agent.unchanged():
        assert agent.refused("cache.drop", {"lv": volume, "pool": pool}) == "degraded"
