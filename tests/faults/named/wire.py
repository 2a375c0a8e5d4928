"""What may happen between panel and host, and what a broken agent may say."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from jobs.models import State
from storage.models import Host
from tests.faults.fault import Fault, NotReached, Play, Played
from tests.faults.operations import BY_NAME
from tests.faults.proxy import Direction
from tests.faults.stage import Stage
from tests.faults.sweep import finished, host_fault
from tests.faults.workers import Workers

CUT_BYTES = range(0, 8193, 512)
HOLE_SECONDS = 4.0
ENDLESS = b"x" * (5 * 1024 * 1024)


def faults() -> Iterator[Fault]:
    directions: tuple[Direction, ...] = ("up", "down")
    for direction in directions:
        for count in CUT_BYTES:
            yield Fault(f"add lvmcache: connection cut after {count} bytes {direction}",
                        "executed once or not at all; the host is asked which",
                        _cut(count, direction), "F06")  # fmt: skip
    for name in ("create", "add lvmcache", "add bcache"):
        expected = "the host is asked for the operation; it is not sent twice"
        for n in (1, 2):
            fault = host_fault(BY_NAME[name], "reply.after", n, "kill", "F07")
            yield Fault(fault.name.replace("kill", "cut"), expected, _cut_reply(name, n), "F07")
        yield Fault(f"{name}: nothing comes through any more while a command runs",
                    "the volume stays held; once healed, the result is found", _hole(name),
                    "F08")  # fmt: skip
    yield Fault("add lvmcache: connection refused for a while", "not executed; tried again",
                _refused, "F09")  # fmt: skip
    spoils: dict[str, Callable[[bytes], bytes]] = {
        "half of its reply": lambda reply: reply[: len(reply) // 2] + b"\n",
        "no JSON": lambda reply: b"Last login: \xff\x00 <script>\n",
        "two lines": lambda reply: reply + reply,
        "another id": lambda reply: reply.replace(b'"id":"', b'"id":"x', 1),
    }
    for verb in ("inventory", "pool.create", "op.get"):
        for what, spoil in spoils.items():
            yield Fault(f"add lvmcache: the agent answers {verb} with {what}",
                        "the reply is not believed; the channel is closed; asked again",
                        _spoilt(verb, spoil), "F28")  # fmt: skip
        yield Fault(f"add lvmcache: the agent answers {verb} with endless output",
                    "cut at 4 MiB; the channel is closed", _spoilt(verb, lambda reply: ENDLESS),
                    "F29")  # fmt: skip
    yield Fault("add lvmcache: the host shows another key than the accepted one",
                "quarantined; not one byte of a request is sent", _impostor, "S23")  # fmt: skip


def _cut(count: int, direction: Direction) -> Play:
    def play(workers: Workers) -> Played:
        with Stage(workers, BY_NAME["add lvmcache"]) as stage:
            stage.proxy.cut_after(count, direction)
            job = stage.submit()
            since = time.time()
            worker = stage.start(job)
            played = finished(stage, since, job, waits=(worker,))
            if not stage.proxy.cuts and not played.problems:
                raise NotReached
            return played

    return play


def _cut_reply(name: str, n: int) -> Play:
    def play(workers: Workers) -> Played:
        with Stage(workers, BY_NAME[name]) as stage:
            stage.fake.cut = stage.proxy.cut
            stage.fake.arm("reply.after", n, "cut")
            job = stage.submit()
            worker = stage.start(job)
            while not stage.fake.fired.wait(0.05):
                if worker.ended.is_set():
                    raise NotReached
            return finished(stage, stage.fake.fired_at or 0.0, job, waits=(worker,))

    return play


def _hole(name: str) -> Play:
    def play(workers: Workers) -> Played:
        with Stage(workers, BY_NAME[name]) as stage:
            pause = stage.fake.pause_step()
            job = stage.submit()
            worker = stage.start(job)
            if not pause.reached.wait(20):
                raise NotReached
            stage.proxy.black_hole()
            pause.resume()
            time.sleep(HOLE_SECONDS)
            job.refresh_from_db()
            was_held = not job.is_over
            stage.proxy.heal()
            played = finished(stage, time.time(), job, waits=(worker,))
            if not was_held:
                played.problems.append("the job ended while its result could not be known")
            return played

    return play


def _refused(workers: Workers) -> Played:
    with Stage(workers, BY_NAME["add lvmcache"]) as stage:
        stage.proxy.refuse()
        job = stage.submit()
        worker = stage.start(job)
        time.sleep(1)
        stage.proxy.heal()
        played = finished(stage, time.time(), job, waits=(worker,))
        if job.state != State.SUCCEEDED:
            played.problems.append(f"one short refusal ended the job: {job.error}")
        return played


def _spoilt(verb: str, spoil: Callable[[bytes], bytes]) -> Play:
    def play(workers: Workers) -> Played:
        with Stage(workers, BY_NAME["add lvmcache"]) as stage:
            stage.fake.spoil_next(verb, spoil)
            job = stage.submit()
            worker = stage.start(job)
            played = finished(stage, time.time(), job, waits=(worker,))
            if not stage.fake.fired.is_set() and not played.problems:
                raise NotReached
            if job.state != State.SUCCEEDED:
                played.problems.append(f"one bad reply ended the job: {job.error}")
            return played

    return play


def _impostor(workers: Workers) -> Played:
    with Stage(workers, BY_NAME["add lvmcache"]) as stage:
        stage.server.change_host_key()
        asked = len(stage.fake.requests)
        job = stage.submit()
        worker = stage.start(job)
        played = finished(stage, time.time(), job, waits=(worker,))
        if len(stage.fake.requests) != asked:
            played.problems.append("the host with the other key was sent a request")
        state = Host.objects.get(pk=stage.host.pk).state
        if state != "quarantined":
            played.problems.append(f"the host is {state}")
        return played
