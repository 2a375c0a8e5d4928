"""What bcache would send past its SSD: the kernel's rule, replayed. Pure.

bcache keeps the last 128 I/Os of a device, each for 5 s. One that begins where such an I/O ended
continues its run, and once the run has the length of `sequential_cutoff` it goes to the disk
(drivers/md/bcache/request.c: check_should_bypass).
"""

from __future__ import annotations

from .trace_filter import CHUNK_BYTES, CHUNK_SECTORS, SECTOR_BYTES, SHARE

CUTOFF_BYTES = 4 << 20
RECENT = 128
KEPT_NS = 5_000_000_000
NO_RUN = (0, 0, 0)
UNSEEN_SECTORS = (SHARE - 1) * CHUNK_SECTORS


class SequentialRuns:
    """`is_sampled`: of I/Os that are not large only those of one chunk in SHARE are seen. A run
    that covered an observed chunk to its end by several I/Os, and is seen again at the beginning of
    the next observed one, also covered what lies between."""

    def __init__(self, *, is_sampled: bool) -> None:
        self._is_sampled = is_sampled
        # First sector after the run -> its bytes, until when it is kept, and its I/Os.
        self._runs: dict[int, tuple[int, int, int]] = {}

    def bypasses(self, ns: int, sector: int, sectors: int) -> bool:
        """Whether this I/O belongs to a run that is long enough."""
        runs = self._runs
        length_bytes, until_ns, count = runs.pop(sector, NO_RUN)
        if not count and self._is_sampled and sector % CHUNK_SECTORS == 0:
            before = runs.get(sector - UNSEEN_SECTORS, NO_RUN)
            if before[0] >= CHUNK_BYTES and before[2] > 1:
                del runs[sector - UNSEEN_SECTORS]
                length_bytes, until_ns, count = before
                length_bytes += UNSEEN_SECTORS * SECTOR_BYTES
        if ns >= until_ns:
            length_bytes = count = 0
        length_bytes += sectors * SECTOR_BYTES
        end = sector + sectors
        runs.pop(end, None)
        runs[end] = (length_bytes, ns + KEPT_NS, count + 1)
        if len(runs) > RECENT:
            del runs[next(iter(runs))]
        return length_bytes >= CUTOFF_BYTES
