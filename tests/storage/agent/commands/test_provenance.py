"""What Tiercel did not make is never removed, whatever its name and the caller."""

from __future__ import annotations

import json
from typing import Any

import pytest

from storage.agent.operations.boot import boot
from storage.agent.state import boot_state, policy, udev_links
from tests.contract.client import MIB, VOLUME_BYTES, Agent, cset_args, pool_args
from tests.fake import FakeHost
from tests.fake.parts import Signature

FOREIGN_SET = "6a7c1e4e-1b57-4c0e-8a53-90e54ab1c001"
TAGS = ("tiercel", "tiercel.volume=websites")


@pytest.fixture
def mail(host: FakeHost) -> str:
    """A closed volume of a stranger under a name such as Tiercel gives, tagged before this version
    as any volume could be."""
    host.root.add_lv("s-mailserver", VOLUME_BYTES, tags=TAGS)
    return "s-mailserver"


def test_a_strangers_volume_is_not_removed_as_a_cache_device(agent: Agent, mail: str) -> None:
    with agent.unchanged():
        assert agent.refused("cset.remove", {"name": mail, "cset_uuid": FOREIGN_SET}) == "not_ours"
        assert agent.refused("cset.remove", {"name": mail}) == "not_ours"


def test_a_strangers_volume_is_not_formatted_as_a_cache_device(agent: Agent, mail: str) -> None:
    made = cset_args("websites") | {"name": mail, "size_bytes": VOLUME_BYTES, "bucket_kib": 64}
    with agent.unchanged():
        assert agent.refused("cset.create", made) == "already_exists"


@pytest.mark.parametrize("more", [0, 16 * MIB])
def test_a_strangers_volume_is_neither_removed_nor_zeroed_as_room(
    host: FakeHost, agent: Agent, more: int
) -> None:
    room = host.root.add_lv("x-websites", 16 * MIB, tags=TAGS)
    before = room.size_bytes
    volume = "v-websites"
    agent.do("volume.create", agent.volume_args("websites"))
    size = {"from_bytes": VOLUME_BYTES, "size_bytes": VOLUME_BYTES + more}
    args = {"lv": volume, "pvs": ["sdc"], "volume_key": "websites", **size}
    with agent.unchanged():
        assert agent.refused("volume.extend", args) == "already_exists"
    assert host.root.lv("x-websites").size_bytes == before


def test_a_strangers_idle_pool_is_neither_removed_nor_attached(
    host: FakeHost, agent: Agent
) -> None:
    volume = agent.volume()
    pool = agent.pool(volume)
    with host.changing():
        host.root.older_pool(pool).tags.remove("tiercel.made=pool")
    with agent.unchanged():
        assert agent.refused("pool.remove", {"pool": pool}) == "not_ours"
        attach = {"lv": volume, "pool": pool, "mode": "writethrough"}
        assert agent.refused("cache.attach", attach) == "not_ours"


@pytest.mark.parametrize(
    "name", ["c-mustermann", "s-mailserver", "x-windowsserver", "del-mailbox2"]
)
def test_a_name_such_as_tiercel_gives_is_not_put_under_management(
    host: FakeHost, agent: Agent, name: str
) -> None:
    host.root.add_lv(name, VOLUME_BYTES)
    args = {"lv": name, "volume_key": "abcdefgh"}
    with agent.unchanged():
        assert (
            agent.refused("volume.tag", args, lv_name=name, size_bytes=VOLUME_BYTES)
            == "unsupported"
        )


def key_of(agent: Agent, name: str) -> str:
    (tag,) = (tag for tag in agent.lv(name)["tags"] if tag.startswith("tiercel.volume="))
    return str(tag.partition("=")[2])


def test_one_that_was_put_under_management_before_stays_so(agent: Agent, mail: str) -> None:
    args = {"lv": mail, "volume_key": "websites"}
    assert agent.do("volume.tag", args, lv_name=mail, size_bytes=VOLUME_BYTES)["commands"] == []


def test_nor_does_its_name_cost_it_its_path(host: FakeHost, agent: Agent, mail: str) -> None:
    boot(host)
    assert f"tiercel/{key_of(agent, mail)}".encode() in host.machine.files[udev_links.PATH]


