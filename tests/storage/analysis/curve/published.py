"""The published runs as a cache saw them: two jobs of fio, each zipf 1.2 over its own 2 GiB."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from storage.analysis.curve.heat import (
    HeatRecord,
    ReuseByKind,
    ReuseTimes,
    SequentialIos,
    bucket_bounds,
    usable,
)
from storage.analysis.curve.miss_ratio import MissRatioCurve, miss_ratio_curve
from storage.benchmarks.published import published_runs
from storage.byte_sizes import GIB

RUNS: Final = published_runs()
RUN_SECONDS: Final = 1800
BLOCK_BYTES: Final = 4096
BLOCKS: Final = 2 * GIB // BLOCK_BYTES
STRIDE: Final = 0x61C8864680B583EB
"""fio's lib/zipf.c puts rank r on block r * STRIDE modulo the number of blocks."""
LONG: Final = 200_000_000
"""References of an observation that has seen whatever there is to see."""


def reads(run: str) -> int:
    return sum(RUNS[run]["issued_reads"])


def popularity(chunk_bytes: int) -> npt.NDArray[np.float64]:
    """The share of references of each chunk of both files."""
    ranks = np.arange(BLOCKS, dtype=np.uint64)
    blocks = (ranks * np.uint64(STRIDE)) % np.uint64(BLOCKS)
    chunks = (blocks // np.uint64(chunk_bytes // BLOCK_BYTES)).astype(np.int64)
    one = np.bincount(chunks, weights=fio_zipf(BLOCKS, 1.2))
    return np.concatenate([one, one]) / 2


def fio_zipf(of: int, theta: float) -> npt.NDArray[np.float64]:
    """The share of each rank as fio draws them (lib/zipf.c, after Gray et al., "Quickly generating
    billion-record synthetic databases", SIGMOD 1994): the first two exactly, the others by an
    approximation, which above a theta of 1 gives the rare ones a twentieth less than zipf does."""
    zeta = float(np.sum(np.arange(1, of + 1, dtype=float) ** -theta))
    first_two = (1 + 0.5**theta) / zeta
    eta = (1 - (2 / of) ** (1 - theta)) / (1 - first_two)
    # A uniform u becomes rank floor(of * (eta * u - eta + 1) ** (1 / (1 - theta))).
    borders = (np.arange(of + 1) / of)[1:] ** (1 - theta)
    below = np.concatenate([[0.0], np.clip(1 + (borders - 1) / eta, first_two, 1.0)])
    shares = np.diff(below)
    shares[:2] = 1 / zeta, 0.5**theta / zeta
    shares[2:] *= (1 - first_two) / shares[2:].sum()
    return shares


def curve(chunk_bytes: int, references: int = LONG) -> MissRatioCurve:
    """The expected curve of so many independent references."""
    found = miss_ratio_curve(usable([record(chunk_bytes, references)]), 4 * GIB)
    assert found is not None
    return found


def record(chunk_bytes: int, references: int) -> HeatRecord:
    """The reuse times that are expected of so many independent references, all chunks observed."""
    shares = np.sort(popularity(chunk_bytes))
    groups = [group for group in np.array_split(shares, 4000) if len(group)]
    mean = np.array([group.mean() for group in groups])
    number = np.array([len(group) for group in groups])

    def survival(time: float) -> float:
        return float(np.sum(number * mean * np.exp(-mean * (time - 1))))

    buckets, index = [], 0
    while (bounds := bucket_bounds(index))[1] < references:
        low, high = bounds
        share = survival(low) - survival(high)
        buckets.append((index, round(share * (references - (low + high) / 2))))
        index += 1 if low >= 16 else 16 // int(low)
    cold = float(np.sum(number * -np.expm1(-mean * references)))
    return HeatRecord(
        begun_ns=0,
        seconds=RUN_SECONDS,
        chunk_bytes=chunk_bytes,
        share=1,
        reads=references,
        writes=0,
        read_bytes=references * BLOCK_BYTES,
        write_bytes=0,
        clock_before=0,
        clock=references,
        kept=None,
        sequential=SequentialIos(),
        reuse=ReuseByKind(
            ReuseTimes(round(cold), tuple((i, n) for i, n in buckets if n)), ReuseTimes(0, ())
        ),
    )


def job(run: str, number: int) -> tuple[float, int]:
    """A job's IOPS and its reads."""
    found: dict[str, Any] = RUNS[run]
    return found["job_iops"][number], found["issued_reads"][number]
