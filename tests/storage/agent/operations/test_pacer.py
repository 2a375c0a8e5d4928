"""Zeroing and moving beside other guests: in turns of work and rest, one at a time on a disk."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest

from storage.agent.kernel import stats
from storage.agent.operations import pacer, rhythm
from storage.agent.operations.boot import boot
from storage.agent.operations.ops import get
from storage.agent.operations.pace import percentile_ns
from tests.contract.client import MIB, Agent
from tests.fake import FakeHost
from tests.fake.nodes import THROTTLE

BIG = 1600 * MIB
# There is time to find the pace.
SLOW = 64 * MIB


@pytest.fixture
def neighbour(host: FakeHost, agent: Agent) -> str:
    """A volume on the first slow disk whose guest reads all the time."""
    volume = agent.volume()
    host.root.load(volume, iops=200)
    return volume


def allow(host: FakeHost, **more: Any) -> None:
    host.save("/etc/tiercel/agent.json", json.dumps({"vgs": ["vg0"], **more}).encode())


def counts(host: FakeHost, volume: str) -> list[float]:
    host.advance(0)
    regions = host.root.lv(volume).counters.regions.values()
    (found,) = (region.counts for region in regions if region.program == stats.PACING)
    return list(found)


def felt(host: FakeHost, agent: Agent, volume: str, verb: str, args: dict[str, Any]) -> Any:
    """Of the p95 of a volume while an operation ran: how much more it was than before, in percent;
    for how long it ran; and what the operation said of it."""
    size = host.root.lv(volume).size_bytes
    stats.latency(host, f"vg0-{volume.replace('-', '--')}", size // 512, stats.PACING)
    before = counts(host, volume)
    host.advance(60)
    alone = counts(host, volume)
    began_ns = host.boottime_ns()
    outcome = agent.do(verb, args)
    after = counts(host, volume)
    beside = percentile_ns([b - a for a, b in zip(alone, after, strict=True)])
    quiet = percentile_ns([b - a for a, b in zip(before, alone, strict=True)])
    return 100 * (beside / quiet - 1), (host.boottime_ns() - began_ns) / 1e9, outcome["progress"]


def test_zeroing_keeps_what_a_neighbour_feels_within_what_the_host_allows(
    host: FakeHost, agent: Agent, neighbour: str
) -> None:
    host.machine.zero_bytes_per_second = SLOW
    made = agent.volume_args(size_bytes=BIG)
    rise, seconds, progress = felt(host, agent, neighbour, "volume.create", made)
    allow(host, others_rise_percent=1000)
    freely = agent.volume_args(size_bytes=BIG)
    unpaced_rise, unpaced_seconds, _ = felt(host, agent, neighbour, "volume.create", freely)
    assert rise <= 20 < unpaced_rise, "beside a neighbour, and without regard for it"
    assert unpaced_seconds < seconds < BIG / host.machine.zero_bytes_per_second / 0.02 + 60
    others = progress["others"]
    assert others["allowed_percent"] == 20
    assert 1 <= others["share_percent"] < 50
    assert others["p95_us"] <= 1.2 * others["alone_p95_us"]


def test_a_neighbour_on_another_disk_slows_nothing(
    host: FakeHost, agent: Agent, neighbour: str
) -> None:
    args = agent.volume_args(size_bytes=BIG, pvs=[agent.world.slow[1]])
    _, seconds, progress = felt(host, agent, neighbour, "volume.create", args)
    assert seconds < BIG / host.machine.zero_bytes_per_second + 10
    assert progress["others"]["share_percent"] == 100


def test_a_move_keeps_the_budget_by_the_throttle_of_the_kernels_mirrors(
    host: FakeHost, agent: Agent, neighbour: str
) -> None:
    volume = agent.volume(size_bytes=BIG)
    move = {"lv": volume, "from_pvs": [agent.world.slow[0]], "to_pvs": ["md0"]}
    host.executed.clear()
    host.machine.move_bytes_per_second = SLOW
    rise, _, progress = felt(host, agent, neighbour, "volume.move", move)
    assert rise <= 20 and progress["others"]["share_percent"] < 50
    throttled = [command[2] for command in host.executed if command[1] == THROTTLE]
    assert throttled[-1] == "100" and "100" not in throttled[:-1]
    assert {"1"} < set(throttled[:-1]), "next to nothing in the rests"
    assert host.machine.mirror_throttle == 100


def killed_move(host: FakeHost, agent: Agent) -> str:
    """The operation of a pvmove whose unit was killed while the kernel's mirrors rested."""
    volume = agent.volume(size_bytes=BIG)
    host.machine.modules.add("dm_mirror")
    host.cut_next("pvmove")
    move = {"lv": volume, "from_pvs": [agent.world.slow[0]], "to_pvs": ["md0"]}
    op = agent.start("volume.move", move)
    host.wait_for_ops()
    with host.changing() as machine:
        machine.mirror_throttle = 1
    host.advance(60)
    return op


