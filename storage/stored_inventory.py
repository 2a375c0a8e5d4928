"""Stored inventories, read and decoded once until they change."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from storage.host_data import BadHostData
from storage.inventory.facts import HostFacts, restored
from storage.models import Host

HOSTS_LIMIT = 16
"""How many hosts' inventories a process caches, as stored and as used."""
LVS_LIMIT = 20_000
"""And those of hosts with so many logical volumes only as they are used, some 2 KiB each: a list of
10,000 volumes would else read and decode the inventories of all hosts for every few pages."""

_known: OrderedDict[int, tuple[dict[str, Any], HostFacts]] = OrderedDict()
_digested: OrderedDict[int, tuple[str, HostFacts]] = OrderedDict()
"""With the digest of what is stored."""
_guard = threading.Lock()


def inventory_of(host: Host) -> HostFacts | None:
    """The last inventory: None before the first one, and for one that an older version stored with
    fewer fields, which the next one replaces. To compare it with what was decoded costs little
    beside decoding; of a host that came without it, it is read only where another one is known."""
    return inventories_of([host])[host.pk]


def inventories_of(hosts: Iterable[Host]) -> dict[int, HostFacts | None]:
    """The same of many, by primary key: one query for all that are to be read."""
    inventories: dict[int, HostFacts | None] = {}
    unread = []
    for host in hosts:
        if "facts" not in host.get_deferred_fields():
            # A program may have changed it since it was read, which no digest shows.
            inventories[host.pk] = _compared(host)
        elif (facts := _remembered(host)) is not None:
            inventories[host.pk] = facts
        else:
            unread.append(host.pk)
    if unread:
        inventories |= dict.fromkeys(unread)  # also for one that is deleted meanwhile
        rows = Host.objects.filter(pk__in=unread).values_list("pk", "facts_digest", "facts")
        inventories |= {pk: _read(pk, digest, stored) for pk, digest, stored in rows}
    return inventories


def _compared(host: Host) -> HostFacts | None:
    stored = host.facts
    with _guard:
        known = _known.get(host.pk)
    if known is not None and known[0] == stored:
        return known[1]
    facts = _decoded(stored)
    if facts is not None:
        with _guard:
            _known[host.pk] = (stored, facts)
            _known.move_to_end(host.pk)
            if len(_known) > HOSTS_LIMIT:
                _known.popitem(last=False)
    return facts


def _remembered(host: Host) -> HostFacts | None:
    with _guard:
        known = _digested.get(host.pk)
        if known is None or known[0] != host.facts_digest:
            return None
        _digested.move_to_end(host.pk)
        return known[1]


def _read(host_id: int, digest: str, stored: dict[str, Any]) -> HostFacts | None:
    facts = _decoded(stored)
    if facts is not None:
        with _guard:
            _digested[host_id] = (digest, facts)
            _digested.move_to_end(host_id)
            lvs = sum(len(each.lvs) for _, each in _digested.values())
            while lvs > LVS_LIMIT and len(_digested) > 1:
                _, (_, forgotten) = _digested.popitem(last=False)
                lvs -= len(forgotten.lvs)
    return facts


def _decoded(stored: dict[str, Any]) -> HostFacts | None:
    try:
        return restored(stored) if stored else None
    except BadHostData:
        return None
