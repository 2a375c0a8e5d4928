"""A disk takes a place in an array, if root allows it and the disk is empty, free, large enough and
the one that was meant."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from storage.agent.kernel import array_state, attachment
from tests.contract.client import Agent
from tests.fake import FakeHost
from tests.fake.parts import GIB, MIB, Disk

ALLOWED = {"vgs": ["vg0"], "replace_members": True}
PLACE = {"device": "sde", "serial": "ssd2"}
SERIALS = {"sda": "ssd0", "sdb": "ssd1", "sdc": "hdd0"}


def allow(host: FakeHost, **policy: object) -> None:
    host.save("/etc/tiercel/agent.json", json.dumps({**ALLOWED, **policy}).encode())


@pytest.fixture
def host(make_fake_host: Callable[..., FakeHost]) -> FakeHost:
    made = make_fake_host()
    with made.changing() as machine:
        machine.disks.append(Disk("sde", 5 * GIB, False, "LAB-SSD", "ssd2", minor=64))
    allow(made)
    return made


def wanted(agent: Agent, **more: str) -> dict[str, Any]:
    (array,) = agent.inventory()["arrays"]
    if "member" in more:
        more = {"member_serial": SERIALS[more["member"]], **more}
    return {"array": "md0", "uuid": array["uuid"], **PLACE, **more}


def lose(host: FakeHost, name: str = "sdb") -> None:
    with host.changing() as machine:
        machine.arrays[0].failed = {name}


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.002)


def members(agent: Agent) -> dict[str, str]:
    (array,) = agent.inventory()["arrays"]
    return {each["name"]: each["state"] for each in array["members"]}


def test_a_disk_that_other_machines_reach_would_make_the_group_above_theirs(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = attachment.elsewhere
    monkeypatch.setattr(
        attachment, "elsewhere", lambda on, name: "iSCSI" if name == "sde" else local(on, name)
    )
    with agent.unchanged():
        assert agent.refused("array.replace", wanted(agent, member="sda")) == "unsupported"
    allow(host, alone=["vg0"])
    agent.do("array.replace", wanted(agent, member="sda"))


def test_a_member_whose_name_is_another_disks_by_now_stays(host: FakeHost, agent: Agent) -> None:
    asked = wanted(agent, member="sda")
    with host.changing() as machine:
        sda, sdb = machine.disks[:2]
        sda.serial, sdb.serial = sdb.serial, sda.serial
    with agent.unchanged():
        assert agent.refused("array.replace", asked) == "stale"
        del asked["member_serial"]
        assert agent.refused("array.replace", asked) == "bad_request"


def test_a_member_whose_name_changes_while_it_is_copied_is_not_taken_out(
    host: FakeHost, agent: Agent
) -> None:
    with host.changing() as machine:
        machine.arrays[0].rebuild_bytes_per_second = MIB
    op = agent.start("array.replace", wanted(agent, member="sda"))
    until(lambda: "replacement" in members(agent).get("sde", ""))
    with host.changing() as machine:
        sda, sdb = machine.disks[:2]
        sda.serial, sdb.serial = sdb.serial, sda.serial
        machine.arrays[0].rebuild_bytes_per_second = 5 * GIB
    assert agent.outcome(op)["error"]["code"] == "stale"
    assert "sda" in members(agent)


def test_a_member_that_works_is_copied_and_then_taken_out(agent: Agent) -> None:
    args, expect = agent.call("array.replace", wanted(agent, member="sda"))
    with agent.unchanged():
        (step,) = agent.preview(("array.replace", args, expect))
    assert step["error"] is None
    lines = [
        "mdadm --manage /dev/md0 --add /dev/sde",
        "mdadm --manage /dev/md0 --replace /dev/sda --with /dev/sde",
        "mdadm --wait /dev/md0",
        "mdadm --manage /dev/md0 --remove /dev/sda",
    ]
    assert [each["shell"] for each in step["commands"]] == lines
    outcome = agent.do("array.replace", wanted(agent, member="sda"))
    assert [each["shell"] for each in outcome["commands"]] == lines
    assert outcome["progress"]["label"] == "rebuilt"
    assert members(agent) == {"sdb": "in_sync", "sde": "in_sync"}
    assert agent.do("array.replace", wanted(agent, member="sda"))["commands"] == []


def test_where_a_disk_has_failed_the_new_one_takes_its_place(host: FakeHost, agent: Agent) -> None:
    lose(host)
    outcome = agent.do("array.replace", wanted(agent))
    assert [each["shell"] for each in outcome["commands"]] == [
        "mdadm --manage /dev/md0 --remove failed",
        "mdadm --manage /dev/md0 --add /dev/sde",
        "mdadm --wait /dev/md0",
    ]
    assert members(agent) == {"sda": "in_sync", "sde": "in_sync"}
    assert agent.inventory()["arrays"][0]["degraded_count"] == 0
    assert agent.do("array.replace", wanted(agent))["commands"] == []


@pytest.mark.parametrize("program", [1, 2])
def test_a_broken_try_is_finished(host: FakeHost, agent: Agent, program: int) -> None:
    for _ in range(program):
        host.fail_next("mdadm", 1)
    if program == 2:
        op = agent.start("array.replace", wanted(agent, member="sda"))
        assert agent.outcome(op)["state"] == "failed"
    op = agent.start("array.replace", wanted(agent, member="sda"))
    assert agent.outcome(op)["state"] == "failed"
    agent.do("array.replace", wanted(agent, member="sda"))
    assert members(agent) == {"sdb": "in_sync", "sde": "in_sync"}


@pytest.mark.parametrize("policy", [{"replace_members": False}, {"vgs": ["other"]}])
def test_without_root_s_word_nothing_is_done(
    host: FakeHost, agent: Agent, policy: dict[str, object]
) -> None:
    allow(host, **policy)
    with agent.unchanged():
        code = agent.refused("array.replace", wanted(agent, member="sda"), vg_uuid=vg(agent))
    assert code == "vg_not_allowed"


def vg(agent: Agent) -> str:
    return str(agent.vg()["uuid"])


def test_a_disk_with_anything_on_it_is_refused(host: FakeHost, agent: Agent) -> None:
    with host.changing() as machine:
        machine.signed["/dev/sde"] = "ext4"
    with agent.unchanged():
        assert agent.refused("array.replace", wanted(agent, member="sda")) == "not_fresh"


def test_a_mounted_disk_is_refused(host: FakeHost, agent: Agent) -> None:
    host.root.mount("/dev/sde", "/mnt/backup")
    with agent.unchanged():
        assert agent.refused("array.replace", wanted(agent, member="sda")) == "in_use"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"size_bytes": 4 * GIB - 64 * 1024 * 1024}, "no_space"),
        ({"rotational": True}, "unsupported"),
        ({"sector_bytes": 4096}, "unsupported"),
        ({"serial": "ssd3"}, "stale"),
    ],
    ids=str,
)
def test_a_disk_that_does_not_fit_is_refused(
    host: FakeHost, agent: Agent, changes: dict[str, Any], code: str
) -> None:
    with host.changing() as machine:
        disk = next(disk for disk in machine.disks if disk.name == "sde")
        for name, value in changes.items():
            setattr(disk, name, value)
    with agent.unchanged():
        assert agent.refused("array.replace", wanted(agent, member="sda")) == code
    assert not any(argv[0] == "mdadm" for argv in host.executed)


def test_what_is_no_member_or_another_array_is_refused(agent: Agent) -> None:
    with agent.unchanged():
        assert agent.refused("array.replace", wanted(agent, member="sdc")) == "not_found"
        assert (
            agent.refused("array.replace", wanted(agent) | {"uuid": str(uuid.uuid4())}) == "stale"
        )
        assert agent.refused("array.replace", wanted(agent) | {"array": "md9"}) == "not_found"
        other = {"device": "sdc", "serial": "hdd0", "member": "sda", "member_serial": "ssd0"}
        assert agent.refused("array.replace", wanted(agent) | other) == "unsupported"


def test_a_whole_array_needs_a_member_to_be_named_and_a_degraded_one_gives_none(
    host: FakeHost, agent: Agent
) -> None:
    with agent.unchanged():
        assert agent.refused("array.replace", wanted(agent)) == "unsupported"
    lose(host)
    with agent.unchanged():
        assert agent.refused("array.replace", wanted(agent, member="sda")) == "degraded"


def test_an_array_at_work_is_left_alone(host: FakeHost, agent: Agent) -> None:
    with host.changing() as machine:
        machine.arrays[0].begin("check")
    with agent.unchanged():
        call = agent.call("array.replace", wanted(agent, member="sda"))
        error = agent.ask("array.replace", *call)["error"]
    assert (error["code"], "0 % is done, and about 1 min are left" in error["correction"]) == (
        "busy",
        True,
    )


@pytest.mark.parametrize(
    ("done", "total", "speed", "words"),
    [
        (1000, 2_000_000_000, 100_000, "0 % is done, and about 3 h are left at the present speed"),
        (1_900_000_000, 2_000_000_000, 100_000, "95 % is done, and about 8 min are left at the"),
        (1000, 2000, None, "50 % is done"),
        (None, 2000, 100, ""),
        (10, None, None, ""),
    ],
)
def test_how_far_a_rebuild_is_tells_only_what_the_kernel_says(
    done: int | None, total: int | None, speed: int | None, words: str
) -> None:
    array = {"sync_done_sectors": done, "sync_total_sectors": total, "sync_speed_kib": speed}
    said = array_state.how_far(array)
    assert said.startswith(words) and bool(said) == bool(words)


def test_a_disk_that_fails_while_it_is_filled_ends_the_operation(
    host: FakeHost, agent: Agent
) -> None:
    lose(host)
    with host.changing() as machine:
        machine.arrays[0].rebuild_bytes_per_second = 0
    op = agent.start("array.replace", wanted(agent))
    until(lambda: "sde" in members(agent))
    with host.changing() as machine:
        array = machine.arrays[0]
        array.old.append(array.spares.pop())
        array.sync_action = "idle"
    outcome = agent.outcome(op)
    assert (outcome["state"], outcome["error"]["code"]) == ("failed", "degraded")


def test_it_may_be_stopped_and_the_kernel_goes_on(host: FakeHost, agent: Agent) -> None:
    with host.changing() as machine:
        machine.arrays[0].rebuild_bytes_per_second = 0
    op = agent.start("array.replace", wanted(agent, member="sda"))
    until(lambda: "sde" in members(agent))
    assert agent.ask("op.abort", {"op": op})["ok"]
    assert agent.outcome(op)["error"]["code"] == "aborted"
    with host.changing() as machine:
        machine.arrays[0].rebuild_bytes_per_second = 1 << 30
    agent.do("array.replace", wanted(agent, member="sda"))
    assert members(agent) == {"sdb": "in_sync", "sde": "in_sync"}