@pytest.mark.parametrize("marked", [True, False], ids=["marked", "of an older agent"])
def test_what_is_made_beside_a_volume_does_not_take_its_path(
    host: FakeHost, agent: Agent, marked: bool
) -> None:
    volume = agent.volume()
    pool = agent.pool(volume)
    if not marked:
        with host.changing():
            host.root.older_pool(pool).tags.remove("tiercel.made=pool")
    boot(host)
    rules = host.machine.files[udev_links.PATH].decode()
    uuid = agent.lv(volume)["uuid"].replace("-", "")
    assert [line for line in rules.splitlines() if volume[2:] in line and uuid in line]
    assert rules.count("SYMLINK") == 1


def test_a_named_cache_device_with_other_data_on_it_is_left_alone(
    host: FakeHost, agent: Agent
) -> None:
    volume = agent.backing()
    cset, uuid = agent.cset(volume)
    with host.changing() as machine:
        machine.csets.clear()
        host.root.lv(cset).signature = Signature("ext4", machine.uuid4())
    with agent.unchanged():
        assert agent.refused("cset.remove", {"name": cset, "cset_uuid": uuid}) == "not_ours"


def test_a_named_cache_device_that_a_process_holds_is_left_alone(
    host: FakeHost, agent: Agent
) -> None:
    volume = agent.backing()
    cset, uuid = agent.cset(volume)
    with host.changing() as machine:
        machine.csets.clear()
    host.root.guest("odd", f"/dev/vg0/{cset}")
    with agent.unchanged():
        assert agent.refused("cset.remove", {"name": cset, "cset_uuid": uuid}) == "in_use"


def test_what_tiercel_made_beside_a_volume_is_not_retired_in_its_place(
    host: FakeHost, agent: Agent
) -> None:
    """A cache device and a pool carry the key of their volume."""
    backing, plain = agent.backing(), agent.volume()
    beside = [(agent.cset(backing)[0], backing[2:]), (agent.pool(plain), plain[2:])]
    with host.changing() as machine:
        machine.csets.clear()
    for name, key in beside:
        end = {"volume_key": key, "layout": "plain", "retired_name": f"del-{key}"}
        with agent.unchanged():
            assert agent.refused("volume.retire", {"lv": name, **end}) == "not_ours"


def unmark(host: FakeHost, *names: str) -> None:
    """As an agent before this version made them."""
    with host.changing():
        for name in names:
            tags = host.root.older_pool(name).tags
            tags[:] = [tag for tag in tags if not tag.startswith("tiercel.made=")]


def test_roots_run_marks_what_this_agents_own_journal_says_it_made(
    host: FakeHost, agent: Agent, mail: str
) -> None:
    volume, bcache = agent.volume(), agent.backing()
    pool = agent.pool(volume)
    cset, uuid = agent.cset(bcache)
    unmark(host, pool, cset)
    done, failed = boot(host)
    assert failed == []
    assert f"lvchange --addtag tiercel.made=pool vg0/{pool}" in done
    assert f"lvchange --addtag tiercel.made=cset vg0/{cset}" in done
    assert "tiercel.made=cset" not in host.root.lv(mail).tags
    agent.do("pool.remove", {"pool": pool})
    agent.do("cset.remove", {"name": cset, "cset_uuid": uuid})
    assert boot(host)[0] == [] or not any("addtag" in line for line in boot(host)[0])


def test_a_cache_device_at_work_is_marked_also_where_the_journal_is_too_old(
    host: FakeHost, agent: Agent
) -> None:
    volume = agent.backing()
    cset, uuid = agent.cset(volume)
    idle, _ = agent.cset(agent.backing())
    wished = {"cache_mode": "writethrough", "sequential_cutoff_bytes": 0}
    agent.do("bcache.attach", {"lv": volume, "cset_uuid": uuid, **wished})
    unmark(host, cset, idle)
    for op in host.op_ids():
        host.op_remove(op)
    done, failed = boot(host)
    assert failed == []
    assert f"lvchange --addtag tiercel.made=cset vg0/{cset}" in done
    assert "tiercel.made=cset" not in host.root.lv(idle).tags


