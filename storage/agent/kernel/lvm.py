"""LVM's report as plain rows.

One process for everything (`lvm fullreport`), because each reads the metadata of all PVs anew: one
row per PV with the fields of its VG, one row per segment with the fields of its LV (any segment
field makes LVs of several segments repeat). Exit codes say little (a missing PV gives 0), so health
comes from fields.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..calls.names import device_path
from ..calls.refusals import Refusal
from . import hung_readers
from .local_host import CommandResult, LocalHost, MissingTool, Stuck, TimedOut

Row = Mapping[str, str]

PVS = (
    "pv_uuid,pv_name,vg_uuid,vg_name,dev_size,pv_size,pv_free,pv_missing,pv_duplicate,"
    "pv_major,pv_minor,pv_allocatable,pv_exported,vg_size,vg_free,vg_extent_size,vg_seqno,vg_tags,"
    "vg_missing_pv_count,vg_shared,vg_lock_type,vg_systemid,vg_exported,vg_clustered,vg_partial,"
    "vg_mda_size,vg_mda_free,vg_allocation_policy"
)
LVS = (
    "lv_uuid,lv_name,vg_uuid,vg_name,vg_seqno,lv_size,lv_layout,lv_role,lv_tags,lv_active,"
    "lv_suspended,lv_device_open,lv_kernel_major,lv_kernel_minor,lv_health_status,pool_lv,"
    "pool_lv_uuid,segtype,seg_start,seg_size,devices,metadata_devices,chunk_size,cache_mode,"
    "cache_policy,cache_settings,lv_merging,lv_converting,origin,move_pv,lv_allocation_policy"
)
PIECES = "pv_uuid,pvseg_size,segtype"
# By the part of LVM's report. What it leaves out of a row, it knows nothing of.
_BLANK: Mapping[str, Row] = {
    kind: dict.fromkeys(names.split(","), "")
    for kind, names in (("pv", PVS), ("seg", LVS), ("pvseg", PIECES))
}

_FORMAT = ("--units", "b", "--nosuffix", "--binary", "--reportformat", "json", "--config")
# LVM's reports too write metadata down in /etc/lvm where that is not done yet; without a lock it
# may be what a writer is about to replace.
_CONFIG = (
    "report/mark_hidden_devices=0 report/compact_output=0 "
    'report/list_item_separator="," backup/backup=0 backup/archive=0'
)
# How long a report may take in a request.
SECONDS = 10.0

_NUMBER = re.compile(r"-?[0-9]{1,19}")
_LOCKED = "Resource temporarily unavailable"
_CANNOT = re.compile(r"(?m)^\s*Cannot process volume group (\S+)$")
# The report has the device that LVM chose and exit status 0; it names the others only here.
_PV_UUID = r"(?P<uuid>[A-Za-z0-9-]{32,38})"
_DOUBLES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"Not using device (?P<other>/\S+) for PV {_PV_UUID}",
        rf"PV {_PV_UUID} prefers device (?P<chosen>/\S+) because",
        rf"PV {_PV_UUID} on (?P<other>/\S+) was already found on (?P<chosen>/\S+)",
        rf"duplicate PV:? {_PV_UUID}: using (?P<chosen>/\S+) not (?P<other>/\S+)",
        rf"duplicate PV {_PV_UUID} is being used from both devices (?P<chosen>/\S+) and "
        r"(?P<other>/\S+)",
    )
)


@dataclass(frozen=True)
class Report:
    """`stale`: a VG was locked and the data was read without its lock. `consistent`: no VG changed
    between its PVs and its segments. `unreadable`: uuids of VGs whose part of the report is no
    JSON; nothing of them is in the rows. `doubles`: the devices of each PV that LVM sees on
    several, by its uuid and by the name of the device that LVM chose."""

    vgs: tuple[Row, ...]
    pvs: tuple[Row, ...]
    lvs: tuple[Row, ...]
    segments: tuple[Row, ...]
    stale: bool
    consistent: bool
    unreadable: tuple[str, ...] = ()
    doubles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def argv(*, locking: bool) -> list[str]:
    """The report command. It never waits for a VG lock: a writer may hold one for hours. The
    subreports that are not read have one cheap field each; they cannot be left out."""
    words = ["lvm", "fullreport", "-a", *_FORMAT]
    words += [f"{_CONFIG} global/wait_for_locks=0"] if locking else [_CONFIG, "--nolocking"]
    fields = {"vg": "vg_uuid", "lv": "lv_uuid", "pvseg": "pvseg_start", "pv": PVS, "seg": LVS}
    for kind, names in fields.items():
        words += ["--configreport", kind, "-o", names]
    return words


def read(
    host: LocalHost,
    *,
    fresh: str | None = None,
    needed: Collection[str] = (),
    timeout: float = SECONDS,
) -> Report:
    """Raises Refusal(missing_tool | timeout | busy | cmd_failed); busy only where the VG `fresh` is
    locked, of which a stale answer will not do, or where LVM does not say which is. LVM may fail
    over a VG that it names, as long as it is none of the VGs `needed`, and give the others."""
    command = argv(locking=True)
    result = _run(host, command, timeout)
    complaints = _complaints(result) if result.rc != 0 else ""
    stale = _LOCKED in complaints
    if stale:
        locked = _CANNOT.findall(complaints)
        if fresh is not None and (fresh in locked or not locked):
            raise _busy(command, result)
        command = argv(locking=False)
        result = _run(host, command, timeout)
    if result.rc != 0 and not _over_another(result, needed):
        raise _failed(command, result)
    document, unreadable = _document(result, command)
    pvs = sorted(_rows(document, "pv"), key=_pv_order)
    segments = sorted(_rows(document, "seg"), key=_segment_order)
    vgs = _first_by(("vg_uuid",), [row for row in pvs if row["vg_uuid"]])
    lvs = _first_by(("vg_uuid", "lv_uuid", "lv_name"), segments)
    is_consistent = consistent(vgs, segments)
    seen_on = doubles(_complaints(result))
    return Report(vgs, tuple(pvs), lvs, tuple(segments), stale, is_consistent, unreadable, seen_on)


def doubles(complaints: str) -> dict[str, tuple[str, ...]]:
    """The devices of each PV that LVM sees on several, as `Report` has them."""
    by_uuid: dict[str, list[str]] = {}
    for pattern in _DOUBLES:
        for match in pattern.finditer(complaints):
            named = match.groupdict()
            devices = [named[which] for which in ("chosen", "other") if named.get(which)]
            known = by_uuid.setdefault(named["uuid"].replace("-", ""), [])
            known += [each for each in map(_device_path, devices) if each and each not in known]
    seen_on = {uuid: tuple(sorted(devices)) for uuid, devices in by_uuid.items() if devices}
    return {**seen_on, **{device: each for each in seen_on.values() for device in each}}


def _device_path(text: str) -> str:
    try:
        return device_path(text.rstrip(".,;"))
    except ValueError:
        return ""


def free_pieces(host: LocalHost, vg: str) -> Mapping[str, int]:
    """How many free extents lie side by side at most on each PV, by its uuid; a PV of which nothing
    is free is missing. Raises Refusal as `read` does."""
    command = ["lvm", "pvs", "--segments", *_FORMAT, _CONFIG, "--nolocking", "-o", PIECES]
    result = _run(host, command, SECONDS)
    if result.rc != 0 and not _over_another(result, (vg,)):
        raise _failed(command, result)
    longest: dict[str, int] = {}
    for row in rows(result, "pvseg", command):
        if row["segtype"] == "free":
            known = longest.get(row["pv_uuid"], 0)
            longest[row["pv_uuid"]] = max(known, number(row["pvseg_size"]))
    return longest


def _over_another(result: CommandResult, needed: Collection[str]) -> bool:
    """LVM gave a report, and failed only over VGs that are not `needed`."""
    failed_over = _CANNOT.findall(_complaints(result))
    is_report = "{" in (result.report or result.stdout)
    return is_report and bool(failed_over) and not set(failed_over) & set(needed)


def _pv_order(row: Row) -> tuple[bool, str, str]:
    return row["vg_name"] == "", row["vg_name"], row["pv_name"]


def _segment_order(row: Row) -> tuple[str, str, int]:
    return row["vg_name"], row["lv_name"], number(row["seg_start"])


def _first_by(key: Sequence[str], rows: Sequence[Row]) -> tuple[Row, ...]:
    by_key = {tuple(row[field] for field in key): row for row in reversed(rows)}
    return tuple(by_key.values())[::-1]


def rows(result: CommandResult, kind: str, command: Sequence[str]) -> tuple[Row, ...]:
    """The rows of one kind, of all VGs that can be decoded. Raises Refusal(cmd_failed)."""
    return tuple(_rows(_document(result, command)[0], kind))


def _document(result: CommandResult, command: Sequence[str]) -> tuple[Any, tuple[str, ...]]:
    """The report, and the uuids of VGs that could not be decoded. LVM may print advisories on
    stdout around or before the JSON, so decoding starts at the first line that opens an object."""
    text = result.report or result.stdout
    start = 0 if text.startswith("{") else _object_start(text)
    try:
        document, _ = json.JSONDecoder().raw_decode(text, start)
        unreadable: tuple[str, ...] = ()
        # Whatever is missing in it shows here, not where it is used.
        for kind in ("pv", "lv", "seg"):
            _rows(document, kind)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        document, unreadable = _by_groups(text[start:])
        if not document["report"]:
            raise Refusal(
                "cmd_failed",
                f"{' '.join(command[:2])} did not print the report that was asked for.",
                "Run the command on the host by hand and read what it says.",
                argv=command,
                rc=result.rc,
                stderr=result.stderr or text,
            ) from None
    return document, unreadable


def _rows(document: Any, kind: str) -> list[Row]:
    # An unused PV comes in a part of its own, which has no segments.
    blank = _BLANK.get(kind, {})
    rows = [row for part in document["report"] for row in part.get(kind, ())]
    return [{**blank, **{str(key): flat(value) for key, value in row.items()}} for row in rows]


def _by_groups(text: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A report that is no JSON, line by line. Of what it read from a disk LVM escapes the quotation
    mark and nothing else: so no text of a disk begins a line with one, or with `{"`, as LVM begins
    each list and each row, and the rows of a group can spoil that group alone."""
    parts: list[dict[str, list[Any]]] = []
    uuids: list[str] = []
    spoiled: set[int] = set()
    for line in text.split("\n"):
        words = line.strip()
        if words.startswith('"vg"'):
            parts.append({"pv": [], "seg": []})
            uuids.append("")
        elif words.startswith('{"') and parts:
            row = _row(words)
            if row is None:
                spoiled.add(len(parts) - 1)
            elif list(row) == ["vg_uuid"]:
                uuids[-1] = flat(row["vg_uuid"])
            elif "pv_uuid" in row or "segtype" in row:
                parts[-1]["pv" if "pv_uuid" in row else "seg"].append(row)
    for number in spoiled:
        # Rows of PVs stay, so that no disk looks unused.
        parts[number]["seg"] = []
    return {"report": parts}, tuple(uuids[number] for number in sorted(spoiled))


