"""Disks that fail, lie, or die under a cache."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from jobs.models import State
from storage.health.inventory_findings import findings_of
from storage.health.lost_cache import LostCache, loss_of_row
from storage.planner import Refused
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of
from tests.faults import oracle
from tests.faults.fault import Fault, Play, Played
from tests.faults.lab.host import REACH_SECONDS
from tests.faults.lab.layers import ALL, HDD, OTHER_HDD, SSD
from tests.faults.lab.operations import (
    CREATE,
    DROP_DIRTY_LVMCACHE,
    DROP_LVMCACHE,
    REMOVE_BCACHE,
    REMOVE_DIRTY_BCACHE,
)
from tests.faults.lab.site import Site
from tests.faults.lab.stage import LabStage
from tests.faults.operations import Operation
from tests.faults.workers import Workers

FORCED = ("--force", "--uncache", "-f ", "running 1", "vgreduce")
"""What would give up data, on any command line of the agent's."""
# The guest that has it open keeps the device itself.
IS_STOPPED = "[ ! -e /sys/block/{dm}/bcache/state ]"
IS_UNCACHED = "[ ! -e /sys/block/{dm}/bcache/cache ]"
# Until bcache has had enough errors to detach its cache, or to fail the volume.
TOUCH = """
for try in $(seq 60); do
    {over} && exit 0
    timeout 20 dd if={device} of=/dev/null bs=4k count=64 skip=$((try * 64)) iflag=direct
    timeout 20 dd if=/dev/zero of={device} bs=4k count=4 seek=$((8192 + try)) oflag=direct
    sleep 0.5
done 2>/dev/null
"""


def faults(site: Site) -> Iterator[Fault]:
    yield Fault("create: the slow disks refuse every write while lvcreate runs",
                "the job fails with LVM's words; nothing is left and the group is sound",
                _refusing(site), "F37")  # fmt: skip
    yield Fault("create: every disk drops what is written and says that it wrote it",
                "exit code 0 is not believed: the job does not succeed", _dropping(site),
                "F38")  # fmt: skip
    for operation in (DROP_DIRTY_LVMCACHE, REMOVE_DIRTY_BCACHE):
        yield Fault(f"{operation.name}: the SSD dies with dirty data on it",
                    "the page speaks of lost data and names the steps by hand; no job takes one",
                    _lost(site, operation), "F39")  # fmt: skip
    yield Fault("drop lvmcache: the SSD dies under a writethrough cache",
                "an alert; giving the cache up loses nothing, and a job does it online",
                _dropped(site), "F40")  # fmt: skip
    yield Fault("remove bcache: the SSD dies under a writethrough cache",
                "an alert; the volume goes on without its cache and nothing is lost",
                _outlived(site), "F40")  # fmt: skip


def _refusing(site: Site) -> Play:
    def play(workers: Workers) -> Played:
        def judge(stage: LabStage, played: Played, state: State) -> None:
            if state != State.FAILED:
                played.problems.append(f"the job is {state}")
            if left := _left(stage):
                played.problems.append(f"left over: {left}")

        return _created(site, workers, (HDD, OTHER_HDD), "error_writes", judge)

    return play


def _dropping(site: Site) -> Play:
    def play(workers: Workers) -> Played:
        def judge(stage: LabStage, played: Played, state: State) -> None:
            if state == State.SUCCEEDED:
                played.problems.append("a volume that is not on the disks was called made")
            left = _left(stage)
            played.happened += f"; left in the kernel alone: {left or 'nothing'}"
            if left and not _is_reported(stage):
                played.problems.append("the host's page does not tell of what is left")

        return _created(site, workers, ALL, "drop_writes", judge)

    return play


def _created(
    site: Site,
    workers: Workers,
    broken: tuple[str, ...],
    how: str,
    judge: Callable[[LabStage, Played, State], None],
) -> Played:
    """The disks break just before lvcreate, and are sound again once the job is at rest."""
    with LabStage(workers, site, CREATE) as stage:
        job = stage.submit()
        worker = stage.start(job, arm="send.before:1:stop")
        if not worker.acted.wait(REACH_SECONDS):
            raise AssertionError(f"nothing was sent: {job.state}")
        for name in broken:
            site.layers.put(name, how)
        broke_at = time.time()
        worker.go_on()
        stage.rest(job)
        took = time.time() - broke_at
        site.layers.heal()
        played = stage.finished(time.time(), job, waits=(worker,))
        checked = site.lab.run("vgck vg0", check=False)
        if checked.returncode:
            played.problems.append(f"the group is not sound: {checked.stderr}")
        played.recovery_s = took
        played.bound_s = stage.patience_seconds
        judge(stage, played, State(job.state))
        return played


