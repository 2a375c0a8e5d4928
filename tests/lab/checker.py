"""Runs inside the lab: writes numbered blocks to a region of a device and checks all it reads.

Arguments: device, offset in bytes, size in bytes, runtime in seconds, report file. Each 4 KiB block
carries its number and its generation 256 times over, so a lost, stale or misplaced write shows.
Stands alone: standard library only, Python 3.9 or later.
"""

import json
import mmap
import os
import pathlib
import random
import signal
import struct
import sys
import time

BLOCK_BYTES = 4096
STAMP = struct.Struct("<QQ")
# A guest that keeps the processor to itself would only make the host's own work slow.
PAUSE_SECONDS = 0.02


class Region:
    """A part of a block device, read and written past the page cache."""

    def __init__(self, device: str, offset_bytes: int, size_bytes: int) -> None:
        """Open `device`; both numbers are multiples of 4096."""
        self.file = os.open(device, os.O_RDWR | os.O_DIRECT)
        self.offset_bytes = offset_bytes
        self.generations = [0] * (size_bytes // BLOCK_BYTES)
        # O_DIRECT wants an aligned buffer; a mapping begins on a page.
        self.buffer = mmap.mmap(-1, BLOCK_BYTES)
        self.writes = self.reads = self.errors = 0
        self.first_error = ""

    def write(self, block: int) -> None:
        """Write the next generation of `block`."""
        self.generations[block] += 1
        self.buffer[:] = self._expected(block)
        if os.pwrite(self.file, self.buffer, self._position(block)) != BLOCK_BYTES:
            raise OSError(f"short write of block {block}")
        self.writes += 1

    def check(self, block: int) -> None:
        """Read `block` and compare it with what was written last."""
        if os.preadv(self.file, [self.buffer], self._position(block)) != BLOCK_BYTES:
            raise OSError(f"short read of block {block}")
        self.reads += 1
        if self.buffer[:] != self._expected(block):
            found = STAMP.unpack(self.buffer[: STAMP.size])
            self.errors += 1
            self.first_error = self.first_error or (
                f"block {block} generation {self.generations[block]}: found {found}"
            )

    def _expected(self, block: int) -> bytes:
        return STAMP.pack(block, self.generations[block]) * (BLOCK_BYTES // STAMP.size)

    def _position(self, block: int) -> int:
        return self.offset_bytes + block * BLOCK_BYTES


def main() -> None:
    """Write everything once, then mix writes and checks; check everything at the end."""
    device, offset, size, runtime, report = sys.argv[1:]
    region = Region(device, int(offset), int(size))
    stopped: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda received, _frame: stopped.append(received))
    deadline = time.monotonic() + int(runtime)
    error = ""
    blocks = range(len(region.generations))
    try:
        for block in blocks:
            region.write(block)
        while not stopped and time.monotonic() < deadline:
            region.check(random.choice(blocks))
            region.write(random.choice(blocks))
            time.sleep(PAUSE_SECONDS)
        for block in blocks:
            region.check(block)
    except OSError as failure:
        region.errors += 1
        error = str(failure)
    result = {
        "blocks": len(blocks),
        "writes": region.writes,
        "reads": region.reads,
        "errors": region.errors,
        "first_error": region.first_error or error,
    }
    pathlib.Path(report).write_text(json.dumps(result))
    sys.exit(1 if region.errors else 0)


if __name__ == "__main__":
    main()
