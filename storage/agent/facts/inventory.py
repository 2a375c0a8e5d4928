"""The typed facts of a host: disks, arrays, PVs, VGs, every LV, bcache, users; and dm-writecache, a
write cache made by hand. Tiercel creates none and changes none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ..benchmark import kept_results
from ..calls.names import lvm_uuid, printable
from ..commands.command import OURS
from ..guests import guest_configs, users
from ..kernel import attachment, bcache_sysfs, disks, dm, lvm
from ..kernel.dm import SECTOR, text
from ..kernel.local_host import LocalHost, MissingTool, TimedOut
from ..kernel.lvm import Row, flag, number, split_list
from ..state import heat_files, hot_map_files
from ..state.policy import Policy, tier
from . import cset_fill, guests_disks, host_devices, lvm_activity, program_versions
from .logical_volumes import Layout, Standings, cache_facts, lv_facts, pv_name
from .orphan_devices import orphans
from .soundness import Sifted, sift

STATUS = ("dmsetup", "status", "--noflush", "--target", "writecache")
TABLE = ("dmsetup", "table", "--target", "writecache")
# An error (0 for none), blocks in all, blocks free (kernel:
# Documentation/admin-guide/device-mapper/writecache). After an error no figure counts.
_STATUS = re.compile(r"(?P<name>[^:]+): \d+ \d+ writecache 0 (?P<total>\d+) (?P<free>\d+)\b.*")
_TABLE = re.compile(r"(?P<name>[^:]+): \d+ \d+ writecache [sp] \S+ \S+ (?P<block>\d+)\b.*")


def writecaches_of_volumes(host: LocalHost, layout: Layout) -> dict[str, dict[str, Any]]:
    """By LV uuid. Unless `dirty_known` the kernel reported none, and `dirty_bytes` 0 does not mean
    clean."""
    rows = [
        row for row in layout.by_uuid.values() if split_list(row["lv_layout"]) == ["writecache"]
    ]
    dirty = _dirty(host) if rows else {}
    caches = {}
    for row in rows:
        name = "-".join(row[key].replace("-", "--") for key in ("vg_name", "lv_name"))
        pool = layout.by_uuid.get(row["pool_lv_uuid"])
        caches[row["lv_uuid"]] = {
            "name": row["pool_lv"],
            "size_bytes": 0 if pool is None else number(pool["lv_size"]),
            "dirty_bytes": dirty.get(name, 0),
            "dirty_known": name in dirty,
            "pvs": [] if pool is None else layout.pvs(pool["lv_uuid"]),
        }
    return caches


def _dirty(host: LocalHost) -> Mapping[str, int]:
    """By name in device-mapper: what is not free is not on the slow disk yet."""
    try:
        status, table = (host.run(command, timeout=10.0) for command in (STATUS, TABLE))
    except (MissingTool, TimedOut):
        return {}
    tables = (_TABLE.fullmatch(line.strip()) for line in table.stdout.splitlines())
    blocks = {match.group("name"): int(match.group("block")) for match in tables if match}
    dirty = {}
    for line in status.stdout.splitlines():
        match = _STATUS.fullmatch(line.strip())
        if match is not None and match.group("name") in blocks:
            cached_blocks = int(match.group("total")) - int(match.group("free"))
            dirty[match.group("name")] = max(0, cached_blocks) * max(
                SECTOR, blocks[match.group("name")]
            )
    return dirty


STORAGES = "/etc/pve/storage.cfg"
Facts = dict[str, Any]


def inventory(host: LocalHost, policy: Policy) -> Facts:
    """Everything. Raises what lvm.read and dm.caches raise."""
    facts = storage(host, policy)
    # hello reports what is left out.
    del facts["unsound"], facts["guests"], facts["named"], facts["hidden"]
    facts["machine_id"] = dm.text(host, "/etc/machine-id")
    facts["boot_id"] = dm.text(host, "/proc/sys/kernel/random/boot_id")
    facts["disks"] = disks.disks(host)
    facts["arrays"] = arrays(host, facts["lvs"])
    facts["lvm_version"] = _lvm_version(host)
    facts["kernel"] = {
        "release": dm.text(host, "/proc/sys/kernel/osrelease"),
        "version": dm.text(host, "/proc/sys/kernel/version"),
        "signature": dm.text(host, "/proc/version_signature"),
    }
    facts["benchmarks"] = kept_results.ended_runs(host)
    observed = heat_files.observed_now(host, policy)
    marks = hot_map_files.marks(host)
    by_device = {}
    for lv in facts["lvs"]:
        lv["heat_observed"] = lv["uuid"] in observed
        lv["counted_for"] = marks[lv["uuid"]].cache if lv["uuid"] in marks else ""
        device = top_device(host, lv)
        if device is not None:
            by_device[device] = lv
    facts["backings"] = bare_backings(host, facts["lvs"])
    for backing in facts["backings"]:
        device = dm.text(host, f"/sys/block/{backing['kname']}/dev") if backing["kname"] else ""
        if device:
            by_device[device] = backing
    users_by_device = users.of_devices(host, by_device)
    for device, used in by_device.items():
        used["users"] = users_by_device[device]
    off = [lv for lv in facts["lvs"] if lv["dev"] is None and "public" in lv["role"]]
    named = users.of_inactive(host, off)
    for lv in off:
        lv["users"] = named[lv["uuid"]]
    volumes = {lv["kname"] for lv in facts["lvs"]}
    for backing in facts["backings"]:
        # A physical volume is held by each LV on it, which the LVs report.
        backing["users"] = [
            each
            for each in backing["users"]
            if each["kind"] != "holder" or each["name"] not in volumes
        ]
    return facts


def arrays(host: LocalHost, lvs: Sequence[Facts]) -> list[Facts]:
    """Every md array, and which of our volumes it was made on, by a guest."""
    ours = {lv["kname"]: lv for lv in lvs if OURS in lv["tags"] and lv["kname"]}
    made = []
    for array in disks.arrays(host):
        below = disks.stands_on(host, array["name"], ours)
        volume = "" if below is None else f"{ours[below]['vg_name']}/{ours[below]['name']}"
        made.append({**array, "guests_volume": volume})
    return made


def bare_backings(host: LocalHost, lvs: Sequence[Facts]) -> list[Facts]:
    """Every registered bcache backing device that is no LV, without its users."""
    knames = frozenset(lv["kname"] for lv in lvs if lv["kname"] is not None)
    return [
        {
            "device": backing.kname,
            "kname": backing.device,
            "cset_uuid": backing.cset_uuid,
            "mode": backing.cache_mode,
            "state": backing.state,
            "dirty_bytes": backing.dirty_bytes,
            "dirty_known": backing.dirty_known,
            "users": [],
        }
        for backing in bcache_sysfs.other_backings(host, knames)
    ]


def storage(
    host: LocalHost, policy: Policy, *, fresh: str | None = None, timeout: float = lvm.SECONDS
) -> Facts:
    """What LVM and bcache know: what the checks of a verb need, without disks and users. Volumes of
    groups that are `unsound`, or lie on guests' disks (`guests`), are not in it. `named` are the
    uuids of the others that root allows or once allowed: what was made there is brought back also
    while other machines may use the group and nothing of it is changed. In those that are `hidden`
    (uuids) the host is kept away from guests' disks. Raises what lvm.read raises for `fresh`, and
    what dm.caches raises."""
    before = host.list("/sys/block")
    whole = lvm.read(host, fresh=fresh, needed=policy.vgs, timeout=timeout)
    devices = dm.dm_devices(host)
    guests = guests_groups(host, whole.pvs, devices) | guests_disks.groups_of_guests(
        host, whole.pvs, guests_disks.strangers(policy, whole.vgs)
    )
    protected = {
        row["vg_uuid"] for row in whole.vgs if policy.protects(row["vg_name"], row["vg_uuid"])
    }
    sifted = sift(whole, guests, protected)
    report = sifted.report
    layout = Layout(report.lvs, report.segments)
    statuses = cache_statuses(host, devices)
    work = lvm_activity.of_volumes(host, layout)
    snapshots = lvm_activity.snapshots(layout)
    own = host_devices.host_uses(host)
    writecaches = writecaches_of_volumes(host, layout)
    pvs = [_pv(host, policy, row, report.doubles) for row in report.pvs if row["pv_uuid"]]
    standings = Standings(
        layout, {pv["name"]: pv for pv in pvs}, lambda name: attachment.controllers(host, name)
    )
    lvs = []
    for row in report.lvs:
        lv = lv_facts(row, layout, _kname(host, row))
        lv["standing"] = standings.of(row["lv_uuid"]).to_json()
        lv["cache"] = cache_facts(row, layout, statuses, standings)
        lv["writecache"] = writecaches.get(row["lv_uuid"])
        lv["work"] = work.get(row["lv_uuid"])
        lv["snapshots"] = snapshots.get((row["vg_uuid"], row["lv_name"]), [])
        lv["host_use"] = own.get(lv["kname"] or "", "")
        if lv["kname"] is not None:
            lv["bcache"] = _bcache_facts(host, lv["kname"])
        lvs.append(lv)
    return {
        "consistent": report.consistent,
        "stale": report.stale,
        "pvs": pvs,
        "vgs": [_vg(host, policy, row, report.pvs, sifted) for row in report.vgs],
        "lvs": lvs,
        "csets": _cache_sets(host, lvs),
        "orphans": orphans(report, devices, before, sifted.left_out),
        "unsound": [asdict(each) for each in sifted.unsound],
        "guests": sorted(sifted.guests),
        "named": [
            row["vg_uuid"]
            for row in report.vgs
            if row["vg_uuid"] in protected and row["vg_uuid"] not in sifted.left_out
        ],
        "hidden": _hidden(policy, report, sifted),
    }


def _hidden(policy: Policy, report: lvm.Report, sifted: Sifted) -> list[str]:
    """Uuids of the groups in which guests' disks are hidden: all that root allows or once allowed,
    for one that a guest had left out by what it wrote is the host's all the same."""
    groups = [(row["vg_name"], row["vg_uuid"]) for row in report.vgs]
    groups += [(each.name, each.vg_uuid) for each in sifted.unsound]
    hidden = []
    for name, uuid in groups:
        try:
            hidden.append(lvm_uuid(uuid) if policy.protects(name, uuid) else "")
        except ValueError:
            # No group of LVM's has such a uuid: nothing of it can be at work.
            continue
    return sorted({*hidden} - {""})


