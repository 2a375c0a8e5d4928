"""One round of samples from the hosts of a shard, and one of their disks' health.

All hosts are asked at once on the SSH loop, each with its own offset within the interval, so that
500 of them do not answer in the same second; the task's thread writes the rows of those that
answered within a moment together, which costs little more than those of one. A host that fails
costs the others nothing: the reason is kept on its record.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from queue import SimpleQueue
from typing import Any, Final

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.db import connection as database
from django.db.models import F, Q

from jobs import notify_workers
from jobs.hosts import contact
from jobs.models.media_check import follow_tests, hosts_with_tests
from jobs.transport import Destination, ask, connection
from jobs.transport.errors import AgentFailed, BadReply, TransportError
from jobs.transport.replies import Reply
from storage.agent.wire.reading_verbs import WATCH
from storage.database_clock import database_now
from storage.health import smart_records
from storage.host_data import BadHostData
from storage.metrics import close_watch
from storage.metrics.samples import HostRound, Recorded, record_all, record_sample
from storage.models import Host

log = logging.getLogger(__name__)

SPREAD = 0.4
"""Offsets reach over this part of the interval; with a deadline of half of it, a round ends
before the next begins."""
DEADLINE = 0.5
TOGETHER_SECONDS: Final = 0.25
"""So long those that answer are waited for, to be stored together."""
MOST_TOGETHER: Final = 64
DISKS_EVERY: Final = timedelta(minutes=45)
DISKS_AT_ONCE: Final = 64
"""Hosts of one round; the round after five minutes has the next ones."""
INVENTORY_LATE: Final = timedelta(minutes=6)
"""An inventory is read every five minutes: an older one was not answered."""
DISKS_DEADLINE_SECONDS: Final = 180.0
"""Above the agent's own limit for all disks together, below the pause between two rounds."""


@dataclass(frozen=True, slots=True)
class CollectionRound:
    """What one tick did."""

    sampled: int = 0
    failed: int = 0
    skipped: int = 0


_busy: set[int] = set()
_busy_watched: set[int] = set()
_inventory_digests: dict[int, str] = {}
_guard = threading.Lock()


def position(host: Host) -> int:
    """A number from the host's key that never changes: it gives its shard and its offset."""
    return int.from_bytes(hashlib.sha256(host.key.encode()).digest()[:4])


def collect(shard: int) -> CollectionRound:
    """Sample every active host of a shard, but those whose answer a former round still awaits. A
    host that has answered is asked by the next round also while its rows wait for PostgreSQL: that
    is this task's thread alone, and at most as many rounds wait as the collector has threads."""
    shards, interval = settings.TIERCEL_COLLECT_SHARDS, settings.TIERCEL_SAMPLE_SECONDS
    ours = [
        host
        for host in Host.objects.active().without_inventory()
        if position(host) % shards == shard
    ]
    hosts_by_call: dict[Future[Reply], Host] = {}
    for host in ours:
        offset = position(host) // shards % 1000 / 1000 * SPREAD * interval
        sample = partial(_sample, Destination.of(host), offset, DEADLINE * interval)
        call = _asked(host, sample, _busy)
        if call is not None:
            hosts_by_call[call] = host
    # Where the database goes away the round ends with it: the next one asks all hosts again.
    done = sum(_store(answers) for answers in _together(hosts_by_call))
    asked = len(hosts_by_call)
    return CollectionRound(done, asked - done, len(ours) - asked)


def collect_watched(shard: int) -> CollectionRound:
    """Sample the volumes of a shard that are watched closely, and nothing else of their hosts. A
    host without one is not asked, and one whose last answer is still awaited is left out; a whole
    round of it that is under way is no reason to wait."""
    shards = settings.TIERCEL_COLLECT_SHARDS
    uuids_by_host = close_watch.watched(database_now())
    ours = [
        host
        for host in Host.objects.without_inventory().filter(pk__in=uuids_by_host)
        if position(host) % shards == shard
    ]
    deadline = DEADLINE * close_watch.EVERY.total_seconds()
    hosts_by_call: dict[Future[Reply], Host] = {}
    for host in ours:
        watch = partial(_watch, Destination.of(host), uuids_by_host[host.pk], deadline)
        call = _asked(host, watch, _busy_watched)
        if call is not None:
            hosts_by_call[call] = host
    done = sum(_store_watched(hosts_by_call[call], call) for call in as_completed(hosts_by_call))
    asked = len(hosts_by_call)
    return CollectionRound(done, asked - done, len(ours) - asked)


def _asked(
    host: Host, question: Callable[[], Coroutine[Any, Any, Reply]], busy: set[int]
) -> Future[Reply] | None:
    """Its answer, which comes later; None where one is awaited already."""
    if not _take(host, busy):
        return None
    try:
        call = connection.start_on_loop(question())
    except BaseException:
        _release(host, busy)
        raise
    call.add_done_callback(lambda _call: _release(host, busy))
    return call


async def _watch(destination: Destination, lv_uuids: list[str], deadline: float) -> Reply:
    args = {"lv_uuids": lv_uuids, "every_seconds": 1, "count": 1}
    request = {"verb": WATCH, "args": args}
    return await ask(destination, request, deadline_seconds=deadline)