def _row(words: str) -> dict[str, Any] | None:
    try:
        row = json.loads(words.rstrip(","))
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _complaints(result: CommandResult) -> str:
    """What LVM said beside its report: on stderr, and where that is empty (Debian 13's 2.03.31 puts
    it there) in the rows of a log behind the report. See `_by_groups`: no text of a disk makes such
    a row."""
    if result.stderr:
        return result.stderr
    lines = (line.strip() for line in (result.report or result.stdout).split("\n"))
    rows = (_row(line) for line in lines if line.startswith('{"log_seq_num":'))
    messages = [flat(row.get("log_message")) for row in rows if row is not None]
    return "".join(" ".join(message.splitlines()) + "\n" for message in messages)


def flat(value: Any) -> str:
    """One value as `json` of lvm2 2.03.16 would give it: newer releases give null, numbers and
    lists for the same thing."""
    if value is None:
        return ""
    if isinstance(value, list):
        return ",".join(flat(item) for item in value)
    return str(value)


def number(text: str) -> int:
    """A count or a size; 0 where LVM leaves it out."""
    return int(text) if _NUMBER.fullmatch(text) else 0


def flag(text: str) -> bool:
    return text == "1"


def split_list(text: str) -> list[str]:
    return [part for part in text.split(",") if part]


