"""Checks before and after a restart of a host: what must hold, and what to wait for. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from storage.agent.kernel.bcache_sysfs import CLEAN
from storage.formatting import counted, size
from storage.health.drift import differences_of
from storage.inventory.facts import BareBacking, HostFacts, LogicalVolume
from storage.naming import AGENT_PATH
from storage.planner.activation_advice import how_to_activate
from storage.planner.technologies.bcache import NOT_REPORTED, is_reported
from storage.planner.technologies.lookup import TECHNOLOGIES, dirty_bytes, on
from storage.planner.technologies.technology import Technology
from storage.volumes.snapshot import BlockingJob, VolumeSnapshot

SETTINGS = frozenset(
    {"Cache mode"} | {setting.label for each in TECHNOLOGIES for setting in each.settings}
)
"""What a restart may change of a cache."""
NAMED = 5
"""The most volumes that are named where there may be hundreds."""
UNREADABLE = "dm-writecache does not report it"
WAITING = "it waits for its cache set"
OF_BARE = (
    "Of a bcache made by hand: echo writethrough > /sys/block/bcacheN/bcache/cache_mode; its state "
    "beside that says clean at the end."
)
UNKNOWN = {
    why: correction for each in TECHNOLOGIES for why, correction in each.unknown_content.items()
} | {
    UNREADABLE: "One of dm-writecache: `dmsetup status` on the host shows its free blocks; to "
    "empty it: lvchange --cachesettings cleaner=1, then read the host again.",
    WAITING: "One that waits for its cache set: reconnect and register its SSD.",
}
"""What to do, by why the content of a cache is unknown."""


@dataclass(frozen=True, slots=True)
class PointVolume:
    """A volume that a point is about; `text` is what is so of this one, "" where the point says it.
    `is_dirty`: flushing its cache helps, once its `blocking` job is over."""

    key: str
    label: str
    text: str = ""
    is_dirty: bool = False
    blocking: BlockingJob | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """`text` says how it is, `correction` what to do or to wait for where it is not well, `volumes`
    which volumes are meant, as far as the panel has them."""

    is_well: bool
    text: str
    correction: str = ""
    volumes: tuple[PointVolume, ...] = ()


def before_restart(
    hello: dict[str, Any],
    facts: HostFacts,
    rows: Sequence[VolumeSnapshot],
    unfinished_jobs: int,
    blocking: Mapping[int, BlockingJob] | None = None,
) -> tuple[Point, ...]:
    """Whether the host may be restarted now, from its last inventory. `blocking` are the jobs that
    change volumes, by the volumes' primary keys."""
    return (
        _clean(facts, rows, blocking or {}),
        _idle(unfinished_jobs),
        _unit(hello),
        _whole(facts),
        _known(rows),
    )


def after_restart(
    hello: dict[str, Any], facts: HostFacts, rows: Sequence[VolumeSnapshot]
) -> tuple[Point, ...]:
    """Whether everything is back since the host was last started, from its last inventory."""
    return (_ran(hello), _active(rows), _caches(rows), _settings(rows))


