"""`lvm fullreport` as lvm2 2.03.16 prints it in JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from storage.agent.facts.program_versions import parse_version
from storage.agent.kernel.local_host import CommandResult
from tests.fake import lvmfilter
from tests.fake.machine import Machine
from tests.fake.parts import DM_MAJOR, EXTENT, Cache, Lv, ModelGap, Pv, Vg

FLAGS = ["--units", "b", "--nosuffix", "--binary", "--reportformat", "json", "--config"]
HIDDEN = (
    "report/mark_hidden_devices=0 report/compact_output=0 "
    'report/list_item_separator="," backup/backup=0 backup/archive=0'
)
KINDS = ("vg", "pv", "lv", "pvseg", "seg")
LOGS_IN_JSON = (2, 3, 31)
NO_WAIT = "global/wait_for_locks=0"


def run(machine: Machine, argv: Sequence[str], locked: Sequence[str]) -> CommandResult:
    """The full report; `locked` names the VGs whose locks other commands hold."""
    words = [word for word in argv[2:] if word != "-a"]
    if list(argv[:2]) != ["lvm", "fullreport"] or words[: len(FLAGS)] != FLAGS:
        raise ModelGap(f"report with other options: {argv}")
    config, *rest = words[len(FLAGS) :]
    waits = config != f"{HIDDEN} {NO_WAIT}"
    if waits and (config != HIDDEN or rest.pop(0) != "--nolocking"):
        raise ModelGap(f"a report that could wait for a lock: {argv}")
    if locked and not waits:
        return _complaint(machine, [
            line for vg in locked for line in (
                f"/run/lock/lvm/V_{vg}: flock failed: Resource temporarily unavailable",
                f"Can't get lock for {vg}.", f"Cannot process volume group {vg}",
            )
        ])  # fmt: skip
    asked = _subreports(rest)
    rows = {
        "vg": vgs(machine), "pv": pvs(machine), "lv": lvs(machine), "seg": segments(machine),
        "pvseg": [row | {"pvseg_start": "0"} for row in pvs(machine)],
    }  # fmt: skip
    parts = []
    for group in rows["vg"]:
        part: dict[str, list[dict[str, str]]] = {}
        for kind, fields in asked.items():
            found = [group | row for row in rows[kind] if row["vg_uuid"] == group["vg_uuid"]]
            unknown = [name for row in found for name in fields if name not in row]
            if unknown:
                return CommandResult(5, "", f"  Unrecognised field: {unknown[0]}\n")
            part[kind] = [{name: row[name] for name in fields} for row in found]
        parts.append(part)
    if machine.orphans:
        parts.append(_unused(machine, asked))
    missing = [pv for vg in machine.vgs for pv in vg.pvs if pv.missing]
    warnings = "".join(f"  WARNING: Couldn't find device with uuid {pv.uuid}.\n" for pv in missing)
    return CommandResult(0, "", warnings, _printed(parts))


def pieces(machine: Machine, argv: Sequence[str]) -> CommandResult:
    """`lvm pvs --segments`: one row for each run of extents, free ones too."""
    wanted = ["lvm", "pvs", "--segments", *FLAGS, HIDDEN, "--nolocking", "-o"]
    if list(argv[:-1]) != wanted:
        raise ModelGap(f"a report of extents with other options: {argv}")
    rows = [
        {"pv_uuid": pv.uuid, "pvseg_size": str(count), "segtype": "free" if is_free else "linear"}
        for vg in _seen(machine)
        for pv in vg.pvs
        for is_free, count in vg.pieces(pv)
    ]
    names = argv[-1].split(",")
    rows = [{name: row[name] for name in names} for row in rows]
    return CommandResult(0, json.dumps({"report": [{"pvseg": rows}]}))


def _printed(parts: Sequence[Mapping[str, Sequence[Mapping[str, str]]]]) -> str:
    """As libdevmapper prints it: one line for each row, and of what stands on a disk it escapes
    the quotation mark and nothing else."""
    shown = []
    for part in parts:
        lists = []
        for kind in KINDS:
            rows = [
                "{" + ", ".join(f'"{name}":"{_escaped(text)}"' for name, text in row.items()) + "}"
                for row in part.get(kind, ())
            ]
            body = ",\n".join(f"                  {row}" for row in rows)
            lists.append(f'              "{kind}": [\n{body}\n              ]\n')
        shown.append("          {\n" + "              ,\n".join(lists) + "          }\n")
    return '  {\n      "report": [\n' + "          ,\n".join(shown) + "      ]\n  }\n"


def _escaped(text: str) -> str:
    return text.replace('"', '\\"')


def _complaint(machine: Machine, lines: Sequence[str]) -> CommandResult:
    """As the lab has it: 2.03.11 and 2.03.16 on stderr, 2.03.31 in a log beside the report."""
    if parse_version(machine.versions["lvm"]) < LOGS_IN_JSON:
        return CommandResult(5, "", "".join(f"  {line}\n" for line in lines))
    rows = ",\n".join(
        f'          {{"log_seq_num":"{number}", "log_type":"error", "log_context":"processing", '
        f'"log_object_type":"vg", "log_message":"{line}", "log_errno":"-1", "log_ret_code":"0"}}'
        for number, line in enumerate(lines, start=1)
    )
    report = '  {\n      "report": [\n      ]\n      ,\n      "log": [\n'
    return CommandResult(5, "", "", f"{report}{rows}\n      ]\n  }}\n")


def _unused(machine: Machine, asked: dict[str, list[str]]) -> dict[str, list[dict[str, str]]]:
    """PVs of no VG come in a part of their own, which has no segments."""
    found = []
    for pv in machine.orphans:
        major, minor = pv.device.dev.split(":")
        known = {"pv_uuid": pv.uuid, "pv_name": pv.path, "pv_major": major, "pv_minor": minor}
        known |= {"pv_missing": "0", "pv_duplicate": "0", "pv_size": str(pv.device.size_bytes)}
        found.append({name: known.get(name, "") for name in asked["pv"]})
    return {"pv": found}


def _subreports(words: Sequence[str]) -> dict[str, list[str]]:
    """`--configreport KIND -o FIELDS`, each kind once: LVM reports all five in any case."""
    fours = [words[n : n + 4] for n in range(0, len(words), 4)]
    if any(four[::2] != ["--configreport", "-o"] for four in fours):
        raise ModelGap(f"a full report with other options: {words}")
    asked = {four[1]: four[3].split(",") for four in fours}
    if sorted(asked) != ["lv", "pv", "pvseg", "seg", "vg"]:
        raise ModelGap(f"a full report whose fields were not all chosen: {words}")
    return asked


def vgs(machine: Machine) -> list[dict[str, str]]:
    return [
        {
            "vg_uuid": vg.uuid,
            "vg_name": vg.name,
            "vg_size": str(sum(pv.extents for pv in vg.pvs) * EXTENT),
            "vg_free": str(sum(vg.free(pv) for pv in vg.pvs) * EXTENT),
            "vg_extent_size": str(EXTENT),
            "vg_free_count": str(sum(vg.free(pv) for pv in vg.pvs)),
            "vg_seqno": str(vg.seqno),
            "vg_tags": ",".join(vg.tags),
            "vg_missing_pv_count": str(sum(pv.missing for pv in vg.pvs)),
            "vg_shared": str(int(vg.lock_type != "")),
            "vg_lock_type": vg.lock_type,
            "vg_systemid": vg.system_id,
            "vg_exported": str(int(vg.exported)),
            "vg_clustered": str(int(vg.clustered)),
            "vg_partial": str(int(any(pv.missing for pv in vg.pvs))),
            "vg_mda_size": str(vg.metadata_area_bytes),
            "vg_allocation_policy": vg.allocation,
            "vg_mda_free": str(max(0, vg.metadata_area_bytes // 2 - _text_bytes(vg))),
        }
        for vg in _seen(machine)
    ]


def _text_bytes(vg: Vg) -> int:
    """What LVM's own text about a group takes, in whole sectors: about 390 bytes for each LV,
    hidden ones too."""
    text_bytes = 2048 + 390 * len(vg.lvs) if vg.text_bytes is None else vg.text_bytes
    return text_bytes // 512 * 512


def _seen(machine: Machine) -> Iterator[Vg]:
    return (vg for vg in machine.vgs if lvmfilter.is_seen(machine, vg))


def pvs(machine: Machine) -> list[dict[str, str]]:
    return [_pv(vg, pv) for vg in _seen(machine) for pv in vg.pvs]


def _pv(vg: Vg, pv: Pv) -> dict[str, str]:
    major, minor = ("-1", "-1") if pv.missing else pv.device.dev.split(":")
    return {
        "pv_uuid": pv.uuid,
        "pv_name": "[unknown]" if pv.missing else pv.path,
        "vg_uuid": vg.uuid,
        "vg_name": vg.name,
        "dev_size": "0" if pv.missing else str(pv.device.size_bytes),
        "pv_size": str(pv.extents * EXTENT),
        "pv_free": str(vg.free(pv) * EXTENT),
        "pv_missing": str(int(pv.missing)),
        "pv_duplicate": "0",
        "pv_major": major,
        "pv_minor": minor,
        "pv_allocatable": str(int(pv.allocatable)),
        "pv_exported": str(int(vg.exported)),
    }


def lvs(machine: Machine) -> list[dict[str, str]]:
    return [_lv(machine, lv) for vg in _seen(machine) for lv in sorted(vg.lvs, key=_name)]


def _name(lv: Lv) -> str:
    return lv.name


def _lv(machine: Machine, lv: Lv) -> dict[str, str]:
    active = lv.minor is not None
    pool = lv.cache.pool if lv.cache else lv.writecache
    origin = lv.cache.origin if lv.cache else None
    partial = any(run.pv.missing for part in parts(lv) for run in part.runs)
    return {
        "lv_uuid": lv.uuid,
        "lv_name": lv.name,
        "vg_uuid": lv.vg.uuid,
        "vg_name": lv.vg.name,
        "lv_size": str(lv.size_bytes),
        "lv_layout": lv.layout,
        "lv_role": lv.role,
        "lv_tags": ",".join(lv.tags),
        "lv_active": "active" if active else "",
        "lv_suspended": str(int(lv.suspended)) if active else "-1",
        "lv_device_open": str(int(machine.open_count(lv) > 0)) if active else "-1",
        "lv_kernel_major": str(DM_MAJOR) if active else "-1",
        "lv_kernel_minor": str(lv.minor) if active else "-1",
        "lv_health_status": "partial" if partial else "",
        "lv_attr": _attr(machine, lv, partial),
        "lv_merging": str(int(lv.merging)),
        "lv_converting": "0",
        "move_pv": _source_of(lv),
        "lv_allocation_policy": lv.allocation,
        "pool_lv": pool.name if pool else "",
        "pool_lv_uuid": pool.uuid if pool else "",
        "origin": origin.name if origin else lv.origin,
        "origin_uuid": origin.uuid if origin else "",
        "data_lv": lv.data.name if lv.data else "",
        "data_lv_uuid": lv.data.uuid if lv.data else "",
        "metadata_lv": lv.metadata.name if lv.metadata else "",
        "metadata_lv_uuid": lv.metadata.uuid if lv.metadata else "",
    }


def _source_of(mirror: Lv) -> str:
    moves = (lv.move for lv in mirror.vg.lvs if lv.move is not None)
    return next((move.source.path for move in moves if move.mirror is mirror), "")


def parts(lv: Lv) -> list[Lv]:
    """An LV and every LV that it stands on."""
    below = [lv.data, lv.metadata]
    if lv.cache is not None:
        below += [lv.cache.origin, *parts(lv.cache.pool)]
    return [lv, *(part for part in below if part is not None)]


def _attr(machine: Machine, lv: Lv, partial: bool) -> str:
    kind = "-"
    if lv.cache is not None or lv.layout == "cache,pool" or lv.role.endswith(",data"):
        kind = "C"
    elif lv.role.endswith((",metadata", ",spare")):
        kind = "e"
    elif lv.role.endswith("cacheorigin"):
        kind = "o"
    state = "s" if lv.suspended else "-" if lv.minor is None else "a"
    opened = "o" if lv.minor is not None and machine.open_count(lv) else "-"
    cached = lv.cache is not None or lv.layout == "cache,pool" or kind == "o"
    return f"{kind}wi-{state}{opened}{'C' if cached else '-'}-{'p' if partial else '-'}-"


def segments(machine: Machine) -> list[dict[str, str]]:
    """One row for each segment, the fields of its LV repeated."""
    return [
        _lv(machine, lv) | row
        for vg in _seen(machine)
        for lv in sorted(vg.lvs, key=_name)
        for row in _segments(lv)
    ]


def _segments(lv: Lv) -> list[dict[str, str]]:
    blank = {
        "segtype": "linear",
        "seg_start": "0",
        "seg_size": str(lv.size_bytes),
        "devices": "",
        "metadata_devices": "",
        "chunk_size": str(lv.chunk_bytes),
        "cache_mode": "",
        "cache_policy": "",
        "cache_settings": "",
    }
    cache = lv.cache or _cache_over(lv)
    if cache is not None:
        threshold = cache.threshold
        blank |= {
            "chunk_size": str(cache.pool.chunk_bytes),
            "cache_mode": cache.mode,
            "cache_policy": cache.policy,
            "cache_settings": "" if threshold is None else f"migration_threshold={threshold}",
        }
    if lv.cache is not None:
        return [blank | {"segtype": "cache", "devices": f"{lv.cache.origin.name}(0)"}]
    if lv.data is not None:
        return [blank | {"segtype": "cache-pool", "devices": f"{lv.data.name}(0)"}]
    rows, start = [], 0
    for run in lv.runs:
        name = "[unknown]" if run.pv.missing else run.pv.path
        size = run.count * EXTENT
        rows.append(
            blank | {
                "seg_start": str(start), "seg_size": str(size),
                "devices": run.through or f"{name}({run.first})",
            }
        )  # fmt: skip
        start += size
    return rows


def _cache_over(lv: Lv) -> Cache | None:
    return next((top.cache for top in lv.vg.lvs if top.cache and top.cache.pool is lv), None)
