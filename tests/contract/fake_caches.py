"""The same of the fake host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.contract.caches import Broken
from tests.fake import FakeHost
from tests.fake.parts import EXTENT, Cache

HOT, COLD = 0.97, 0.02


class FakeCaches:
    def __init__(self, host: FakeHost) -> None:
        self.host = host

    def fill(self, lv: str) -> None:
        """Reads that miss fill it; what is read then is warm."""
        self._read(lv, 60_000, COLD)

    def read_hot(self, lv: str, count: int) -> None:
        self._read(lv, count, HOT)

    def read_cold(self, lv: str, count: int) -> None:
        self._read(lv, count, COLD)

    def _read(self, lv: str, count: int, hit_rate: float) -> None:
        load = self.host.root.load(lv, hit_rate=hit_rate, warm_up_seconds=1e-3)
        share = max(1 - hit_rate, load.disk_iops / load.iops)
        self.host.advance(count * share / load.disk_iops)
        self.host.root.stop_load(load)

    def foreign_bytes_after_trim(self, lv: str) -> int:
        """The kernel copies nothing into a chunk of what was discarded."""
        pool = self._cache(lv).pool
        runs = pool.data.runs if pool.data is not None else []
        extents = [(run.pv, n) for run in runs for n in range(run.first, run.first + run.count)]
        return sum(EXTENT for pv, extent in extents if extent in pv.stale)

    def read_below(self, lv: str, count: int) -> None:
        with self.host.changing():
            self._cache(lv).origin.counters.read(count, 8 * count, 3)

    def has_settled(self) -> None:
        self.host.advance(900)

    @contextmanager
    def broken_metadata(self, lv: str, how: Broken) -> Iterator[None]:
        with self.host.changing():
            cache = self._cache(lv)
            cache.needs_check, cache.failed = True, how == "failed"
        yield

    def repair(self, lv: str) -> None:
        with self.host.changing():
            cache = self._cache(lv)
            cache.needs_check = cache.failed = False

    def reads(self, lv: str) -> bool:
        return True

    def flushes(self, lv: str) -> bool:
        return not self._cache(lv).needs_check

    def _cache(self, lv: str) -> Cache:
        cache = self.host.root.lv(lv).cache
        if cache is None:
            raise KeyError(lv)
        return cache