def _clean(
    facts: HostFacts, rows: Sequence[VolumeSnapshot], blocking: Mapping[int, BlockingJob]
) -> Point:
    unknown = _unknown(facts, rows)
    by_name = {f"{row.lv.vg_name}/{row.lv.name}": row for row in rows if row.lv is not None}
    dirty = {
        name: dirty_bytes_now
        for lv in _cached(facts)
        if (name := f"{lv.vg_name}/{lv.name}") not in unknown
        and (dirty_bytes_now := _dirty_bytes(lv, by_name.get(name)))
    }
    for backing in facts.backings:
        if why := _why_bare_unknown(backing):
            unknown[backing.name] = why
        elif backing.dirty_bytes:
            dirty[backing.name] = backing.dirty_bytes
    texts, corrections, volumes = [], [], []
    if dirty:
        most = sorted(dirty.items(), key=lambda each: -each[1])[:NAMED]
        names = [f"{name} ({size(count)})" for name, count in most if name not in by_name]
        texts.append(
            f"{size(sum(dirty.values()))} only in {counted(len(dirty), 'cache')}, "
            f"not on the HDDs{_listed(names)}."
        )
        corrections.append("Flush these caches, and wait until 0 B are dirty.")
        if any(backing.name in dirty for backing in facts.backings):
            corrections.append(OF_BARE)
        volumes += [
            replace(
                _point_volume(by_name[name], f"{size(count)} dirty"),
                is_dirty=True,
                blocking=blocking.get(by_name[name].volume.pk),
            )
            for name, count in most
            if name in by_name
        ]
    if unknown:
        first = list(unknown.items())[:NAMED]
        names = [f"{name} ({why})" for name, why in first if name not in by_name]
        texts.append(
            f"It is unknown what {counted(len(unknown), 'cache')} may hold that is not on the "
            f"HDDs{_listed(names)}."
        )
        corrections += [UNKNOWN[why] for why in UNKNOWN if why in unknown.values()]
        volumes += [_point_volume(by_name[name], why) for name, why in first if name in by_name]
    if not texts:
        return Point(True, "No cache holds data that is not on the HDDs.")
    return Point(False, " ".join(texts), " ".join(corrections), tuple(volumes))


def _listed(names: Sequence[str]) -> str:
    """What the panel has no volume for."""
    return f": {', '.join(names)}" if names else ""


def _point_volume(row: VolumeSnapshot, text: str = "") -> PointVolume:
    return PointVolume(row.volume.key, row.volume.label, text)


def _first(rows: Sequence[VolumeSnapshot]) -> tuple[PointVolume, ...]:
    return tuple(_point_volume(row) for row in rows[:NAMED])


def _cached(facts: HostFacts) -> tuple[LogicalVolume, ...]:
    """All volumes that may have a cache: a thin pool's is on its hidden data volume."""
    hidden = (lv for lv in facts.lvs if not lv.is_public and (on(lv) or lv.writecache))
    return (*facts.public_lvs(), *hidden)


def _dirty_bytes(lv: LogicalVolume, row: VolumeSnapshot | None) -> int:
    """By the last sample where the volume has one, as everywhere else."""
    if row is not None and row.cache is not None:
        return row.dirty_bytes
    return dirty_bytes(lv) + (lv.writecache.dirty_bytes if lv.writecache is not None else 0)


def _unknown(facts: HostFacts, rows: Sequence[VolumeSnapshot]) -> dict[str, str]:
    """Volumes, by `group/name`, whose cache does not report what it holds: their 0 B are no figure.
    With why, as in `UNKNOWN`."""
    recorded = {
        row.lv.uuid: row.technology for row in rows if row.lv is not None and _has_cache(row)
    }
    unknown = {
        f"{lv.vg_name}/{lv.name}": _why_unknown(lv, recorded.get(lv.uuid)) for lv in _cached(facts)
    }
    return {name: why for name, why in unknown.items() if why}


def _why_unknown(lv: LogicalVolume, recorded: Technology | None) -> str:
    """Why its content is unknown; "" where it is known, or there is none. `recorded` is the
    technology of the cache that is recorded of it."""
    if "writecache" in lv.layout and not (lv.writecache is not None and lv.writecache.dirty_known):
        return UNREADABLE
    technology = on(lv) or recorded
    return technology.why_content_is_unknown(lv) if technology is not None else ""


def _why_bare_unknown(backing: BareBacking) -> str:
    """The same of a bcache that root made of a disk, a partition or an array."""
    if not is_reported(backing):
        return NOT_REPORTED
    return WAITING if backing.kname is None and backing.state not in CLEAN else ""


def _idle(unfinished_jobs: int) -> Point:
    if not unfinished_jobs:
        return Point(True, "No jobs are running on this host.")
    return Point(
        False,
        f"{counted(unfinished_jobs, 'job')} running or waiting on this host.",
        "Wait until they end. Maintenance mode prevents new jobs from starting.",
    )


