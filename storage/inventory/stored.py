"""Stored inventories, decoded once until they change."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from storage.host_data import BadHostData
from storage.inventory.facts import HostFacts, decode
from storage.models import Host

HOSTS_LIMIT = 16
"""So many hosts' inventories a process keeps in mind, as they are stored and as they are used."""


@dataclass(frozen=True, slots=True)
class KnownInventory:
    """`digest` is that of the stored form, None where it was not read with it."""

    digest: str | None
    stored: dict[str, Any]
    facts: HostFacts


_known: OrderedDict[int, KnownInventory] = OrderedDict()
_guard = threading.Lock()


def inventory_of(host: Host) -> HostFacts | None:
    """The last inventory: None before the first one, and for one that an older version stored with
    fewer fields, which the next one replaces. To compare it with what was decoded costs little
    beside decoding; of a host that came without it, it is read only where another one is known."""
    with _guard:
        known = _known.get(host.pk)
    digest = None
    if "facts" in host.get_deferred_fields():
        if known is not None and known.digest == host.facts_digest:
            return known.facts
        host.refresh_from_db(fields=["facts", "facts_digest"])
        digest = host.facts_digest
    stored = host.facts
    if digest is None and known is not None and known.stored == stored:
        return known.facts
    try:
        facts = decode(stored) if stored else None
    except BadHostData:
        return None
    if facts is not None:
        with _guard:
            _known[host.pk] = KnownInventory(digest, stored, facts)
            _known.move_to_end(host.pk)
            if len(_known) > HOSTS_LIMIT:
                _known.popitem(last=False)
    return facts
