"""Reads the present inventory of a job's host.

Callers of this process who want an inventory of the same host share one request. A caller gets an
inventory that was begun after the call, never one that was already in progress, so it contains the
effect of the caller's last step. Many jobs on one host cost it some inventories a second, not one
each.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import msgspec
from django.db import transaction
from django.db.models import Q, QuerySet

from jobs import failpoints
from jobs.hosts import contact
from jobs.hosts.trust import check_groups, check_machine
from jobs.models import Job
from jobs.transport.errors import AgentFailed, BadReply, TransportError
from storage.compiled_query import CompiledQuery
from storage.database_clock import database_now
from storage.discovery.ingest import apply_facts, rows_digest, still
from storage.host_data import BadHostData
from storage.inventory.facts import HostFacts
from storage.models import Host, Placement

PATIENCE_SECONDS = 10.0
"""How long a caller waits for others before reading itself: a lease outlasts that and a call."""

GATHER_SECONDS = 0.1
"""Between the beginnings of two readings of a host for which others waited: so long the second one
gathers callers."""

Read = Callable[[], HostFacts]


class Flight:
    """One reading: who `led` it has set `facts` or `error` once it is `over`; neither of them where
    it came to no answer of the host's. `began` is a time of this process's monotonic clock."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.began = time.monotonic()
        self.facts: HostFacts | None = None
        self.error: TransportError | None = None


class SingleFlight:
    """By host: the round that is under way, and the one that begins after it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._now: dict[int, Flight] = {}
        self._next: dict[int, Flight] = {}

    def read(self, host_id: int, read: Read) -> HostFacts:
        """What `read` gives, called now by this thread or by another one in its place. Raises what
        it raises."""
        with self._guard:
            mine = self._next.get(host_id)
            before = self._now.get(host_id)
            leads = mine is None
            if mine is None:
                mine = Flight()
                (self._next if before is not None else self._now)[host_id] = mine
        if leads:
            return self._lead(host_id, mine, before, read)
        # Its leader may first wait as long for the round before, and only then reads.
        mine.over.wait(2 * PATIENCE_SECONDS)
        if mine.error is not None:
            raise mine.error
        return mine.facts if mine.facts is not None else read()

    def _lead(self, host_id: int, mine: Flight, before: Flight | None, read: Read) -> HostFacts:
        try:
            if before is not None:
                before.over.wait(PATIENCE_SECONDS)
                time.sleep(max(0.0, before.began + GATHER_SECONDS - time.monotonic()))
                with self._guard:
                    # From here on no other caller joins.
                    del self._next[host_id]
                    self._now[host_id] = mine
                mine.began = time.monotonic()
            mine.facts = read()
            return mine.facts
        except TransportError as error:
            mine.error = error
            raise
        finally:
            with self._guard:
                for rounds in (self._now, self._next):
                    if rounds.get(host_id) is mine:
                        del rounds[host_id]
            mine.over.set()


HOSTS_LIMIT = 32
"""How many hosts' last inventories a process keeps in memory."""


@dataclass(frozen=True, slots=True)
class RecordedInventory:
    """An inventory that was recorded `at`; `rows` is the digest of the records it left."""

    digest: bytes
    facts: HostFacts
    at: datetime
    rows: str


_readings = SingleFlight()
_seen: OrderedDict[int, RecordedInventory] = OrderedDict()
_guard = threading.Lock()


def read_facts(host: Host) -> HostFacts:
    """Ask for an inventory and store it; raises `TransportError`."""
    return _readings.read(host.pk, lambda: _read(host))


def _read(host: Host) -> HostFacts:
    at = database_now()
    failpoints.reach("read.before")
    reply = contact.ask(host, "inventory")
    failpoints.reach("read.after")
    if reply.error is not None:
        raise AgentFailed(host.name, reply.error)
    try:
        return _recorded(host, reply.data, at)
    except BadHostData as error:
        raise BadReply(host.name, str(error)) from None


def _recorded(host: Host, data: dict[str, Any], at: datetime) -> HostFacts:
    """The facts, in the records too. What is said again, over records that are as the last time
    left them, is neither decoded nor recorded again: the same facts would find nothing to change
    in them."""
    digest = hashlib.blake2b(msgspec.json.encode(data)).digest()
    with _guard:
        seen = _seen.get(host.pk)
    same = seen if seen is not None and seen.digest == digest else None
    if same is not None and still(host.pk, same.facts, same.rows, same.at, at):
        _keep(host, replace(same, at=at))
        return same.facts
    if same is None:
        if "machine_id" in data:  # an older agent says it in hello alone
            check_machine(host, data["machine_id"])
        check_groups(host, data)
    # One transaction, which has the host's row: what others change of these records comes after.
    with transaction.atomic():
        facts = apply_facts(host, data, at, (same.facts, same.at) if same is not None else None)
        rows = rows_digest(host.pk, facts)
    _keep(host, RecordedInventory(digest, facts, at, rows))
    return facts


def record_again(host: Host) -> None:
    """Apply the last inventory again after the records were changed to match it, so that everything
    derived from both is current and the next job need not wait for it."""
    with _guard:
        seen = _seen.get(host.pk)
    if seen is None:
        return
    with transaction.atomic():
        apply_facts(host, {}, seen.at, (seen.facts, seen.at))
        rows = rows_digest(host.pk, seen.facts)
    with _guard:
        if _seen.get(host.pk) is seen:
            _seen[host.pk] = replace(seen, rows=rows)


def _keep(host: Host, seen: RecordedInventory) -> None:
    with _guard:
        _seen[host.pk] = seen
        _seen.move_to_end(host.pk)
        if len(_seen) > HOSTS_LIMIT:
            _seen.popitem(last=False)


def _placement(volume_id: int, host_id: int) -> QuerySet[Placement]:
    there = Q(volume=volume_id, host=host_id, until=None)
    return Placement.objects.select_related("volume").filter(there)


_PLACEMENT = CompiledQuery(Placement, _placement, keys=2)


def placement_of(job: Job) -> Placement:
    """The volume's placement, by the facts just read."""
    return _PLACEMENT.get(job.volume_id, job.host_id)
