"""A clone of a host, or of its disks: two that claim to be the same."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from jobs.hosts.refresh import refresh
from jobs.hosts.trust import accept_fingerprint, key_fingerprint
from jobs.models import State
from storage.models import Host, Placement
from storage.models.host import HostState
from tests.fake.fixtures import enrol
from tests.fake.host import FakeHost
from tests.fake.server import FakeServer
from tests.faults.fault import Fault, NotReached, Play, Played
from tests.faults.operations import BY_NAME
from tests.faults.stage import Stage
from tests.faults.sweep import finished
from tests.faults.workers import Workers


def faults() -> Iterator[Fault]:
    expected = (
        "both hosts are quarantined and nothing is merged; no command runs; with an identity of "
        "its own each is let in again"
    )
    for what, make, mend in (
        ("copies of its disks turn up on another host", _same_disks, _import_clone),
        ("another host says its machine id", _same_machine, _new_machine_id),
    ):
        yield Fault(f"add lvmcache: {what}", expected, _cloned(make, mend), "F32")


def _same_disks(stage: Stage) -> FakeHost:
    twin = FakeHost(stage.fake.machine.seed)
    twin.machine.machine_id = f"{stage.host.pk:032x}"
    return twin


def _import_clone(stage: Stage, twin: FakeHost) -> None:
    """As vgimportclone does."""
    with twin.changing() as machine:
        for vg in machine.vgs:
            vg.uuid = vg.uuid[::-1]


def _same_machine(stage: Stage) -> FakeHost:
    """It was another one when it was enrolled."""
    twin = FakeHost(f"{stage.fake.machine.seed}-twin")
    twin.machine.machine_id = f"{stage.host.pk:032x}"
    return twin


def _new_machine_id(stage: Stage, twin: FakeHost) -> None:
    with twin.changing() as machine:
        machine.machine_id = f"{stage.host.pk:032x}"


def _cloned(make: Callable[[Stage], FakeHost], mend: Callable[[Stage, FakeHost], None]) -> Play:
    def play(workers: Workers) -> Played:
        with Stage(workers, BY_NAME["add lvmcache"]) as stage:
            job = stage.submit()
            worker = stage.start(job, arm="read.before:1:stop")
            if not worker.acted.wait(20):
                raise NotReached
            twin = make(stage)
            with FakeServer(twin) as server:
                clone = enrol(server, f"{stage.host.name}-clone")
                if make is _same_machine:
                    with twin.changing() as machine:
                        machine.machine_id = stage.fake.machine.machine_id
                refresh(clone)
                problems = _parted(stage, clone)
                worker.go_on()
                stage.rest(job)
                if stage.fake.ran or job.state == State.SUCCEEDED:
                    problems.append(f"a job went on, on a host that two claim to be: {job.state}")
                mend(stage, twin)
                since = time.time()
                for host in (clone, stage.host):
                    host.refresh_from_db()
                    accept_fingerprint(host, key_fingerprint(host.host_key_seen), None)
                    if not refresh(host):
                        problems.append(f"{host} is not let in again: {host.error}")
                again = stage.submit()
                played = finished(stage, since, again, waits=(worker, stage.start(again)))
                Host.objects.filter(pk=clone.pk).update(state=HostState.PENDING)
            if again.state != State.SUCCEEDED:
                problems.append(f"afterwards a job ended {again.state}: {again.error}")
            return Played(
                f"both quarantined; afterwards {played.happened}",
                [*problems, *played.problems], played.recovery_s,
            )  # fmt: skip

    return play


def _parted(stage: Stage, clone: Host) -> list[str]:
    """What was not done about the two of them."""
    found = []
    for host in (stage.host, clone):
        host.refresh_from_db()
        if host.state != HostState.QUARANTINED:
            found.append(f"{host} is {host.state}")
    if Placement.objects.filter(host=clone).exists():
        found.append("volumes of the one were recorded for the other")
    return found
