"""How fast dirty data falls: slope, remaining time, standstill. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

WINDOW_NS = 30_000_000_000


@dataclass(frozen=True)
class Pace:
    """`rate_bytes_s` is 0 where it rises; `left_s` None where no end can be told; `stalled_s` is
    how long ago there was less than ever before."""

    rate_bytes_s: int
    left_s: int | None
    stalled_s: int

    def to_json(self) -> dict[str, object]:
        return {
            "rate_bytes_s": self.rate_bytes_s,
            "left_s": self.left_s,
            "stalled_s": self.stalled_s,
        }


class Fall:
    """What is dirty, look by look; `peak` is the most there ever was."""

    def __init__(self, at_ns: int, dirty: int) -> None:
        self.peak = dirty
        self._least = dirty
        self._least_ns = at_ns
        self._looks: deque[tuple[int, int]] = deque([(at_ns, dirty)])

    def look(self, at_ns: int, dirty: int, limit: int) -> Pace:
        """Take `dirty` bytes in; the pace towards `limit` over the last half minute."""
        self.peak = max(self.peak, dirty)
        if dirty < self._least:
            self._least, self._least_ns = dirty, at_ns
        self._looks.append((at_ns, dirty))
        while len(self._looks) > 2 and at_ns - self._looks[0][0] > WINDOW_NS:
            self._looks.popleft()
        first_ns, first = self._looks[0]
        seconds = (at_ns - first_ns) / 1e9
        rate = max(0, int((first - dirty) / seconds)) if seconds > 0 else 0
        left = max(0, dirty - limit)
        left_s = 0 if left == 0 else -(-left // rate) if rate else None
        return Pace(rate, left_s, (at_ns - self._least_ns) // 1_000_000_000)
