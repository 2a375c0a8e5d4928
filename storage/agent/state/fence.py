"""Fencing tokens: the highest token seen for each volume group, kept on disk.

A panel numbers its operations. A worker whose lock has expired sends a lower token than its
successor, and is refused; so is a request without a token once one was seen. Tokens of different
panels cannot be compared: state/owner.py decides which panel may send any.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from ..calls import names
from ..calls.refusals import Refusal
from ..kernel.local_host import LocalHost
from . import owner
from .owner import PanelIdentity

FOLDER = "/var/lib/tiercel/fences"


class Fence(NamedTuple):
    """The highest number, the operation that brought it, and the panel that counts so: "" where it
    came from a panel that did not name itself."""

    number: int
    op: str
    panel: str = ""


def seen(host: LocalHost, vg_uuid: str) -> Fence | None:
    """None where no number was ever seen. Raises Refusal(journal_unwritable) where the file is
    there but cannot be understood."""
    path = f"{FOLDER}/{vg_uuid}"
    data = host.read(path)
    if data is None:
        if not host.exists(path):
            return None
        # The very first number may have been written between the two looks.
        data = host.read(path)
    try:
        document = json.loads((data or b"").decode("utf-8"))
        number, op, panel = document["fence"], document["op"], document.get("panel", "")
        if type(number) is not int or not isinstance(op, str) or not isinstance(panel, str):
            raise ValueError(path)
        return Fence(number, op, panel)
    except (ValueError, LookupError, TypeError, AttributeError):
        raise Refusal(
            "journal_unwritable",
            f"{path} cannot be read, so the highest fence number of this VG is unknown.",
            f"Look at the disk under {FOLDER}. Once no other panel works on this host, remove the "
            "file as root.",
        ) from None


def check_fence(
    host: LocalHost, vg_uuid: str, number: int | None, op: str, panel: PanelIdentity | None
) -> None:
    """Raises Refusal(other_panel) for a panel that does not manage this host, Refusal(stale_fence)
    for a number below the highest of this panel, for the highest of another operation, and for none
    at all where one was seen."""
    owner.check_owner(host, panel)
    known = seen(host, vg_uuid)
    if known is None or (number is not None and number > known.number):
        return
    if (number, op) == (known.number, known.op):
        return
    # After a change of the panel: the one that may speak now counts anew.
    if number is not None and panel is not None and known.panel not in ("", panel.id):
        return
    which = "no number" if number is None else f"number {number}"
    raise Refusal(
        "stale_fence",
        f"This request has {which}, but the VG has already seen number {known.number}: another "
        "worker took over.",
        "Read the host's facts again, then plan again. If the panel's database was restored by "
        "hand, run on the panel: manage.py after_restore",
    )


def put_up(
    host: LocalHost, vg_uuid: str, number: int | None, op: str, panel: PanelIdentity | None
) -> None:
    """`check_fence`, then keep the panel and the number, fsynced. The caller holds the lock
    `lock_name(vg_uuid)`. Raises OSError, LockBusy."""
    check_fence(host, vg_uuid, number, op, panel)
    with host.lock(owner.LOCK, owner.LOCK_SECONDS):
        owner.take_host(host, panel)
    who = "" if panel is None else panel.id
    if number is not None and seen(host, vg_uuid) != (number, op, who):
        document = {"fence": number, "op": op, "panel": who}
        host.save(f"{FOLDER}/{vg_uuid}", json.dumps(document).encode() + b"\n")


def highest(host: LocalHost) -> dict[str, int]:
    """The highest number by VG, for `hello`; a file that cannot be understood is left out."""
    fences = {}
    for vg_uuid in host.list(FOLDER):
        try:
            known = seen(host, names.lvm_uuid(vg_uuid))
        except (Refusal, ValueError):
            continue
        if known is not None:
            fences[vg_uuid] = known.number
    return fences


def lock_name(vg_uuid: str) -> str:
    """For `LocalHost.lock`; no VG has a colon in its name."""
    return f"fence:{vg_uuid}"
