"""What could lose data: races with hands and guests, reboots, and what is not ours."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from storage.agent.calls.refusals import Refusal
from storage.agent.kernel import attachment, disks, dm
from storage.agent.kernel.local_host import CommandResult, LockBusy
from storage.agent.operations import journal, waits
from storage.agent.verbs import checks
from tests.contract.client import Agent, cset_args
from tests.fake import FakeHost

OTHER_UUID = "AAAAAA-AAAA-AAAA-AAAA-AAAA-AAAA-AAAAAA"


def around(
    host: FakeHost,
    monkeypatch: pytest.MonkeyPatch,
    program: str,
    before: Callable[[Any], None] = lambda tick: None,
    after: Callable[[Any], None] = lambda tick: None,
) -> None:
    """Do something just before or after each run of a program."""
    run = host.run

    def wrapped(argv: Sequence[str], **options: Any) -> CommandResult:
        if argv[0] == program:
            before(options.get("tick"))
        result = run(argv, **options)
        if argv[0] == program:
            after(options.get("tick"))
        return result

    monkeypatch.setattr(host, "run", wrapped)


@pytest.mark.parametrize("verb", ["bcache.format", "cset.create"])
def test_a_device_that_another_program_held_at_the_wrong_moment_is_registered_once_it_is_free(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """register_quiet says nothing where the device is in use, and registers nothing."""
    volume = agent.volume("bcache")
    args = {"lv": volume} if verb == "bcache.format" else cset_args(volume[2:])
    write, asked = host.write, []

    def unregister(tick: object) -> None:
        """What udev's rule registered; it too met the other program."""
        with host.changing() as machine:
            machine.backings, machine.csets = [], []

    def held(path: str, text: str) -> None:
        if path.endswith("register_quiet"):
            asked.append(text)
            if len(asked) <= 3:
                return
        write(path, text)

    around(host, monkeypatch, "make-bcache", after=unregister)
    monkeypatch.setattr(host, "write", held)
    agent.do(verb, args)
    assert len(asked) == 4


