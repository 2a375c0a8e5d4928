"""pool.create zeroes what a guest may come to read, also where it was broken off."""

from __future__ import annotations

import pytest

from tests.contract.client import POOL_BYTES, Agent, pool_args
from tests.fake import FakeHost

KEY = "aaaaaaaa"
POOL = f"c-{KEY}"
BEGUN = ("tiercel", f"tiercel.volume={KEY}", "tiercel.made=pool")


@pytest.mark.parametrize(
    ("tags", "programs"),
    [
        ((*BEGUN, "tiercel.zeroing"), ["blkdiscard", "lvchange", "lvconvert"]),
        ((*BEGUN, "tiercel.zeroed"), ["lvconvert"]),
    ],
)
def test_a_pool_whose_making_was_broken_off_is_finished(
    host: FakeHost, agent: Agent, tags: tuple[str, ...], programs: list[str]
) -> None:
    host.root.add_lv(POOL, POOL_BYTES, "md0", tags=tags)
    begun = agent.lv(POOL)["uuid"]
    outcome = agent.do("pool.create", pool_args(KEY), lv_uuid=begun)
    assert [command["argv"][0] for command in outcome["commands"]] == programs
    assert agent.lv(POOL)["layout"] == ["cache", "pool"]
    assert "tiercel.zeroed" in agent.lv(POOL)["tags"]
    assert agent.lv(POOL)["uuid"] != begun == agent.lv(f"{POOL}_cdata")["uuid"]


def test_a_pool_has_the_tags_that_lvm_leaves_on_its_data_part(host: FakeHost, agent: Agent) -> None:
    volume = agent.volume()
    pool = agent.pool(volume)
    data = host.root.lv(f"{pool}_cdata")
    assert host.root.lv(pool).tags == [] and "tiercel.zeroed" in data.tags
    assert agent.lv(pool)["tags"] == data.tags
    assert agent.lv(data.name)["tags"] == []
    assert agent.do("pool.create", pool_args(volume[2:]))["commands"] == []
    agent.do("cache.attach", {"lv": volume, "pool": pool, "mode": "writethrough"})
    assert agent.lv(f"{pool}_cpool")["tags"] == data.tags
    agent.do("cache.detach", {"lv": volume, "pool": pool, "dirty_limit_bytes": 0})


def test_a_pool_that_root_makes_of_a_volume_of_ours_does_not_become_ours(
    host: FakeHost, agent: Agent
) -> None:
    volume = agent.volume()
    host.run(("lvconvert", "-y", "--type", "cache-pool", "--chunksize", "64k", f"vg0/{volume}"))
    assert agent.lv(volume)["tags"] == []
    with agent.unchanged():
        assert agent.refused("pool.remove", {"pool": volume}) == "bad_request"


def test_what_was_made_of_a_pool_so_far_is_removed_and_leaves_nothing_to_clear(
    host: FakeHost, agent: Agent
) -> None:
    volume = agent.volume()
    tags = ("tiercel", f"tiercel.volume={volume[2:]}", "tiercel.made=pool", "tiercel.zeroing")
    host.root.add_lv(f"c-{volume[2:]}", POOL_BYTES, "md0", tags=tags)
    outcome = agent.do("pool.remove", {"pool": f"c-{volume[2:]}", "lv": volume})
    assert [command["argv"][0] for command in outcome["commands"]] == ["lvremove"]
    assert agent.names() == {volume}


def test_a_pool_that_an_older_agent_made_gets_no_volume_before_it_is_made_anew(
    host: FakeHost, agent: Agent
) -> None:
    volume = agent.volume()
    pool = agent.pool(volume)
    with host.changing():
        host.root.older_pool(pool).tags.remove("tiercel.zeroed")
    attach = {"lv": volume, "pool": pool, "mode": "writethrough"}
    with agent.unchanged():
        assert agent.refused("cache.attach", attach) == "not_fresh"
        assert agent.refused("pool.create", pool_args(volume[2:])) == "not_fresh"
    agent.do("pool.remove", {"pool": pool, "lv": volume})
    agent.pool(volume)


def test_a_pool_is_attached_to_no_other_volume_than_its_own(agent: Agent) -> None:
    volume, other = agent.volume(), agent.volume()
    pool = agent.pool(volume)
    with agent.unchanged():
        attach = {"lv": other, "pool": pool, "mode": "writethrough"}
        assert agent.refused("cache.attach", attach) == "not_ours"
