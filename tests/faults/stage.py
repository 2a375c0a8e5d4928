"""What a fault happens on: a host with strangers' volumes on it, a way to it that can be cut, a
volume brought to where an operation begins, and workers that can be killed."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from jobs import notify_workers
from jobs.engine import operation
from jobs.hosts.refresh import refresh
from storage.byte_sizes import MIB
from storage.inventory.facts import HostFacts, decode
from storage.models import Host, Placement, Volume
from storage.planner.wish import Wish
from tests.fake.fixtures import enrol
from tests.fake.host import FakeHost
from tests.fake.parts import Lv, Signature
from tests.fake.server import FakeServer
from tests.faults.host import FaultHost
from tests.faults.operations import SIZE, Operation
from tests.faults.proxy import Proxy
from tests.faults.scenery import Scenery
from tests.faults.workers import Workers

FOUND = "web12"
SENTINELS = (("stranger-hdd", "sdc"), ("stranger-ssd", "md0"))

_numbers = itertools.count(1)


def quicken() -> None:
    """Only the suite's own workers run jobs, and its preparations poll often."""
    notify_workers.send = lambda task, *args: True
    operation.POLL_SECONDS = (0.01, 0.05)


class Stage(Scenery):
    """A context manager; `volume` is ready for `operation`, `submit` asks for it."""

    def __init__(self, workers: Workers, operation: Operation, mutation: str = "") -> None:
        super().__init__(workers, operation)
        self.mutation = mutation
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
        self.forget()
        return self

    def forget(self) -> None:
        """What the host did so far belongs to the scene."""
        self.fake.accepted.clear()
        self.fake.ran.clear()
        self.fake.starts.clear()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ends.close()
        # No more requests to this host.
        Host.objects.filter(pk=self.host.pk).update(state="pending")
        self.leave()

    def another(self, size_bytes: int = SIZE) -> tuple[Volume, Wish]:
        """A further volume of the same host that is still to be made, and its wish."""
        return self.new_volume("plain"), Wish(size_bytes)

    def ledger(self) -> FaultHost:
        """What the host did, once no operation runs any more."""
        self.fake.wait_for_ops()
        return self.fake

    def facts(self) -> HostFacts:
        """What is on the host now, without the panel in between."""
        request = b'{"v":1,"id":"00000000-0000-4000-8000-000000000000","verb":"inventory"}\n'
        return decode(_data(FakeHost.answer(self.fake, request)))

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
