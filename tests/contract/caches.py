"""What the suite does to the caches of a host: by their guests' reads and by root's hands."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Literal, Protocol

Broken = Literal["needs check", "failed"]


class Caches(Protocol):
    """A `count` is one of reads of 4 KiB."""

    def fill(self, lv: str) -> None:
        """The guest writes and reads the beginning of its volume until its cache is full."""

    def read_hot(self, lv: str, count: int) -> None:
        """The guest reads here and there in that beginning."""

    def read_cold(self, lv: str, count: int) -> None:
        """The guest reads all over its volume, but not there."""

    def foreign_bytes_after_trim(self, lv: str) -> int:
        """The guest, whose disk has discard=unmap, discards all of its volume, then writes a bit
        here and there and reads all of it: how much of that is what `World.scribble` wrote."""

    def read_below(self, lv: str, count: int) -> None:
        """Another program of the host reads the slow part of a volume, past its cache."""

    def has_settled(self) -> None:
        """Wait until the kernel has added up what it counted, and the agent will read it anew."""

    def broken_metadata(self, lv: str, how: Broken) -> AbstractContextManager[None]:
        """The disk under the metadata of a cache takes no writes ("needs check"), or nothing
        ("failed"), and the guest flushes: it has become `how`. The disk is well at the end of the
        block, not the cache."""

    def repair(self, lv: str) -> None:
        """What the panel says is to be typed for such a cache."""

    def reads(self, lv: str) -> bool:
        """Whether a read of the guest succeeds."""

    def flushes(self, lv: str) -> bool:
        """Whether a flush of the guest succeeds."""
