"""Requests that end in a job of a volume."""

from __future__ import annotations

from datetime import datetime

from jobs.models import Job, Kind
from jobs.queue.job_windows import HOSTS, Chosen
from jobs.queue.submit import ChangeRequest, submit
from panel.api.jobs.job_work import JobWork
from panel.api.volumes.volume_resource import VolumeResource
from panel.models import Scope
from storage.models import Volume
from storage.planner.wish import Wish


class VolumeJob(JobWork, VolumeResource):
    """What a job is to do with a volume."""

    preview_scope = Scope.PREVIEW

    def submitted(
        self,
        volume: Volume,
        kind: Kind,
        wish: Wish,
        not_before: datetime | None = None,
        window: Chosen = HOSTS,
    ) -> Job:
        """The job, or its preview."""
        later = None if self.is_dry else not_before
        change = ChangeRequest(
            kind, volume, wish, dry_run=self.is_dry, not_before=later, window=window
        )
        return submit(change, self.requester)
