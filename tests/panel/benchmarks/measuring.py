"""Runs with figures that a test chooses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from panel.benchmarks.measured import MeasuredRun, MeasuredSource, Setup, comparable
from storage.analysis.comparison import Conditions
from storage.benchmarks.matrix import CacheState, Cell, Profile, TargetKind
from storage.byte_sizes import GIB
from tests.benchmark_scene import summary

HERE = MeasuredSource(key="aaaa", title="Here", origin="ordered", place="stor-1")
MODES = {TargetKind.LVMCACHE: "writethrough", TargetKind.BCACHE: "writethrough"}


def cell(target: TargetKind, **changes: Any) -> Cell:
    """Zipf reads of 4 GiB, over a cache of 4 GiB."""
    is_cached = target in MODES
    fields: dict[str, Any] = {
        "target": target,
        "profile": Profile.ZIPF_READ,
        "data_bytes": 4 * GIB,
        "seconds": 60,
        "state": CacheState.NEW,
        "cache_bytes": 4 * GIB if is_cached else 0,
        "mode": MODES.get(target, ""),
    }
    return Cell(**fields | changes)


def runs(
    of: Cell,
    figures: Sequence[float],
    *,
    first: int = 1,
    source: MeasuredSource = HERE,
    boots: Iterable[str] | None = None,
    reasons: tuple[str, ...] = (),
    **conditions: Any,
) -> list[MeasuredRun]:
    """One for each figure of IOPS."""
    setup = Setup.of_cell(of)
    made = summary(of, Random(1))
    names = list(boots) if boots is not None else ["boot"] * len(figures)
    return [
        MeasuredRun(
            source=source,
            number=first + n,
            repeat=n,
            setup=setup,
            summary=replace(made, iops=iops),
            conditions=comparable(setup, Conditions(**{"kernel": "6.1.0", **conditions})),
            boot_id=names[n],
            reasons=reasons,
        )
        for n, iops in enumerate(figures)
    ]
