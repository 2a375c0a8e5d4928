"""Latencies by dm-stats: one region per device, kept by the kernel.

The region survives table reloads, so it runs on when a cache is added or removed. A region of
another length than the device (after an extend) is replaced.

A region has counts and times of reads apart from those of writes, but one histogram of both: no
argument of the kernel's message divides it by direction (drivers/md/dm-stats.c, dm_stat_for_entry),
and an area of a region is a range of sectors. It skips an I/O of no sectors, which is an empty
flush; diskstats count that as a write (dm_stats_account_io).
"""

from __future__ import annotations

import re
from typing import Any

from .local_host import LocalHost

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
# For a p95 to a few percent: four classes to each doubling, from 20 us to some 1.5 s.
PACING = "tiercel-pace"
FINE_NS = tuple(round(20_000 * 2 ** (step / 4)) for step in range(66))
BOUNDS_OF = {PROGRAM: BOUNDS_NS, PACING: FINE_NS}

# The area, the fields of diskstats up to the weighted time, the times of reads and of writes that
# were under way, the histogram.
FIELDS = 15

_REGION = re.compile(r"(\d+): (\d+)\+(\d+) \d+ (\S+)(.*)")


def latency(
    host: LocalHost, name: str, sectors: int, program: str = PROGRAM
) -> dict[str, Any] | None:
    """Cumulated I/Os of the dm device `name`: per latency class, as one of BOUNDS_OF counts them,
    and reads and writes (a discard is one) with their time; None where the region was only just
    made, or the kernel has no dm-stats."""
    bounds = BOUNDS_OF[program]
    try:
        region = _region(host, name, sectors, program)
        if region is None:
            host.dm_message(name, creation(program))
            return None
        answer = host.dm_message(name, f"@stats_print {region}")
    except OSError:
        return None
    counts = parse_histogram(answer, len(bounds) + 1)
    if counts is None:
        return None
    return {"bounds_ns": list(bounds), "counts": list(counts), **directions(answer)}


def creation(program: str) -> str:
    """The message that makes a region of its own for this program."""
    bounds = ",".join(map(str, BOUNDS_OF[program]))
    return f"@stats_create - /1 2 precise_timestamps histogram:{bounds} {program}"


def parse_histogram(answer: str, classes: int) -> tuple[int, ...] | None:
    """The histogram of a one-area region: the last word, colon-separated. None for anything
    else."""
    lines = answer.split("\n", 1)
    words = lines[0].split()
    if len(words) < FIELDS or ":" not in words[-1]:
        return None
    counts = words[-1].split(":")
    if len(counts) != classes or not all(word.isdecimal() for word in (*words[1:-1], *counts)):
        return None
    return tuple(int(count) for count in counts)


def directions(answer: str) -> dict[str, int]:
    """Reads and writes of a one-area region that `parse_histogram` took, with their time."""
    words = answer.split()
    return {
        "reads": int(words[1]),
        "read_ns": int(words[4]),
        "writes": int(words[5]),
        "write_ns": int(words[8]),
    }


def _region(host: LocalHost, name: str, sectors: int, program: str) -> int | None:
    """The program's region of the device; its own of a wrong shape are deleted."""
    region = None
    histogram = "histogram:" + ",".join(map(str, BOUNDS_OF[program]))
    for line in host.dm_message(name, f"@stats_list {program}").splitlines():
        match = _REGION.fullmatch(line.strip())
        if match is None or match.group(4) != program:
            continue
        number, start, length = (int(match.group(at)) for at in (1, 2, 3))
        rest = match.group(5).split()
        right = start == 0 and length == sectors and histogram in rest
        if right and "precise_timestamps" in rest and region is None:
            region = number
        else:
            host.dm_message(name, f"@stats_delete {number}")
    return region
