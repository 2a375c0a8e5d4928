"""The text by which the kernel picks the I/Os that the service gets to see. Pure.

Chunks of 64 KiB are chosen by 6 bits of their address, so that of every 64 neighbours one is
observed: strata give a smaller error than a hash at the same rate, and the kernel's filter can do
it (`&`, no BPF). An I/O is seen if it begins in an observed chunk, or in the one before it and may
reach into it, or is large: then it may touch an observed chunk wherever it begins. A flush has no
address. It is seen because diskstats count it as a write and it touches nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

SECTOR_BYTES = 512
CHUNK_SECTORS = 128
CHUNK_BYTES = CHUNK_SECTORS * SECTOR_BYTES
SHARE = 64
LARGE_SECTORS = 64
# What is no larger than a page lies in one chunk, as file systems have aligned for twenty years.
PAGE_SECTORS = 8
# The kernel takes a filter of less than a page.
LENGTH_LIMIT = 4000


def trace_filter(residue: int, devices: Iterable[int], whole: Iterable[int] = ()) -> str:
    """The filter for the chunks whose number is `residue` modulo SHARE, on `devices` (as the kernel
    numbers them in an event), and for all I/Os of the devices `whole`. Raises ValueError where it
    would be too long."""
    numbers = sorted(set(devices))
    parts = []
    if numbers:
        seen = (
            f"({_begins_in(residue)})",
            f"({_begins_in((residue - 1) % SHARE)} && nr_sector > {PAGE_SECTORS})",
            f"nr_sector > {LARGE_SECTORS}",
            "nr_sector == 0",
        )
        parts.append(f"(({' || '.join(seen)}) && ({' || '.join(_ranges(numbers))}))")
    parts += _ranges(sorted(set(whole)))
    text = " || ".join(parts)
    if not parts or len(text) > LENGTH_LIMIT:
        raise ValueError("the devices do not fit into one filter")
    return text


def _begins_in(residue: int) -> str:
    """The first sector's chunk is `residue` modulo SHARE. `&` says only whether any bit is set."""
    bits = [1 << n for n in range(SHARE.bit_length() - 1)]
    unset = sum(bit for bit in bits if not residue & bit) * CHUNK_SECTORS
    tests = [f"!(sector & {unset:#x})"] if unset else []
    tests += [f"sector & {bit * CHUNK_SECTORS:#x}" for bit in bits if residue & bit]
    return " && ".join(tests)


def _ranges(numbers: list[int]) -> Iterator[str]:
    """Minor numbers mostly follow one another, and each test costs every I/O of the host."""
    first = 0
    for n in range(1, len(numbers) + 1):
        if n < len(numbers) and numbers[n] == numbers[n - 1] + 1:
            continue
        low, high = numbers[first], numbers[n - 1]
        yield f"dev == {low}" if low == high else f"(dev >= {low} && dev <= {high})"
        first = n
