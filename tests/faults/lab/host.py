"""A host that restarts, hangs, or is slow."""

from __future__ import annotations

import time
from collections.abc import Iterator

from jobs.models import Job, State, Step, StepState
from tests.faults.fault import Fault, Play, Played
from tests.faults.lab.layers import HDD, OTHER_HDD
from tests.faults.lab.operations import (
    ADD_LVMCACHE,
    CREATE_READY,
    FLUSH_LVMCACHE,
    REMOVE_DIRTY_BCACHE,
)
from tests.faults.lab.site import Site
from tests.faults.lab.stage import LabStage
from tests.faults.operations import BY_NAME, Operation
from tests.faults.stage import Stage
from tests.faults.sweep import finished
from tests.faults.workers import Workers

REACH_SECONDS = 120.0
RESTARTED_SECONDS = 120.0
"""After the restart every step is run on an emulated processor that is still starting services."""
DEGRADED_SECONDS = 65.0
FROZEN_SECONDS = 20.0
SLOW_WRITES_MS, SLOW_DISK_MS = 3000, 2000
HANGING = "ps -eo stat,args | awk '$1 ~ /^D/ && /lvm|lvs|vgs|pvs/' | wc -l"


def faults(site: Site) -> Iterator[Fault]:
    yield Fault("add lvmcache: a disk hangs and LVM's report with it",
                "the host is shown as stuck within 65 s, nothing is started beside the hanging "
                "report, other hosts go on; when the disk answers, so does the host",
                _hung(site), "F26")  # fmt: skip
    yield Fault("add lvmcache: the host stands still for 20 s",
                "the job waits; other hosts go on", _frozen(site), "F27")  # fmt: skip
    yield Fault("add lvmcache: a disk takes 2 s for each access",
                "slow, and no failure", _slow(site), "F27")  # fmt: skip
    for operation, verb in (
        (CREATE_READY, "volume.create"),
        (FLUSH_LVMCACHE, "cache.flush"),
        (REMOVE_DIRTY_BCACHE, "bcache."),
    ):
        yield Fault(f"{operation.name}: power is cut on the host during {verb.strip('.')}",
                    "the operation is found interrupted; volume and cache come back and the rest "
                    "is planned anew", _restarted(site, operation, verb), "F24")  # fmt: skip


def at_work(job: Job, verb: str) -> Step:
    """The step of that verb, once the host works on it."""
    end = time.monotonic() + REACH_SECONDS
    while time.monotonic() < end:
        step = job.step_set.filter(verb__startswith=verb, state=StepState.RUNNING).first()
        if step is not None and any(each.get("started_ns") for each in step.commands):
            return step
        job.refresh_from_db()
        if job.is_over:
            break
        time.sleep(0.1)
    raise AssertionError(f"the host never worked on {verb}: {job.state} {job.error}")


def _restarted(site: Site, operation: Operation, verb: str) -> Play:
    def play(workers: Workers) -> Played:
        with LabStage(workers, site, operation) as stage:
            # Without a journal, as it is, a power cut would leave the root file system torn.
            site.lab.run("mount -o remount,sync,dirsync /; sync")
            for name in (HDD, OTHER_HDD):
                site.layers.put(name, "slow_writes", SLOW_WRITES_MS)
            job = stage.submit()
            worker = stage.start(job)
            step = at_work(job, verb)
            site.restart()
            played = stage.finished(time.time(), job, waits=(worker,), bound_s=RESTARTED_SECONDS)
            step.refresh_from_db()
            if step.error.get("code") != "interrupted":
                played.problems.append(f"{step.verb} of before the restart ended {step.error}")
            if job.state != State.SUCCEEDED:
                played.problems.append(f"a restart ended the job: {job.error or job.explanation}")
            lv = stage.lv()
            if lv is None or not lv.active:
                played.problems.append("the volume is not active")
            return played

    return play


def _hung(site: Site) -> Play:
    def play(workers: Workers) -> Played:
        beside = Stage(workers, BY_NAME["add lvmcache"])
        with LabStage(workers, site, ADD_LVMCACHE) as stage, beside as other:
            problems: list[str] = []
            job = stage.submit()
            worker = stage.start(job, arm="send.before:1:stop")
            if not worker.acted.wait(REACH_SECONDS):
                raise AssertionError(f"nothing was sent: {job.state}")
            site.layers.put(HDD, "hang")
            hung_at = time.monotonic()
            worker.go_on()
            _goes_on(other, problems)
            while not _is_stuck(site) and time.monotonic() - hung_at < DEGRADED_SECONDS:
                site.refresh()
            took = time.monotonic() - hung_at
            if not _is_stuck(site):
                problems.append(f"after {took:.0f} s the host is not shown as stuck")
            for _ in range(2):
                site.refresh()
            hanging = int(site.lab.run(HANGING).stdout)
            if hanging != 1:
                problems.append(f"{hanging} reports hang beside each other")
            site.layers.put(HDD, "linear")
            since = time.time()
            also = f", shown as stuck after {took:.0f} s"
            played = stage.finished(since, job, waits=(worker,), also=also)
            if not site.refresh():
                problems.append(f"the disk answers, but the host does not: {site.host.error}")
            if job.state != State.SUCCEEDED:
                problems.append(f"a disk that hung for a while ended the job: {job.error}")
            played.problems.extend(problems)
            return played

    return play


def _is_stuck(site: Site) -> bool:
    codes = {problem["code"] for problem in site.host.problems}
    return "stuck" in codes or "hangs on this host" in str(site.host.error.get("message"))


def _goes_on(other: Stage, problems: list[str]) -> None:
    """A job on another host runs as if nothing were."""
    job = other.submit()
    worker = other.start(job)
    since = time.time()
    played = finished(other, since, job, waits=(worker,))
    problems.extend(f"on another host: {each}" for each in played.problems)
    if job.state != State.SUCCEEDED:
        problems.append(f"the job on another host ended {job.state}: {job.error}")


def _frozen(site: Site) -> Play:
    def play(workers: Workers) -> Played:
        beside = Stage(workers, BY_NAME["add lvmcache"])
        with LabStage(workers, site, ADD_LVMCACHE) as stage, beside as other:
            problems: list[str] = []
            job = stage.submit()
            worker = stage.start(job)
            at_work(job, "pool.create")
            site.lab.freeze()
            frozen_at = time.monotonic()
            try:
                _goes_on(other, problems)
                time.sleep(max(0.0, FROZEN_SECONDS - (time.monotonic() - frozen_at)))
            finally:
                site.lab.thaw()
            played = stage.finished(time.time(), job, waits=(worker,))
            if job.state != State.SUCCEEDED:
                problems.append(f"the job ended {job.state}: {job.error}")
            played.problems.extend(problems)
            return played

    return play


def _slow(site: Site) -> Play:
    def play(workers: Workers) -> Played:
        with LabStage(workers, site, ADD_LVMCACHE) as stage:
            site.layers.put(HDD, "slow", SLOW_DISK_MS)
            job = stage.submit()
            worker = stage.start(job)
            stage.rest(job)
            ended = "" if job.state == State.SUCCEEDED else f"{job.state}: {job.error}"
            site.layers.heal()
            played = stage.finished(time.time(), job, waits=(worker,))
            if ended:
                played.problems.append(f"a slow disk ended the job: {ended}")
            return played

    return play
