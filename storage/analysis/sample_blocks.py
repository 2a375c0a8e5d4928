"""A volume's figures in blocks of one length: what `storage.analysis.before_after` compares."""

from __future__ import annotations

from datetime import datetime, timedelta

from storage.analysis.before_after import Block
from storage.metrics.rates import figures
from storage.metrics.samples.aggregate import FIGURES, aggregate
from storage.models import Volume


def blocks(
    volume: Volume, start: datetime, end: datetime, seconds: int, *, since: datetime | None = None
) -> list[Block]:
    """The blocks from `start` to `end` in the order of time, `seconds` each; those in which no
    sample ended are missing. An interval that had begun before `since` (by default `start`) is left
    out: it also counts what was before."""
    sampled = []
    for each in aggregate(
        [volume.pk], start, end, kind=FIGURES, step=seconds, begun_since=since or start
    ):
        of_cache = figures(each.sums, least=1)
        at = start + timedelta(seconds=each.n * seconds)
        # Without a cache every read is one that none served; where the counters of a cache are
        # unknown, the hits are too.
        sampled.append(
            Block(
                at=round(at.timestamp()),
                dt_ms=each.sums.dt_ms,
                reads=each.sums.reads,
                read_ms=each.sums.read_ms,
                accesses=of_cache.accesses + each.counts["uncached_reads"],
                hits=(of_cache.hit_rate or 0.0) * of_cache.accesses,
                writes=each.sums.writes,
                write_ms=each.sums.write_ms,
                counts=each.sums.latency_counts,
                used_bytes=each.last["used_bytes"],
                cache_size_bytes=each.last["cache_size_bytes"],
            )
        )
    return sampled
