"""Who requested a job or a change to it, and through which channel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from jobs.models import Door, Job


@dataclass(frozen=True, slots=True)
class Asker:
    """`token` is the public part of an API token's name, `address` where the request came from."""

    actor: AbstractBaseUser | None
    address: str | None
    door: Door = Door.PAGE
    token: str = ""

    @property
    def name(self) -> str:
        """What lines of output and explanations call this one."""
        return str(self.actor) if self.actor is not None else "somebody"


def cancelled(asker: Asker | None) -> str:
    """How an explanation of the job's end begins."""
    return f"cancelled by {asker.name}" if asker is not None else "cancelled"


def ordered(asker: Asker | None) -> dict[str, Any]:
    """The fields of a job that say that this one ordered it last; none where Tiercel itself did,
    which keeps whom the job has."""
    if asker is None:
        return {}
    return {
        "last_actor": asker.actor,
        "last_address": asker.address,
        "last_door": asker.door,
        "last_token": asker.token,
    }


def later(job: Job) -> Asker | None:
    """Who ordered the job last, after whoever asked for it; None where nobody did.

    Read anew: a person may order something while a worker holds the job."""
    now = Job.objects.select_related("last_actor").get(pk=job.pk)
    if not now.last_door:
        return None
    return Asker(now.last_actor, now.last_address, Door(now.last_door), now.last_token)


def orderer(job: Job) -> Asker:
    """Whose word the job follows now: the last one's, or that of whoever asked for it."""
    return later(job) or Asker(job.actor, job.address, Door(job.door), job.token)
