"""The rows a signed call names. The billing system may name any: its signature is the right."""

from __future__ import annotations

from panel.api.framework.problem import Problem
from panel.api.shapes import Json
from storage.models import Customer, Volume


def customer_of(said: Json) -> Customer:
    """By the billing system's name or by key; raises `Problem` (404)."""
    found = Customer.objects.filter(**_names(said, "customer")).first()
    if found is None:
        raise missing("customer", "Make it with create-customer first.")
    return found


def volume_of(said: Json) -> Volume:
    """One that was not destroyed, with its customer; raises `Problem` (404)."""
    found = Volume.objects.existing().select_related("customer", "cache_plan")
    volume = found.filter(**_names(said, "volume")).first()
    if volume is None:
        raise missing("volume", "Bind it with bind-volume first.")
    return volume


def missing(what: str, correction: str) -> Problem:
    """There is none of that name."""
    return Problem(404, "not_found", f"There is no such {what}.", correction)


def _names(said: Json, what: str) -> dict[str, str]:
    """The lookup: a key goes before an external id."""
    if key := said.get(what):
        return {"key": key}
    return {"external_id": said[f"{what}_external_id"]}
