"""Stored inventories, decoded once until they change."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from storage.host_data import BadHostData
from storage.inventory.facts import HostFacts, decode
from storage.models import Host

HOSTS_LIMIT = 16
"""So many hosts' inventories a process keeps in mind, as they are stored and as they are used."""

_known: OrderedDict[int, tuple[dict[str, Any], HostFacts]] = OrderedDict()
_guard = threading.Lock()


def inventory_of(host: Host) -> HostFacts | None:
    """The last inventory: None before the first one, and for one that an older version stored with
    fewer fields, which the next one replaces. To compare it with what was decoded costs little
    beside decoding."""
    stored = host.facts
    with _guard:
        known = _known.get(host.pk)
    if known is not None and known[0] == stored:
        return known[1]
    try:
        facts = decode(stored) if stored else None
    except BadHostData:
        return None
    if facts is not None:
        with _guard:
            _known[host.pk] = (stored, facts)
            _known.move_to_end(host.pk)
            if len(_known) > HOSTS_LIMIT:
                _known.popitem(last=False)
    return facts
