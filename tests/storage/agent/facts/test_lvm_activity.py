"""LVM's work on volumes that was started by hand is seen, named, and left alone."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.contract.client import MIB, POOL_BYTES, VOLUME_BYTES, Agent, pool_args
from tests.fake import FakeHost
from tests.storage.agent.verbs.test_extend_hazards import extension, moved


def said(agent: Agent, verb: str, args: dict[str, Any]) -> str:
    checked, expect = agent.call(verb, args)
    reply = agent.ask(verb, checked, expect)
    assert not reply["ok"], reply
    return f"{reply['error']['code']}: {reply['error']['message']}"


def said_by(agent: Agent, op: str) -> Any:
    return agent.data("op.get", {"op": op, "after": 0})["lines"]


def test_a_pvmove_by_hand_is_reported_with_its_disk_and_how_far_it_is(
    host: FakeHost, agent: Agent
) -> None:
    volume, other = agent.volume(), agent.volume()
    host.root.pvmove("sdc", "sdd", percent=50)
    for name in (volume, other):
        assert agent.lv(name)["work"] == {
            "kind": "pvmove",
            "source": "sdc",
            "percent": 50,
            "ours": False,
        }


def test_a_pvmove_under_a_cached_volume_is_reported_too(host: FakeHost, agent: Agent) -> None:
    cached, _ = agent.cached()
    host.root.pvmove("sdc", "sdd")
    assert agent.lv(cached)["work"]["source"] == "sdc"
    with agent.unchanged():
        assert said(agent, "volume.extend", extension(cached)).startswith("occupied: ")


def test_a_pvmove_by_hand_is_never_aborted_nor_joined(host: FakeHost, agent: Agent) -> None:
    volume = agent.volume()
    agent.volume()
    host.root.pvmove("sdc", "sdd")
    with agent.unchanged():
        for verb, args in (
            ("move.abort", {"lv": volume, "pv": "sdc"}),
            ("volume.move", moved(volume)),
            ("volume.extend", extension(volume)),
        ):
            assert said(agent, verb, args) == (
                f"occupied: vg0/{volume} is being moved by hand (pvmove /dev/sdc), 50 % done."
            )


def test_a_mark_that_an_earlier_move_left_makes_no_pvmove_ours(
    host: FakeHost, agent: Agent
) -> None:
    volume = agent.volume()
    agent.volume()
    with host.changing():
        host.root.lv(volume).tags.append("tiercel.moving")
    host.root.pvmove("sdc", "sdd")
    with agent.unchanged():
        abort = {"lv": volume, "pv": "sdc"}
        assert said(agent, "move.abort", abort).startswith("occupied: ")


def test_our_own_move_carries_our_mark_while_it_runs(host: FakeHost, agent: Agent) -> None:
    volume = agent.volume()
    host.cut_next("pvmove")
    agent.start("volume.move", moved(volume))
    host.wait_for_ops()
    lv = agent.lv(volume)
    assert lv["work"]["ours"] and "tiercel.moving" in lv["tags"]
    agent.do("move.abort", {"lv": volume, "pv": "sdc"})
    lv = agent.lv(volume)
    assert lv["work"] is None and "tiercel.moving" not in lv["tags"]
    agent.do("volume.move", moved(volume))
    assert "tiercel.moving" not in agent.lv(volume)["tags"]


def test_a_move_that_lost_its_own_mark_counts_as_started_by_hand(
    host: FakeHost, agent: Agent
) -> None:
    volume = agent.volume()
    host.cut_next("pvmove")
    agent.start("volume.move", moved(volume))
    host.wait_for_ops()
    with host.changing():
        host.root.lv(volume).tags.remove("tiercel.moving")
    assert said(agent, "move.abort", {"lv": volume, "pv": "sdc"}).startswith("occupied: ")


@pytest.mark.parametrize(
    ("verb", "more"),
    [
        ("cache.set", {"mode": "writethrough", "migration_threshold": 4096}),
        ("cache.flush", {"dirty_limit_bytes": 0}),
        ("cache.detach", {"pool": "", "dirty_limit_bytes": 0}),
    ],
)
def test_a_cache_is_left_alone_while_its_volume_is_moved_by_hand(
    host: FakeHost, agent: Agent, verb: str, more: dict[str, Any]
) -> None:
    cached, pool = agent.cached()
    host.root.pvmove("sdc", "sdd")
    args = {"lv": cached, **more} | ({"pool": pool} if "pool" in more else {})
    with agent.unchanged():
        assert said(agent, verb, args).startswith("occupied: ")


def test_no_cache_comes_to_a_volume_that_is_moved_by_hand(host: FakeHost, agent: Agent) -> None:
    volume = agent.volume()
    agent.do("pool.create", pool_args(volume[2:], size_bytes=POOL_BYTES))
    host.root.pvmove("sdc", "sdd")
    attach = {"lv": volume, "pool": f"c-{volume[2:]}", "mode": "writethrough"}
    with agent.unchanged():
        assert said(agent, "cache.attach", attach).startswith("occupied: ")


def test_a_snapshot_made_by_hand_is_named(host: FakeHost, agent: Agent) -> None:
    volume = agent.volume()
    host.root.snapshot(volume, "nightly", 32 * MIB)
    assert agent.lv(volume)["snapshots"] == ["nightly"]
    with agent.unchanged():
        assert said(agent, "volume.extend", extension(volume)) == (
            f"occupied: vg0/{volume} has the snapshot nightly: LVM neither grows nor moves it "
            "while that is there."
        )


def test_a_merge_in_progress_is_named(host: FakeHost, agent: Agent) -> None:
    volume = agent.volume()
    with host.changing():
        host.root.lv(volume).merging = True
    with agent.unchanged():
        assert said(agent, "volume.extend", extension(volume)) == (
            f"occupied: A snapshot is being merged into vg0/{volume}."
        )


def test_room_that_took_hours_to_zero_waits_for_a_pvmove_by_hand(
    host: FakeHost, agent: Agent
) -> None:
    volume = agent.volume()
    pause = host.pause_next("blkdiscard")
    op = agent.start("volume.extend", extension(volume))
    pause.reached.wait(10)
    host.root.pvmove("sdc", "sdd")
    pause.resume()
    for _ in range(1000):
        if any("Waits" in line["text"] for line in said_by(agent, op)):
            break
        time.sleep(0.005)
    host.root.end_pvmove("sdc")
    assert agent.outcome(op)["state"] == "done"
    assert agent.lv(volume)["size_bytes"] > VOLUME_BYTES
