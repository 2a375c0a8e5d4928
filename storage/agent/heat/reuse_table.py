"""When each chunk was touched last: a hash table of bounded size for each volume. Pure.

Reuse times are those of AET (Hu et al., ATC 2016), sampled at a fixed size as in SHARDS
(Waldspurger et al., FAST 2015): once the table is full, a further half of the chunks is no longer
tracked, and each one that still is counts double. Two arrays take 128 KiB at 8,192 chunks; a dict
with its numbers would take six times as much.
"""

from __future__ import annotations

from array import array

TRACKED_LIMIT = 8192
FIRST_SLOTS = 256
UNTRACKED, COLD = -1, 0
KEY_BITS = 32
# A table lasts a day, in which no volume has as many references.
CLOCK_MASK = (1 << 32) - 1
_WORD = (1 << 64) - 1
# Multiples of the golden ratio lie evenly: the chunks that stay tracked do, too.
_GOLDEN = 0x9E3779B97F4A7C15


class ReuseTable:
    """`salt` is a secret number of 63 bits: the keys in memory are no addresses. `weight` is how
    many touches of observed chunks one that is tracked stands for."""

    def __init__(self, salt: int, limit: int = TRACKED_LIMIT) -> None:
        self._salt = salt
        self._limit = limit
        self._below = 1 << KEY_BITS
        self._tracked = 0
        self._make(min(FIRST_SLOTS, 2 * limit))
        self.weight = 1

    def __len__(self) -> int:
        return self._tracked

    def touch(self, chunk: int, clock: int) -> int:
        """The time since the last touch of the chunk, at least 1; COLD for the first one, UNTRACKED
        where the chunk is not sampled. `clock` never runs backwards."""
        key = ((chunk ^ self._salt) * _GOLDEN & _WORD) >> KEY_BITS or 1
        if key >= self._below:
            return UNTRACKED
        keys, mask, now = self._keys, self._mask, clock & CLOCK_MASK
        slot = key & mask
        while keys[slot]:
            if keys[slot] == key:
                reuse = now - self._clocks[slot] & CLOCK_MASK
                self._clocks[slot] = now
                return reuse or 1
            slot = (slot + 1) & mask
        keys[slot] = key
        self._clocks[slot] = now
        self._tracked += 1
        if 2 * self._tracked > len(keys):
            self._make_room()
        return COLD

    def _make_room(self) -> None:
        """More slots up to the limit; then half as many chunks."""
        entries = [(key, clock) for key, clock in zip(self._keys, self._clocks) if key]
        slots = len(self._keys)
        if slots < 2 * self._limit:
            slots *= 2
        else:
            self._below //= 2
            self.weight *= 2
        self._make(slots)
        entries = [entry for entry in entries if entry[0] < self._below]
        self._tracked = len(entries)
        for key, clock in entries:
            slot = key & self._mask
            while self._keys[slot]:
                slot = (slot + 1) & self._mask
            self._keys[slot] = key
            self._clocks[slot] = clock

    def _make(self, slots: int) -> None:
        self._mask = slots - 1
        self._keys = array("I", bytes(4 * slots))
        self._clocks = array("I", bytes(4 * slots))
