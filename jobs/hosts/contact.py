"""Requests to an active host; the host's record stores its last answer, or why it did not
answer."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.db.models.functions import Now

from jobs import transport
from jobs.hosts.trust import quarantine
from jobs.transport import DEADLINE_SECONDS
from jobs.transport.errors import (
    AnswerTimeout,
    HostKeyChanged,
    NotActive,
    TransportError,
)
from jobs.transport.key_encryption import CannotUnseal
from jobs.transport.replies import Reply
from storage.compiled_query import CompiledQuery
from storage.models import Host
from storage.models.host import HostState, silent_seconds

log = logging.getLogger(__name__)

CONTACT_FRESH = timedelta(seconds=5)
UNSURE = (AnswerTimeout.code, "timeout", CannotUnseal.code)
"""No answer in time, a command of the agent that took too long, a process without keys."""


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
    """`transport.call` for an active host; the result is noted on the host's record."""
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
    """`transport.dry_run` for an active host, noted likewise."""
    must_be_active(host)
    try:
        reply = transport.dry_run(host, steps)
    except TransportError as error:
        note_failure(host, error)
        raise
    note_contact(host)
    return reply


def _contact(host_id: int) -> QuerySet[Host]:
    is_well = Q(error={}, last_seen_at__gt=Now() - CONTACT_FRESH)
    known_well = ExpressionWrapper(is_well, BooleanField())
    return Host.objects.filter(pk=host_id).annotate(known_well=known_well).only("state")


_CONTACT = CompiledQuery(Host, _contact)


def must_be_active(host: Host) -> bool:
    """Raise `NotActive` unless the host's key is pinned and nothing speaks against it now. Whether
    a good contact is on record that is a few seconds old at most: many jobs ask a host many times a
    second, and each note of it would wait for the other."""
    contact: Any = _CONTACT.get(host.pk)  # what is annotated, no type knows
    if contact.state != HostState.ACTIVE:
        raise NotActive(host.name, HostState(contact.state).label)
    return bool(contact.known_well)


def note_contact(host: Host) -> None:
    """Record that the host answered, and clear its contact error."""
    Host.objects.filter(pk=host.pk).update(last_seen_at=Now(), error={})


def note_contacts(hosts: Sequence[Host]) -> None:
    """The same for many hosts at once."""
    # In a fixed order: two of these at a time would otherwise deadlock.
    with transaction.atomic():
        rows = Host.objects.filter(pk__in=[host.pk for host in hosts])
        keys = list(rows.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
        Host.objects.filter(pk__in=keys).update(last_seen_at=Now(), error={})


def note_failure(host: Host, error: TransportError) -> None:
    """Record the error; a changed key quarantines the host at once. What is `UNSURE` says nothing
    of a host that another contact hears: an inventory that stays unread is a problem of its own
    (`jobs.problems`)."""
    # Compare with the key of this contact: a late failure is void once a person accepted another.
    judged = Host.objects.filter(pk=host.pk, host_key=host.host_key, state=HostState.ACTIVE)
    if error.code in UNSURE:
        judged = judged.exclude(last_seen_at__gt=Now() - timedelta(seconds=silent_seconds()))
    if isinstance(error, HostKeyChanged):
        quarantine(judged, error, error.seen_key)
    else:
        judged.update(error=error.to_json())
