"""Reads what disks say of their own health, from the hosts of a shard that are due.

Apart from samples, which a slow disk must not delay: a reading has a channel of its own, and what
becomes of it says nothing about the host.
"""

from __future__ import annotations

import logging
from concurrent.futures import Future, as_completed
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.db.models import F, Q

from jobs.collector import position
from jobs.hosts import media_progress
from jobs.transport import Destination, ask, connection
from jobs.transport.errors import TransportError
from jobs.transport.replies import Reply
from storage.database_clock import database_now
from storage.health import smart_records
from storage.host_data import BadHostData
from storage.models import Host

log = logging.getLogger(__name__)

EVERY: Final = timedelta(minutes=45)
AT_ONCE: Final = 64
"""Hosts of one round; the round after five minutes has the next ones."""
DEADLINE_SECONDS: Final = 180.0
"""Above the agent's own limit for all disks together, below the pause between two rounds."""


def collect(shard: int) -> int:
    """How many hosts answered."""
    due = Q(disk_round=None) | Q(disk_round__tried_at__lt=database_now() - EVERY)
    due |= media_progress.hosts_with_tests()
    waiting = (
        Host.objects.active()
        .without_inventory()
        .filter(due)
        .order_by(F("disk_round__tried_at").asc(nulls_first=True), "pk")
    )
    ours = [host for host in waiting if position(host) % settings.TIERCEL_COLLECT_SHARDS == shard]
    hosts_by_call: dict[Future[Reply], Host] = {
        connection.start(
            ask(Destination.of(host), {"verb": "smart"}, deadline_seconds=DEADLINE_SECONDS)
        ): host
        for host in ours[:AT_ONCE]
    }
    return sum(_store(hosts_by_call[call], call) for call in as_completed(hosts_by_call))


def _store(host: Host, call: Future[Reply]) -> bool:
    """Nothing that one host does may end the round."""
    try:
        reply = call.result()
        if reply.error is None:
            boot_id = str(reply.stamp.get("boot_id", ""))
            now = database_now()
            smart_records.record(host, reply.data, boot_id, now)
            media_progress.follow_tests(host, now)
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