def test_a_volume_taken_while_it_was_zeroed_keeps_its_zeroing_tag(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = agent.volume_args()
    path = f"/dev/vg0/{args['name']}"
    around(host, monkeypatch, "blkdiscard", after=lambda tick: host.root.guest("web12", path))
    outcome = agent.outcome(agent.start("volume.create", args))
    assert outcome["error"]["code"] == "in_use"
    assert "tiercel.zeroing" in agent.lv(args["name"])["tags"]


@pytest.fixture
def group_taken(host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long each try for the VG may take (s) once a volume is zeroed: ten minutes of tries."""
    tries: list[float] = []
    lock, zeroed_at = host.lock, list[int]()
    around(host, monkeypatch, "blkdiscard", after=lambda tick: zeroed_at.append(host.boottime_ns()))

    def taken(vg: str, timeout: float) -> Any:
        if vg == "vg0" and zeroed_at and host.boottime_ns() - zeroed_at[0] < 600e9:
            tries.append(timeout)
            host.sleep(timeout)
            raise LockBusy(vg)
        return lock(vg, timeout)

    monkeypatch.setattr(host, "lock", taken)
    return tries


def test_what_was_zeroed_waits_for_its_group_however_long(
    agent: Agent, group_taken: list[float]
) -> None:
    outcome = agent.do("volume.create", agent.volume_args())
    assert len(group_taken) > 10 and sum(group_taken) > 400
    waits = [line for line in outcome["lines"] if "Waiting: Another operation" in line["text"]]
    assert len(waits) == 1


def test_who_waits_for_its_group_after_the_zeroing_can_be_stopped(
    host: FakeHost, agent: Agent, group_taken: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    sleep = host.sleep

    def asked(seconds: float) -> None:
        if len(group_taken) == 3:
            host.op_mark(host.op_ids()[0], journal.ABORT)
        sleep(seconds)

    monkeypatch.setattr(host, "sleep", asked)
    args = agent.volume_args()
    outcome = agent.outcome(agent.start("volume.create", args))
    assert (outcome["state"], outcome["error"]["code"]) == ("interrupted", "aborted")
    assert len(group_taken) == 3
    assert "tiercel.zeroing" in agent.lv(args["name"])["tags"]


@pytest.mark.parametrize(("locked", "code"), [(["other"], None), (["other", "vg0"], "busy")])
def test_a_lock_on_another_group_holds_up_nothing(
    host: FakeHost, agent: Agent, locked: list[str], code: str | None
) -> None:
    args, expect = agent.call("volume.create", agent.volume_args())
    host.machine.locked.update(locked)
    reply = agent.ask("volume.create", args, expect)
    assert reply.get("error", {}).get("code") == code
    if code is None:
        assert agent.outcome(reply["data"]["op"])["state"] == "done"
    else:
        assert args["name"] not in agent.names()


def test_what_was_zeroed_waits_for_a_hand_at_work_in_its_group(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    freed: list[float] = []

    def work(tick: Any) -> None:
        host.machine.locked.add("vg0")
        end_ns = host.boottime_ns() + int(300e9)
        sleep = host.sleep

        def slept(seconds: float) -> None:
            sleep(seconds)
            if host.boottime_ns() > end_ns and "vg0" in host.machine.locked:
                host.machine.locked.discard("vg0")
                freed.append(host.boottime_ns())

        monkeypatch.setattr(host, "sleep", slept)

    around(host, monkeypatch, "blkdiscard", after=work)
    outcome = agent.do("volume.create", agent.volume_args())
    assert freed and [command["rc"] for command in outcome["commands"]] == [0, 0, 0]


def test_progress_that_cannot_be_read_does_not_end_a_running_command(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume, pool = agent.cached()

    def look(tick: Any) -> None:
        host.fail_next("dmsetup", rc=1)
        tick()

    around(host, monkeypatch, "lvconvert", before=look)
    detach = {"lv": volume, "pool": pool, "dirty_limit_bytes": 0}
    assert agent.do("cache.detach", detach)["commands"][0]["rc"] == 0


def test_a_cache_set_is_kept_while_its_volume_may_need_it(host: FakeHost, agent: Agent) -> None:
    volume = agent.backing()
    name, uuid = agent.cset(volume)
    with host.changing() as machine:
        machine.backings.clear()
        lv = host.root.lv(volume)
        assert lv.signature is not None
        lv.signature = dataclasses.replace(lv.signature, cset_uuid=uuid)
    remove = {"name": name, "cset_uuid": uuid}
    with agent.unchanged():
        assert agent.refused("cset.remove", remove) == "dirty"
    with host.changing() as machine:
        machine.csets.clear()
    with agent.unchanged():
        assert agent.refused("cset.remove", remove) == "dirty"


def test_a_cache_set_that_is_not_ours_is_not_attached(host: FakeHost, agent: Agent) -> None:
    volume = agent.backing()
    name, uuid = agent.cset(volume)
    with host.changing():
        host.root.lv(name).tags.remove("tiercel")
    wished = {"lv": volume, "cset_uuid": uuid, "cache_mode": "writethrough"}
    with agent.unchanged():
        code = agent.refused("bcache.attach", {**wished, "sequential_cutoff_bytes": 0})
    assert code == "not_ours"


def test_a_half_made_cache_set_in_use_is_not_formatted(host: FakeHost, agent: Agent) -> None:
    args = cset_args("aaaaaaaa")
    tags = ["tiercel", "tiercel.volume=aaaaaaaa", "tiercel.made=cset"]
    lv = host.root.add_lv(args["name"], args["size_bytes"], "md0", tags=tags)
    host.root.mount(lv.path, "/srv")
    with agent.unchanged():
        assert agent.refused("cset.create", args) == "in_use"


def test_nothing_is_changed_on_a_report_that_contradicts_itself(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.volume()
    args, expect = agent.call("volume.create", agent.volume_args())
    run = host.run

    def torn(argv: Sequence[str], **options: Any) -> CommandResult:
        result = run(argv, **options)
        if "fullreport" not in argv:
            return result
        document = json.loads(result.report)
        for row in document["report"][0]["seg"]:
            row["vg_seqno"] = str(int(row["vg_seqno"]) + 1)
        return dataclasses.replace(result, report=json.dumps(document))

    monkeypatch.setattr(host, "run", torn)
    assert agent.ask("volume.create", args, expect)["error"]["code"] == "busy"
    assert args["name"] not in agent.names()


def test_zeroing_is_not_resumed_on_another_volume_of_the_same_name(agent: Agent) -> None:
    args = agent.volume_args()
    agent.do("volume.create", args)
    with agent.unchanged():
        assert agent.refused("volume.create", args, lv_uuid=OTHER_UUID) == "stale"


def test_a_pool_at_work_is_recognised_by_its_uuid_and_not_by_its_name() -> None:
    cached = {"vg_name": "vg0", "name": "v-a", "cache": {"pool_uuid": "P"}}
    view = cast("Any", SimpleNamespace(facts={"lvs": [cached]}))
    checks.no_cache_of(view, {"uuid": "Q", "vg_name": "vg0", "name": "c-a"})
    with pytest.raises(Refusal, match="in_use"):
        checks.no_cache_of(view, {"uuid": "P", "vg_name": "vg0", "name": "c-a"})


def test_a_mirror_of_two_partitions_of_one_disk_is_not_redundant(
    host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert attachment.redundancy(host, "md0") == (True, True)
    whole = disks.whole
    monkeypatch.setattr(
        disks, "whole", lambda host, name: "sda" if name[:2] == "sd" else whole(host, name)
    )
    assert attachment.redundancy(host, "md0") == (False, True)


def test_a_mirror_of_one_disk_and_a_spare_is_not_redundant(host: FakeHost) -> None:
    with host.changing() as machine:
        (array,) = machine.arrays
        array.spares = [array.members.pop()]
    assert attachment.redundancy(host, "md0") == (False, True)


def test_a_flush_sees_the_cache_below_a_snapshot(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume, _ = agent.cached()
    host.root.dirty(volume, 8 << 20)
    found = {f"{name}-real": status for name, status in dm.caches(host).items()}
    monkeypatch.setattr(dm, "caches", lambda host: found)
    args = {"vg": "vg0", "lv": volume, "dirty_limit_bytes": 0}
    assert not waits.WAITS["flushed"].begin(host, args)().met


def test_an_endless_line_of_output_still_fits_into_a_reply(host: FakeHost, agent: Agent) -> None:
    args = agent.volume_args()
    host.fail_next("lvcreate", stderr="\x07" * 100_000)
    outcome = agent.outcome(agent.start("volume.create", args))
    assert outcome["state"] == "failed"
    assert max(len(line["text"]) for line in outcome["lines"]) <= 300


@pytest.mark.parametrize("leads_to", ["/dev/dm-0", None])
def test_nothing_is_overwritten_by_a_link_that_is_old(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch, leads_to: str | None
) -> None:
    """udev gave up on the new volume: its path is still that of one with its name before."""
    agent.volume()
    args, real = agent.volume_args(), host.real
    path = f"/dev/vg0/{args['name']}"
    host.executed.clear()
    monkeypatch.setattr(host, "real", lambda each: leads_to if each == path else real(each))
    outcome = agent.outcome(agent.start("volume.create", args))
    assert outcome["error"]["code"] == "stale"
    assert not [argv for argv in host.executed if argv[0] == "blkdiscard"]
    assert "tiercel.zeroing" in agent.lv(args["name"])["tags"]
    monkeypatch.undo()
    agent.do("volume.create", args)


def test_a_setting_goes_to_the_device_that_the_kernel_calls_so_whatever_an_old_link_says(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong, right = agent.backing(), agent.backing()
    real = host.real
    paths = {f"/dev/vg0/{right}": f"/dev/{agent.lv(wrong)['kname']}"}
    monkeypatch.setattr(host, "real", lambda each: paths.get(each) or real(each))
    agent.do("bcache.set", {"lv": right, "sequential_cutoff_bytes": 1 << 20})
    cutoffs = [agent.lv(each)["bcache"]["sequential_cutoff_bytes"] for each in (wrong, right)]
    assert cutoffs[1] == 1 << 20 != cutoffs[0]
