"""Latency histograms of dm-stats: one region per volume, kept by the kernel.

The region survives table reloads, so it runs on while a cache comes and goes. A region of another
length than the device (after an extend) is replaced.
"""

from __future__ import annotations

import re
from typing import Any

from .host import Host

PROGRAM = "tiercel"
BOUNDS_NS = tuple(
    microseconds * 1000
    for microseconds in (
        100,
        200,
        500,
        1000,
        2000,
        5000,
        10000,
        20000,
        50000,
        100000,
        200000,
        500000,
        1000000,
    )
)
LIST = f"@stats_list {PROGRAM}"
CREATE = (
    "@stats_create - /1 2 precise_timestamps histogram:"
    + ",".join(map(str, BOUNDS_NS))
    + f" {PROGRAM}"
)

_REGION = re.compile(r"(\d+): (\d+)\+(\d+) \d+ (\S+)(.*)")


def latency(host: Host, name: str, sectors: int) -> dict[str, Any] | None:
    """Cumulated I/Os per latency class of the dm device `name`; None where the region was only
    just made, or the kernel has no dm-stats."""
    try:
        region = _region(host, name, sectors)
        if region is None:
            host.dm_message(name, CREATE)
            return None
        counts = parse(host.dm_message(name, f"@stats_print {region}"))
    except OSError:
        return None
    return None if counts is None else {"bounds_ns": list(BOUNDS_NS), "counts": list(counts)}


def parse(answer: str) -> tuple[int, ...] | None:
    """The histogram of a one-area region: the last word, colon-separated. None for anything
    else."""
    lines = answer.split("\n", 1)
    words = lines[0].split()
    if len(words) < 2 or ":" not in words[-1]:
        return None
    counts = words[-1].split(":")
    if len(counts) != len(BOUNDS_NS) + 1 or not all(count.isdecimal() for count in counts):
        return None
    return tuple(int(count) for count in counts)


def _region(host: Host, name: str, sectors: int) -> int | None:
    """Our region of the device; ours of a wrong shape are deleted."""
    found = None
    histogram = "histogram:" + ",".join(map(str, BOUNDS_NS))
    for line in host.dm_message(name, LIST).splitlines():
        match = _REGION.fullmatch(line.strip())
        if match is None or match.group(4) != PROGRAM:
            continue
        number, start, length = (int(match.group(at)) for at in (1, 2, 3))
        rest = match.group(5).split()
        right = start == 0 and length == sectors and histogram in rest
        if right and "precise_timestamps" in rest and found is None:
            found = number
        else:
            host.dm_message(name, f"@stats_delete {number}")
    return found
