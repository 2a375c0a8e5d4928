"""How far a pvmove is, from the kernel's mirror under the volume: never by asking LVM."""

from __future__ import annotations

import re
from typing import Callable

from .dm import SECTOR, text
from .host import Host, MissingTool, TimedOut

STATUS = ("dmsetup", "status", "--noflush", "--target", "mirror")
_LINE = re.compile(r"(?P<name>[^:]+): \d+ (?P<length>\d+) mirror (?P<rest>.*)")
_SYNCED = re.compile(r"(\d+)/(\d+)")


def synced(host: Host, kname: str) -> tuple[int, int] | None:
    """Bytes moved and to be moved of the volume on dm device `kname`; None where nothing moves."""
    below = host.list(f"/sys/block/{kname}/slaves") if kname else ()
    names = {text(host, f"/sys/block/{each}/dm/name") for each in below} - {""}
    if not names:
        return None
    try:
        result = host.run(STATUS, timeout=10.0)
    except (MissingTool, TimedOut):
        return None
    done = total = 0
    for line in result.stdout.splitlines():
        match = _LINE.fullmatch(line.strip())
        parts = None if match is None else _SYNCED.search(match.group("rest"))
        if match is None or parts is None or match.group("name") not in names:
            continue
        size = int(match.group("length")) * SECTOR
        total += size
        done += size * int(parts.group(1)) // max(1, int(parts.group(2)))
    return (done, total) if total else None


def follow(host: Host, kname: Callable[[], str]) -> Callable[[], tuple[int, int]]:
    """Asks again and again: before the mirror is there (0, 0), once it is gone all of it."""
    total = 0

    def ask() -> tuple[int, int]:
        nonlocal total
        found = synced(host, kname())
        if found is None:
            return total, total
        total = found[1]
        return found

    return ask
