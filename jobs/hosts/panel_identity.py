"""The identity of this panel towards the hosts: its id, and the panels it was restored from.

The id is made once, lives in the database, and changes with a restore: the copy takes over from the
original, and a host refuses the original from then on. Two live panels never share a host.
"""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from jobs.models import Installation, VgFence
from storage.compiled_query import CompiledQuery
from storage.models import Host

ANCESTORS_LIMIT = 16
CALENDAR_END_SECONDS = 1 << 37
NAMES_PANELS = (0, 3, 0)
"""Older agents refuse a request that names a panel."""

_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})", re.ASCII)
_UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


_PANEL = CompiledQuery(Installation, lambda: Installation.objects.filter(pk=True), keys=0)
_HELLO = CompiledQuery(Host, lambda host_id: Host.objects.filter(pk=host_id).only("hello"))


def this() -> Installation:
    """The row of this panel; made at the first call."""
    return _PANEL.first() or Installation.objects.get_or_create(pk=True)[0]


def named_to(host: Host) -> dict[str, Any] | None:
    """The panel's identity in a request that changes something; None for an older agent."""
    is_deferred = "hello" in host.get_deferred_fields()
    hello = _HELLO.get(host.pk).hello if is_deferred else host.hello
    version = _VERSION.fullmatch(str(hello.get("agent", "")))
    if version is None or tuple(map(int, version.groups())) < NAMES_PANELS:
        return None
    panel = this()
    return {"id": str(panel.panel), "after": list(panel.ancestors)}


@transaction.atomic
def renew() -> Installation:
    """Renew the id of a restored database: the hosts treat this panel as the successor of the one
    that made the backup."""
    panel = Installation.objects.select_for_update().get(pk=this().pk)
    panel.ancestors = [str(panel.panel), *panel.ancestors][:ANCESTORS_LIMIT]
    panel.panel = uuid.uuid4()
    panel.save(update_fields=["panel", "ancestors"])
    Installation.objects.filter(pk=True).update(restored_at=Now())
    panel.refresh_from_db()
    return panel


def owner_of(hello: dict[str, Any]) -> str:
    """The panel that manages a host, as its hello says; "" where it does not."""
    return _id(hello.get("owner"), "panel")


def rival_of(hello: dict[str, Any]) -> str:
    """The last panel that the host refused; "" for none."""
    return _id(hello.get("owner"), "rival")


def last_seen(hello: dict[str, Any], field: str = "seen_s") -> str:
    """When the host last heard of the panel, as a sentence; "" where it does not say."""
    owner = hello.get("owner")
    seconds = owner.get(field) if isinstance(owner, dict) else None
    if type(seconds) is not int or not 0 < seconds < CALENDAR_END_SECONDS:
        return ""
    return f"Last contact: {datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC."


def fences_of(hello: dict[str, Any]) -> dict[str, int]:
    """The highest turn that the host has seen of each group."""
    fences = hello.get("fences")
    if not isinstance(fences, dict):
        return {}
    return {vg: number for vg, number in fences.items() if type(number) is int and number > 0}


def note_ahead(vg_uuid: str, seen: int) -> bool:
    """Whether the host has seen a turn that this database never took: another copy of it is at
    work. That is recorded, and the panel takes no further turn in the group."""
    return bool(VgFence.objects.filter(vg_uuid=vg_uuid, fence__lt=seen).update(ahead=seen))


def _id(owner: object, field: str) -> str:
    panel_id = owner.get(field) if isinstance(owner, dict) else None
    return panel_id if isinstance(panel_id, str) and _UUID4.fullmatch(panel_id) else ""
