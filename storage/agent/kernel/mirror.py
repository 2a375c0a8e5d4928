"""Progress of a pvmove or of a mirror's copy, from the kernel and never by asking LVM."""

from __future__ import annotations

import re
from typing import Callable

from .dm import SECTOR, text
from .local_host import LocalHost, MissingTool, TimedOut

STATUS = ("dmsetup", "status", "--noflush", "--target", "mirror")
RAID_STATUS = (*STATUS[:-1], "raid")
_LINE = re.compile(r"(?P<name>[^:]+): (?P<start>\d+) (?P<length>\d+) (?:mirror|raid) (?P<rest>.*)")
_SYNCED = re.compile(r"(\d+)/(\d+)")


def synced(host: LocalHost, kname: str) -> tuple[int, int] | None:
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


def percents(host: LocalHost, *, raids: bool) -> dict[str, int]:
    """How far each mirror is, by its name in device-mapper. A pvmove of several pieces mirrors one
    after the other: what lies before the piece at work is done. `raids`: those too."""
    by_kname: dict[str, int] = {}
    for command in (STATUS, RAID_STATUS) if raids else (STATUS,):
        try:
            result = host.run(command, timeout=10.0)
        except (MissingTool, TimedOut):
            continue
        ends = _ends(host)
        for line in result.stdout.splitlines():
            match = _LINE.fullmatch(line.strip())
            parts = None if match is None else _SYNCED.search(match.group("rest"))
            if match is None or parts is None:
                continue
            name, start, length = match.group("name"), *map(int, match.group("start", "length"))
            done = start + length * int(parts.group(1)) // max(1, int(parts.group(2)))
            total = max(ends.get(name, 0), start + length, 1)
            by_kname[name] = max(by_kname.get(name, 0), 100 * done // total)
    return by_kname


def _ends(host: LocalHost) -> dict[str, int]:
    """Sectors of each device, by its name in device-mapper."""
    sizes = {}
    for kname in host.list("/sys/block"):
        name = text(host, f"/sys/block/{kname}/dm/name") if kname.startswith("dm-") else ""
        size = text(host, f"/sys/block/{kname}/size") if name else ""
        if size.isdecimal():
            sizes[name] = int(size)
    return sizes


def follow_mirror(host: LocalHost, kname: Callable[[], str]) -> Callable[[], tuple[int, int]]:
    """Asks again and again: before the mirror is there (0, 0), once it is gone all of it."""
    total = 0

    def ask() -> tuple[int, int]:
        nonlocal total
        regions = synced(host, kname())
        if regions is None:
            return total, total
        total = regions[1]
        return regions

    return ask