def guests_groups(
    host: LocalHost, pvs: Sequence[lvm.Row], devices: Sequence[dm.DmDevice]
) -> frozenset[str]:
    """Uuids of the VGs with a PV on a guest's disk: a logical volume, its bcache device, or
    anything that stands on one. Two machines then write to it, and a guest wrote its metadata."""
    volumes = frozenset(device.kname for device in devices)
    names = {row["vg_uuid"]: [] for row in pvs if row["vg_uuid"]}  # type: dict[str, list[str]]
    for row in pvs:
        kname = disks.kname_of(host, f"{row['pv_major']}:{row['pv_minor']}")
        if row["vg_uuid"] and kname is not None:
            names[row["vg_uuid"]].append(kname)
    return frozenset(
        uuid
        for uuid, vg_names in names.items()
        if any(disks.stands_on(host, kname, volumes) for kname in vg_names)
    )


def cache_statuses(host: LocalHost, devices: Sequence[dm.DmDevice]) -> Mapping[str, dm.CacheStatus]:
    """Cache status by LV uuid. The cache target may sit on a hidden layer: on `-real` with a
    classic snapshot, on `-tdata` where the data of a thin pool is cached."""
    by_name = {device.name: device.lv_uuid for device in devices}
    if not by_name:
        return {}
    return {by_name[name]: status for name, status in dm.caches(host).items() if name in by_name}


