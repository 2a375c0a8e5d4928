"""What a host said of itself beside a run, as conditions that are compared. Pure. A host is not
trusted: what has no expected form is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from storage.analysis.comparison import Conditions
from storage.benchmarks.run_facts import text_at


def conditions_said(said: Mapping[str, Any]) -> Conditions:
    """Those of conditions.json (`storage.agent.benchmark.conditions`)."""
    fast, slow = _of(said, "disks", "fast"), _of(said, "disks", "slow")
    every = [*slow, *fast]
    levels = (
        f"{words} {level}"
        for words, tier in (("HDD", "slow"), ("SSD", "fast"))
        if (level := _same(_of(said, "arrays", tier), "level"))
    )
    return Conditions(
        lvm2_version=text_at(said, "versions", "lvm2") or None,
        bcache_tools_version=text_at(said, "versions", "bcache_tools") or None,
        ssd_model=_same(fast, "model"),
        ssd_firmware=_same(fast, "firmware"),
        hdd_model=_same(slow, "model"),
        hdd_firmware=_same(slow, "firmware"),
        raid_level=", ".join(levels) or None,
        stripe_bytes=_number(_same(_of(said, "arrays", "slow"), "chunk_size")),
        drive_write_cache=_same(every, "write_cache"),
        io_scheduler=_same(every, "scheduler"),
        nr_requests=_number(_same(every, "nr_requests")),
        read_ahead_kb=_number(_same(every, "read_ahead_kb")),
        cpu_governor=text_at(said, "cpu", "governor") or None,
        mitigations=_mitigations(said),
    )


def _of(said: Mapping[str, Any], kind: str, tier: str) -> list[Mapping[str, Any]]:
    rows = said.get(kind)
    known = (row for row in rows if isinstance(row, Mapping)) if isinstance(rows, list) else ()
    return [row for row in known if row.get("tier") == tier]


def _same(rows: Iterable[Mapping[str, Any]], name: str) -> str | None:
    """The text that all have, or all texts; None where no row has one."""
    texts = dict.fromkeys(text for row in rows if (text := text_at(row, name).strip()))
    return " + ".join(texts) or None


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and len(text) < 16 else None


def _mitigations(said: Mapping[str, Any]) -> str | None:
    """Those that slow a CPU down, by their names."""
    cpu = said.get("cpu")
    listed = cpu.get("mitigations") if isinstance(cpu, Mapping) else None
    if not isinstance(listed, Mapping) or not listed:
        return None
    names = sorted(
        str(name)
        for name, words in listed.items()
        if isinstance(words, str) and words.startswith("Mitigation")
    )
    return ", ".join(names) or "none"
