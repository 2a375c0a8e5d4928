"""Which panel may change this host: the first one that did, until root decides otherwise.

Every panel has an id of its own. A panel that was restored from a backup names the panels it comes
from, and takes over from them. Of two live panels one is refused, and both are informed. Fencing
tokens (state/fence.py) are compared within one panel only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ..calls import names
from ..calls.refusals import Refusal
from ..kernel.local_host import LocalHost, LockBusy
from .policy import AGENT

PATH = "/var/lib/tiercel/owner.json"
# No VG has such a name.
LOCK = "@owner"
LOCK_SECONDS = 10.0
ANCESTORS_LIMIT = 16
SECOND_NS = 1_000_000_000


@dataclass(frozen=True)
class PanelIdentity:
    """Who sends a request: its id, and those of the panels it was restored from."""

    id: str
    after: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "after": list(self.after)}


@dataclass(frozen=True)
class Owner:
    """The panel that may change this host, since when, and when it last did (seconds of the wall
    clock, only to be shown); `rival` is the last panel that was refused, "" for none."""

    panel: str
    since_s: int
    seen_s: int
    rival: str = ""
    rival_seen_s: int = 0

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


def panel_from_json(document: Any) -> PanelIdentity:
    """What a request says of its panel. Raises ValueError."""
    if not isinstance(document, dict) or set(document) - {"id", "after"}:
        raise ValueError("an object of id and after")
    after = document.get("after", [])
    if not isinstance(after, list) or len(after) > ANCESTORS_LIMIT:
        raise ValueError(f"an object whose `after` has at most {ANCESTORS_LIMIT} ids")
    return PanelIdentity(names.request_id(document.get("id")), tuple(map(names.request_id, after)))


def load_owner(host: LocalHost) -> Owner | None:
    """None before any panel named itself. Raises Refusal(journal_unwritable) for a file that is
    there and cannot be understood: then it is unknown whose host this is."""
    data = host.read(PATH)
    if data is None and not host.exists(PATH):
        return None
    try:
        return _owner(json.loads((data or b"").decode("utf-8")))
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise Refusal(
            "journal_unwritable",
            f"{PATH} cannot be read, so it is unknown which panel manages this host.",
            f"Look at the disk; then, as root, name the panel: {AGENT} adopt-panel ID. The panel's "
            "page of this host has its id.",
        ) from None


def check_owner(host: LocalHost, panel: PanelIdentity | None) -> None:
    """Raises Refusal(other_panel) unless the request comes from the panel that manages this host,
    or from one that was restored from it. A refused panel is noted, so that both report it."""
    known = load_owner(host)
    if known is None or (panel is not None and _may(known, panel)):
        return
    if panel is not None:
        _note(host, panel)
    who = "This request names no panel" if panel is None else f"This is the panel {panel.id}"
    adopt = panel.id if panel is not None else "ID"
    raise Refusal(
        "other_panel",
        f"{who}, but the panel {known.panel} manages this host; it last did so "
        f"{max(0, _now(host) - known.seen_s) // 60} minutes ago.",
        "Switch one of the two panels off. If this one is to manage the host, run there as root: "
        f"{AGENT} adopt-panel {adopt}",
    )


def take_host(host: LocalHost, panel: PanelIdentity | None) -> None:
    """`check_owner`, then note that the panel manages this host. The caller holds LOCK.
    Raises OSError."""
    check_owner(host, panel)
    if panel is None:
        return
    known, at_s = load_owner(host), _now(host)
    if known is None or known.panel != panel.id:
        _save(host, Owner(panel.id, at_s, at_s))
    elif at_s - known.seen_s >= 60 or at_s < known.seen_s:
        _save(host, replace(known, seen_s=at_s))


def adopt_host(host: LocalHost, panel_id: str) -> str:
    """Root names the panel. Returns what that means. Raises ValueError or OSError."""
    at_s = _now(host)
    with host.lock(LOCK, LOCK_SECONDS):
        _save(host, Owner(names.request_id(panel_id), at_s, at_s))
    return f"The panel {panel_id} manages this host from now on; any other is refused."


def shown(host: LocalHost) -> dict[str, Any] | None:
    """What `hello` says: None before any panel named itself."""
    try:
        known = load_owner(host)
    except Refusal:
        return None
    return None if known is None else known.to_json()


def _note(host: LocalHost, rival: PanelIdentity) -> None:
    """For the reports of both panels: the refusal holds without it."""
    with suppress(OSError, LockBusy), host.lock(LOCK, LOCK_SECONDS):
        known = load_owner(host)
        if known is not None and not _may(known, rival):
            _save(host, replace(known, rival=rival.id, rival_seen_s=_now(host)))


def _may(known: Owner, panel: PanelIdentity) -> bool:
    return known.panel == panel.id or known.panel in panel.after


def _owner(document: Mapping[str, Any]) -> Owner:
    seconds = names.integer(0, 1 << 40)
    rival = document["rival"]
    return Owner(
        names.request_id(document["panel"]),
        seconds(document["since_s"]),
        seconds(document["seen_s"]),
        names.request_id(rival) if rival else "",
        seconds(document["rival_seen_s"]),
    )


def _save(host: LocalHost, owner: Owner) -> None:
    host.save(PATH, json.dumps(owner.to_json()).encode() + b"\n")


def _now(host: LocalHost) -> int:
    return host.wall_ns() // SECOND_NS
