"""What heat costs a host: the processor's time for each I/O that is seen, and the service's memory
with 50 volumes whose tables are full, and with as many full maps of what is read most as there are
at once. The same I/Os as text are read beside.

The kernel's part, and what guests notice, are measured in the lab.

    make bench-heat
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import storage.agent.heat_command as service
from storage.agent.heat.hot_map import CHUNK_SECTORS as MAPPED_SECTORS
from storage.agent.heat.hot_map import CHUNKS_LIMIT, HotMap
from storage.agent.heat.hot_maps import MARKED_AT_ONCE
from storage.agent.heat.observation import Fine, Io, Sampled
from storage.agent.heat.trace_filter import CHUNK_SECTORS, SHARE
from storage.agent.kernel.trace_pages import TracedIo, events_of
from tests.storage.agent.heat.pages import EVENT, PAGE, Event, page

VOLUMES, TRACKED, EVENTS_IN_PAGE, PAGES = 50, 8192, 60, 400
RESIDUE = 38
ROUNDS = 5
# As trace_pipe prints an event.
LINE = re.compile(r"(\d+)\.(\d+): block_bio_queue: (\d+),(\d+) (\w+) (\d+) \+ (\d+)")


def resident_mb() -> float:
    """Memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def event(order: random.Random) -> Event:
    """A page of an observed chunk, on one of the volumes."""
    chunk = SHARE * order.randrange(1 << 14) + RESIDUE
    sector = chunk * CHUNK_SECTORS + 8 * order.randrange(16)
    device = 253 << 20 | order.randrange(VOLUMES)
    return Event(order.randrange(1000, 50_000), device, sector, 8, order.choice([b"RS", b"WS"]))


def full_map() -> HotMap:
    """Of as many chunks as it may know."""
    made = HotMap()
    for chunk in range(CHUNKS_LIMIT - 1):
        made.add([(0, 0, 3 * chunk * MAPPED_SECTORS, 8, b"R\0")])
    return made


def least_us(act: Callable[[], int]) -> float:
    """The processor's time for each of what `act` returns the number of; the least of some rounds,
    since others work on the machine."""
    times = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        count = act()
        times.append((time.process_time() - begun) / count * 1e6)
    return round(min(times), 3)


def main() -> int:
    """Prints a table, and BENCH {json}."""
    bare_mb = resident_mb()
    order = random.Random(1)
    volumes = [Sampled(RESIDUE, order.getrandbits(63), on_bcache=True) for _ in range(VOLUMES)]
    for volume in volumes:
        for begin in range(0, TRACKED - 2, 512):
            chunks = range(begin, min(begin + 512, TRACKED - 2))
            sectors = [(SHARE * chunk + RESIDUE) * CHUNK_SECTORS for chunk in chunks]
            volume.add([(0, 0, sector, 8, b"R\0") for sector in sectors], Io(512), 0, 1)
    full_mb = resident_mb()
    # One in its turn, and those that wait for their caches.
    maps = [full_map() for _ in range(1 + MARKED_AT_ONCE)]
    mapped_mb = resident_mb()
    contents = [
        page(1_000_000 * n, [event(order) for _ in range(EVENTS_IN_PAGE)]) for n in range(PAGES)
    ]
    ios: list[TracedIo] = []

    def parse() -> int:
        ios.clear()
        for content in contents:
            events_of(content, PAGE, EVENT, ios)
        return len(ios)

    def sample() -> int:
        by_volume: dict[int, list[TracedIo]] = {}
        for io in ios:
            by_volume.setdefault(io[1] & 0xFFFFF, []).append(io)
        for n, mine in by_volume.items():
            volumes[n].add(mine, Io(SHARE * len(mine)), 0, 1_000_000_000)
        return len(ios)

    def fine() -> int:
        Fine(65536, 7).add(ios, Io())
        return len(ios)

    def count_reads() -> int:
        maps[0].add(ios)
        return len(ios)

    result = {
        "parse_us": least_us(parse),
        "sample_us": least_us(sample),
        "fine_us": least_us(fine),
        "map_us": least_us(count_reads),
    }
    # A run of 5 MiB, which bcache bypasses: from then on what it keeps is counted beside.
    before_mb = resident_mb()
    run = [(n, 0, 1024 * n, 1024, b"R\0") for n in range(10)]
    for volume in volumes:
        volume.add(run, Io(len(run), 5 << 20), 0, 1)
    kept_mb = full_mb + resident_mb() - before_mb
    result |= {"sample_kept_us": least_us(sample), "kept_mb": round(kept_mb, 1)}
    lines = [
        f"qemu-1 [000] ..... {ns / 1e9:.6f}: block_bio_queue: 253,{dev} R {sector} + {n} [qemu]"
        for ns, dev, sector, n, _ in ios
    ]

    def parse_text() -> int:
        for line in lines:
            found = LINE.search(line)
            if found is not None:
                [int(each) for each in found.group(1, 3, 4, 6, 7)]
        return len(lines)

    result |= {
        "parse_text_us": least_us(parse_text),
        "service_mb": round(bare_mb, 1),
        "full_mb": round(full_mb, 1),
        "mapped_mb": round(mapped_mb, 1),
        "volumes": VOLUMES,
    }
    print(
        f"An I/O: {result['parse_us']} us to read ({result['parse_text_us']} us as text), ", end=""
    )
    print(f"{result['sample_us']} us to count; of a trace of all {result['fine_us']} us")
    print(f"A read for the map of a volume: {result['map_us']} us")
    print(
        f"{service.__name__}: {bare_mb:.1f} MB, with {VOLUMES} full volumes {full_mb:.1f} MB, with "
        f"{len(maps)} full maps too {mapped_mb:.1f} MB"
    )
    print(
        f"bcache, after a long run on each: {result['sample_kept_us']} us, {result['kept_mb']} MB"
    )
    print("BENCH " + json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
