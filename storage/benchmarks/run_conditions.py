"""What must be alike in runs that are compared, from what the host said of itself and what was
ordered. Pure. A host is not trusted: what has no expected form is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from storage.analysis.comparison import Conditions
from storage.benchmarks.matrix import Cell
from storage.benchmarks.run_facts import text_at
from storage.byte_sizes import KIB


def run_conditions(reported: Mapping[str, Any], cell: Cell, kernel: str) -> Conditions:
    """`reported` is `BenchmarkRun.conditions`."""
    return replace(
        reported_conditions(reported),
        target=cell.target,
        profile=cell.load,
        fio_version=text_at(reported, "versions", "fio") or None,
        kernel=kernel or None,
        data_to_cache=cell.data_bytes / cell.cache_bytes if cell.cache_bytes else None,
        cache_mode=cell.mode or None,
        chunk_bytes=cell.chunk_kib * KIB or None,
        sequential_cutoff_bytes=cell.sequential_cutoff_kib * KIB if cell.has_cache else None,
        state_before=cell.state if cell.has_cache else None,
    )


def reported_conditions(statement: Mapping[str, Any]) -> Conditions:
    """What the host said of itself (`storage.agent.benchmark.host_conditions`)."""
    fast, slow = _of(statement, "disks", "fast"), _of(statement, "disks", "slow")
    every = [*slow, *fast]
    levels = (
        f"{words} {level}"
        for words, tier in (("HDD", "slow"), ("SSD", "fast"))
        if (level := _same(_of(statement, "arrays", tier), "level"))
    )
    return Conditions(
        lvm2_version=text_at(statement, "versions", "lvm2") or None,
        bcache_tools_version=text_at(statement, "versions", "bcache_tools") or None,
        ssd_model=_same(fast, "model"),
        ssd_firmware=_same(fast, "firmware"),
        hdd_model=_same(slow, "model"),
        hdd_firmware=_same(slow, "firmware"),
        raid_level=", ".join(levels) or None,
        stripe_bytes=_number(_same(_of(statement, "arrays", "slow"), "chunk_size")),
        drive_write_cache=_same(every, "write_cache"),
        io_scheduler=_same(every, "scheduler"),
        nr_requests=_number(_same(every, "nr_requests")),
        read_ahead_kb=_number(_same(every, "read_ahead_kb")),
        cpu_governor=text_at(statement, "cpu", "governor") or None,
        mitigations=_mitigations(statement),
    )


def _of(statement: Mapping[str, Any], kind: str, tier: str) -> list[Mapping[str, Any]]:
    rows = statement.get(kind)
    known = (row for row in rows if isinstance(row, Mapping)) if isinstance(rows, list) else ()
    return [row for row in known if row.get("tier") == tier]


def _same(rows: Iterable[Mapping[str, Any]], name: str) -> str | None:
    """The text that all have, or all texts; None where no row has one."""
    texts = dict.fromkeys(text for row in rows if (text := text_at(row, name).strip()))
    return " + ".join(texts) or None


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and len(text) < 16 else None


def _mitigations(statement: Mapping[str, Any]) -> str | None:
    """Those that slow a CPU down, by their names."""
    cpu = statement.get("cpu")
    listed = cpu.get("mitigations") if isinstance(cpu, Mapping) else None
    if not isinstance(listed, Mapping) or not listed:
        return None
    names = sorted(
        str(name)
        for name, words in listed.items()
        if isinstance(words, str) and words.startswith("Mitigation")
    )
    return ", ".join(names) or "none"
