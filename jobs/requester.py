"""Who requested a job or a change to it, and through which channel."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Final

from django.contrib.auth.models import AbstractBaseUser

from jobs.models import Job, Origin
from storage.compiled_query import CompiledQuery
from storage.request_id import current_request_id

UNKNOWN_REQUESTER: Final = "an unknown user"
"""Such as one whose account was deleted."""


@dataclass(frozen=True, slots=True)
class Requester:
    """`token` is the public part of an API token's name, `address` where the request came from,
    `request_id` its name."""

    actor: AbstractBaseUser | None
    address: str | None = None
    origin: Origin = Origin.PAGE
    token: str = ""
    request_id: str = field(default_factory=current_request_id)

    @property
    def name(self) -> str:
        """As lines of output and explanations name the requester."""
        return str(self.actor) if self.actor is not None else UNKNOWN_REQUESTER


def cancelled_by(requester: Requester | None) -> str:
    """The beginning of the explanation of a cancelled job."""
    return f"cancelled by {requester.name}" if requester is not None else "cancelled"


def job_fields(requester: Requester) -> dict[str, Any]:
    """The fields of a new job that record its requester."""
    return {each.name: getattr(requester, each.name) for each in fields(requester)}


def requester_fields(requester: Requester | None) -> dict[str, Any]:
    """The fields of a job that record its last requester; none where Tiercel itself acts, so that
    the job keeps its last one."""
    if requester is None:
        return {}
    return {f"last_{name}": value for name, value in job_fields(requester).items()}


_LAST_ORIGIN = CompiledQuery(Job, lambda job_id: Job.objects.filter(pk=job_id).only("last_origin"))


def last_requester(job: Job) -> Requester | None:
    """The author of the last order after the request for the job; None where there was none.

    Read again: a person may order something while a worker holds the job."""
    if not _LAST_ORIGIN.get(job.pk).last_origin:
        return None
    fresh = Job.objects.select_related("last_actor").get(pk=job.pk)
    return Requester(
        fresh.last_actor,
        fresh.last_address,
        Origin(fresh.last_origin),
        fresh.last_token,
        fresh.last_request_id,
    )


def current_requester(job: Job) -> Requester:
    """Whose order the job follows now: the last one, or the original request."""
    return last_requester(job) or Requester(
        job.actor, job.address, Origin(job.origin), job.token, job.request_id
    )
