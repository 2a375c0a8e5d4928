"""What contacts do to host records: trust, quarantine, and why the last contact failed."""

from __future__ import annotations

import base64
import binascii
import hashlib
import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import BooleanField, ExpressionWrapper, Q
from django.db.models.functions import Now

from jobs import notify_workers, transport
from jobs.transport import DEADLINE_SECONDS
from jobs.transport.errors import HostKeyChanged, NotActive, TransportError
from jobs.transport.replies import Reply
from storage.models import Host
from storage.models.host import HostState
from storage.planner import Refused

log = logging.getLogger(__name__)

CONTACT_FRESH = timedelta(seconds=5)


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
    given = fingerprint_seen.strip()
    if given not in waiting:
        raise Refused(
            "fingerprint_mismatch",
            f"{row} waits for {' or '.join(waiting)}, not for {given[:100]}.",
            "Read the fingerprint on the host's console: "
            "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub",
        )
    row.host_key, row.host_key_seen = waiting[given], ""
    row.state, row.error = HostState.ACTIVE, {}
    row.save(update_fields=["host_key", "host_key_seen", "state", "error"])
    log.info("host %s: %s accepted by %s", row.name, given, actor)
    host.refresh_from_db()
    notify_workers.host(host.pk)


def _acceptable(host: Host) -> list[str]:
    """The key that was seen and, in quarantine, the pinned one: what showed another may have been a
    rescue system, or a stranger at its address for a while."""
    pinned = host.host_key if host.state == HostState.QUARANTINED else ""
    return [key for key in (host.host_key_seen, pinned) if key]


def ask(
    host: Host,
    verb: str,
    args: Mapping[str, Any] | None = None,
    expect: Mapping[str, Any] | None = None,
    *,
    request_id: str | None = None,
    fence: int | None = None,
    panel: Mapping[str, Any] | None = None,
    deadline_seconds: float = DEADLINE_SECONDS,
) -> Reply:
    """`transport.call` for an active host; what comes of it is noted on the host's record."""
    is_known_well = must_be_active(host)
    try:
        reply = transport.call(
            host,
            verb,
            args,
            expect,
            request_id=request_id,
            fence=fence,
            panel=panel,
            deadline_seconds=deadline_seconds,
        )
    except TransportError as error:
        note_failure(host, error)
        raise
    if not is_known_well:
        note_contact(host)
    return reply


def dry_run(host: Host, steps: Sequence[Mapping[str, Any]]) -> Reply:
    """`transport.dry_run` with the same care."""
    must_be_active(host)
    try:
        reply = transport.dry_run(host, steps)
    except TransportError as error:
        note_failure(host, error)
        raise
    note_contact(host)
    return reply


def must_be_active(host: Host) -> bool:
    """Raise `NotActive` unless the host's key is pinned and nothing speaks against it now. Whether
    a good contact is on record that is a few seconds old at most: many jobs ask a host many times a
    second, and each note of it would wait for the other."""
    is_well = Q(error={}, last_seen_at__gt=Now() - CONTACT_FRESH)
    known_well = ExpressionWrapper(is_well, BooleanField())
    asked = Host.objects.annotate(known_well=known_well).values_list("state", "known_well")
    state, is_known_well = asked.get(pk=host.pk)
    if state != HostState.ACTIVE:
        raise NotActive(host.name, HostState(state).label)
    return bool(is_known_well)


def note_contact(host: Host) -> None:
    """It answered: whatever was wrong with reaching it is over."""
    Host.objects.filter(pk=host.pk).update(last_seen_at=Now(), error={})


def note_failure(host: Host, error: TransportError) -> None:
    """Keep the reason; a changed key quarantines the host at once."""
    changes: dict[str, Any] = {"error": error.to_json()}
    if isinstance(error, HostKeyChanged):
        changes |= {"state": HostState.QUARANTINED, "host_key_seen": error.seen_key}
        log.warning("host %s is quarantined: %s", host.name, error)
    # The key it was judged by: after a person accepted another one, a late failure is void.
    Host.objects.filter(pk=host.pk, host_key=host.host_key, state=HostState.ACTIVE).update(
        **changes
    )