def test_what_a_killed_move_throttled_is_reset_without_a_request(
    host: FakeHost, agent: Agent, neighbour: str
) -> None:
    volume = agent.volume(size_bytes=BIG)
    host.machine.modules.add("dm_mirror")
    host.machine.mirror_throttle = 1
    host.cut_next("pvmove")
    move = {"lv": volume, "from_pvs": [agent.world.slow[0]], "to_pvs": ["md0"]}
    agent.start("volume.move", move)
    host.wait_for_ops()
    assert host.machine.mirror_throttle == 100


def test_a_move_that_was_killed_leaves_nothing_throttled(
    host: FakeHost, agent: Agent, neighbour: str
) -> None:
    op = killed_move(host, agent)
    assert get(host, op, 0)["state"] == "interrupted"
    assert host.machine.mirror_throttle == 100


def test_boot_ends_the_throttle_of_a_killed_move_that_is_not_asked_for(
    host: FakeHost, agent: Agent, neighbour: str
) -> None:
    boot(host)
    killed_move(host, agent)
    done, failed = boot(host)
    assert failed == [] and f"echo 100 > {THROTTLE}" in done
    assert host.machine.mirror_throttle == 100
    assert boot(host)[0] == []


def test_a_move_that_lvm_takes_up_again_after_a_restart_is_slow_until_the_panel_asks_for_it(
    host: FakeHost, agent: Agent, neighbour: str
) -> None:
    killed_move(host, agent)
    volume = next(lv["name"] for lv in agent.inventory()["lvs"] if lv["work"])
    host.root.reboot()
    with host.changing() as machine:
        machine.mirror_throttle = 100
    assert f"echo 10 > {THROTTLE}" in boot(host)[0]
    assert host.machine.mirror_throttle == 10
    assert boot(host)[0] == []
    agent.do("move.abort", {"lv": volume, "pv": agent.world.slow[0]})
    assert host.machine.mirror_throttle == 100


def test_boot_leaves_the_throttle_to_a_move_that_runs_and_to_a_person(
    host: FakeHost, agent: Agent, neighbour: str
) -> None:
    volume = agent.volume(size_bytes=BIG)
    pause = host.pause_next("pvmove")
    move = {"lv": volume, "from_pvs": [agent.world.slow[0]], "to_pvs": ["md0"]}
    op = agent.start("volume.move", move)
    pause.reached.wait(10)
    with host.changing() as machine:
        machine.mirror_throttle = 1
    boot(host)
    assert host.machine.mirror_throttle == 1, "the move rests"
    pause.resume()
    assert agent.outcome(op)["state"] == "done"
    with host.changing() as machine:
        machine.mirror_throttle = 50
    boot(host)
    assert host.machine.mirror_throttle == 50, "set by hand"


def test_of_two_on_one_disk_the_second_waits_and_says_why(host: FakeHost, agent: Agent) -> None:
    pause = host.pause_next("blkdiscard")
    first = agent.start("volume.create", agent.volume_args())
    pause.reached.wait(10)
    second = agent.start("volume.create", agent.volume_args())
    await_line(host, second, "Waiting: another operation")
    other = agent.do("volume.create", agent.volume_args(pvs=[agent.world.slow[1]]))
    assert other["state"] == "done", "another disk is free"
    assert get(host, second, 0)["state"] == "running"
    pause.resume()
    assert agent.outcome(first)["state"] == "done"
    found = agent.outcome(second)
    assert found["state"] == "done"
    waits = [line["text"] for line in found["lines"] if line["text"].startswith("Waiting:")]
    assert len(waits) == 1 and agent.world.slow[0] in waits[0]


