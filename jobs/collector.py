"""One round of samples from the hosts of a shard, and one of their disks' health.

All hosts are asked at once on the SSH loop, each with its own offset within the interval, so that
500 of them do not answer in the same second; rows are written by the task's thread as answers come.
A host that fails costs the others nothing: the reason is kept on its record.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
from concurrent.futures import Future, as_completed
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.db.models import F, Q

from jobs import notify_workers
from jobs.hosts import contact
from jobs.models.media_check import follow_tests, hosts_with_tests
from jobs.transport import Destination, ask, connection
from jobs.transport.errors import AgentFailed, BadReply, TransportError
from jobs.transport.replies import Reply
from storage.database_clock import database_now
from storage.health import smart_records
from storage.host_data import BadHostData
from storage.metrics.counters import makeup_of
from storage.metrics.samples import record
from storage.models import Host

log = logging.getLogger(__name__)

SPREAD = 0.4
"""Offsets reach over this part of the interval; with a deadline of half of it, a round ends
before the next begins."""
DEADLINE = 0.5
DISKS_EVERY: Final = timedelta(minutes=45)
DISKS_AT_ONCE: Final = 64
"""Hosts of one round; the round after five minutes has the next ones."""
DISKS_DEADLINE_SECONDS: Final = 180.0
"""Above the agent's own limit for all disks together, below the pause between two rounds."""


@dataclass(frozen=True, slots=True)
class CollectionRound:
    """What one tick did."""

    sampled: int = 0
    failed: int = 0
    skipped: int = 0


_busy: set[int] = set()
_makeups: dict[int, str] = {}
_guard = threading.Lock()


def position(host: Host) -> int:
    """A number from the host's key that never changes: it gives its shard and its offset."""
    return int.from_bytes(hashlib.sha256(host.key.encode()).digest()[:4])


def collect(shard: int) -> CollectionRound:
    """Sample every active host of a shard, but those that a former round still waits for."""
    shards, interval = settings.TIERCEL_COLLECT_SHARDS, settings.TIERCEL_SAMPLE_SECONDS
    ours = [
        host
        for host in Host.objects.active().without_inventory()
        if position(host) % shards == shard
    ]
    free = [host for host in ours if _take(host)]
    hosts_by_call: dict[Future[Reply], Host] = {}
    for host in free:
        offset = position(host) // shards % 1000 / 1000 * SPREAD * interval
        hosts_by_call[
            connection.start(_sample(Destination.of(host), offset, DEADLINE * interval))
        ] = host
    done = 0
    for future in as_completed(hosts_by_call):
        host = hosts_by_call[future]
        try:
            done += _store(host, future)
        finally:
            _release(host)
    return CollectionRound(done, len(free) - done, len(ours) - len(free))


async def _sample(destination: Destination, offset_seconds: float, deadline: float) -> Reply:
    await asyncio.sleep(offset_seconds)
    return await ask(destination, {"verb": "sample"}, deadline_seconds=deadline)


def _store(host: Host, future: Future[Reply]) -> bool:
    """True when the host's counters became rows; nothing that one host does may end the round."""
    try:
        reply = future.result()
        if reply.error is not None:
            raise AgentFailed(host.name, reply.error)
        recorded = record(host, reply.data, reply.stamp, database_now())
        makeup = makeup_of(reply.data)
    except TransportError as error:
        contact.note_failure(host, error)
        return False
    except BadHostData as error:
        contact.note_failure(host, BadReply(host.name, str(error)))
        return False
    except Exception as error:
        log.exception("sample of host %s", host.name)
        contact.note_failure(host, BadReply(host.name, f"{type(error).__name__} in the panel"))
        return False
    contact.note_contact(host)
    is_changed = _is_changed(host, makeup)
    if recorded.unknown_lv_uuids or is_changed or _restarted(host, reply):
        notify_workers.host(host.pk)
    return True


def _is_changed(host: Host, makeup: str) -> bool:
    """Whether the host consists of something else than in its last sample: what that means, its
    inventory says. Nobody knows of a sample before this process began; the inventory is read every
    few minutes anyway."""
    before = _makeups.get(host.pk)
    _makeups[host.pk] = makeup
    return before is not None and before != makeup


def _restarted(host: Host, reply: Reply) -> bool:
    """The host was started anew since it last said what it is: caches, settings and volumes may
    not be back."""
    known = host.hello.get("boot_id")
    return bool(known) and reply.stamp.get("boot_id") != known


def _take(host: Host) -> bool:
    with _guard:
        if host.pk in _busy:
            return False
        _busy.add(host.pk)
        return True


def _release(host: Host) -> None:
    with _guard:
        _busy.discard(host.pk)


def collect_disks(shard: int) -> int:
    """Ask the disks of hosts that are due for their health; how many hosts answered. Apart from
    samples, which a slow disk must not delay: what becomes of it says nothing about the host."""
    due = Q(disk_round=None) | Q(disk_round__tried_at__lt=database_now() - DISKS_EVERY)
    due |= hosts_with_tests()
    waiting = (
        Host.objects.active()
        .without_inventory()
        .filter(due)
        .order_by(F("disk_round__tried_at").asc(nulls_first=True), "pk")
    )
    ours = [host for host in waiting if position(host) % settings.TIERCEL_COLLECT_SHARDS == shard]
    hosts_by_call: dict[Future[Reply], Host] = {
        connection.start(
            ask(Destination.of(host), {"verb": "smart"}, deadline_seconds=DISKS_DEADLINE_SECONDS)
        ): host
        for host in ours[:DISKS_AT_ONCE]
    }
    return sum(_store_disks(hosts_by_call[call], call) for call in as_completed(hosts_by_call))


def _store_disks(host: Host, call: Future[Reply]) -> bool:
    """Nothing that one host does may end the round."""
    try:
        reply = call.result()
        if reply.error is None:
            boot_id = str(reply.stamp.get("boot_id", ""))
            now = database_now()
            smart_records.record(host, reply.data, boot_id, now)
            follow_tests(host, now)
            return True
        why = reply.error.message
        if reply.error.code == "unknown_verb":
            why = "The agent is too old to read disks. Run a new enrolment command on the host."
    except (TransportError, BadHostData) as error:
        why = str(error)
    except Exception as error:
        log.exception("disks of host %s", host.name)
        why = f"{type(error).__name__} in the panel"
    smart_records.record_failure(host, why, database_now())
    return False
