"""A cache that fails: what it had not written back is never taken for written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from storage.agent.kernel import dm
from storage.agent.kernel.local_host import CommandResult
from storage.agent.operations import journal
from tests.contract.client import MIB, Agent
from tests.fake import FakeHost

DIRTY_BYTES = 32 * MIB


@pytest.fixture
def volume(host: FakeHost, agent: Agent) -> str:
    """It has a writeback cache with dirty data, of which one MiB a second is written back."""
    volume, _ = agent.cached("writeback")
    host.root.dirty(volume, DIRTY_BYTES)
    host.machine.flush_bytes_per_second = MIB
    return volume


def fail(host: FakeHost, volume: str) -> None:
    with host.changing():
        cache = host.root.lv(volume).cache
        assert cache is not None
        cache.failed = True


def around(
    host: FakeHost,
    monkeypatch: pytest.MonkeyPatch,
    program: str,
    before: Callable[[], None] = lambda: None,
    after: Callable[[CommandResult], CommandResult] = lambda result: result,
) -> None:
    """Do something before a program runs, or to its result."""
    run = host.run

    def wrapped(argv: Sequence[str], **options: Any) -> CommandResult:
        if argv[0] != program:
            return run(argv, **options)
        before()
        return after(run(argv, **options))

    monkeypatch.setattr(host, "run", wrapped)


def detach(volume: str) -> dict[str, Any]:
    return {"lv": volume, "pool": f"c-{volume[2:]}", "dirty_limit_bytes": 64 * MIB}


def test_a_cache_that_fails_while_it_is_flushed_is_not_called_flushed(
    host: FakeHost, agent: Agent, volume: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleep, slept = host.sleep, list[float]()

    def fails(seconds: float) -> None:
        sleep(seconds)
        slept.append(seconds)
        if sum(slept) > 5:
            fail(host, volume)

    monkeypatch.setattr(host, "sleep", fails)
    op = agent.start("cache.flush", {"lv": volume, "dirty_limit_bytes": 0})
    outcome = agent.outcome(op)
    assert (outcome["state"], outcome["error"]["code"]) == ("failed", "degraded")
    assert "has failed while it was flushed" in outcome["error"]["message"]
    assert "Do not remove it" in outcome["error"]["correction"]
    progress = outcome["progress"]
    assert 0 < progress["done_bytes"] < progress["total_bytes"] <= DIRTY_BYTES


def test_a_cache_that_failed_before_its_flush_was_looked_at_is_not_called_flushed(
    host: FakeHost, agent: Agent, volume: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(result: CommandResult) -> CommandResult:
        fail(host, volume)
        return result

    around(host, monkeypatch, "lvchange", after=fails)
    op = agent.start("cache.flush", {"lv": volume, "dirty_limit_bytes": 0})
    outcome = agent.outcome(op)
    assert (outcome["state"], outcome["error"]["code"]) == ("failed", "degraded")


def test_a_failed_cache_under_the_cleaner_policy_is_not_taken_for_a_flushed_one(
    host: FakeHost, agent: Agent
) -> None:
    volume, _ = agent.cached("writeback")
    flush = {"lv": volume, "dirty_limit_bytes": 0}
    agent.do("cache.flush", flush)
    with agent.unchanged():
        assert agent.do("cache.flush", flush)["commands"] == []
    fail(host, volume)
    cache = agent.lv(volume)["cache"]
    assert (cache["failed"], cache["dirty_known"], cache["policy"]) == (True, False, "cleaner")
    with agent.unchanged():
        assert agent.refused("cache.flush", flush) == "degraded"


def test_a_cache_of_which_the_kernel_says_nothing_is_neither_flushed_nor_removed(
    host: FakeHost, agent: Agent, volume: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = host.run

    def silent(argv: Sequence[str], **options: Any) -> Any:
        return CommandResult(0, "") if tuple(argv) == dm.STATUS else run(argv, **options)

    monkeypatch.setattr(host, "run", silent)
    flush = {"lv": volume, "dirty_limit_bytes": 0}
    with agent.unchanged():
        assert agent.refused("cache.flush", flush) == "degraded"
        assert agent.refused("cache.detach", detach(volume)) == "degraded"
        assert agent.refused("cache.set", {"lv": volume, "mode": "writethrough"}) == "degraded"


def test_a_cache_that_fails_before_its_removal_begins_stays(
    host: FakeHost, agent: Agent, volume: str
) -> None:
    pause = host.pause_next("lvconvert")
    with host.lock("vg0", 1):
        op = agent.start("cache.detach", detach(volume))
        fail(host, volume)
    pause.resume()
    outcome = agent.outcome(op)
    assert (outcome["state"], outcome["error"]["code"]) == ("failed", "degraded")
    assert agent.lv(volume)["cache"]["failed"]
    assert ("lvconvert", "-y", "--uncache", f"vg0/{volume}") not in host.executed


@pytest.mark.parametrize("asked_to_stop", [False, True])
def test_a_cache_that_fails_while_it_is_removed_is_reported_as_lost_data(
    host: FakeHost,
    agent: Agent,
    volume: str,
    monkeypatch: pytest.MonkeyPatch,
    asked_to_stop: bool,
) -> None:
    """LVM only warns, removes the cache with what is in it, and ends with exit code 0."""

    def ended(result: CommandResult) -> CommandResult:
        assert result.rc == 0 and "Skippping flush for failed cache" in result.stderr
        for op in host.op_ids() if asked_to_stop else ():
            host.op_mark(op, journal.ABORT)
        return result

    around(host, monkeypatch, "lvconvert", lambda: fail(host, volume), ended)
    outcome = agent.outcome(agent.start("cache.detach", detach(volume)))
    assert (outcome["state"], outcome["error"]["code"]) == ("failed", "data_lost")
    assert "whatever it alone held is lost" in outcome["error"]["message"]
    assert "backup" in outcome["error"]["correction"]
    ran = [(command["argv"][0], command["rc"]) for command in outcome["commands"]]
    assert ran == [("lvchange", 0), ("lvconvert", 0)]
    assert agent.lv(volume)["cache"] is None


@pytest.mark.parametrize("word", ["Skippping", "Skipping"])
def test_the_warning_counts_however_lvm_spells_it(
    host: FakeHost, agent: Agent, volume: str, word: str
) -> None:
    said = f"  WARNING: {word} flush for failed cache vg0/{volume}.\n"
    host.fail_next("lvconvert", rc=0, stderr=said)
    outcome = agent.outcome(agent.start("cache.detach", detach(volume)))
    assert (outcome["state"], outcome["error"]["code"]) == ("failed", "data_lost")
    assert said.strip() in [line["text"].strip() for line in outcome["lines"]]


def test_a_lost_cache_that_was_proven_empty_is_given_up_whatever_lvm_warns_of(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume, pool = agent.cached()
    host.root.lose_pv("md0")
    warning = f"  WARNING: Skippping flush for failed cache vg0/{volume}.\n"
    around(
        host,
        monkeypatch,
        "lvconvert",
        after=lambda result: CommandResult(0, result.stdout, warning),
    )
    agent.do("cache.drop", {"lv": volume, "pool": pool})


def test_a_mode_is_not_changed_once_the_cache_failed(
    host: FakeHost, agent: Agent, volume: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    around(host, monkeypatch, "lvchange", lambda: fail(host, volume))
    outcome = agent.outcome(agent.start("cache.set", {"lv": volume, "mode": "writethrough"}))
    assert (outcome["state"], outcome["error"]["code"]) == ("failed", "cmd_failed")