def top_device(host: LocalHost, lv: Mapping[str, Any]) -> str | None:
    """ "MAJOR:MINOR" of what a guest of this LV opens; None for hidden and inactive LVs."""
    if lv["dev"] is None or "public" not in lv["role"]:
        return None
    if lv["bcache"] is None:
        return str(lv["dev"])
    if lv["bcache"]["device"] is None:
        return None
    return dm.text(host, f"/sys/block/{lv['bcache']['device']}/dev") or None


def _lvm_version(host: LocalHost) -> str:
    try:
        return program_versions.read_version(host, "lvm")
    except TimedOut:
        return ""


def _kname(host: LocalHost, row: lvm.Row) -> str | None:
    return disks.kname_of(host, f"{row['lv_kernel_major']}:{row['lv_kernel_minor']}")


def _pv(
    host: LocalHost, policy: Policy, row: lvm.Row, doubles: Mapping[str, Sequence[str]]
) -> Facts:
    """`free_bytes` is what LVM gives out: nothing of a PV that root has barred (pvchange -xn), or
    that is exported."""
    name = pv_name(row["pv_name"])
    uuid = row["pv_uuid"]
    kname = disks.kname_of(host, f"{row['pv_major']}:{row['pv_minor']}")
    missing = lvm.flag(row["pv_missing"])
    redundant, healthy = (False, False)
    if kname is not None:
        redundant, healthy = attachment.redundancy(host, kname)
    exported = lvm.flag(row["pv_exported"])
    # LVM leaves the field out of a PV in no VG.
    allocatable = row["pv_allocatable"] != "0"
    free_bytes = lvm.number(row["pv_free"])
    seen_on = doubles.get(uuid.replace("-", "")) or doubles.get(row["pv_name"]) or ()
    return {
        "uuid": uuid,
        "name": name,
        "vg_uuid": row["vg_uuid"],
        "vg_name": row["vg_name"],
        "size_bytes": lvm.number(row["pv_size"]),
        "free_bytes": free_bytes if allocatable and not exported else 0,
        "unusable_bytes": 0 if allocatable and not exported else free_bytes,
        "allocatable": allocatable,
        "exported": exported,
        "missing": missing,
        "duplicate": lvm.flag(row["pv_duplicate"]) or bool(seen_on),
        "seen_on": list(seen_on),
        "tier": tier(policy, uuid, name, None if kname is None else disks.rotational(host, kname)),
        "redundant": redundant or uuid in policy.redundant_pvs,
        "healthy": healthy and not missing,
        "logical_sector_bytes": 512 if kname is None else disks.logical_sector_bytes(host, kname),
    }


