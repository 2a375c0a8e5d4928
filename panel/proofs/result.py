"""The result of a proof, as stored and shown. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from storage.analysis.before_after import Block, Judged, Pair, total
from storage.metrics.rates.figures import percentile_ms


def result(
    paired: Sequence[Pair],
    judged: Judged,
    *,
    cache_bytes: int | None,
    volume_bytes: int,
    blocks: int,
) -> dict[str, Any]:
    """The figures of the paired blocks alone, of `blocks` that the window has. Hit rates are 0 to
    1, of reads, and 0 without a cache; times are milliseconds, averages of reads and percentiles of
    reads and writes together (null for a bcache volume, whose kernel keeps no histogram).
    `slow_reads_spared_per_second`: reads that no longer went to the slow disk, at the use after the
    change; below zero where more did. `…_low` and `…_high` enclose the truth with a probability of
    95 %; `read_times` is how many times as long a read takes."""
    before, after = (total(side) for side in zip(*paired, strict=True))
    times = judged.times_as_long
    return {
        "verdict": judged.verdict.value,
        "confidence": judged.confidence,
        "hit_rate_before": _rounded(judged.before),
        "hit_rate_after": _rounded(judged.after),
        "hit_rate_change": _rounded(judged.hit_rate.mean),
        "hit_rate_change_low": _rounded(judged.hit_rate.low),
        "hit_rate_change_high": _rounded(judged.hit_rate.high),
        "read_times": _rounded(times[0] if times else None),
        "read_times_low": _rounded(times[1] if times else None),
        "read_times_high": _rounded(times[2] if times else None),
        **_side("before", before),
        **_side("after", after),
        "slow_reads_spared_per_second": _rounded(judged.hit_rate.mean * _iops(after)),
        "cache_bytes": cache_bytes,
        "volume_bytes": volume_bytes,
        "blocks": blocks,
        "blocks_compared": len(paired),
        "has_percentiles": any(before.counts) and any(after.counts),
    }


def _side(name: str, block: Block) -> dict[str, float | None]:
    return {
        f"read_ms_{name}": _rounded(block.read_ms / block.reads if block.reads else None),
        f"read_ms_p50_{name}": _rounded(percentile_ms(block.counts, 0.50)),
        f"read_ms_p95_{name}": _rounded(percentile_ms(block.counts, 0.95)),
        f"read_iops_{name}": _rounded(_iops(block)),
    }


def _iops(block: Block) -> float:
    return block.reads * 1000 / block.dt_ms if block.dt_ms else 0.0


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
