"""Operations under races, dead units, a full disk and a late owner."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from storage.agent.calls.call import VerbCall
from storage.agent.calls.refusals import Refusal
from storage.agent.commands.command import Command
from storage.agent.facts.view import View
from storage.agent.operations import journal, ops
from storage.agent.operations.assess import assess
from storage.agent.operations.execute import Execution, execute
from storage.agent.operations.ops import accept, get, listing
from storage.agent.state.fence import FOLDER
from tests.contract.client import MIB, Agent
from tests.fake import FakeHost

DAY_NS = 24 * 3600 * 1_000_000_000


def creation(agent: Agent, args: dict[str, Any] | None = None) -> VerbCall:
    named, expect = agent.call("volume.create", args or agent.volume_args())
    return VerbCall("volume.create", named, expect)


def runs(host: FakeHost, program: str) -> int:
    return sum(argv[0] == program for argv in host.executed)


def at_once(count: int, work: Callable[[], Any]) -> None:
    """The same work in so many threads that begin together."""
    barrier = threading.Barrier(count)

    def begin() -> None:
        barrier.wait()
        work()

    threads = [threading.Thread(target=begin) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_what_was_said_to_be_unknown_is_not_run_when_it_comes_after_all(
    host: FakeHost, agent: Agent
) -> None:
    call, op = creation(agent), str(uuid.uuid4())
    for _ in range(2):
        with pytest.raises(Refusal, match="not_found"):
            get(host, op, 0)
        with pytest.raises(Refusal, match="op_conflict"):
            accept(host, op, call)
    assert runs(host, "lvcreate") == 0
    assert listing(host) == {"ops": []}


def test_questions_for_unknown_operations_fill_no_disk(
    host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ops, "TOMBSTONES_LIMIT", 5)
    first = [str(uuid.uuid4()) for _ in range(5)]
    for op in first:
        with pytest.raises(Refusal, match="not_found"):
            get(host, op, 0)
    with pytest.raises(Refusal, match="within an hour"):
        get(host, str(uuid.uuid4()), 0)
    assert sorted(host.op_ids()) == sorted(first), "none is forgotten while its request may come"
    host.clock.advance(3601)
    for _ in range(3):
        with pytest.raises(Refusal, match="not_found"):
            get(host, str(uuid.uuid4()), 0)
    assert len(host.op_ids()) == 5
    assert len(set(first) & set(host.op_ids())) == 2


def refusals(*asked: Callable[[], Any]) -> list[str]:
    """The codes of what is refused when all is asked at once."""
    left, codes = iter(asked), list[str]()

    def ask() -> None:
        try:
            next(left)()
        except Refusal as refusal:
            codes.append(refusal.code)

    at_once(len(asked), ask)
    return sorted(codes)


def test_an_operation_is_either_unknown_or_accepted_never_both(
    host: FakeHost, agent: Agent
) -> None:
    call = creation(agent)
    for _ in range(40):
        op = str(uuid.uuid4())
        codes = refusals(partial(get, host, op, 0), partial(accept, host, op, call))
        assert codes in ([], ["not_found", "op_conflict"])
        host.wait_for_ops()


def test_without_room_for_the_journal_no_reply_says_that_it_never_started(
    host: FakeHost, agent: Agent
) -> None:
    call, op = creation(agent), str(uuid.uuid4())
    host.journal_full = True
    with pytest.raises(Refusal, match="journal_unwritable"):
        get(host, op, 0)
    host.journal_full = False
    assert accept(host, op, call) == {"op": op}


@pytest.mark.parametrize("begun", [True, False])
def test_an_operation_is_failed_or_run_where_systemd_answers_too_late(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch, begun: bool
) -> None:
    call, op = creation(agent), str(uuid.uuid4())

    def late(op: str) -> None:
        if begun:
            host.op_mark(op, journal.BEGUN)
        raise OSError("systemd did not answer within 30 seconds")

    monkeypatch.setattr(host, "start_op", late)
    if begun:
        assert accept(host, op, call) == {"op": op}
        assert get(host, op, 0)["state"] == "running"
        return
    with pytest.raises(Refusal, match="internal"):
        accept(host, op, call)
    execute(host, op)
    assert get(host, op, 0)["state"] == "failed" and runs(host, "lvcreate") == 0


def test_of_many_requests_with_one_id_one_is_run(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, op = creation(agent), str(uuid.uuid4())
    replies: list[Any] = []
    started: list[str] = []
    start = host.start_op

    def counted(op: str) -> None:
        started.append(op)
        start(op)

    monkeypatch.setattr(host, "start_op", counted)
    at_once(8, lambda: replies.append(accept(host, op, call, 1)))
    assert replies == [{"op": op}] * 8
    assert started == [op]
    assert agent.outcome(op)["state"] == "done"
    assert runs(host, "lvcreate") == 1


def test_a_request_that_comes_twice_is_not_refused_for_what_its_twin_has_done(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, op = creation(agent), str(uuid.uuid4())

    def overtaken(view: View, late: VerbCall) -> tuple[Command, ...]:
        monkeypatch.setattr(ops, "assess", assess)
        assert accept(host, op, call, 1) == {"op": op}
        return assess(View(host, vg=late.args["vg"]), late)

    monkeypatch.setattr(ops, "assess", overtaken)
    assert accept(host, op, call, 1) == {"op": op}
    assert agent.outcome(op)["state"] == "done"
    assert runs(host, "lvcreate") == 1


def test_a_unit_that_is_started_many_times_runs_its_operation_once(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, op = creation(agent), str(uuid.uuid4())
    begun: list[str] = []
    run = Execution.run

    def counted(execution: Execution) -> None:
        begun.append(op)
        run(execution)

    monkeypatch.setattr(Execution, "run", counted)
    monkeypatch.setattr(host, "start_op", lambda op: at_once(8, lambda: execute(host, op)))
    accept(host, op, call)
    assert agent.outcome(op)["state"] == "done"
    assert begun == [op]
    assert runs(host, "lvcreate") == 1


def test_a_unit_that_comes_after_it_was_declared_dead_runs_nothing(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, op = creation(agent), str(uuid.uuid4())
    monkeypatch.setattr(host, "start_op", lambda op: None)
    accept(host, op, call)
    assert get(host, op, 0)["state"] == "running"
    host.advance(16)
    dead = get(host, op, 0)
    assert (dead["state"], dead["error"]["code"]) == ("interrupted", "interrupted")
    execute(host, op)
    assert host.executed == []


def test_a_unit_that_begins_while_it_is_judged_goes_on(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, op = creation(agent), str(uuid.uuid4())
    monkeypatch.setattr(host, "start_op", lambda op: None)
    accept(host, op, call)
    host.advance(16)

    def begins_now(op: str) -> bool:
        host.op_mark(op, journal.BEGUN)
        return False

    monkeypatch.setattr(host, "op_alive", begins_now)
    assert get(host, op, 0)["state"] == "running"


def test_an_operation_whose_host_was_restarted_was_interrupted(
    host: FakeHost, agent: Agent
) -> None:
    pause = host.pause_next("blkdiscard")
    op = agent.start("volume.create", agent.volume_args())
    pause.reached.wait(10)
    host.root.reboot()
    found = get(host, op, 0)
    assert (found["state"], found["error"]["code"]) == ("interrupted", "interrupted")
    began = [each["started_ns"] is not None for each in found["commands"]]
    assert began == [True, True, False], "the journal says how far it came"
    pause.resume()


def test_a_unit_that_was_killed_left_its_intent_and_nothing_is_done_twice(
    host: FakeHost, agent: Agent
) -> None:
    args = agent.volume_args()
    host.kill_next("lvcreate")
    op = agent.start("volume.create", args)
    host.wait_for_ops()
    assert host.failed_units == [op]
    host.advance(16)
    found = get(host, op, 0)
    assert (found["state"], found["error"]["code"]) == ("interrupted", "interrupted")
    first = found["commands"][0]
    assert first["started_ns"] is not None and first["ended_ns"] is first["rc"] is None
    execute(host, op)
    accept(host, op, creation(agent, args))
    assert runs(host, "lvcreate") == 1
    agent.do("volume.create", args)
    assert (runs(host, "lvcreate"), runs(host, "blkdiscard")) == (1, 1)


def test_a_journal_that_fills_up_stops_before_the_next_command(
    host: FakeHost, agent: Agent
) -> None:
    pause = host.pause_next("lvcreate")
    args = agent.volume_args()
    op = agent.start("volume.create", args)
    pause.reached.wait(10)
    host.journal_full = True
    pause.resume()
    host.wait_for_ops()
    assert host.failed_units == [op]
    assert runs(host, "lvcreate") == 1
    assert runs(host, "blkdiscard") == 0
    host.journal_full = False
    host.advance(16)
    found = get(host, op, 0)
    assert found["state"] == "interrupted"
    assert found["commands"][0]["started_ns"] is not None
    agent.do("volume.create", args)
    assert runs(host, "lvcreate") == 1, "what was done is not done again"


def test_who_lost_its_turn_while_it_waited_for_the_lock_runs_nothing(
    host: FakeHost, agent: Agent
) -> None:
    late, op = creation(agent), str(uuid.uuid4())
    newer, newer_op = creation(agent), str(uuid.uuid4())
    with host.lock("vg0", 1):
        accept(host, op, late, 5)
        accept(host, newer_op, newer, 6)
    assert agent.outcome(newer_op)["state"] == "done"
    outcome = agent.outcome(op)
    assert (outcome["state"], outcome["error"]["code"]) == ("failed", "stale_fence")
    assert late.args["name"] not in agent.names()


def test_a_refused_request_does_not_take_the_turn(host: FakeHost, agent: Agent) -> None:
    call = creation(agent)
    huge = VerbCall(call.verb, {**call.args, "size_bytes": 1 << 50}, call.expect)
    with pytest.raises(Refusal, match="no_space"):
        accept(host, str(uuid.uuid4()), huge, 9)
    accept(host, str(uuid.uuid4()), call, 8)


@pytest.mark.parametrize("content", [b"", b"7", b'{"fence": "7", "op": "x"}', b"\xff", b"{}"])
def test_a_turn_that_cannot_be_read_admits_no_operation(
    host: FakeHost, agent: Agent, content: bytes
) -> None:
    call = creation(agent)
    host.save(f"{FOLDER}/{call.expect['vg_uuid']}", content)
    with pytest.raises(Refusal, match="journal_unwritable"):
        accept(host, str(uuid.uuid4()), call, 1 << 40)
    assert host.executed == []


def test_old_records_go_but_never_a_running_one_nor_the_newest(
    host: FakeHost, agent: Agent
) -> None:
    now_ns = host.wall_ns()
    for number in range(300):
        state = "running" if number == 0 else "done"
        ended_ns = now_ns - (31 * DAY_NS if number < 150 else 29 * DAY_NS) + number
        fields = {"state": state, "started_ns": ended_ns, "ended_ns": ended_ns}
        fields |= {"boot_id": "an earlier one", "started_boottime_ns": 0}
        host.op_create(f"op-{number:03}", fields)
    journal.prune_journal(host)
    left = set(host.op_ids())
    assert len(left) == journal.KEEP_LEAST
    assert "op-000" in left, "it runs"
    assert "op-001" not in left and "op-100" not in left
    assert "op-101" in left, "it is old, but among the newest 200"
    journal.prune_journal(host)
    assert len(host.op_ids()) == journal.KEEP_LEAST


def test_a_wall_clock_that_jumps_ahead_forgets_nothing(host: FakeHost) -> None:
    """An id that is forgotten could run again, and the quota counts by these records."""
    for number in range(300):
        began = {"boot_id": ops.boot_id(host), "started_boottime_ns": host.boottime_ns()}
        host.op_create(
            f"op-{number:03}", {"state": "done", "started_ns": host.wall_ns() + number, **began}
        )
    host.clock.step(365 * 86400)
    journal.prune_journal(host)
    assert len(host.op_ids()) == 300
    host.advance(31 * 86400)
    journal.prune_journal(host)
    assert len(host.op_ids()) == journal.KEEP_LEAST


def test_a_flush_that_is_stopped_leaves_the_cache_and_says_so(host: FakeHost, agent: Agent) -> None:
    volume, pool = agent.cached("writeback")
    host.root.dirty(volume, 32 * MIB)
    before = runs(host, "lvconvert")
    pause = host.pause_next("lvconvert")
    op = agent.start(
        "cache.detach", {"lv": volume, "pool": pool, "dirty_limit_bytes": 64 * MIB}
    )  # fmt: skip
    pause.reached.wait(10)
    agent.data("op.abort", {"op": op})
    pause.resume()
    outcome = agent.outcome(op)
    assert (outcome["state"], outcome["error"]["code"]) == ("interrupted", "aborted")
    assert agent.lv(volume)["cache"]["policy"] == "smq"
    assert runs(host, "lvconvert") == before + 1, "the detach that was stopped"


def test_a_move_that_is_stopped_stays_half_way_and_can_be_taken_back(
    host: FakeHost, agent: Agent
) -> None:
    volume = agent.volume()
    before = agent.lv(volume)["segments"]
    pause = host.pause_next("pvmove")
    op = agent.start("volume.move", {"lv": volume, "from_pvs": ["sdc"], "to_pvs": ["md0"]})
    pause.reached.wait(10)
    agent.data("op.abort", {"op": op})
    pause.resume()
    assert agent.outcome(op)["error"]["code"] == "aborted"
    agent.do("move.abort", {"lv": volume, "pv": "sdc"})
    assert agent.lv(volume)["segments"] == before


def test_a_short_command_is_let_end_and_no_further_one_follows(
    host: FakeHost, agent: Agent
) -> None:
    pause = host.pause_next("lvcreate")
    op = agent.start("volume.create", agent.volume_args())
    pause.reached.wait(10)
    agent.data("op.abort", {"op": op})
    pause.resume()
    outcome = agent.outcome(op)
    assert (outcome["state"], outcome["error"]["code"]) == ("interrupted", "aborted")
    assert [each["rc"] for each in outcome["commands"]] == [0, None, None]
    assert runs(host, "blkdiscard") == 0


def test_an_operation_stopped_before_it_began_runs_nothing(host: FakeHost, agent: Agent) -> None:
    with host.lock("vg0", 1):
        op = agent.start("volume.create", agent.volume_args())
        agent.data("op.abort", {"op": op})
    assert agent.outcome(op)["error"]["code"] == "aborted"
    assert host.executed == []