def _object_start(text: str) -> int:
    offset = 0
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("{"):
            return offset + len(line) - len(line.lstrip())
        offset += len(line)
    return offset


def consistent(vgs: Sequence[Row], segments: Sequence[Row]) -> bool:
    """No VG changed between its PVs and its segments."""
    first = {row["vg_uuid"]: row["vg_seqno"] for row in vgs}
    return all(first.get(row["vg_uuid"]) == row["vg_seqno"] for row in segments)


def _run(host: LocalHost, command: Sequence[str], timeout: float) -> CommandResult:
    try:
        result = host.run(command, timeout=timeout)
    except MissingTool:
        raise Refusal(
            "missing_tool",
            f"{command[0]} is not installed on this host.",
            "Install the package lvm2.",
            argv=command,
        ) from None
    except Stuck as found:
        raise hung_readers.refusal(found.reader) from None
    except TimedOut:
        raise Refusal(
            "timeout",
            f"{' '.join(command[:2])} did not answer within {timeout:.0f} seconds.",
            TimedOut.correction,
            argv=command,
        ) from None
    if result.is_cut:
        raise Refusal(
            "too_large",
            f"{' '.join(command[:2])} prints more than the agent can read: this host has too many "
            "volumes.",
            "Move some of its volumes to another host.",
            argv=command,
        )
    return result


def _busy(command: Sequence[str], result: CommandResult) -> Refusal:
    return Refusal(
        "busy",
        "Another LVM command holds the lock of a volume group on this host.",
        "Wait until it ends (`ps -ef | grep -E 'lv|vg|pv'` shows it); then try again.",
        argv=command,
        rc=result.rc,
        stderr=_complaints(result),
    )


def _failed(command: Sequence[str], result: CommandResult) -> Refusal:
    return Refusal(
        "cmd_failed",
        f"{' '.join(command[:2])} failed with exit code {result.rc}.",
        "Run the command on the host by hand and read what it says.",
        argv=command,
        rc=result.rc,
        stderr=_complaints(result),
    )
