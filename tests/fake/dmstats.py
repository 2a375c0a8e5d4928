"""dm-stats messages: regions with a latency histogram."""

from __future__ import annotations

import errno
import re

from tests.fake.bcache import oserror
from tests.fake.counters import Region
from tests.fake.machine import Machine
from tests.fake.parts import SECTOR, ModelGap


def message(machine: Machine, name: str, words: str) -> str:
    """Raises OSError with the kernel's errno."""
    lv = next((each for each in machine.lvs() if each.dm_name == name), None)
    if lv is None or lv.minor is None:
        raise oserror(errno.ENXIO)
    verb, *rest = words.split()
    regions = lv.counters.regions
    if verb == "@stats_list" and len(rest) == 1:
        return "".join(
            _line(number, region)
            for number, region in sorted(regions.items())
            if region.program == rest[0]
        )
    if verb == "@stats_create":
        if rest[:4] != ["-", "/1", "2", "precise_timestamps"] or len(rest) != 6:
            raise ModelGap(words)
        bounds = tuple(int(bound) for bound in rest[4].removeprefix("histogram:").split(","))
        if list(bounds) != sorted(set(bounds)):
            raise oserror(errno.EINVAL)
        number = lv.counters.region_next
        lv.counters.region_next += 1
        regions[number] = Region(
            rest[5], bounds, [0.0] * (len(bounds) + 1), lv.size_bytes // SECTOR
        )
        return f"{number}\n"
    match = re.fullmatch(r"(\d+)", rest[0]) if len(rest) == 1 else None
    if match is None or verb not in ("@stats_print", "@stats_delete"):
        raise ModelGap(words)
    if int(match.group(1)) not in regions:
        raise oserror(errno.ENOENT)
    if verb == "@stats_delete":
        del regions[int(match.group(1))]
        return ""
    region = regions[int(match.group(1))]
    counts = ":".join(str(int(count)) for count in region.counts)
    reads, writes = int(region.reads), int(region.writes)
    read_ns, write_ns = int(region.read_ns), int(region.write_ns)
    fields = f"{reads} 0 0 {read_ns} {writes} 0 0 {write_ns} 0 0 {read_ns + write_ns}"
    return f"0+{region.sectors} {fields} {read_ns} {write_ns} {counts}\n"


def _line(number: int, region: Region) -> str:
    length = region.sectors
    bounds = ",".join(map(str, region.bounds_ns))
    return (
        f"{number}: 0+{length} {length} {region.program} - precise_timestamps histogram:{bounds}\n"
    )