def test_a_disk_is_given_in_the_order_of_asking(host: FakeHost) -> None:
    """An operation that finds its volume or its group busy by then asks anew, and is the last."""
    given: list[int] = []

    def ask(number: int, waits: threading.Event) -> None:
        with pacer.alone_on(host, ["sdc", "sdd"], lambda _: waits.set(), lambda: None):
            given.append(number)

    asking = []
    with pacer.alone_on(host, ["sdc"], lambda _: None, lambda: None):
        for number in range(5):
            waits = threading.Event()
            asking.append(threading.Thread(target=ask, args=(number, waits)))
            asking[-1].start()
            assert waits.wait(10)
    for thread in asking:
        thread.join(10)
    assert given == [0, 1, 2, 3, 4]


def test_who_waits_for_a_disk_can_be_stopped(host: FakeHost, agent: Agent) -> None:
    pause = host.pause_next("blkdiscard")
    first = agent.start("volume.create", agent.volume_args())
    pause.reached.wait(10)
    second = agent.start("volume.create", agent.volume_args())
    agent.data("op.abort", {"op": second})
    found = agent.outcome(second)
    assert (found["state"], found["error"]["code"]) == ("interrupted", "aborted")
    pause.resume()
    assert agent.outcome(first)["state"] == "done"


def test_who_waits_for_its_volume_leaves_the_disk_to_others(host: FakeHost, agent: Agent) -> None:
    volume = agent.volume()
    pause = host.pause_next("blkdiscard")
    first = agent.start("volume.create", agent.volume_args())
    pause.reached.wait(10)
    move = {"lv": volume, "from_pvs": [agent.world.slow[0]], "to_pvs": ["md0"]}
    second = agent.start("volume.move", move)
    await_line(host, second, "Only one at a time")
    with host.changing():
        host.root.snapshot(volume, "backup", 4 * MIB)
    pause.resume()
    assert agent.outcome(first)["state"] == "done"
    await_line(host, second, "has the snapshot backup")
    third = agent.do("volume.create", agent.volume_args())
    assert third["state"] == "done", "the disk is free meanwhile"
    host.root.remove_lv("backup")
    with host.changing():
        host.root.lv(volume).role = "public"
    assert agent.outcome(second)["state"] == "done"


def await_line(host: FakeHost, op: str, words: str) -> None:
    end = time.monotonic() + 60
    while not any(words in line["text"] for line in get(host, op, 0)["lines"]):
        assert time.monotonic() < end, get(host, op, 0)["lines"]
        time.sleep(0.01)


def test_where_the_wait_of_others_is_unknown_a_quarter_of_the_time_is_taken(
    host: FakeHost, agent: Agent, neighbour: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(name: str, message: str) -> str:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(host, "dm_message", none)
    outcome = agent.do("volume.create", agent.volume_args(size_bytes=BIG))
    assert outcome["progress"]["others"]["share_percent"] == round(100 * rhythm.BLIND_SHARE)
    assert outcome["progress"]["others"]["p95_us"] == 0


def test_a_person_lets_an_operation_that_runs_go_faster(host: FakeHost, agent: Agent) -> None:
    pause = host.pause_next("blkdiscard")
    op = agent.start("volume.create", agent.volume_args())
    pause.reached.wait(10)
    for _ in range(2):
        assert agent.data("op.pace", {"op": op, "rise_percent": 100})["state"] == "running"
    assert pacer.allowed(host, op, 20) == 100
    pause.resume()
    assert agent.outcome(op)["progress"]["others"]["allowed_percent"] == 100
    assert agent.ask("op.pace", {"op": op, "rise_percent": 101})["error"]["code"] == "bad_request"
