"""Which machine is the host: the SSH host key that a person accepted, and quarantine.

Nothing is sent to a quarantined host until a person accepts a fingerprint again. Two hosts that
claim to be the same (a cloned machine, or a volume group that both see) are both quarantined, and
nothing that they report is recorded: each would undo what the other did to a volume, and only a
person can tell which one is real.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import logging
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import F, Q, QuerySet

from jobs import notify_workers
from jobs.transport.errors import IdentityConflict, MachineChanged, TransportError
from storage.agent.calls.names import quoted
from storage.models import Host, Placement
from storage.models.host import HostState
from storage.planner import Refused

log = logging.getLogger(__name__)


def key_fingerprint(openssh_key: str) -> str:
    """`SHA256:…` of a public key line, as `ssh-keygen -l` prints it; ValueError otherwise."""
    words = openssh_key.split()
    try:
        blob = base64.b64decode(words[1], validate=True)
    except (IndexError, binascii.Error) as error:
        raise ValueError("not an OpenSSH public key") from error
    digest = base64.b64encode(hashlib.sha256(blob).digest()).decode()
    return f"SHA256:{digest.rstrip('=')}"


@transaction.atomic
def accept_fingerprint(host: Host, fingerprint_seen: str, actor: AbstractBaseUser | None) -> None:
    """Pin the key whose fingerprint a person found on the host's console: the one that the host
    showed or, in quarantine, the one that is pinned already.

    Raises `Refused` where it is the fingerprint of neither. Nothing is asked here: every connection
    proves the pinned key before a request is sent, and a host that still shows another one is
    quarantined again by the contact that this asks for.
    """
    row = Host.objects.select_for_update(no_key=True).get(pk=host.pk)
    waiting = {key_fingerprint(key): key for key in _acceptable(row)}
    if not waiting:
        raise Refused(
            "not_found",
            f"{row} has no key to accept.",
            "First run the enrolment command on the host.",
        )
    typed = fingerprint_seen.strip()
    if typed not in waiting:
        raise Refused(
            "fingerprint_mismatch",
            f"{row} waits for {' or '.join(waiting)}, not for {typed[:100]}.",
            "Read the fingerprint on the host's console: "
            "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub",
        )
    row.host_key, row.host_key_seen = waiting[typed], ""
    row.state, row.error = HostState.ACTIVE, {}
    row.save(update_fields=["host_key", "host_key_seen", "state", "error"])
    log.info("host %s: %s accepted by %s", row.name, typed, actor)
    host.refresh_from_db()
    notify_workers.host(host.pk)


def _acceptable(host: Host) -> list[str]:
    """The key that was seen and, in quarantine, the pinned one: what showed another may have been a
    rescue system, or a stranger at its address for a while."""
    pinned = host.host_key if host.state == HostState.QUARANTINED else ""
    return [key for key in (host.host_key_seen, pinned) if key]


def quarantine(hosts: QuerySet[Host], error: TransportError, seen_key: str | None = None) -> None:
    """Send nothing more to those of `hosts` that are active. `seen_key` is the key that was shown
    instead of the accepted one; None where the accepted key was shown."""
    hosts.filter(state=HostState.ACTIVE).update(
        state=HostState.QUARANTINED,
        host_key_seen=F("host_key") if seen_key is None else seen_key,
        error=error.to_json(),
    )
    log.warning("quarantined: %s", error)


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
    # An enrolment command may have updated the record meanwhile.
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
