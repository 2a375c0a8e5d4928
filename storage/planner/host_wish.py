"""What a job without a volume brings about on its host: a disk for a volume group, or for an array
below one, or the result of a benchmark's run. Pure."""

from __future__ import annotations

from storage.inventory.facts import HostFacts
from storage.planner.benchmark_wish import BenchmarkWish, run_benchmark
from storage.planner.draft import PlannedStep
from storage.planner.member_wish import Replacement, replace
from storage.planner.ssd_wish import Preparation, prepare

HostWish = Preparation | Replacement | BenchmarkWish


def read_host_wish(data: object) -> HostWish:
    """What a job keeps. Raises `BadWish`."""
    if isinstance(data, dict) and "array" in data:
        return Replacement.from_json(data)
    if isinstance(data, dict) and "args" in data:
        return BenchmarkWish.from_json(data)
    return Preparation.from_json(data)


def steps_of(facts: HostFacts, wish: HostWish) -> tuple[PlannedStep, ...]:
    """The steps that are left, `()` once all is done; raises `Refused`."""
    match wish:
        case Replacement():
            return replace(facts, wish)
        case BenchmarkWish():
            return run_benchmark(facts, wish)
        case Preparation():
            return prepare(facts, wish)