def _vg(
    host: LocalHost, policy: Policy, row: lvm.Row, pvs: Sequence[lvm.Row], sifted: Sifted
) -> Facts:
    """`allowed`: root lets the panel change it, and no other machine may. LVM keeps the old and the
    new text of its metadata in one ring: half of it is what a VG can be described with."""
    left_out = row["vg_uuid"] in sifted.left_out
    others = [] if left_out else _reasons_to_share(host, row, pvs)
    alone = policy.is_alone(row["vg_name"], row["vg_uuid"]) and not lvm.flag(row["vg_exported"])
    missing = [pv for pv in pvs if pv["vg_uuid"] == row["vg_uuid"] and lvm.flag(pv["pv_missing"])]
    return {
        "uuid": row["vg_uuid"],
        "name": row["vg_name"],
        "size_bytes": lvm.number(row["vg_size"]),
        "free_bytes": lvm.number(row["vg_free"]),
        "extent_bytes": lvm.number(row["vg_extent_size"]),
        "seqno": lvm.number(row["vg_seqno"]),
        "tags": lvm.split_list(row["vg_tags"]),
        "missing_pv_count": max(lvm.number(row["vg_missing_pv_count"]), len(missing)),
        "allowed": policy.allows(row["vg_name"], row["vg_uuid"])
        and not left_out
        and (alone or not others),
        "sharing": others,
        "alone": alone,
        "clears_freed": policy.clear_freed,
        "zeroes_pools": True,
        "left_out": left_out,
        "lock_type": printable(row["vg_lock_type"]),
        "system_id": printable(row["vg_systemid"]),
        "exported": lvm.flag(row["vg_exported"]),
        "clustered": lvm.flag(row["vg_clustered"]),
        "partial": lvm.flag(row["vg_partial"]),
        "metadata_bytes": lvm.number(row["vg_mda_size"]) // 2,
        "metadata_free_bytes": lvm.number(row["vg_mda_free"]),
        "allocation": printable(row.get("vg_allocation_policy", "")),
    }


