"""What a host's own troubles and a hostile request may do."""

from __future__ import annotations

import itertools
import json
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from jobs.hosts.refresh import refresh
from jobs.models import State
from storage.agent.verbs.registry import VERBS
from storage.models import Host, Placement, Volume
from tests.faults import oracle
from tests.faults.fault import Fault, NotReached, Played
from tests.faults.operations import BY_NAME
from tests.faults.stage import Stage
from tests.faults.sweep import finished, host_fault
from tests.faults.workers import Workers

COMPARED = frozenset({"serial"})
"""A disk's serial as a person typed it: compared with the disk's own, never on a command line."""
HOSTILE = "$(reboot);`id`'\"<script>alert(1)</script>\n\x1b[31m\u202etxt|&&"
INJECTED: tuple[object, ...] = (
    "-f", "--force", "--config=x", "-y", "@/etc/shadow", "a\nb", "a\x00b", "a%00b", "$(id)", "`id`",
    ";id", "|id", "../../etc/passwd", "/dev/sda", "a" * 300, "\ud800", "\u202e", "", None, True,
    -1, 1 << 70, 1.5, [], {}, ["-f"], [["a"]], {"a": 1},
)  # fmt: skip


def faults() -> Iterator[Fault]:
    yield Fault("labels full of shell, markup and control characters",
                "data everywhere; not one byte of it on a command line", _hostile,
                "F31")  # fmt: skip
    yield Fault("the inventory is suddenly empty",
                "nothing is forgotten; what is missing is marked; no job runs on it", _empty,
                "F33")  # fmt: skip
    for name in ("create", "add lvmcache", "add bcache"):
        yield host_fault(BY_NAME[name], "accept.before", 1, "raise", "F34")
        for n in (1, 2):
            yield host_fault(BY_NAME[name], "exec.after", n, "kill", "F55")
    yield Fault("add lvmcache: the SSD is filled by hand before the pool is made",
                "refused or undone; no pool is left", _full, "F36")  # fmt: skip
    yield Fault("add lvmcache: the agent is older and does not know a verb",
                "the job ends with that reason and leaves nothing", _old, "F48")  # fmt: skip
    yield Fault(f"{len(INJECTED)} hostile values in every argument of every verb",
                "each is refused by the agent itself; no command runs", _injected,
                "S16")  # fmt: skip


def _hostile(workers: Workers) -> Played:
    with Stage(workers, BY_NAME["create"]) as stage:
        label = HOSTILE.replace("\n", " ")
        Volume.objects.filter(pk=stage.volume.pk).update(label=label[:200])
        job = stage.submit()
        worker = stage.start(job)
        played = finished(stage, time.time(), job, waits=(worker,))
        words = [word for ran in stage.fake.ran for word in ran.argv]
        if any(piece in word for word in words for piece in ("reboot", "script", "`", "$(")):
            played.problems.append("a label reached a command line")
        return played


def _empty(workers: Workers) -> Played:
    with Stage(workers, BY_NAME["add lvmcache"]) as stage:
        host = Host.objects.get(pk=stage.host.pk)
        before = _placed(host)
        with stage.fake.changing() as machine:
            groups, machine.vgs = machine.vgs, []
        since = time.time()
        refresh(host)
        during = _placed(host)
        job = stage.submit()
        worker = stage.start(job)
        stage.rest(job)
        worker.wait(10)
        ran = len(stage.fake.ran)
        with stage.fake.changing() as machine:
            machine.vgs = groups
        refresh(host)
        problems = oracle.problems(stage, job)
        if not before or during != before or _placed(host) != before:
            problems.append("a volume was forgotten")
        if ran or job.state == State.SUCCEEDED:
            problems.append(f"a job ran on a volume that is not there: {job.state}")
        return Played(f"{job.state}; nothing forgotten", problems, time.time() - since)


def _placed(host: Host) -> set[tuple[int, str | None]]:
    placed = Placement.objects.filter(host=host, until=None)
    return set(placed.values_list("volume_id", "lv_uuid"))


def _full(workers: Workers) -> Played:
    with Stage(workers, BY_NAME["add lvmcache"]) as stage:
        job = stage.submit()
        worker = stage.start(job, arm="send.before:1:stop")
        if not worker.acted.wait(20):
            raise NotReached
        stage.fake.root.fill("md0")
        worker.go_on()
        played = finished(stage, time.time(), job, waits=(worker,))
        if job.state == State.SUCCEEDED:
            played.problems.append("a cache was made without room")
        if any(lv.name.startswith("c-") for lv in stage.facts().lvs):
            played.problems.append("a pool was left over")
        return played


def _old(workers: Workers) -> Played:
    with Stage(workers, BY_NAME["add lvmcache"]) as stage:
        stage.fake.deaf_to = "cache.attach"
        job = stage.submit()
        worker = stage.start(job)
        played = finished(stage, time.time(), job, waits=(worker,))
        if job.state == State.SUCCEEDED:
            played.problems.append("a job succeeded without its verb")
        if left := stage.left_of_fallback():
            played.problems.append(f"left over: {left}")
        return played


def _injected(workers: Workers) -> Played:
    """By the check of each argument alone, and some as requests to an agent that would run them."""
    with Stage(workers, BY_NAME["add lvmcache"]) as stage:
        problems = []
        since = time.time()
        values = itertools.cycle(INJECTED)
        for verb, schema in ((each.name, each.arguments) for each in VERBS.values()):
            for name, check in {**schema.required, **schema.optional}.items():
                if name not in COMPARED:
                    accepted = [value for value in INJECTED if _passes(check, value)]
                    problems += [f"{verb}: {name}={value!r} was accepted" for value in accepted]
                value = next(values)
                if _answers(stage, verb, name, value):
                    problems.append(f"{verb} with {name}={value!r} was begun")
        stage.fake.wait_for_ops()
        if stage.fake.ran:
            problems.append(f"commands ran: {stage.fake.ran}")
        return Played("every one refused", problems, time.time() - since)


def _passes(check: Callable[[Any], Any], value: object) -> bool:
    try:
        check(value)
    except ValueError:
        return False
    return True


def _answers(stage: Stage, verb: str, name: str, value: object) -> bool:
    """Whether the agent takes such a request."""
    lv = stage.lv()
    assert lv is not None
    request = {
        "v": 1, "id": str(uuid.uuid4()), "verb": verb,
        "args": {"vg": "vg0", "lv": lv.name, name: value},
        "expect": {"vg_uuid": lv.vg.uuid, "lv_uuid": lv.uuid},
    }  # fmt: skip
    return bool(json.loads(stage.fake.answer(json.dumps(request).encode() + b"\n"))["ok"])
