"""Who wants an inventory gets one begun after he asked, and those who wait share it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from jobs.hosts import read_inventory
from jobs.hosts.read_inventory import SingleFlight
from jobs.transport.errors import AnswerTimeout
from storage.inventory.facts import HostFacts
from tests import make


class Slow:
    """A host that answers when it is let, and counts."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.go = threading.Semaphore(0)
        self.count = 0

    def __call__(self) -> HostFacts:
        self.count += 1
        facts = make.facts(make.lv(f"reading{self.count}"))
        self.begun.release()
        assert self.go.acquire(timeout=10)
        return facts


@pytest.fixture
def readings() -> SingleFlight:
    return SingleFlight()


@pytest.fixture
def host() -> Slow:
    return Slow()


def name(facts: HostFacts) -> str:
    return facts.lvs[0].name


def all_wait(
    readings: SingleFlight, count: int, read: Callable[[], object]
) -> list[Future[object]]:
    """So many more who have asked, and are known to."""
    asked = threading.Semaphore(0)

    class Guard:
        """A lock that says when a thread has been through."""

        def __init__(self) -> None:
            self._lock = threading.Lock()

        def __enter__(self) -> None:
            self._lock.acquire()

        def __exit__(self, *error: object) -> None:
            self._lock.release()
            asked.release()

    readings._guard = Guard()  # type: ignore[assignment]
    pool = ThreadPoolExecutor(count)
    found = [pool.submit(read) for _ in range(count)]
    for _ in range(count):
        assert asked.acquire(timeout=10)
    pool.shutdown(wait=False)
    return found


def test_those_who_wait_share_the_next_reading_and_not_the_one_under_way(
    readings: SingleFlight, host: Slow
) -> None:
    [first] = all_wait(readings, 1, lambda: readings.read(1, host))
    assert host.begun.acquire(timeout=10)
    others = all_wait(readings, 5, lambda: readings.read(1, host))
    host.go.release()
    assert name(first.result(10)) == "reading1"  # type: ignore[arg-type]
    host.go.release()
    assert {name(each.result(10)) for each in others} == {"reading2"}  # type: ignore[arg-type]
    assert host.count == 2


def test_those_who_ask_one_after_the_other_while_others_wait_share_a_reading_too(
    readings: SingleFlight, host: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_inventory, "GATHER_SECONDS", 30.0)
    gathering = threading.Event()
    go_on = threading.Event()

    def gather(seconds: float) -> None:
        assert 0 < seconds <= 30.0
        gathering.set()
        assert go_on.wait(10)

    clock = SimpleNamespace(monotonic=time.monotonic, sleep=gather)
    monkeypatch.setattr("jobs.hosts.read_inventory.time", clock)
    [first] = all_wait(readings, 1, lambda: readings.read(1, host))
    assert host.begun.acquire(timeout=10)
    [second] = all_wait(readings, 1, lambda: readings.read(1, host))
    host.go.release(2)
    assert name(first.result(10)) == "reading1"  # type: ignore[arg-type]
    assert gathering.wait(10)
    [third] = all_wait(readings, 1, lambda: readings.read(1, host))
    go_on.set()
    both = {name(each.result(10)) for each in (second, third)}  # type: ignore[arg-type]
    assert both == {"reading2"}


def test_another_host_is_not_waited_for(readings: SingleFlight, host: Slow) -> None:
    [first] = all_wait(readings, 1, lambda: readings.read(1, host))
    assert host.begun.acquire(timeout=10)
    assert name(readings.read(2, lambda: make.facts(make.lv("other")))) == "other"
    host.go.release()
    first.result(10)


def test_one_after_the_other_each_reads_anew_and_at_once(
    readings: SingleFlight, host: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_inventory, "GATHER_SECONDS", 600.0)
    host.go.release(2)
    assert [name(readings.read(1, host)) for _ in range(2)] == ["reading1", "reading2"]


def test_a_host_that_does_not_answer_is_reported_to_all_who_wait(
    readings: SingleFlight, host: Slow
) -> None:
    [first] = all_wait(readings, 1, lambda: readings.read(1, host))
    assert host.begun.acquire(timeout=10)

    def silent() -> HostFacts:
        raise AnswerTimeout("node1", 30.0)

    others = all_wait(readings, 3, lambda: readings.read(1, silent))
    host.go.release()
    first.result(10)
    for each in others:
        with pytest.raises(AnswerTimeout):
            each.result(10)


def test_who_read_for_others_and_failed_himself_leaves_them_to_read(
    readings: SingleFlight, host: Slow
) -> None:
    [first] = all_wait(readings, 1, lambda: readings.read(1, host))
    assert host.begun.acquire(timeout=10)
    tries: list[str] = []

    def once_broken() -> HostFacts:
        tries.append("")
        if len(tries) == 1:
            raise RuntimeError("the database went away")
        return make.facts(make.lv("alone"))

    others = all_wait(readings, 3, lambda: readings.read(1, once_broken))
    host.go.release()
    first.result(10)
    errors = [each.exception(10) for each in others]
    assert sorted(type(error).__name__ for error in errors) == [
        "NoneType",
        "NoneType",
        "RuntimeError",
    ]
    assert len(tries) == 3


def test_no_one_waits_for_ever_for_a_reading_that_hangs(
    readings: SingleFlight, host: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_inventory, "PATIENCE_SECONDS", 0.05)
    [first] = all_wait(readings, 1, lambda: readings.read(1, host))
    assert host.begun.acquire(timeout=10)
    assert name(readings.read(1, lambda: make.facts(make.lv("mine")))) == "mine"
    host.go.release()
    assert name(first.result(10)) == "reading1"  # type: ignore[arg-type]