def _bcache_facts(host: LocalHost, kname: str) -> Facts | None:
    backing = bcache_sysfs.backing(host, kname)
    if backing is None:
        return None
    size = dm.text(host, f"/sys/block/{backing.device}/size") if backing.device else ""
    return {
        "uuid": backing.uuid,
        "device": backing.device,
        "cset_uuid": backing.cset_uuid,
        "state": backing.state,
        "cache_mode": backing.cache_mode,
        "sequential_cutoff_bytes": backing.sequential_cutoff_bytes,
        "writeback_percent": backing.writeback_percent,
        "dirty_bytes": backing.dirty_bytes,
        "dirty_known": backing.dirty_known,
        "size_bytes": lvm.number(size) * 512,
    }


def _cache_sets(host: LocalHost, lvs: Sequence[Facts]) -> list[Facts]:
    by_kname = {lv["kname"]: lv["uuid"] for lv in lvs if lv["kname"] is not None}
    unused = cset_fill.last(host)
    return [
        {
            "uuid": cset.uuid,
            "lv_uuid": by_kname.get(cset.kname),
            "device": cset.kname,
            "size_bytes": cset.bucket_bytes * cset.bucket_count,
            "bucket_bytes": cset.bucket_bytes,
            "available_percent": cset.available_percent,
            "unused_percent": unused.get(cset.uuid),
            "backing_count": len(cset.backing),
        }
        for cset in bcache_sysfs.cache_sets(host)
    ]


def _reasons_to_share(host: LocalHost, vg: Row, pvs: Sequence[Row]) -> list[str]:
    """Why other machines may use a VG too, in one short phrase each; none where all says that this
    host has the VG for itself. Two machines that change the same LVM metadata at the same moment
    give the same blocks to two volumes. `pvs` are LVM's rows of all PVs."""
    sentences = []
    if vg["vg_lock_type"] not in ("", "none"):
        sentences.append(f"its lock type is {printable(vg['vg_lock_type'])}")
    elif flag(vg["vg_shared"]):
        sentences.append("LVM calls it shared")
    if flag(vg["vg_clustered"]):
        sentences.append("it is clustered")
    if flag(vg["vg_exported"]):
        sentences.append("it is exported to another machine")
    if vg["vg_name"] in guest_configs.proxmox_shared(text(host, STORAGES)):
        sentences.append("it is a shared storage of Proxmox")
    for row in pvs:
        if row["vg_uuid"] != vg["vg_uuid"]:
            continue
        kname = disks.kname_of(host, f"{row['pv_major']}:{row['pv_minor']}")
        how = "" if kname is None else attachment.elsewhere(host, kname)
        if how:
            sentences.append(f"{pv_name(row['pv_name'])} is reached by {how}")
    return sentences
