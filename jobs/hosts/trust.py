"""Which machine is the host: the SSH host key that a person accepted, and quarantine.

Nothing is sent to a quarantined host until a person accepts a fingerprint again.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import logging

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import F, QuerySet

from jobs import notify_workers
from jobs.transport.errors import TransportError
from storage.models import Host
from storage.models.host import HostState
from storage.planner import Refused

log = logging.getLogger(__name__)


def fingerprint(openssh_key: str) -> str:
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
    waiting = {fingerprint(key): key for key in _acceptable(row)}
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
