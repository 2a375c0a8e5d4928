"""What every stage has, on the simulated host and in the lab: a volume, jobs for it, workers."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod

from django.db import connection

from jobs.engine import runner
from jobs.models import Job, Kind, State
from jobs.queue.submit import ChangeRequest, submit
from jobs.requester import Requester
from storage.byte_sizes import GIB
from storage.inventory.facts import HostFacts
from storage.models import Host, Placement, Volume
from storage.naming import volume_name
from storage.planner import Refused, plan
from storage.planner.wish import Wish
from tests import make
from tests.faults.operations import Names, Operation
from tests.faults.workers import Worker, Workers

POLL_SECONDS = 0.2


class Scenery(ABC):
    """The scene's setup sets `host` and `volume`."""

    host: Host
    volume: Volume
    patience_seconds = 60.0

    def __init__(self, workers: Workers, operation: Operation) -> None:
        self.workers = workers
        self.operation = operation
        self.names = Names()
        self.mutation = ""

    @abstractmethod
    def facts(self) -> HostFacts:
        """What is on the host now, without the panel in between."""

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
        job = submit(ChangeRequest(Kind.CREATE_VOLUME, volume, wish), Requester(None))
        end = time.monotonic() + self.patience_seconds
        while not job.is_over and time.monotonic() < end:
            Job.objects.filter(pk=job.pk).update(not_before=None)
            runner.run(job.pk)
            job.refresh_from_db()
        if job.state != State.SUCCEEDED:
            raise AssertionError(f"preparation ended {job.state}: {job.error or job.explanation}")
        volume.refresh_from_db()

    def submit(self, volume: Volume | None = None, wish: Wish | None = None) -> Job:
        request = ChangeRequest(self.operation.kind, volume or self.volume, wish or self.wish)
        return submit(request, Requester(None))

    def start(self, *jobs: Job, arm: str = "", seconds: float | None = None) -> Worker:
        """A worker process for these jobs."""
        return self.workers.start(
            [job.pk for job in jobs], arm=arm, mutation=self.mutation,
            seconds=seconds or self.patience_seconds,
        )  # fmt: skip

    def rest(self, *jobs: Job, seconds: float | None = None) -> bool:
        """Wait until each job is over or needs a person; False where that takes too long."""
        end = time.monotonic() + (seconds or self.patience_seconds)
        while time.monotonic() < end:
            if all(at_rest(job) for job in jobs):
                return True
            time.sleep(POLL_SECONDS)
        return False

    @property
    def placement(self) -> Placement:
        """Where the volume lies, or lay last."""
        placed = Placement.objects.select_related("volume").filter(volume=self.volume)
        return placed.latest("pk")

    def left_of_fallback(self) -> str:
        """What would still have to be done to be back where the operation began."""
        befores = self.operation.before(self.names)
        if not befores:
            return ""
        try:
            left = plan(self.facts(), self.placement.target, befores[-1])
        except Refused as refused:
            return refused.message
        return ", ".join(step.title for step in left)

    def leave(self) -> None:
        """The thread's connection to the database goes with the scene."""
        connection.close()


def at_rest(job: Job) -> bool:
    """Whether no worker has the job any more."""
    job.refresh_from_db()
    return bool(job.is_over) or job.state == State.NEEDS_ATTENTION
