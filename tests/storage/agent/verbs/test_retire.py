"""The end of a volume under accidents: nothing is lost that was not to be, nothing stays half."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from storage.agent.commands.retirement import Retired, retired
from storage.agent.state import policy
from tests.contract.client import Agent
from tests.contract.test_life import destroy_args, naming, restore_args
from tests.fake import FakeHost

DAY_SECONDS = 24 * 3600


def allow(host: FakeHost, **more: int) -> None:
    host.save(policy.PATH, json.dumps({"vgs": ["vg0"], **more}).encode())


def off(host: FakeHost, agent: Agent, volume: str, layout: str = "plain") -> Any:
    """The retired volume as the host has it."""
    agent.do("volume.retire", naming(volume, layout))
    return host.root.lv(naming(volume)["retired_name"])


def failed(agent: Agent, verb: str, args: dict[str, Any]) -> Any:
    outcome = agent.outcome(agent.start(verb, args))
    assert outcome["state"] == "failed", outcome
    return outcome["error"]["code"]


@pytest.mark.parametrize("marks", [(), ("tiercel.name=a",), ("tiercel.retired=1",)])
def test_half_a_mark_is_none(marks: Sequence[str]) -> None:
    assert retired(("tiercel", *marks)) is None


def test_marks_that_contradict_each_other_or_are_no_time_are_none() -> None:
    assert retired(("tiercel.name=a", "tiercel.retired=7")) == Retired(7, "a")
    assert retired(("tiercel.name=a", "tiercel.name=b", "tiercel.retired=7")) is None
    assert retired(("tiercel.name=a", "tiercel.retired=soon")) is None


@pytest.mark.parametrize("program", ["lvchange", "lvrename"])
def test_a_retirement_that_broke_off_is_finished_or_taken_back(
    host: FakeHost, agent: Agent, program: str
) -> None:
    forth, back = agent.volume(), agent.volume()
    tags = sorted(agent.lv(back)["tags"])
    for volume in (forth, back):
        host.fail_next(program)
        assert failed(agent, "volume.retire", naming(volume)) == "cmd_failed"
    agent.do("volume.retire", naming(forth))
    assert not agent.lv(naming(forth)["retired_name"])["active"]
    marks = retired(agent.lv(back)["tags"])
    if marks is not None:
        agent.do("volume.restore", naming(back) | {"retired_at": marks.at})
    assert agent.lv(back)["active"] and sorted(agent.lv(back)["tags"]) == tags


@pytest.mark.parametrize("program", ["lvchange", "lvrename"])
def test_a_bcache_volume_whose_retirement_broke_off_is_registered_again(
    host: FakeHost, agent: Agent, program: str
) -> None:
    volume = agent.backing()
    run, times = host.run, iter(range(9))

    def broken(argv: Sequence[str], **options: Any) -> Any:
        # The first lvchange makes the mark, the second switches the volume off.
        if argv[0] == program and (program == "lvrename" or next(times) == 1):
            host.fail_next(program)
        return run(argv, **options)

    host.run = broken  # type: ignore[method-assign]
    assert failed(agent, "volume.retire", naming(volume, "bcache")) == "cmd_failed"
    host.run = run  # type: ignore[method-assign]
    marks = retired(agent.lv(volume)["tags"])
    assert marks is not None and agent.lv(volume)["bcache"] is None
    agent.do("volume.restore", naming(volume, "bcache") | {"retired_at": marks.at})
    assert agent.lv(volume)["bcache"]["device"] is not None
    assert retired(agent.lv(volume)["tags"]) is None


@pytest.mark.parametrize("program", ["lvrename", "lvchange"])
def test_a_restore_that_broke_off_is_finished(host: FakeHost, agent: Agent, program: str) -> None:
    volume = agent.volume()
    tags = sorted(agent.lv(volume)["tags"])
    off(host, agent, volume)
    args = restore_args(agent, volume)
    host.fail_next(program)
    assert failed(agent, "volume.restore", args) == "cmd_failed"
    agent.do("volume.restore", args)
    assert agent.lv(volume)["active"] and sorted(agent.lv(volume)["tags"]) == tags


def test_a_destroyed_volume_is_zeros_before_it_is_removed(host: FakeHost, agent: Agent) -> None:
    volume = agent.volume()
    host.root.scribble(host.root.lv(volume))
    lv = off(host, agent, volume)
    allow(host, undo_hours=0)
    args = destroy_args(agent, volume)
    host.fail_next("blkdiscard", rc=1)
    assert failed(agent, "volume.destroy", args) == "cmd_failed"
    assert not host.root.reads_as_zeros(lv)
    back = restore_args(agent, volume)
    assert agent.refused("volume.restore", back) == "unsupported", "some of it may be gone"
    host.fail_next("lvremove")
    assert failed(agent, "volume.destroy", args) == "cmd_failed"
    assert host.root.reads_as_zeros(lv)
    agent.do("volume.destroy", args)
    assert agent.inventory()["lvs"] == []


def test_a_bcache_volume_whose_wipe_broke_off_is_wiped_again(host: FakeHost, agent: Agent) -> None:
    volume = agent.backing()
    off(host, agent, volume, "bcache")
    allow(host, undo_hours=0)
    args = destroy_args(agent, volume, "bcache")
    host.fail_next("blkdiscard", rc=1)
    assert failed(agent, "volume.destroy", args) == "cmd_failed"
    outcome = agent.do("volume.destroy", args)
    assert [command["argv"][0] for command in outcome["commands"]] == [
        "lvchange",
        "blkdiscard",
        "lvremove",
    ]


def test_a_bcache_volume_whose_wipe_broke_off_is_wiped_after_a_restart_too(
    host: FakeHost, agent: Agent
) -> None:
    """It is off then, so that its missing superblock shows only once it is active."""
    volume = agent.backing()
    off(host, agent, volume, "bcache")
    allow(host, undo_hours=0)
    args = destroy_args(agent, volume, "bcache")
    host.fail_next("blkdiscard", rc=1)
    assert failed(agent, "volume.destroy", args) == "cmd_failed"
    host.root.reboot()
    assert not agent.lv(args["lv"])["active"]
    outcome = agent.do("volume.destroy", args)
    ran = [(command["argv"][0], command["rc"]) for command in outcome["commands"]]
    assert ran == [("lvchange", 0), ("blkdiscard", 0), ("lvremove", 0)]
    assert agent.inventory()["lvs"] == []


def test_a_volume_that_was_opened_during_the_wipe_is_not_removed(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = agent.volume()
    lv = off(host, agent, volume)
    allow(host, undo_hours=0)
    run = host.run

    def opened(argv: Sequence[str], **options: Any) -> Any:
        result = run(argv, **options)
        if argv[0] == "blkdiscard":
            host.root.guest("web12", lv.path)
        return result

    monkeypatch.setattr(host, "run", opened)
    assert failed(agent, "volume.destroy", destroy_args(agent, volume)) == "in_use"
    assert lv.name in agent.names()


def test_the_window_is_that_of_the_hosts_own_clock(host: FakeHost, agent: Agent) -> None:
    volume = agent.volume()
    off(host, agent, volume)
    args = destroy_args(agent, volume)
    host.advance(DAY_SECONDS - 60)
    assert agent.refused("volume.destroy", args) == "too_early"
    host.advance(120)
    agent.do("volume.destroy", args)


def test_a_mark_from_the_future_keeps_the_window_open(host: FakeHost, agent: Agent) -> None:
    volume = agent.volume()
    lv = off(host, agent, volume)
    allow(host, undo_hours=0)
    ahead = host.wall_ns() // 1_000_000_000 + DAY_SECONDS
    with host.changing():
        lv.tags = [tag for tag in lv.tags if "retired" not in tag] + [f"tiercel.retired={ahead}"]
    assert agent.refused("volume.destroy", destroy_args(agent, volume)) == "too_early"


def test_no_more_volumes_are_destroyed_in_an_hour_than_root_allows(
    host: FakeHost, agent: Agent
) -> None:
    first, second = agent.volume(), agent.volume()
    off(host, agent, first)
    off(host, agent, second)
    allow(host, undo_hours=0, destroy_per_hour=1)
    agent.do("volume.destroy", destroy_args(agent, first))
    args = destroy_args(agent, second)
    assert agent.refused("volume.destroy", args) == "quota"
    host.advance(3601)
    agent.do("volume.destroy", args)


def test_a_retired_volume_stays_off_over_a_reboot(host: FakeHost, agent: Agent) -> None:
    volume = agent.backing()
    lv = off(host, agent, volume, "bcache")
    host.root.reboot()
    found = agent.lv(lv.name)
    assert (found["active"], found["bcache"]) == (False, None)
    agent.do("volume.restore", restore_args(agent, volume, "bcache"))
    host.root.reboot()
    assert agent.lv(volume)["active"]


def test_another_uuid_than_the_confirmed_one_is_never_removed(host: FakeHost, agent: Agent) -> None:
    volume = agent.volume()
    off(host, agent, volume)
    allow(host, undo_hours=0)
    args = destroy_args(agent, volume)
    other = "AAAAAA-AAAA-AAAA-AAAA-AAAA-AAAA-AAAAAA"
    with agent.unchanged():
        assert agent.refused("volume.destroy", {**args, "lv_uuid": other}) == "stale"
        assert agent.refused("volume.destroy", {**args, "size_bytes": 4 << 20}) == "stale"


def test_a_volume_on_the_move_is_not_retired(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = agent.volume()
    agent.expecting(volume)
    run, said = host.run, set()

    def moving(argv: Sequence[str], **options: Any) -> Any:
        def tick() -> None:
            said.add(agent.refused("volume.retire", naming(volume)))

        return run(argv, **({**options, "tick": tick} if argv[0] == "pvmove" else options))

    monkeypatch.setattr(host, "run", moving)
    agent.do("volume.move", {"lv": volume, "from_pvs": ["sdc"], "to_pvs": ["md0"]})
    assert said == {"occupied"}


def test_an_old_mark_on_a_volume_in_service_does_not_shorten_its_undo_window(
    host: FakeHost, agent: Agent
) -> None:
    volume = agent.volume()
    marked_at = host.wall_ns() // 1_000_000_000
    with host.changing():
        tags = host.root.lv(volume).tags
        tags += [f"tiercel.name={volume}", f"tiercel.retired={marked_at}"]
    host.advance(2 * DAY_SECONDS)
    with agent.unchanged():
        assert agent.refused("volume.retire", naming(volume)) == "unsupported"
    agent.do("volume.restore", naming(volume) | {"retired_at": marked_at})
    off(host, agent, volume)
    assert agent.refused("volume.destroy", destroy_args(agent, volume)) == "too_early"
