"""The result of a proof, as stored and shown. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from storage.analysis.before_after import (
    Block,
    Combined,
    Judged,
    JudgedWrites,
    Pair,
    Verdict,
    total,
)
from storage.metrics.rates.figures import percentile_ms


@dataclass(frozen=True, slots=True)
class ProofComparison:
    """Paired blocks with enough reads, and with enough writes, and what is said of each; None where
    nothing can be. The verdict is on reads alone unless `with_writes`."""

    reads: Sequence[Pair]
    writes: Sequence[Pair]
    of_reads: Judged | None
    of_writes: JudgedWrites | None
    combined: Combined
    with_writes: bool

    @property
    def verdict(self) -> Verdict:
        return self.combined.verdict


def result(
    comparison: ProofComparison, *, cache_bytes: int | None, volume_bytes: int, blocks: int
) -> dict[str, Any]:
    """The figures of the paired blocks alone, of `blocks` that the window has. `verdict` is that of
    all, `reads_verdict` and `writes` are null where there were too few of them; `writes.counted`:
    the verdict is on them too, `is_weighed` by the time waited for each before. Hit rates are 0 to
    1, of reads, and 0 without a cache; times are milliseconds, averages, and percentiles of reads
    and writes together (null for a bcache volume, whose kernel keeps no histogram).
    `slow_reads_spared_per_second`: reads that no longer went to the slow disk, at the use after the
    change; below zero where more did. `…_low` and `…_high` enclose the truth with a probability of
    95 %; `…times` is how many times as long one takes."""
    of_reads, of_writes = comparison.of_reads, comparison.of_writes
    compared = comparison.reads if of_reads is not None else comparison.writes
    before, after = _sides(compared)
    return {
        "verdict": comparison.verdict.value,
        "confidence": comparison.combined.confidence,
        "is_weighed": comparison.combined.is_weighed,
        "reads_verdict": of_reads.verdict.value if of_reads is not None else None,
        **_reads(of_reads, before, after),
        **_percentiles("before", before),
        **_percentiles("after", after),
        "writes": None
        if of_writes is None
        else {
            **_writes(of_writes, *_sides(comparison.writes)),
            "counted": comparison.with_writes,
            "blocks_compared": len(comparison.writes),
        },
        "cache_bytes": cache_bytes,
        "volume_bytes": volume_bytes,
        "blocks": blocks,
        "blocks_compared": len(compared),
        "has_percentiles": any(before.counts) and any(after.counts),
    }


def _sides(paired: Sequence[Pair]) -> tuple[Block, Block]:
    before, after = (total(side) for side in zip(*paired, strict=True))
    return before, after


def _reads(judged: Judged | None, before: Block, after: Block) -> dict[str, float | None]:
    times = judged.times_as_long if judged is not None else None
    shift = judged.hit_rate if judged is not None else None
    spared = shift.mean * _rate(after.reads, after) if shift is not None else None
    return {
        "hit_rate_before": _rounded(judged.before if judged is not None else None),
        "hit_rate_after": _rounded(judged.after if judged is not None else None),
        "hit_rate_change": _rounded(shift.mean if shift is not None else None),
        "hit_rate_change_low": _rounded(shift.low if shift is not None else None),
        "hit_rate_change_high": _rounded(shift.high if shift is not None else None),
        "read_times": _rounded(times[0] if times else None),
        "read_times_low": _rounded(times[1] if times else None),
        "read_times_high": _rounded(times[2] if times else None),
        "read_ms_before": _rounded(_each(before.read_ms, before.reads)),
        "read_ms_after": _rounded(_each(after.read_ms, after.reads)),
        "read_iops_before": _rounded(_rate(before.reads, before)),
        "read_iops_after": _rounded(_rate(after.reads, after)),
        "slow_reads_spared_per_second": _rounded(spared),
    }


def _writes(judged: JudgedWrites, before: Block, after: Block) -> dict[str, Any]:
    times, least, most = judged.times_as_long
    return {
        "verdict": judged.verdict.value,
        "confidence": judged.confidence,
        "ms_before": _rounded(_each(before.write_ms, before.writes)),
        "ms_after": _rounded(_each(after.write_ms, after.writes)),
        "times": _rounded(times),
        "times_low": _rounded(least),
        "times_high": _rounded(most),
        "iops_before": _rounded(_rate(before.writes, before)),
        "iops_after": _rounded(_rate(after.writes, after)),
    }


def _percentiles(name: str, block: Block) -> dict[str, float | None]:
    return {
        f"read_ms_p50_{name}": _rounded(percentile_ms(block.counts, 0.50)),
        f"read_ms_p95_{name}": _rounded(percentile_ms(block.counts, 0.95)),
        f"read_ms_p99_{name}": _rounded(percentile_ms(block.counts, 0.99)),
    }


def _each(ms: int, count: int) -> float | None:
    return ms / count if count else None


def _rate(count: int, block: Block) -> float:
    return count * 1000 / block.dt_ms if block.dt_ms else 0.0


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
