"""The files of a run, read: what became of it, under which conditions, and its figures. Pure.

A host is not trusted: whatever no run of ours can have written is refused with its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from storage.benchmarks.legs import legs_of
from storage.benchmarks.matrix import Cell
from storage.benchmarks.run_facts import RunFacts, conditions_of, facts_of, text_at
from storage.benchmarks.summary import RunSummary
from storage.benchmarks.summing_up import sum_up
from storage.fio.reading import read_outputs
from storage.fio.results import FioRefusal
from storage.host_data import BadHostData, clean_text

RUN, LEGS, FIO = "run.json", "legs.jsonl", "fio.json"


@dataclass(frozen=True, slots=True)
class RunResult:
    """`summary` is None where nothing was measured."""

    outcome: str
    message: str
    correction: str
    reached_seconds: int
    boot_id: str
    kernel: str
    fio_version: str
    conditions: dict[str, Any]
    summary: RunSummary | None


def read_result(files: Mapping[str, bytes], cell: Cell) -> RunResult:
    """Raises `BadHostData`."""
    if RUN not in files:
        raise BadHostData("run.json: it is missing")
    facts, conditions = facts_of(files[RUN]), conditions_of(files)
    return RunResult(
        facts.outcome,
        facts.message,
        facts.correction,
        facts.reached_seconds,
        facts.boot_id or clean_text(text_at(conditions, "boot_id"), 64),
        clean_text(text_at(conditions, "kernel", "release"), 128),
        clean_text(text_at(conditions, "versions", "fio"), 32),
        conditions,
        summary_of(files, cell, facts),
    )


def summary_of(files: Mapping[str, bytes], cell: Cell, facts: RunFacts) -> RunSummary | None:
    """The figures of the files; None where nothing was measured. Raises `BadHostData`."""
    # Its histograms over time are for charts: the bins of the whole run are in its JSON.
    outputs = {
        name: content
        for name, content in files.items()
        if content and (name == FIO or name.startswith("iops."))
    }
    imported = read_outputs(outputs)
    if imported.refusals:
        first = imported.refusals[0]
        raise BadHostData(f"{first.file}: {first.sentence}")
    try:
        return sum_up(imported, legs_of(files.get(LEGS, b"")), cell, facts)
    except FioRefusal as refusal:
        raise BadHostData(refusal.sentence) from None
