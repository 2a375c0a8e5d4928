"""What a fault of the lab happens on: strangers' volumes, and one of ours that a guest holds and
has written to."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from jobs.models import Job
from storage.inventory.facts import HostFacts, LogicalVolume
from tests.faults import oracle
from tests.faults.fault import RECOVERY_SECONDS, Played
from tests.faults.lab.site import Journal, Site
from tests.faults.operations import Operation
from tests.faults.scenery import Scenery
from tests.faults.workers import Worker, Workers

STRANGERS = ("stranger-hdd", "stranger-ssd")
STRANGER_MIB, WRITTEN_MIB = 8, 16
GUEST = "vps"
SUM = "dd if={device} bs=1M count={mib} iflag=direct 2>/dev/null | sha256sum"


class LabStage(Scenery):
    """A context manager. `spared`: what a fault takes with it on purpose is not compared."""

    patience_seconds = 240.0

    def __init__(
        self, workers: Workers, site: Site, operation: Operation, spared: Iterable[str] = ()
    ) -> None:
        super().__init__(workers, operation)
        self.site = site
        self.host = site.host
        self.strangers: dict[str, str] = {}
        self._spared = frozenset(spared)
        self._known: frozenset[str] = frozenset()
        self._ends = ExitStack()

    def __enter__(self) -> Self:
        self.site.reset()
        self._add_strangers()
        if not self.site.refresh():
            raise AssertionError(f"the lab does not answer: {self.host.error}")
        self.host.refresh_from_db()
        self.volume = self.new_volume()
        for wish in self.operation.before(self.names):
            self.bring(self.volume, wish)
        lv = self.lv()
        if lv is not None:
            self.write()
            if self.operation.dirty_bytes:
                self.site.world.make_dirty(lv.name)
            if self.operation.held:
                self._ends.enter_context(self.site.world.guest(GUEST, lv.name))
        self.strangers = self.fingerprints()
        self._known = frozenset(each.op for each in self.site.journal().accepted)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # The guest ends with all the rest at the next reset.
        self._ends.pop_all()
        self.leave()

    def lv(self) -> LogicalVolume | None:
        """The volume's LV, read from the host itself; None before it is made."""
        facts, placement = self.site.facts(), self.placement
        return facts.lv_named(placement.vg_uuid, placement.lv_name)

    @property
    def device(self) -> str:
        """What a guest of the volume opens."""
        return self.site.world.device(self.placement.lv_name)

    def write(self) -> None:
        """New data of the guest at the volume's beginning, on disk or cache when this returns."""
        self.site.lab.run(_scribbled(self.device, WRITTEN_MIB))

    def facts(self) -> HostFacts:
        return self.site.facts()

    def ledger(self) -> Journal:
        """What the host did since the scene was set."""
        journal = self.site.journal()
        return Journal(
            tuple(each for each in journal.accepted if each.op not in self._known),
            tuple(each for each in journal.ran if each.op not in self._known),
            journal.starts,
        )

    def fingerprints(self) -> dict[str, str]:
        """Of every stranger's volume: identity and content; and of what the guest wrote."""
        fields = "lvs --noheadings -o lv_uuid,lv_size,lv_tags,devices"
        asked = {
            name: f"{fields} vg0/{name}; " + SUM.format(device=f"/dev/vg0/{name}", mib=STRANGER_MIB)
            for name in STRANGERS
            if name not in self._spared
        }
        if self.operation.keeps_data and "guest data" not in self._spared:
            asked["guest data"] = SUM.format(device=self.device, mib=WRITTEN_MIB)
        answers = self.site.lab.run("; echo ,; ".join(asked.values())).stdout.split("\n,\n")
        return dict(zip(asked, answers, strict=True))

    def finished(
        self,
        since: float,
        *jobs: Job,
        waits: Iterable[Worker] = (),
        also: str = "",
        bound_s: float = RECOVERY_SECONDS,
    ) -> Played:
        """Wait until the jobs are at rest, then look at everything. `since`: when all was well
        again."""
        self.rest(*jobs)
        recovery = time.time() - since
        for worker in waits:
            worker.wait(30)
        found = oracle.problems(self, *jobs)
        states = ", ".join(sorted({str(job.state).replace("_", " ") for job in jobs}))
        return Played(f"{states}{also}", found, max(0.0, recovery), bound_s)

    def _add_strangers(self) -> None:
        """In one go, because each call costs."""
        script = ["set -e"]
        for name, pv in zip(STRANGERS, (self.site.hdd, self.site.ssd), strict=True):
            if name not in self._spared:
                script.append(f"lvcreate -qy -n {name} -L {STRANGER_MIB}m vg0 /dev/{pv}")
                script.append(_scribbled(f"/dev/vg0/{name}", STRANGER_MIB))
        self.site.lab.run("\n".join(script))


def _scribbled(device: str, mib: int) -> str:
    return (
        f"head -c {mib}M /dev/urandom | dd of={device} bs=1M iflag=fullblock oflag=direct "
        "conv=notrunc,fsync 2>/dev/null"
    )
