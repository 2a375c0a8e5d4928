"""dm-stats messages: regions with a latency histogram."""

from __future__ import annotations

import errno
import re

from tests.fake.bcache import oserror
from tests.fake.counters import BOUNDS_MS
from tests.fake.machine import Machine
from tests.fake.parts import SECTOR, Lv, ModelGap

BOUNDS = ",".join(str(int(bound * 1_000_000)) for bound in BOUNDS_MS)


def message(machine: Machine, name: str, words: str) -> str:
    """Raises OSError with the kernel's errno."""
    lv = next((each for each in machine.lvs() if each.dm_name == name), None)
    if lv is None or lv.minor is None:
        raise oserror(errno.ENXIO)
    verb, *rest = words.split()
    regions = lv.counters.regions
    if verb == "@stats_list" and rest == ["tiercel"]:
        return "".join(_line(lv, number) for number in sorted(regions))
    if verb == "@stats_create":
        if rest != ["-", "/1", "2", "precise_timestamps", f"histogram:{BOUNDS}", "tiercel"]:
            raise ModelGap(words)
        number = lv.counters.region_next
        lv.counters.region_next += 1
        regions[number] = [0.0] * (len(BOUNDS_MS) + 1)
        return f"{number}\n"
    match = re.fullmatch(r"(\d+)", rest[0]) if len(rest) == 1 else None
    if match is None or verb not in ("@stats_print", "@stats_delete"):
        raise ModelGap(words)
    if int(match.group(1)) not in regions:
        raise oserror(errno.ENOENT)
    if verb == "@stats_delete":
        del regions[int(match.group(1))]
        return ""
    counts = ":".join(str(int(count)) for count in regions[int(match.group(1))])
    fields = " ".join(str(value) for value in lv.counters.fields()[:11])
    return f"0+{lv.size_bytes // SECTOR} {fields} 0 0 {counts}\n"


def _line(lv: Lv, number: int) -> str:
    length = lv.size_bytes // SECTOR
    return f"{number}: 0+{length} {length} tiercel - precise_timestamps histogram:{BOUNDS}\n"
