"""Who makes a signed call, what it returns, and the customer and volume it names. The billing
system may name any: its signature gives it the right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from panel.api.framework.bodies import Body
from panel.api.framework.problem import ApiProblem
from panel.api.framework.shape import Json
from storage.models import Customer, Volume

ACTOR = "billing"
"""The name of the caller in histories and the audit trail."""


@dataclass(frozen=True, slots=True)
class Caller:
    """`name` is the call's webhook-id, `address` where it came from."""

    name: str
    address: str | None


@dataclass(frozen=True, slots=True)
class CallResult:
    """`is_pending`: what it began is not over; `status` tells when it is."""

    body: Json = field(default_factory=dict)
    is_pending: bool = False

    @property
    def status(self) -> int:
        """The HTTP status."""
        return 202 if self.is_pending else 200

    def to_json(self) -> Json:
        """The body."""
        return {"result": "pending" if self.is_pending else "success", **self.body}


@dataclass(frozen=True, slots=True)
class CallDefinition:
    """`act` runs in one transaction. A call that `only_reads` is executed each time; one that
    `tells_once` gives out a secret, which is not kept for a second answer."""

    name: str
    summary: str
    body: type[Body]
    act: Callable[[Json, Caller], CallResult]
    only_reads: bool = False
    tells_once: bool = False


def customer_of(body: Json) -> Customer:
    """By the billing system's name or by key; raises `ApiProblem` (404)."""
    customer = Customer.objects.filter(**_names(body, "customer")).first()
    if customer is None:
        raise missing("customer", "First create it with create-customer.")
    return customer


def volume_of(body: Json) -> Volume:
    """One that was not destroyed, with its customer; raises `ApiProblem` (404)."""
    volumes = Volume.objects.existing().select_related("customer", "cache_plan")
    volume = volumes.filter(**_names(body, "volume")).first()
    if volume is None:
        raise missing("volume", "First bind it with bind-volume.")
    return volume


def missing(what: str, correction: str) -> ApiProblem:
    """There is none of that name."""
    return ApiProblem(404, "not_found", f"There is no such {what}.", correction)


def _names(body: Json, what: str) -> dict[str, str]:
    """The lookup: a key goes before an external id."""
    if key := body.get(what):
        return {"key": key}
    return {"external_id": body[f"{what}_external_id"]}
