"""What must be alike in runs that are compared, from what the host said of itself and what was
ordered. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from storage.analysis.comparison import Conditions
from storage.benchmarks.matrix import Cell
from storage.benchmarks.run_facts import text_at
from storage.byte_sizes import KIB


def run_conditions(reported: Mapping[str, Any], cell: Cell, kernel: str) -> Conditions:
    """`reported` is `BenchmarkRun.conditions`."""
    disks, arrays = list(_objects(reported, "disks")), list(_objects(reported, "arrays"))
    slow = [disk for disk in disks if disk.get("tier") == "slow"]
    fast = [disk for disk in disks if disk.get("tier") == "fast"]
    return Conditions(
        target=cell.target,
        profile=_load(cell),
        fio_version=text_at(reported, "versions", "fio") or None,
        kernel=kernel or None,
        lvm2_version=text_at(reported, "versions", "lvm2") or None,
        bcache_tools_version=text_at(reported, "versions", "bcache_tools") or None,
        ssd_model=_all(fast, "model"),
        ssd_firmware=_all(fast, "firmware"),
        hdd_model=_all(slow, "model"),
        hdd_firmware=_all(slow, "firmware"),
        raid_level=_all(arrays, "level"),
        stripe_bytes=_number(arrays, "chunk_size"),
        drive_write_cache=_all(disks, "write_cache"),
        io_scheduler=_all(disks, "scheduler"),
        nr_requests=_number(slow, "nr_requests"),
        read_ahead_kb=_number(slow, "read_ahead_kb"),
        data_to_cache=cell.data_bytes / cell.cache_bytes if cell.cache_bytes else None,
        cache_mode=cell.mode or None,
        chunk_bytes=cell.chunk_kib * KIB or None,
        sequential_cutoff_bytes=cell.sequential_cutoff_kib * KIB if cell.has_cache else None,
        state_before=cell.state if cell.has_cache else None,
        cpu_governor=text_at(reported, "cpu", "governor") or None,
        mitigations=_mitigations(reported),
    )


def _load(cell: Cell) -> str:
    options = " ".join(f"{name}={value}" for name, value in cell.options)
    shape = f"{cell.jobs} x {cell.iodepth} x {cell.block_bytes}"
    return " ".join(filter(None, (cell.profile, shape, options)))


def _objects(reported: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    rows = reported.get(name)
    yield from (row for row in rows if isinstance(row, Mapping)) if isinstance(rows, list) else ()


def _texts(rows: list[Mapping[str, Any]], name: str) -> list[str]:
    return sorted({text for row in rows if (text := text_at(row, name))})


def _all(rows: list[Mapping[str, Any]], name: str) -> str | None:
    return ", ".join(_texts(rows, name)) or None


def _number(rows: list[Mapping[str, Any]], name: str) -> int | None:
    """None where the rows differ."""
    texts = _texts(rows, name)
    return int(texts[0]) if len(texts) == 1 and texts[0].isdecimal() else None


def _mitigations(reported: Mapping[str, Any]) -> str | None:
    cpu = reported.get("cpu")
    known = cpu.get("mitigations") if isinstance(cpu, Mapping) else None
    if not isinstance(known, Mapping):
        return None
    return ", ".join(f"{name}: {text}" for name, text in sorted(known.items()) if text) or None