def _store_watched(host: Host, future: Future[Reply]) -> bool:
    """What is wrong with a host, its next whole round says: an agent too old for this stays as it
    is."""
    try:
        reply = future.result()
        if reply.error is not None:
            log.info("watch of host %s: %s", host.name, reply.error.message)
            return False
        record_sample(host, reply.data, reply.stamp, database_now(), is_whole=False)
    except (TransportError, BadHostData) as error:
        log.info("watch of host %s: %s", host.name, error)
        return False
    except Exception:
        log.exception("watch of host %s", host.name)
        return False
    return True


async def _sample(destination: Destination, offset_seconds: float, deadline: float) -> Reply:
    await asyncio.sleep(offset_seconds)
    return await ask(destination, {"verb": "sample"}, deadline_seconds=deadline)


@dataclass(frozen=True, slots=True)
class _Answer:
    """`at` is when it came, by the monotonic clock."""

    host: Host
    call: Future[Reply]
    at: float

    def reply(self) -> Reply:
        """Raises `TransportError`."""
        reply = self.call.result()
        if reply.error is not None:
            raise AgentFailed(self.host.name, reply.error)
        return reply


def _together(hosts_by_call: Mapping[Future[Reply], Host]) -> Iterator[list[_Answer]]:
    """All calls as they end, those that end within a moment together."""
    ended: SimpleQueue[_Answer] = SimpleQueue()

    def note(call: Future[Reply]) -> None:
        ended.put(_Answer(hosts_by_call[call], call, time.monotonic()))

    for call in hosts_by_call:
        call.add_done_callback(note)
    left = len(hosts_by_call)
    while left:
        answers = [ended.get()]
        if left > 1:
            time.sleep(TOGETHER_SECONDS)
        while len(answers) < MOST_TOGETHER and not ended.empty():
            answers.append(ended.get())
        left -= len(answers)
        yield answers


def _store(answers: Sequence[_Answer]) -> int:
    """How many hosts' counters became rows; nothing that one host does may end the round."""
    replies: dict[int, Reply] = {}
    rounds = []
    now, clock = database_now(), time.monotonic()
    for answer in answers:
        try:
            reply = answer.reply()
        except TransportError as error:
            contact.note_failure(answer.host, error)
            continue
        except Exception as error:
            log.exception("sample of host %s", answer.host.name)
            contact.note_failure(answer.host, _of_panel(answer.host, error))
            continue
        replies[answer.host.pk] = reply
        at = now - timedelta(seconds=clock - answer.at)
        rounds.append(HostRound(answer.host, reply.data, reply.stamp, at))
    stored: list[Host] = []
    for given, recorded in zip(rounds, _recorded(rounds), strict=True):
        host = given.host
        if isinstance(recorded, Recorded):
            stored.append(host)
            is_late = _note_change(host, recorded.inventory_digest, now) or _is_late(host, now)
            if recorded.unknown_lv_uuids or is_late or _restarted(host, replies[host.pk]):
                notify_workers.host(host.pk)
        elif isinstance(recorded, BadHostData):
            contact.note_failure(host, BadReply(host.name, str(recorded)))
        else:
            contact.note_failure(host, _of_panel(host, recorded))
    contact.note_contacts(stored)
    return len(stored)


def _of_panel(host: Host, error: Exception) -> BadReply:
    """The record of an unexpected error on its host; the log has the details."""
    return BadReply(host.name, f"{type(error).__name__} in the panel")


def _recorded(rounds: Sequence[HostRound]) -> list[Recorded | Exception]:
    """What became of each round. Where they cannot be stored together each is stored alone, and
    only what is wrong with one is missing."""
    try:
        return list(record_all(rounds))
    except Exception as error:
        if _is_away(error):
            raise
        log.exception("samples of %d hosts", len(rounds))
    return [_recorded_alone(each) for each in rounds]


def _recorded_alone(given: HostRound) -> Recorded | Exception:
    try:
        [recorded] = record_all([given])
    except Exception as error:
        if _is_away(error):
            raise
        log.exception("sample of host %s", given.host.name)
        return error
    return recorded


def _is_away(error: Exception) -> bool:
    """A deadlock or a time-out is the trouble of these rows, a lost database that of all."""
    return isinstance(error, OperationalError | InterfaceError) and not database.is_usable()


def _note_change(host: Host, inventory_digest: str, now: datetime) -> bool:
    """Whether the host's parts differ from its last sample, which is noted; its inventory says how.
    Samples from before this process are unknown."""
    before = _inventory_digests.get(host.pk)
    _inventory_digests[host.pk] = inventory_digest
    is_changed = before is not None and before != inventory_digest
    if is_changed:
        Host.objects.filter(pk=host.pk).update(parts_changed_at=now)
    return is_changed


def _is_late(host: Host, now: datetime) -> bool:
    """Whether no inventory was read since the host's parts changed, or for long: a failing disk
    makes LVM's reports late, so each round asks again."""
    if host.facts_at is None:
        return False
    return host.facts_at < max(host.parts_changed_at or host.facts_at, now - INVENTORY_LATE)


def _restarted(host: Host, reply: Reply) -> bool:
    """Whether the host has rebooted since its last hello: caches, settings and volumes may be
    missing."""
    known = host.hello.get("boot_id")
    return bool(known) and reply.stamp.get("boot_id") != known


def _take(host: Host, busy: set[int]) -> bool:
    with _guard:
        if host.pk in busy:
            return False
        busy.add(host.pk)
        return True


def _release(host: Host, busy: set[int]) -> None:
    with _guard:
        busy.discard(host.pk)


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
        connection.start_on_loop(
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
            smart_records.record_smart(host, reply.data, boot_id, now)
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
