"""Block-device counters as /proc/diskstats prints them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field


@dataclass
class Region:
    """A histogram of dm-stats, which a program made for itself."""

    program: str
    bounds_ns: tuple[int, ...]
    counts: list[float]


@dataclass
class Counters:
    """Fractions are kept, whole numbers shown, so that slow loads add up."""

    reads: float = 0.0
    read_sectors: float = 0.0
    read_ms: float = 0.0
    writes: float = 0.0
    write_sectors: float = 0.0
    write_ms: float = 0.0
    busy_ms: float = 0.0
    regions: dict[int, Region] = field(default_factory=dict)
    region_next: int = 0

    def read(self, count: float, sectors: float, ms_each: float) -> None:
        self.reads += count
        self.read_sectors += sectors
        self.read_ms += count * ms_each
        self._observe(count, ms_each)

    def write(self, count: float, sectors: float, ms_each: float) -> None:
        self.writes += count
        self.write_sectors += sectors
        self.write_ms += count * ms_each
        self._observe(count, ms_each)

    def _observe(self, count: float, ms_each: float) -> None:
        self.busy_ms += count * min(ms_each, 1.0)
        for region in self.regions.values():
            region.counts[bisect_right(region.bounds_ns, ms_each * 1e6)] += count

    def fields(self) -> list[int]:
        """The 17 fields after the device's name."""
        weighted = self.read_ms + self.write_ms
        return [
            int(value)
            for value in (
                self.reads, 0, self.read_sectors, self.read_ms,
                self.writes, 0, self.write_sectors, self.write_ms,
                0, self.busy_ms, weighted, 0, 0, 0, 0, 0, 0,
            )
        ]  # fmt: skip
