"""Faults of a host's kernel that an administrator lives with: accepted with a reason, for one host
and one fault, and taken back. The host's history records both."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from storage.inventory.facts import HostFacts
from storage.models import Host
from storage.planner.draft import Refused
from storage.planner.kernel_faults import BY_CODE, EFFECTS, PresentFault, faults_of

REASON_LIMIT: Final = 200


@dataclass(frozen=True, slots=True)
class HostFault:
    """A fault that a host has or may have, and who accepted it (None: not accepted)."""

    present: PresentFault
    accepted: dict[str, Any] | None

    @property
    def effect(self) -> str:
        return EFFECTS[self.present.fault.effect]

    @property
    def is_refusing(self) -> bool:
        """Whether it refuses plans now."""
        return self.present.fault.is_refused and self.accepted is None


def faults_with_decisions(host: Host, facts: HostFacts) -> tuple[HostFault, ...]:
    """All that the host has or may have, what refuses first."""
    made = (HostFault(present, _decision(host, present)) for present in faults_of(facts))
    return tuple(
        sorted(made, key=lambda each: (not each.present.fault.is_refused, not each.present.is_sure))
    )


def _decision(host: Host, present: PresentFault) -> dict[str, Any] | None:
    kept: dict[str, Any] | None = host.accepted_faults.get(present.fault.code)
    return kept


@transaction.atomic
def accept_fault(host: Host, code: str, who: str, reason: str, now: datetime) -> None:
    """From now on the fault refuses no plan of this host. Raises `Refused` for a fault that never
    refuses one, or is in no table."""
    fault = BY_CODE.get(code)
    if fault is None or not fault.is_refused:
        raise Refused(
            "not_found",
            "This fault refuses nothing, so there is nothing to accept.",
            "Take a fault that the host's page shows as refusing.",
        )
    kept = _locked(host)
    kept[code] = {"at": now.isoformat(), "by": who, "reason": reason[:REASON_LIMIT]}
    _keep(host, kept)


@transaction.atomic
def revoke_acceptance(host: Host, code: str) -> None:
    """The fault refuses plans again; jobs that have begun go on. Raises `Refused` where it is not
    accepted."""
    kept = _locked(host)
    if kept.pop(code, None) is None:
        raise Refused(
            "not_found", "This fault is not accepted on this host.", "Reload the host's page."
        )
    _keep(host, kept)


def _locked(host: Host) -> dict[str, Any]:
    rows = Host.objects.select_for_update(no_key=True)
    kept: dict[str, Any] = rows.values_list("accepted_faults", flat=True).get(pk=host.pk)
    return kept


def _keep(host: Host, kept: dict[str, Any]) -> None:
    host.accepted_faults = kept
    host.save(update_fields=["accepted_faults"])
