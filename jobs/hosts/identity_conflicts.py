"""Two hosts that claim to be the same: a cloned machine, or a volume group that two of them see;
and a host that another machine claims to be.

Each of the two would undo or destroy what the other did to a volume, and only a person can tell
which one is real. So both are quarantined, and nothing that they report is recorded.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from jobs.hosts.trust import quarantine
from jobs.transport.errors import IdentityConflict, MachineChanged
from storage.agent.calls.names import quoted
from storage.models import Host, Placement
from storage.models.host import HostState


def check_machine(host: Host, machine_id: object) -> None:
    """`machine_id` as the host has just reported it. Raises `IdentityConflict` where another host
    has the same id, and `MachineChanged` where this is not the id accepted for the host: machines
    made from one template may share an SSH key. A host that reports no id is not the accepted
    one."""
    reported = machine_id if isinstance(machine_id, str) else ""
    if reported == host.machine_id:
        return
    if reported:
        others = Host.objects.active().exclude(pk=host.pk).filter(machine_id=reported)
        _quarantine_both(host, others, f"the machine id {reported:.32}")
    # An enrolment command may have told the panel meanwhile.
    accepted = Host.objects.values_list("machine_id", flat=True).get(pk=host.pk)
    if accepted and reported != accepted:
        # A person accepts the right machine by its key, or the new id by an enrolment command.
        changed = MachineChanged(host.name, accepted, quoted(f"{reported:.40}"))
        quarantine(Host.objects.filter(pk=host.pk), changed)
        raise changed


def check_groups(host: Host, inventory: dict[str, Any]) -> None:
    """`inventory` as the host has just reported it, before it is recorded. Raises
    `IdentityConflict` where another host has volumes in one of its groups. Only groups that root
    lets the panel change count: a guest may have written what else LVM finds there, and guests
    made from one template are alike."""
    vgs = inventory.get("vgs")
    named = {
        vg["uuid"]: vg.get("name")
        for vg in (vgs if isinstance(vgs, list) else ())
        if isinstance(vg, dict) and isinstance(vg.get("uuid"), str) and vg.get("allowed") is True
    }
    is_current = Q(until=None, missing_since=None, host__state=HostState.ACTIVE)
    placed = Placement.objects.filter(is_current, vg_uuid__in=named)
    others = placed.exclude(host=host).values_list("host_id", "vg_uuid")
    group_of_host = dict(others.order_by("host_id").distinct())
    if group_of_host:
        name = named[next(iter(group_of_host.values()))]
        what = f"the volume group {name!s:.80}"
        _quarantine_both(host, Host.objects.filter(pk__in=group_of_host), what)


def _quarantine_both(host: Host, others: QuerySet[Host], what: str) -> None:
    """Quarantine both sides; a person lets each in again by its fingerprint."""
    with transaction.atomic():
        names = list(others.order_by("name").values_list("name", flat=True))
        if not names:
            return
        conflict = IdentityConflict(host.name, ", ".join(names), what)
        quarantine(Host.objects.filter(pk=host.pk), conflict)
        for name in names:
            quarantine(Host.objects.filter(name=name), IdentityConflict(name, host.name, what))
    raise conflict
