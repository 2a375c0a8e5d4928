"""Problems that an inventory shows, for the list of what needs attention. Pure."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain
from typing import Any, Final, Literal

from storage.agent.facts import activation
from storage.formatting import counted, percent, seconds, size
from storage.health.drift import differences_of, is_unfinished, lasting_differences
from storage.health.host_problems import HealthFinding
from storage.inventory.disk_list import seconds_left
from storage.inventory.facts import Array, HostFacts, LogicalVolume, VolumeGroup
from storage.naming import AGENT_PATH, FORMAT_TAG
from storage.planner.activation_advice import group_state, how_to_activate
from storage.planner.kernel_faults import faults_of
from storage.planner.technologies.degraded_mirror import is_on_degraded
from storage.planner.technologies.lookup import cache_of, is_cached, is_lost, of_cache, of_layout
from storage.planner.technologies.lvmcache_loss import MISSING
from storage.volumes.snapshot import VolumeSnapshot

VG_METADATA_SHARE, VG_METADATA_ERROR_SHARE = 0.7, 0.95
"""The room is chosen when a disk is made a physical volume: more of it takes a person time."""
RAID: Final = frozenset({"raid", "mirror"})
WELL_RAID: Final = frozenset({"", "writemostly"})
"""What LVM calls the health of a RAID volume that is well."""
LVM_RAID: Final[dict[str, tuple[str, Literal["error", "warning"], str, str]]] = {
    "lost": (
        "lv_raid_failed",
        "error",
        "{} is on LVM RAID, and more of its disks are missing than it survives.",
        "Reconnect the disks; nothing else brings its data back. Until then repair nothing, and "
        "remove nothing from the group.",
    ),
    "partial": (
        "lv_raid_degraded",
        "error",
        "{} is mirrored by LVM, and one of its disks is missing.",
        "Reconnect the disk; or with a new one in the group: lvconvert --repair {0}",
    ),
    "refresh needed": (
        "lv_raid_refresh",
        "error",
        "{} is mirrored by LVM, and one of its disks failed for a while: that copy is old.",
        "lvchange --refresh {0}",
    ),
    "refresh or repair needed": (
        "lv_raid_degraded",
        "error",
        "{} is mirrored by LVM, and one of its disks is missing, or was for a while.",
        "If the disk is back: lvchange --refresh {0}. If it is gone for good, with a new one in "
        "the group: lvconvert --repair {0}",
    ),
    "mismatches exist": (
        "lv_raid_mismatch",
        "warning",
        "The copies of {}, which LVM mirrors, differ.",
        "lvchange --syncaction repair {0}",
    ),
}
LVM_RAID["repair needed"] = LVM_RAID["partial"]
"""By what LVM calls the health of a volume, or "lost": code, severity, sentence, and what to
type."""
REPAIR: Final = (
    "Look at dmesg for the reason. Stop what uses it; then: lvchange -an {0}; "
    "lvconvert --repair {0}; lvchange -ay {0}"
)
LVM_HEALTH: Final[dict[str, tuple[Literal["error", "warning"], str, str]]] = {
    "out_of_data": (
        "error",
        "{} is a thin pool without free data space: writes to its volumes wait, and then fail.",
        "Extend it (lvextend -L +SIZE {0}), or remove thin volumes that are not needed any more.",
    ),
    "metadata_read_only": ("error", "The metadata of {} cannot be written any more.", REPAIR),
    "failed": ("error", "{} has failed in device-mapper: what uses it gets I/O errors.", REPAIR),
    "error": (
        "error",
        "The write cache of {} had I/O errors: what it held may not be on the slow disk.",
        "Look at dmesg and at its SSD, and keep that. Check the file systems, or restore a backup.",
    ),
}
"""By what LVM calls the health of a pool, a cache or a write cache: severity, sentence, and what to
type."""
UNKNOWN_HEALTH: Final[tuple[Literal["error", "warning"], str, str]] = (
    "warning",
    "LVM calls the health of {} “{}”: this version does not know that word.",
    "Look at what LVM says of it: lvs -a -o name,lv_health_status,devices {0}; dmsetup status",
)
REPORTED_ELSEWHERE: Final = WELL_RAID | LVM_RAID.keys()
"""Words of LVM for the health of a volume that mean no fault, or that other findings report: those
of RAID and of missing disks."""
UNREAD_PARTS: Final = {
    "host": "the field",
    "disks": "the disk",
    "arrays": "the array",
    "pvs": "the physical volume",
    "vgs": "the volume group",
    "lvs": "the logical volume",
    "csets": "a bcache cache set",
    "orphans": "the leftover device",
    "backings": "a bcache device",
    "benchmarks": "a result of a benchmark",
}
UNKNOWN_RAID: Final = (
    "lv_raid_unknown",
    "warning",
    "{} is mirrored by LVM, which calls its health “{}”: this version does not know that word.",
    "Look at what LVM says of it: lvs -a -o name,lv_health_status,devices {0}",
)


def findings_of(facts: HostFacts, rows: Iterable[VolumeSnapshot]) -> tuple[HealthFinding, ...]:
    """`rows` are the recorded volumes of the host, with the same `facts`."""
    made = (
        _of_unread(facts),
        _of_kernel(facts),
        _of_arrays(facts),
        _of_groups(facts),
        _of_mirrors(facts),
        _of_pools(facts),
        _of_volumes(facts, rows),
    )
    return tuple(chain.from_iterable(made))


def _of_unread(facts: HostFacts) -> Iterator[HealthFinding]:
    """What was left out of the inventory; each thing of it may be in any state."""
    for each in facts.unread:
        what = f"{UNREAD_PARTS[each.part]} {each.name}".rstrip()
        yield HealthFinding(
            "unread_facts",
            "error",
            f"What the host says of {what} cannot be read, and is left out ({each.why}).",
            "Upgrade panel and agent to one version. If that does not help, look at it on the "
            "host: LVM or the kernel reports a value of it that should not exist.",
            f"{each.part} {each.name}"[:255],
        )


def _of_kernel(facts: HostFacts) -> Iterator[HealthFinding]:
    """Caches that a fault of the kernel may destroy. A fault that a person accepted for new plans
    is reported all the same: the data is as much at risk. All uncertain faults are one finding."""
    caches = [cache.technology for lv in facts.lvs if (cache := cache_of(facts, lv)) is not None]
    met = [
        each
        for each in faults_of(facts)
        if each.fault.is_refused and each.fault.rests and each.fault.technology in caches
    ]
    for present in met:
        if present.is_sure:
            count = caches.count(present.fault.technology)
            yield HealthFinding(
                "kernel_data_loss",
                "error",
                f"{counted(count, 'cache')} may lose data. {present.message} {present.fault.link}",
                f"{present.fault.correction} Until then, remove these caches.",
                present.fault.code,
            )
    unsure = [present for present in met if not present.is_sure]
    if unsure:
        codes = ", ".join(present.fault.code for present in unsure)
        yield HealthFinding(
            "kernel_unsure",
            "warning",
            f"{unsure[0].what} does not say enough to rule out that caches lose data ({codes}).",
            "Compare the kernel's changelog with the faults under History on the host's page."
            if facts.kernel.release
            else "Upgrade the agent: run a new enrolment command on the host.",
            "kernel",
        )


def _of_arrays(facts: HostFacts) -> Iterator[HealthFinding]:
    for array in facts.arrays:
        trouble = facts.trouble_of(array)
        if trouble is not None:
            recovers = trouble.code == "array_recovering"
            yield HealthFinding(
                trouble.code,
                "warning" if trouble.severity == "warning" else "error",
                f"{trouble.message}{_progress(facts, array) if recovers else ''}.",
                trouble.correction,
                array.name,
            )
        elif array.mismatch_sectors and not array.is_at_work:
            yield HealthFinding(
                "array_mismatch",
                "warning",
                f"The copies of {array.name} ({array.level}) differ in "
                f"{counted(array.mismatch_sectors, 'sector')}.",
                "A mirror may differ where nothing is kept (swap, deleted files). If in doubt: "
                f"echo repair > /sys/block/{array.name}/md/sync_action",
                array.name,
            )


def _progress(facts: HostFacts, array: Array) -> str:
    if array.progress is None:
        return ""
    left = seconds_left(facts, array)
    rest = "" if left is None else f", about {seconds(left)} left"
    return f" ({percent(array.progress)} done{rest})"


def _of_mirrors(facts: HostFacts) -> Iterator[HealthFinding]:
    """Volumes that LVM itself mirrors, by what it says of their health; also the hidden ones below
    a cache, in a cache pool or in a thin pool, of which LVM says nothing at the volume itself."""
    for lv in facts.lvs:
        word = _raid_health(lv)
        if word in WELL_RAID:
            continue
        owner, name = facts.owner(lv), f"{lv.vg_name}/{lv.name}"
        top = f"{owner.vg_name}/{owner.name}"
        shown = name if owner is lv else f"{name}, a part of {top},"
        # LVM refreshes the whole of a volume, and none of its parts alone.
        typed = top if word == "refresh needed" else name
        code, severity, message, correction = LVM_RAID.get(word, UNKNOWN_RAID)
        group = group_state(facts, lv.vg_uuid)
        how = correction.format(shlex.quote(typed))
        if not owner.active and owner.is_public and word != "lost":
            how = f"Activate it first: {how_to_activate(facts, owner)}. Then: {how}"
        how = group.obstacle_to_activation or how
        yield HealthFinding(code, severity, message.format(shown, word), how, name)


def _of_pools(facts: HostFacts) -> Iterator[HealthFinding]:
    """Thin pools, write caches and hidden caches that LVM calls unhealthy; the cache of a volume
    is reported with its volume."""
    for lv in facts.lvs:
        is_reported = RAID.intersection(lv.layout) or (is_cached(lv) and lv.is_public)
        if lv.health in REPORTED_ELSEWHERE or is_reported:
            continue
        name = f"{lv.vg_name}/{lv.name}"
        severity, message, correction = LVM_HEALTH.get(lv.health, UNKNOWN_HEALTH)
        obstacle = group_state(facts, lv.vg_uuid).obstacle_to_changes
        how = obstacle or correction.format(shlex.quote(name))
        yield HealthFinding("lv_unhealthy", severity, message.format(name, lv.health), how, name)


def _raid_health(lv: LogicalVolume) -> str:
    """LVM's word for the health of a RAID volume, or what its disks show; "" for any other
    volume."""
    if not RAID.intersection(lv.layout):
        return ""
    if lv.standing is not None and lv.standing.lost:
        return "lost"
    is_silent = lv.health in WELL_RAID and lv.standing is not None and lv.standing.degraded
    return "partial" if is_silent and MISSING in lv.pvs else lv.health


def _of_groups(facts: HostFacts) -> Iterator[HealthFinding]:
    counts = Counter(pv.vg_name for pv in facts.pvs if pv.missing)
    for vg in facts.vgs:
        counts[vg.name] = max(counts[vg.name], vg.missing_pv_count)
    for name, count in counts.items():
        if count:
            back = [pv.name for pv in facts.pvs if pv.vg_name == name and pv.missing]
            yield HealthFinding(
                "pv_missing",
                "error",
                f"{name} is missing {counted(count, 'disk')}.",
                activation.how_to_reconnect(name, [each for each in back if each != MISSING]),
                name,
            )
    for vg in facts.vgs:
        share = _metadata_share(vg)
        if share is not None and share > VG_METADATA_SHARE:
            yield HealthFinding(
                "vg_metadata_full",
                "error" if share > VG_METADATA_ERROR_SHARE else "warning",
                f"The LVM metadata of {vg.name} is {percent(share)} full (limit "
                f"{percent(VG_METADATA_SHARE)}).",
                group_state(facts, vg.uuid).obstacle_to_changes
                or "Remove volumes and snapshots that are not needed any more. For more room, add "
                "a disk made with pvcreate --metadatasize 16m to the group, then run pvchange "
                "--metadataignore y for its other disks.",
                vg.name,
            )


def _metadata_share(vg: VolumeGroup) -> float | None:
    """How full it is, 0 to 1; None where an older agent does not say."""
    if not vg.metadata_bytes or vg.metadata_free_bytes is None:
        return None
    return 1 - vg.metadata_free_bytes / vg.metadata_bytes


def _on_one_ssd(dirty_bytes: int | None) -> str:
    """What one more failure would lose, or could soon: the next write is at risk in any case."""
    if dirty_bytes == 0:
        return "no data was at risk at the last inventory; new writes are on one SSD only"
    held = "an unknown amount" if dirty_bytes is None else size(dirty_bytes)
    return f"{held} was on one SSD only at the last inventory"


def _of_volumes(facts: HostFacts, rows: Iterable[VolumeSnapshot]) -> Iterator[HealthFinding]:
    for row in rows:
        lv = row.lv
        if lv is None:
            continue
        name, key = f"{lv.vg_name}/{lv.name}", row.volume.key
        if row.cache is not None and row.cache.trouble:
            code = row.cache.trouble_code
            how = "Open the volume's page for the next steps."
            yield HealthFinding(code, "error", row.cache.trouble, how, name, key)
        is_unsafe = is_on_degraded(facts, lv)
        if row.cache is not None and row.cache.mode == "writeback" and is_unsafe:
            on_page = row.volume.managed and row.wish is not None
            # A failed cache reports no figures: its 0 is none.
            is_known = row.cache.trouble_code != "cache_failed"
            held = _on_one_ssd(row.cache.dirty_bytes if is_known else None)
            obstacle = group_state(facts, lv.vg_uuid).obstacle_to_changes
            stays = " Neither you nor Tiercel can set another mode now." if obstacle else ""
            yield HealthFinding(
                "writeback_degraded",
                "error",
                f"{name} uses writeback on a degraded SSD mirror: {held}.{stays}",
                obstacle or of_cache(row.cache).way_out_of_writeback(lv, on_page=on_page),
                name,
                key,
            )
        if is_lost(facts, lv):
            yield HealthFinding(
                "ssd_lost",
                "error",
                f"The SSD under the cache of {name} is missing.",
                "Open the volume's page. It shows what the cache held and what you can do.",
                name,
                key,
            )
        is_off = not lv.active and not lv.rests and row.volume.retired_at is None
        if row.volume.managed and is_off:
            yield HealthFinding(
                "volume_inactive",
                "error",
                f"{name} is not active: its guest cannot start.",
                f"On the host: {how_to_activate(facts, lv)}",
                name,
                key,
            )
        is_live = row.volume.managed and row.volume.retired_at is None
        if is_live and lv.active and _lacks_its_device(row, lv):
            path = shlex.quote(f"/dev/{name}")
            yield HealthFinding(
                "bcache_away",
                "error",
                f"{name} has no bcache device: its guest has no disk.",
                f"As root on the host: {AGENT_PATH} boot. If it is still away, and "
                f"bcache-super-show {path} shows the backing device of Tiercel's: echo {path} > "
                f"/sys/fs/bcache/register; {AGENT_PATH} keep-bcache {shlex.quote(name)}",
                name,
                key,
            )
        yield from _of_record(row, name)


def _lacks_its_device(row: VolumeSnapshot, lv: LogicalVolume) -> bool:
    """Whether it was formatted for a technology of which the kernel runs nothing. The page of one
    that a missing disk stopped says more."""
    technology = of_layout(row.volume.layout)
    is_away = bool(technology.why_not_running(lv)) and not technology.is_there(lv)
    is_whole = row.vg is not None and not row.vg.missing_pv_count
    return is_away and is_whole and FORMAT_TAG not in lv.tags


def _of_record(row: VolumeSnapshot, name: str) -> Iterator[HealthFinding]:
    differences = differences_of(row)
    if not differences:
        return
    if is_unfinished(differences):
        state = " and ".join(each.found for each in differences)
        code, message = "unfinished", f"{name} is not finished: it is {state}."
        how = "Open the volume's page. Finish the volume there, or retire and destroy it."
    else:
        parts = "; ".join(
            f"{each.what}: recorded {each.recorded}, found {each.found}" for each in differences
        )
        code, message = "drift", f"{name} differs from the record ({parts})."
        how = "Repair the volume, or accept the current state, on the volume's page."
        if lasting_differences(row):
            how = "Open the volume's page for a solution."
    yield HealthFinding(code, "warning", message, how, name, row.volume.key)


def dated(
    findings: Iterable[HealthFinding], before: Iterable[dict[str, Any]], at: datetime
) -> list[dict[str, str]]:
    """Findings as they are stored: what was there `before` keeps the moment it was first seen."""
    known = {(each.get("code"), each.get("subject")): each.get("since") for each in before}
    return [
        each.to_json(known.get((each.code, each.subject)) or at.isoformat()) for each in findings
    ]
