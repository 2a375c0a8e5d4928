"""Block-device counters as /proc/diskstats prints them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field


@dataclass
class Region:
    """Counters of dm-stats, which a program made for itself: of as many sectors as the device had
    then."""

    program: str
    bounds_ns: tuple[int, ...]
    counts: list[float]
    sectors: int
    reads: float = 0.0
    read_ns: float = 0.0
    writes: float = 0.0
    write_ns: float = 0.0


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
    discards: float = 0.0
    discard_sectors: float = 0.0
    discard_ms: float = 0.0
    regions: dict[int, Region] = field(default_factory=dict)
    region_next: int = 0

    def read(self, count: float, sectors: float, ms_each: float) -> None:
        self.reads += count
        self.read_sectors += sectors
        self.read_ms += count * ms_each
        self._observe(count, ms_each)
        for region in self.regions.values():
            region.reads += count
            region.read_ns += count * ms_each * 1e6

    def write(self, count: float, sectors: float, ms_each: float) -> None:
        self.writes += count
        self.write_sectors += sectors
        self.write_ms += count * ms_each
        self._observe(count, ms_each)
        for region in self.regions.values():
            region.writes += count
            region.write_ns += count * ms_each * 1e6

    def flush(self, count: float, ms_each: float) -> None:
        """Without data: a write of no sectors for diskstats, nothing for dm-stats."""
        self.writes += count
        self.write_ms += count * ms_each
        self.busy_ms += count * min(ms_each, 1.0)

    def discard(self, count: float, sectors: float, ms_each: float) -> None:
        """A write for dm-stats."""
        self.discards += count
        self.discard_sectors += sectors
        self.discard_ms += count * ms_each
        self._observe(count, ms_each)
        for region in self.regions.values():
            region.writes += count
            region.write_ns += count * ms_each * 1e6

    def _observe(self, count: float, ms_each: float) -> None:
        self.busy_ms += count * min(ms_each, 1.0)
        for region in self.regions.values():
            region.counts[bisect_right(region.bounds_ns, ms_each * 1e6)] += count

    def fields(self) -> list[int]:
        """The 17 fields after the device's name."""
        weighted = self.read_ms + self.write_ms + self.discard_ms
        return [
            int(value)
            for value in (
                self.reads, 0, self.read_sectors, self.read_ms,
                self.writes, 0, self.write_sectors, self.write_ms,
                0, self.busy_ms, weighted,
                self.discards, 0, self.discard_sectors, self.discard_ms, 0, 0,
            )
        ]  # fmt: skip
