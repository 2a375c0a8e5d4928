"""What a fault happens on: a host with strangers' volumes on it, a way to it that can be cut, a
volume brought to where an operation begins, and workers that can be killed."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import time
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from django.db import connection

from jobs import nudge, operation, runner
from jobs.contact import target_of
from jobs.models import Job, Kind, State
from jobs.queue import submit
from jobs.refresh import refresh
from storage.facts import HostFacts, decode
from storage.models import Host, Placement, Volume
from storage.naming import volume_name
from storage.plan import Refused, plan
from storage.wish import GIB, MIB, Wish
from tests import make
from tests.fake.fixtures import enrol
from tests.fake.host import FakeHost
from tests.fake.parts import Lv, Signature
from tests.fake.server import FakeServer
from tests.faults.host import FaultHost
from tests.faults.operations import SIZE, Names, Operation
from tests.faults.proxy import Proxy
from tests.faults.workers import Worker, Workers

FOUND = "web12"
SENTINELS = (("stranger-hdd", "sdc"), ("stranger-ssd", "md0"))
PATIENCE_SECONDS = 60.0
POLL_SECONDS = 0.05

_numbers = itertools.count(1)


def quicken() -> None:
    """Nobody but the suite's own workers runs jobs, and the suite's own preparations poll often."""
    nudge.send = lambda task, *args: True
    operation.POLL_SECONDS = (0.01, 0.05)


class Stage:
    """A context manager; `volume` is ready for `operation`, `submit` asks for it."""

    def __init__(self, workers: Workers, operation: Operation, mutation: str = "") -> None:
        self.workers = workers
        self.operation = operation
        self.names = Names()
        self.fake = FaultHost(f"{os.getpid()}-{next(_numbers)}")
        self.fake.mutation = mutation
        self._ends = ExitStack()
        self.extents = 0
        self._watched = [name for name, _ in SENTINELS]

    def __enter__(self) -> Self:
        # A retired volume may be destroyed at once.
        policy = {"vgs": ["vg0"], "undo_hours": 0}
        self.fake.save("/etc/tiercel/agent.json", json.dumps(policy).encode())
        if self.operation.found:
            self.fake.root.add_lv(FOUND, self.wish.size_bytes)
        for name, pv in SENTINELS:
            self.fake.root.add_lv(name, 64 * MIB, pv, signature="ext4")
        self.server = self._ends.enter_context(FakeServer(self.fake))
        self.proxy = self._ends.enter_context(Proxy(self.server.port))
        self.fake.cut = self.server.cut
        self.host = enrol(self.server, f"fault-{next(_numbers)}")
        Host.objects.filter(pk=self.host.pk).update(port=self.proxy.port)
        self.host.refresh_from_db()
        if not refresh(self.host):
            raise AssertionError(f"the fake host does not answer: {self.host.error}")
        self.volume = self._found() if self.operation.found else self.new_volume()
        for wish in self.operation.before(self.names):
            self.bring(self.volume, wish)
            # What a guest writes into a new volume it must find again after all that follows.
            self._fill()
        self._use()
        self.strangers = self.fingerprints()
        self.fake.accepted.clear()
        self.fake.ran.clear()
        self.fake.starts.clear()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ends.close()
        # Nobody asks this host any more.
        Host.objects.filter(pk=self.host.pk).update(state="pending")
        connection.close()

    @property
    def wish(self) -> Wish:
        return self.operation.wish(self.names)

    def new_volume(self, layout: str | None = None) -> Volume:
        """A volume whose LV is still to be made."""
        self.host.refresh_from_db()
        assert self.host.inventory is not None
        vg = next(vg for vg in self.host.inventory.vgs if vg.name == "vg0")
        volume = make.volume(size_bytes=GIB, layout=layout or self.wish.layout)
        Placement.objects.create(
            volume=volume, host=self.host, vg_name=vg.name, vg_uuid=vg.uuid,
            lv_name=volume_name(volume.key),
        )  # fmt: skip
        return volume

    def bring(self, volume: Volume, wish: Wish) -> None:
        """Let a wish come true, here and without faults."""
        job = submit(kind=Kind.CREATE_VOLUME, volume=volume, wish=wish, actor=None)
        end = time.monotonic() + PATIENCE_SECONDS
        while not job.is_over and time.monotonic() < end:
            Job.objects.filter(pk=job.pk).update(not_before=None)
            runner.run(job.pk)
            job.refresh_from_db()
        if job.state != State.SUCCEEDED:
            raise AssertionError(f"preparation ended {job.state}: {job.error or job.explanation}")
        volume.refresh_from_db()

    def submit(self, volume: Volume | None = None, wish: Wish | None = None) -> Job:
        return submit(
            kind=self.operation.kind, volume=volume or self.volume, wish=wish or self.wish,
            actor=None,
        )  # fmt: skip

    def another(self, size_bytes: int = SIZE) -> tuple[Volume, Wish]:
        """A further volume of the same host that is still to be made, and its wish."""
        return self.new_volume("plain"), Wish(size_bytes)

    def start(self, *jobs: Job, arm: str = "", seconds: float = PATIENCE_SECONDS) -> Worker:
        """A worker process for these jobs."""
        return self.workers.start(
            [job.pk for job in jobs], arm=arm, mutation=self.fake.mutation, seconds=seconds
        )

    def rest(self, *jobs: Job, seconds: float = PATIENCE_SECONDS) -> bool:
        """Wait until each job is over or needs a person; False where that takes too long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if all(at_rest(job) for job in jobs):
                return True
            time.sleep(POLL_SECONDS)
        return False

    def facts(self) -> HostFacts:
        """What is on the host now, without the panel in between."""
        request = b'{"v":1,"id":"00000000-0000-4000-8000-000000000000","verb":"inventory"}\n'
        return decode(_data(FakeHost.answer(self.fake, request)))

    @property
    def placement(self) -> Placement:
        """Where the volume lies, or lay last."""
        placed = Placement.objects.select_related("volume").filter(volume=self.volume)
        return placed.latest("pk")

    def lv(self) -> Lv | None:
        """The volume's LV on the machine itself, whatever its name is now."""
        uuid = self.placement.lv_uuid
        lvs = self.fake.machine.vgs[0].lvs
        return next((lv for lv in lvs if lv.uuid == uuid), None)

    def fingerprints(self) -> dict[str, str]:
        """Of every stranger's volume, and of the data a guest has in ours."""
        found = {name: self._digest(name) for name in self._watched}
        lv = self.lv()
        if lv is not None and self.operation.keeps_data:
            written = _extents(lv)[: self.extents]
            found["guest data"] = _sha(f"{lv.uuid} {_signature(lv)} {written}")
        return found

    def watch(self, name: str) -> None:
        """Another LV that nothing may touch from now on."""
        self._watched.append(name)
        self.strangers[name] = self._digest(name)

    def remove_by_hand(self, name: str) -> None:
        """As root would, whatever stands on it: guest, bcache device, cache."""
        lv = self.fake.root.lv(name)
        with self.fake.changing() as machine:
            machine.processes.clear()
            machine.backings = [each for each in machine.backings if each.lv is not lv]
        self.fake.root.remove_lv(name)

    def left_of_fallback(self) -> str:
        """What would still have to be done to be back where the operation began."""
        befores = self.operation.before(self.names)
        if not befores:
            return ""
        try:
            left = plan(self.facts(), target_of(self.placement), befores[-1])
        except Refused as refused:
            return refused.message
        return ", ".join(step.title for step in left)

    def _digest(self, name: str) -> str:
        lv = self.fake.machine.vgs[0].lv(name)
        if lv is None:
            return "gone"
        return _sha(f"{lv.uuid} {lv.name} {lv.size_bytes} {sorted(lv.tags)} {_content(lv)}")

    def _found(self) -> Volume:
        """The record of the volume that was there before the panel."""
        placed = Placement.objects.select_related("volume")
        return placed.get(host=self.host, lv_name=FOUND, until=None).volume

    def _fill(self) -> None:
        """A guest has filled the volume with its data."""
        lv = self.lv()
        if lv is not None:
            self.fake.root.scribble(lv)
            if lv.signature is None:
                lv.signature = Signature("ext4", "0d5b7d1c-6f7f-4a55-9a35-3f8d6f0c0009")

    def _use(self) -> None:
        """Some of the guest's data is in the cache only, and the guest holds the volume."""
        lv = self.lv()
        if lv is None:
            return
        self.extents = len(_extents(lv))
        if self.operation.dirty_bytes:
            self.fake.root.dirty(lv.name, self.operation.dirty_bytes)
        if self.operation.held:
            self.fake.root.guest("vps", self.fake.root.device(lv.name))


def at_rest(job: Job) -> bool:
    """Whether nobody works on the job any more."""
    job.refresh_from_db()
    return bool(job.is_over) or job.state == State.NEEDS_ATTENTION


def _extents(lv: Lv) -> list[bool]:
    """Extent by extent, whether it still has what was written to it."""
    return [
        extent in run.pv.stale
        for run in lv.bottom.runs
        for extent in range(run.first, run.first + run.count)
    ]


def _signature(lv: Lv) -> str:
    return "" if lv.signature is None else f"{lv.signature.type} {lv.signature.uuid}"


def _content(lv: Lv) -> str:
    """Where the data lies and which of it is still there."""
    places = [(run.pv.path, run.first, run.count) for run in lv.bottom.runs]
    return f"{places} {_extents(lv)} {_signature(lv)}"


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _data(reply: bytes) -> object:
    document = json.loads(reply)
    assert document["ok"], document
    return document["data"]