def _left(stage: LabStage) -> str:
    """What there is of the new volume, in LVM's metadata or in the kernel."""
    name = stage.placement.lv_name
    listed = stage.site.lab.run(
        f"lvs --noheadings -o lv_name vg0 | grep -w {name}; "
        f"dmsetup ls | grep -F '{name.replace('-', '--')}'",
        check=False,
    )
    return " ".join(listed.stdout.split())


def _is_reported(stage: LabStage) -> bool:
    """Whether the host's problems name the device of the new volume."""
    stage.site.refresh()
    stage.host.refresh_from_db()
    device = stage.placement.lv_name.replace("-", "--")
    orphans = [each for each in stage.host.problems if each["code"] == "orphan_device"]
    return any(device in each["message"] for each in orphans)


def _row(stage: LabStage) -> VolumeSnapshot:
    """The volume as its page has it, on facts just read."""
    if not stage.site.refresh():
        raise AssertionError(f"the host does not answer: {stage.host.error}")
    stage.volume.refresh_from_db()
    return snapshots_of([stage.volume])[0]


def _alerts(row: VolumeSnapshot) -> set[str]:
    assert row.facts is not None
    return {finding.code for finding in findings_of(row.facts, [row])}


def _dies(stage: LabStage, over: str = "") -> None:
    """The SSD is gone in the middle of the guest's work."""
    placed = stage.device
    dm = stage.site.lab.run(
        ["sh", "-c", f"basename $(realpath /dev/vg0/{stage.placement.lv_name})"]
    ).stdout.strip()
    stage.site.layers.put(SSD, "error")
    if over:
        script = TOUCH.replace("{over}", over).replace("{dm}", dm).replace("{device}", placed)
        stage.site.lab.run(script, check=False, timeout_seconds=400)


def _lost(site: Site, operation: Operation) -> Play:
    def play(workers: Workers) -> Played:
        with LabStage(workers, site, operation, ("stranger-ssd", "guest data")) as stage:
            _dies(stage, IS_STOPPED if stage.wish.layout == "bcache" else "")
            since = time.time()
            row = _row(stage)
            problems = _words(loss_of_row(row), can_drop=False, may_lose_data=True)
            if not _alerts(row) & {"ssd_lost", "pv_missing"}:
                problems.append(f"no alert: {_alerts(row)}")
            try:
                job = stage.submit()
            except Refused as refused:
                return Played(f"refused: {refused.code}", problems, time.time() - since)
            worker = stage.start(job)
            stage.rest(job)
            worker.wait(30)
            recovery = time.time() - since
            if job.state == State.SUCCEEDED:
                problems.append("a job gave up a cache with the only copy of data")
            if (ran := site.executed()) and any(word in ran for word in FORCED):
                problems.append(f"run on the host: {ran}")
            problems += oracle.problems(stage, job)
            return Played(f"job {job.state}: {job.error.get('code')}", problems, recovery)

    return play


def _words(lost: LostCache | None, *, can_drop: bool, may_lose_data: bool) -> list[str]:
    """What the volume's page does not say as it should."""
    if lost is None:
        return ["the page says nothing of the lost SSD"]
    problems = []
    if (lost.can_drop, lost.may_lose_data) != (can_drop, may_lose_data):
        problems.append(f"the page says: {lost.sentence}")
    if may_lose_data and not lost.instructions:
        problems.append("the page names no steps")
    return problems


def _dropped(site: Site) -> Play:
    def play(workers: Workers) -> Played:
        with LabStage(workers, site, DROP_LVMCACHE, ("stranger-ssd",)) as stage:
            _dies(stage)
            since = time.time()
            row = _row(stage)
            problems = _words(loss_of_row(row), can_drop=True, may_lose_data=False)
            if "ssd_lost" not in _alerts(row):
                problems.append(f"no alert: {_alerts(row)}")
            job = stage.submit()
            worker = stage.start(job)
            played = stage.finished(since, job, waits=(worker,))
            if job.state != State.SUCCEEDED:
                problems.append(f"the guided way ended {job.state}: {job.error}")
            played.problems.extend(problems)
            return played

    return play


def _outlived(site: Site) -> Play:
    def play(workers: Workers) -> Played:
        with LabStage(workers, site, REMOVE_BCACHE, ("stranger-ssd",)) as stage:
            _dies(stage, IS_UNCACHED)
            since = time.time()
            row = _row(stage)
            problems = _words(loss_of_row(row), can_drop=False, may_lose_data=False)
            if not _alerts(row) & {"ssd_lost", "pv_missing"}:
                problems.append(f"no alert: {_alerts(row)}")
            if row.lv is None or row.lv.bcache is None or row.lv.bcache.device is None:
                problems.append("the volume does not go on")
            if stage.fingerprints() != stage.strangers:
                problems.append("data changed")
            return Played("the volume goes on without a cache", problems, time.time() - since)

    return play