def test_what_the_journal_only_went_on_with_is_not_marked(host: FakeHost, agent: Agent) -> None:
    """An older agent took a tagged stranger for what an earlier try had left: it never ran
    lvcreate for it."""
    volume = agent.volume()
    pool = agent.pool(volume)
    unmark(host, pool)
    for op in host.op_ids():
        record: Any = host.op_load(op)
        if record["call"]["verb"] == "pool.create":
            host.op_save(op, {**record, "commands": []})
    assert not any("addtag" in line for line in boot(host)[0])


def test_nothing_is_marked_in_a_group_that_root_does_not_allow(
    host: FakeHost, agent: Agent
) -> None:
    pool = agent.pool(agent.volume())
    unmark(host, pool)
    host.save(policy.PATH, json.dumps({"vgs": []}).encode())
    assert not any("addtag" in line for line in boot(host)[0])


def test_room_that_an_older_agent_left_is_marked_and_taken_away(
    host: FakeHost, agent: Agent
) -> None:
    volume = agent.volume()
    more = {"from_bytes": VOLUME_BYTES, "size_bytes": VOLUME_BYTES + 16 * MIB}
    args = {"lv": volume, "pvs": ["sdc"], "volume_key": volume[2:]}
    host.fail_next("blkdiscard", rc=1)
    assert agent.outcome(agent.start("volume.extend", args | more))["state"] == "failed"
    room = f"x-{volume[2:]}"
    unmark(host, room)
    tidy = args | {"from_bytes": VOLUME_BYTES, "size_bytes": VOLUME_BYTES}
    assert agent.refused("volume.extend", tidy) == "already_exists"
    boot(host)
    agent.do("volume.extend", tidy)
    assert room not in agent.names()


def test_a_cache_that_tiercel_did_not_make_is_not_detached(host: FakeHost, agent: Agent) -> None:
    volume, pool = agent.cached()
    with host.changing():
        host.root.older_pool(f"{pool}_cpool").tags.clear()
    args = {"lv": volume, "pool": pool, "dirty_limit_bytes": 0}
    with agent.unchanged():
        assert agent.refused("cache.detach", args) == "not_ours"


def test_what_is_made_says_so(host: FakeHost, agent: Agent) -> None:
    volume = agent.volume()
    assert "tiercel.made=pool" in agent.lv(agent.pool(volume))["tags"]
    assert "tiercel.made=cset" in agent.lv(agent.cset(agent.backing())[0])["tags"]
    assert pool_args(volume[2:])["name"].startswith("c-")


def forgotten(host: FakeHost, agent: Agent) -> str:
    """A bcache volume with a writeback cache of ours, of which the host has lost its note."""
    volume = agent.backing()
    _, uuid = agent.cset(volume)
    wished = {"cset_uuid": uuid, "cache_mode": "writeback", "sequential_cutoff_bytes": 0}
    agent.do("bcache.attach", {"lv": volume, **wished})
    host.save(boot_state.PATH, b'{"devices": []}')
    assert boot_state.load_boot_state(host) == ()
    return volume


def end_of(volume: str) -> dict[str, Any]:
    key = volume.removeprefix("v-")
    end = {"volume_key": key, "layout": "bcache", "retired_name": f"del-{key}"}
    return {"lv": volume, **end}


def test_a_volume_with_a_marked_cache_is_not_retired_though_no_note_tells_it(
    host: FakeHost, agent: Agent
) -> None:
    """What its cache holds would be lost."""
    volume = forgotten(host, agent)
    with agent.unchanged():
        assert agent.refused("volume.retire", end_of(volume)) == "in_use"


def test_a_guest_that_caches_one_of_its_volumes_with_another_keeps_neither_from_its_end(
    host: FakeHost, agent: Agent
) -> None:
    """Both are managed; neither is marked as a cache device that Tiercel made."""
    volume, other = agent.volume(), agent.volume()
    host.root.bcache_by_hand(volume, other)
    assert agent.lv(volume)["bcache"]["cset_uuid"] is not None
    agent.do("volume.retire", end_of(volume))
    assert volume not in agent.names()
