"""The files of a run, read: what became of it, under which conditions, and its figures. Pure.

A host is not trusted: whatever no run of ours can have written is refused with its place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from storage.benchmarks.matrix import Cell
from storage.benchmarks.run_facts import RunFacts, conditions_of, facts_of, text_at
from storage.benchmarks.run_legs import legs_of
from storage.benchmarks.summary import RunSummary
from storage.benchmarks.summing_up import sum_up
from storage.fio.reading import read_outputs
from storage.fio.results import FioRefusal
from storage.host_data import BadHostData, clean_text

FINISHED: Final = "finished"
RUN, LEGS, FIO = "run.json", "legs.jsonl", "fio.json"


@dataclass(frozen=True, slots=True)
class RunResult:
    """`summary` is None where nothing was measured. `message` says why the run ended early, or what
    is to be known of its figures."""

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
    summary, remark = _summed_up(files, cell, facts)
    return RunResult(
        facts.outcome,
        facts.message or remark,
        facts.correction,
        facts.reached_seconds,
        facts.boot_id or clean_text(text_at(conditions, "boot_id"), 64),
        clean_text(text_at(conditions, "kernel", "release"), 128),
        clean_text(text_at(conditions, "versions", "fio"), 32),
        conditions,
        summary,
    )


def summary_of(files: Mapping[str, bytes], cell: Cell, facts: RunFacts) -> RunSummary | None:
    """The figures of the files; None where nothing was measured. Raises `BadHostData`."""
    return _summed_up(files, cell, facts)[0]


def _summed_up(
    files: Mapping[str, bytes], cell: Cell, facts: RunFacts
) -> tuple[RunSummary | None, str]:
    """With what had to be left out: a log is worth less than the figures of a day."""
    # Its histograms over time are for charts: the bins of the whole run are in its JSON.
    outputs = {
        name: content
        for name, content in files.items()
        if content and (name == FIO or name.startswith("iops."))
    }
    imported = read_outputs(outputs)
    for refusal in imported.refusals:
        if refusal.file == FIO:
            raise BadHostData(f"{FIO}: {refusal.sentence}")
    if facts.outcome == FINISHED and not any(job.directions for job in imported.jobs):
        raise BadHostData("fio.json: it has no figures")
    legs = legs_of(files.get(LEGS, b""))
    try:
        summary = sum_up(imported, legs, cell, facts)
        # PostgreSQL's JSON has no other numbers.
        json.dumps(None if summary is None else summary.to_json(), allow_nan=False)
    except FioRefusal as refusal:
        raise BadHostData(refusal.sentence) from None
    except ValueError as error:
        raise BadHostData(f"its figures are no numbers: {error}") from None
    left_out = [f"{each.file} is left out: {each.sentence}" for each in imported.refusals]
    return summary, " ".join(left_out)