def _boot(hello: dict[str, Any]) -> dict[str, Any]:
    """What the host says of its boot unit; an older agent says nothing."""
    boot = hello.get("boot")
    return boot if isinstance(boot, dict) else {}


def _unit(hello: dict[str, Any]) -> Point:
    if _boot(hello).get("unit"):
        return Point(True, "The boot unit is installed: it restores caches and settings.")
    return Point(
        False,
        "The boot unit is not installed: bcache settings are not restored automatically.",
        "Run a new enrolment command on the host. It upgrades the agent.",
    )


def _whole(facts: HostFacts) -> Point:
    away = sorted({vg.name for vg in facts.vgs if vg.missing_pv_count})
    if not away:
        return Point(True, "No disk of a volume group is missing.")
    return Point(
        False,
        f"A disk of {', '.join(away)} is missing: after a restart its cached volumes stay off.",
        "Reconnect the disk, or drop its caches, before you restart.",
    )


def _known(rows: Sequence[VolumeSnapshot]) -> Point:
    drifted = [row for row in rows if differences_of(row)]
    if not drifted:
        return Point(True, "All volumes match the record.")
    return Point(
        False,
        f"{counted(len(drifted), 'volume')} not as recorded.",
        "Accept or repair them first, so that the check after the restart is meaningful.",
        _first(drifted),
    )


def _ran(hello: dict[str, Any]) -> Point:
    booted = _boot(hello)
    failed = [str(line) for line in booted.get("failed", ())]
    if failed:
        return Point(
            False, " ".join(failed), f"After fixing the cause, run as root: {AGENT_PATH} boot"
        )
    if booted.get("ran"):
        return Point(True, "The boot unit ran since the last start, without failures.")
    return Point(
        False,
        "The boot unit did not run since the last start.",
        f"As root on the host: {AGENT_PATH} boot",
    )


def _active(rows: Sequence[VolumeSnapshot]) -> Point:
    managed = [row for row in rows if row.volume.managed and row.lv is not None]
    off = [
        row
        for row in managed
        if row.lv is not None and not row.lv.active and not row.lv.rests and not _is_retired(row)
    ]
    resting = sum(row.lv is not None and row.lv.rests for row in managed)
    if not off and resting:
        active = len(managed) - resting
        text = f"{counted(active, 'managed volume')} active; {resting} off with Proxmox guests."
        return Point(True, text)
    if not off:
        return Point(True, f"All {len(managed)} managed volumes are active.")
    # Where several wait for the same, it is said once.
    how = dict.fromkeys(
        how_to_activate(row.facts, row.lv)
        for row in off[:NAMED]
        if row.lv is not None and row.facts is not None
    )
    return Point(
        False,
        f"{counted(len(off), 'managed volume')} not active.",
        f"On the host: {'; '.join(how)}",
        _first(off),
    )


def _is_retired(row: VolumeSnapshot) -> bool:
    wish = row.volume.current_wish
    return wish is not None and wish.life != "live"


def _caches(rows: Sequence[VolumeSnapshot]) -> Point:
    wanted = [row for row in rows if _has_cache(row)]
    gone = [row for row in wanted if row.cache is None]
    if not wanted:
        return Point(True, "No cache is recorded on this host.")
    if not gone:
        return Point(True, f"All {len(wanted)} recorded caches are attached.")
    return Point(
        False,
        f"{counted(len(gone), 'recorded cache')} not attached.",
        f"As root on the host: {AGENT_PATH} boot. What is missing then is shown as drift below.",
        _first(gone),
    )


def _has_cache(row: VolumeSnapshot) -> bool:
    wish = row.volume.current_wish
    return wish is not None and wish.cache is not None and row.lv is not None


def _settings(rows: Sequence[VolumeSnapshot]) -> Point:
    changed = [row for row in rows if any(each.what in SETTINGS for each in differences_of(row))]
    if not changed:
        return Point(True, "Every cache has its recorded settings.")
    return Point(
        False,
        f"{counted(len(changed), 'cache')} without the recorded settings.",
        f"As root on the host: {AGENT_PATH} boot. Or repair these volumes.",
        _first(changed),
    )
