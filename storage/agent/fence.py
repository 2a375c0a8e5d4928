"""Whose turn it is in a volume group: the highest fence that was seen, kept on disk.

A panel numbers what it sends. A worker that slept past its turn comes with a lower number than the
one that took over, and is refused; so is a request without a number once one was seen.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from .errors import Refusal
from .host import Host

FOLDER = "/var/lib/tiercel/fences"


class Fence(NamedTuple):
    """The highest number, and the operation that brought it."""

    number: int
    op: str


def seen(host: Host, vg_uuid: str) -> Fence | None:
    """None where no number was ever seen. Raises Refusal(journal_unwritable) where the file is
    there but cannot be understood: then nobody knows whose turn it is."""
    path = f"{FOLDER}/{vg_uuid}"
    data = host.read(path)
    if data is None:
        if not host.exists(path):
            return None
        # The very first number may have been written between the two looks.
        data = host.read(path)
    try:
        document = json.loads((data or b"").decode("utf-8"))
        number, op = document["fence"], document["op"]
        if type(number) is not int or not isinstance(op, str):
            raise ValueError(path)
        return Fence(number, op)
    except (ValueError, LookupError, TypeError):
        raise Refusal(
            "journal_unwritable",
            f"{path} cannot be read, so nobody knows whose turn it is in this VG.",
            f"Look at the disk under {FOLDER}. Once no other panel works on this host, remove the "
            "file as root.",
        ) from None


def check(host: Host, vg_uuid: str, number: int | None, op: str) -> None:
    """Raises Refusal(stale_fence) for a number below the highest, for the highest of another
    operation, and for none at all where one was seen."""
    known = seen(host, vg_uuid)
    if known is None or (number is not None and number > known.number):
        return
    if (number, op) == known:
        return
    which = "no number" if number is None else f"number {number}"
    raise Refusal(
        "stale_fence",
        f"This request has {which}, but the VG has already seen number {known.number}: another "
        "worker took over.",
        "Read the host's facts again and plan anew. If the panel was restored from a backup, and "
        f"no other panel works on this host, remove {FOLDER}/{vg_uuid} there as root.",
    )


def put_up(host: Host, vg_uuid: str, number: int | None, op: str) -> None:
    """`check`, then keep the number, fsynced. The caller holds the lock `lock_name(vg_uuid)`.
    Raises OSError."""
    check(host, vg_uuid, number, op)
    if number is not None and seen(host, vg_uuid) != (number, op):
        document = {"fence": number, "op": op}
        host.save(f"{FOLDER}/{vg_uuid}", json.dumps(document).encode() + b"\n")


def lock_name(vg_uuid: str) -> str:
    """For `Host.lock`; no VG has a colon in its name."""
    return f"fence:{vg_uuid}"
