"""Which volume groups in LVM's report belong to the host and have sound metadata. Pure.

LVM checks names and tags when it writes metadata, not when it reads it. Everybody who writes to a
disk that LVM scans can write metadata, and guests write to theirs. A group on a guest's disk is
never the host's; a group with anything that LVM itself would not have written is left out and
named. This affects one volume group only: the others are read as if it did not exist.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from ..calls import names
from ..kernel.lvm import Report, Row, consistent, split_list

_PV = {"pv_uuid": names.lvm_uuid, "vg_name": names.vg_name}
_LV = {
    "lv_uuid": names.lvm_uuid,
    "lv_name": names.any_lv_name,
    "vg_name": names.vg_name,
    **dict.fromkeys(
        (
            "lv_layout",
            "lv_role",
            "lv_health_status",
            "segtype",
            "cache_mode",
            "cache_policy",
            "cache_settings",
        ),
        names.lvm_words,
    ),
    # What a later LVM wrote, an older one shows as it stands there: "thin-pool+CROP_METADATA".
    **dict.fromkeys(("lv_layout", "segtype"), names.lvm_type),
}


@dataclass(frozen=True)
class Unsound:
    """A group that is left out: `name` is fit to be shown, and for nothing else."""

    vg_uuid: str
    name: str
    why: str


@dataclass(frozen=True)
class Sifted:
    """`report` has the LVs of sound groups of the host only. Every group keeps its rows of VG and
    PVs, so that none of its disks looks unused, under a name that no command takes unless it is
    sound. `guests` are the uuids of the groups on guests' disks."""

    report: Report
    unsound: tuple[Unsound, ...]
    guests: frozenset[str]

    @property
    def left_out(self) -> frozenset[str]:
        return self.guests | {each.vg_uuid for each in self.unsound}


def sift(report: Report, guests: Collection[str], allowed: Collection[str]) -> Sifted:
    """`guests` are the uuids of the groups on guests' disks, `allowed` of those that root allows
    or once allowed: of two groups with the same volume that one stays."""
    whys = dict(_whys(report, guests))
    order = sorted(
        (row for row in report.vgs if row["vg_uuid"] not in whys),
        key=lambda row: row["vg_uuid"] in guests or row["vg_uuid"] not in allowed,
    )
    owners: dict[str, str] = {}
    volumes = _volumes(report)
    for row in order:
        for uuid in volumes.get(row["vg_uuid"], ()):
            if owners.setdefault(uuid, row["vg_uuid"]) != row["vg_uuid"]:
                whys.setdefault(row["vg_uuid"], f"its volume {uuid} is in another group too")
    named = {row["vg_uuid"]: row["vg_name"] for row in report.vgs}
    unsound = tuple(
        Unsound(uuid, names.printable(named.get(uuid, "")), why) for uuid, why in whys.items()
    )
    dropped = {*whys, *guests}
    kept = tuple(row for row in report.lvs if row["vg_uuid"] not in dropped)
    segments = tuple(row for row in report.segments if row["vg_uuid"] not in dropped)
    vgs = tuple(_shown(row) if row["vg_uuid"] in dropped else row for row in report.vgs)
    pvs = tuple(_shown(row) if row["vg_uuid"] in dropped else row for row in report.pvs)
    clean = replace(
        report,
        vgs=vgs,
        pvs=pvs,
        lvs=kept,
        segments=segments,
        consistent=consistent(vgs, segments),
    )
    return Sifted(clean, unsound, frozenset(guests))


def _shown(row: Row) -> Row:
    tags = [tag for tag in split_list(row["vg_tags"]) if _refused(names.tag, tag) is None]
    return {**row, "vg_name": names.printable(row["vg_name"]), "vg_tags": ",".join(tags)}


def _whys(report: Report, guests: Collection[str]) -> Iterable[tuple[str, str]]:
    """Why a group is left out, each once; one on a guest's disk is left out anyhow."""
    whys: dict[str, str] = dict.fromkeys(report.unreadable, "LVM's report of it cannot be decoded")
    for row in report.pvs:
        if row["vg_uuid"]:
            _note(whys, row, _odd(row, _PV, row["vg_tags"]))
    for row in report.lvs:
        _note(whys, row, _odd(row, _LV, row["lv_tags"]))
    for row in report.segments:
        _note(whys, row, _odd(row, {"segtype": names.lvm_type}, ""))
    for uuid, names_found in _volumes(report).items():
        if len(set(names_found)) != len(names_found):
            whys.setdefault(uuid, "two of its volumes have the same uuid")
    called: dict[tuple[str, str], str] = {}
    for row in report.lvs:
        key = row["vg_uuid"], row["lv_name"]
        if called.setdefault(key, row["lv_uuid"]) != row["lv_uuid"]:
            whys.setdefault(row["vg_uuid"], "two of its volumes have the same name")
    return ((uuid, why) for uuid, why in whys.items() if uuid not in guests)


def _volumes(report: Report) -> Mapping[str, list[str]]:
    """The uuids of a group's volumes, one for each of its names."""
    volumes: dict[str, dict[tuple[str, str], None]] = {}
    for row in report.segments:
        volumes.setdefault(row["vg_uuid"], {})[row["lv_uuid"], row["lv_name"]] = None
    return {vg: [uuid for uuid, _ in each] for vg, each in volumes.items()}


def _note(whys: dict[str, str], row: Row, why: str | None) -> None:
    if why is not None:
        whys.setdefault(row["vg_uuid"], why)


def _odd(row: Row, checks: Mapping[str, names.Check], tags: str) -> str | None:
    for field, check in checks.items():
        why = _refused(check, row[field])
        if why is not None:
            return f"{field} is {names.printable(row[field])!r}, not {why}"
    for tag in split_list(tags):
        why = _refused(names.tag, tag)
        if why is not None:
            return f"it has the tag {names.printable(tag)!r}, which is not {why}"
    return None


def _refused(check: names.Check, value: str) -> str | None:
    try:
        check(value)
    except ValueError as error:
        return str(error)
    return None
