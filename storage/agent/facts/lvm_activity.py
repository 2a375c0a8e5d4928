"""What LVM is doing to volumes now, started by the agent or by a person: a pvmove, the merge of a
snapshot, a conversion, the first copy of a mirror. Also the snapshots of a volume."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..calls.names import printable
from ..commands.command import MOVING
from ..kernel import mirror
from ..kernel.local_host import LocalHost
from ..kernel.lvm import Row, flag, split_list
from .logical_volumes import Layout, pv_name

PVMOVE = "pvmove"
COPIED = frozenset(("mirror", "raid"))

Facts = dict[str, Any]


def of_volumes(host: LocalHost, layout: Layout) -> dict[str, Facts]:
    """By LV uuid, for volumes that something is at work on: its kind, the PV that a pvmove clears,
    how far it is in percent (None: unknown), and whether it is our own move of this volume."""
    movers = {uuid for uuid, row in layout.by_uuid.items() if _is_mover(row)}
    copied = [row for row in layout.by_uuid.values() if COPIED & set(split_list(row["lv_layout"]))]
    done = mirror.percents(host, raids=len(copied) > len(movers)) if copied else {}
    movers_by_lv = {uuid: _movers_of(uuid, layout, movers) for uuid in layout.by_uuid}
    activity: dict[str, Facts] = {}
    for uuid, row in layout.by_uuid.items():
        if uuid in movers or "public" not in split_list(row["lv_role"]):
            continue
        fact = _moved(uuid, layout, movers_by_lv, done) or _changed(row, done)
        if fact is not None:
            activity[uuid] = fact
    return activity


def snapshots(layout: Layout) -> dict[tuple[str, str], list[str]]:
    """Names of the classic snapshots, by the VG uuid and the name of what they were taken of."""
    by_origin: dict[tuple[str, str], list[str]] = {}
    for row in layout.by_uuid.values():
        if "snapshot" in split_list(row["lv_role"]) and row["origin"]:
            by_origin.setdefault((row["vg_uuid"], row["origin"]), []).append(row["lv_name"])
    return by_origin


def _is_mover(row: Row) -> bool:
    return row["lv_name"].startswith(PVMOVE) and PVMOVE in split_list(row["lv_role"])


def _movers_of(uuid: str, layout: Layout, movers: set[str]) -> set[str]:
    """The hidden pvmove volumes that an LV stands on directly."""
    return {part["lv_uuid"] for part in layout.parts(uuid)} & movers


def _moved(
    uuid: str, layout: Layout, movers_by_lv: Mapping[str, set[str]], done: Mapping[str, int]
) -> Facts | None:
    own = {uuid, *layout.parts_below(uuid)}
    at_work = sorted(set().union(*(movers_by_lv[part] for part in own)))
    if not at_work:
        return None
    mover = layout.by_uuid[at_work[0]]
    users = {part for part, movers in movers_by_lv.items() if movers & set(at_work)}
    is_marked = MOVING in split_list(layout.by_uuid[uuid]["lv_tags"])
    return {
        "kind": PVMOVE,
        "source": printable(pv_name(mover["move_pv"])),
        "percent": done.get(dm_name(mover["vg_name"], mover["lv_name"])),
        # A mark that an earlier move left does not make a move by hand our own.
        "ours": is_marked and users <= own,
    }


def _changed(row: Row, done: Mapping[str, int]) -> Facts | None:
    kind = ""
    percent = done.get(dm_name(row["vg_name"], row["lv_name"]))
    if flag(row["lv_merging"]):
        kind = "merge"
    elif flag(row["lv_converting"]):
        kind = "convert"
    elif percent is not None and percent < 100:
        kind = "sync"
    return {"kind": kind, "source": "", "percent": percent, "ours": False} if kind else None


def dm_name(vg: str, lv: str) -> str:
    return "-".join(part.replace("-", "--") for part in (vg, lv))


def sentence(name: str, work: Mapping[str, Any]) -> str:
    """What is at work on the volume `name`, for people."""
    how_far = "" if work["percent"] is None else f", {work['percent']} % done"
    whose = "by Tiercel" if work["ours"] else "by hand"
    return {
        PVMOVE: f"{name} is being moved {whose} (pvmove /dev/{work['source']}){how_far}.",
        "merge": f"A snapshot is being merged into {name}{how_far}.",
        "convert": f"{name} is being converted (lvconvert){how_far}.",
        "sync": f"The mirror of {name} is being copied{how_far}.",
    }[work["kind"]]
