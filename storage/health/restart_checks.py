"""Before a host is restarted, and after: what must be so, and what to wait for. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from storage.formatting import counted, size
from storage.health.drift import differences_of
from storage.inventory.facts import BcacheBacking, DmCache, HostFacts, LogicalVolume, WriteCache
from storage.volumes.snapshot import VolumeSnapshot

SETTINGS = frozenset({"Sequential cutoff", "Writeback percent", "Data on the move", "Cache mode"})
AGENT = "/usr/lib/tiercel/agent.pyz"
NAMED = 5
"""So many volumes are named where there may be hundreds."""
FAILED, INACTIVE = "failed, or needs a check", "not active"
INCONSISTENT, UNREGISTERED = "inconsistent", "bcache does not run it"
UNREADABLE = "dm-writecache does not tell"
UNKNOWN = {
    FAILED: "One that failed or needs a check: stop its guest, then on the host lvchange -an, "
    "lvconvert --repair and lvchange -ay; its page tells where its SSD is lost.",
    INACTIVE: "One that is not active: on the host lvchange -ay, then read the host again.",
    INCONSISTENT: "One that is inconsistent: its page says what is left to do.",
    UNREADABLE: "One of dm-writecache: `dmsetup status` on the host tells its free blocks; to "
    "empty it: lvchange --cachesettings cleaner=1, then read the host again.",
    UNREGISTERED: f"One that bcache does not run: as root on the host {AGENT} boot, then read the "
    "host again; its page tells where its SSD is lost.",
}
"""What to do, by why nobody knows what a cache holds."""


@dataclass(frozen=True, slots=True)
class Point:
    """`text` says how it is, `correction` what to do or to wait for where it is not well."""

    is_well: bool
    text: str
    correction: str = ""


def before_restart(
    hello: dict[str, Any], facts: HostFacts, rows: Sequence[VolumeSnapshot], unfinished_jobs: int
) -> tuple[Point, ...]:
    """Whether the host may be restarted now, from its last inventory."""
    return (_clean(facts, rows), _idle(unfinished_jobs), _unit(hello), _whole(facts), _known(rows))


def after_restart(
    hello: dict[str, Any], facts: HostFacts, rows: Sequence[VolumeSnapshot]
) -> tuple[Point, ...]:
    """Whether everything is back since the host was last started, from its last inventory."""
    return (_ran(hello), _active(rows), _caches(rows), _settings(rows))


def _clean(facts: HostFacts, rows: Sequence[VolumeSnapshot]) -> Point:
    unknown = _unknown(facts, rows)
    dirty = {
        name: found
        for lv in facts.public_lvs()
        if (name := f"{lv.vg_name}/{lv.name}") not in unknown
        and (found := _dirty_bytes(lv.cache, lv.bcache, lv.writecache))
    }
    texts, corrections = [], []
    if dirty:
        most = sorted(dirty.items(), key=lambda each: -each[1])[:NAMED]
        names = ", ".join(f"{name} ({size(found)})" for name, found in most)
        texts.append(
            f"{size(sum(dirty.values()))} only in {counted(len(dirty), 'cache')}, "
            f"not on the slow disks: {names}."
        )
        corrections.append(
            "Flush these caches on their volumes' pages, and wait until 0 B are dirty."
        )
    if unknown:
        names = ", ".join(f"{name} ({why})" for name, why in list(unknown.items())[:NAMED])
        texts.append(
            f"Nobody knows what {counted(len(unknown), 'cache')} may hold that is not on the slow "
            f"disks: {names}."
        )
        corrections += [UNKNOWN[why] for why in UNKNOWN if why in unknown.values()]
    if not texts:
        return Point(True, "No cache holds data that is not on the slow disks.")
    return Point(False, " ".join(texts), " ".join(corrections))


def _dirty_bytes(*caches: DmCache | BcacheBacking | WriteCache | None) -> int:
    return sum(each.dirty_bytes for each in caches if each is not None)


def _unknown(facts: HostFacts, rows: Sequence[VolumeSnapshot]) -> dict[str, str]:
    """Volumes, by `group/name`, whose cache does not tell what it holds: their 0 B are no figure.
    With why, as in `UNKNOWN`."""
    away = {row.lv.uuid for row in rows if row.lv is not None and _has_bcache(row)}
    found = {
        f"{lv.vg_name}/{lv.name}": _why_unknown(lv, is_bcache=lv.uuid in away)
        for lv in facts.public_lvs()
    }
    return {name: why for name, why in found.items() if why}


def _why_unknown(lv: LogicalVolume, *, is_bcache: bool) -> str:
    """Why its cache does not tell; "" where it tells, or there is none. `is_bcache`: a bcache cache
    is recorded of it."""
    if "writecache" in lv.layout and not (lv.writecache is not None and lv.writecache.dirty_known):
        return UNREADABLE
    if lv.cache is not None:
        if lv.cache.failed or lv.cache.needs_check:
            return FAILED
        return "" if lv.active else INACTIVE
    if lv.bcache is None:
        return UNREGISTERED if is_bcache else ""
    if lv.bcache.state == "inconsistent":
        return INCONSISTENT
    # The kernel keeps it waiting for a cache set that it had.
    waits = lv.bcache.cset_uuid is not None or lv.bcache.state == "dirty"
    return UNREGISTERED if waits and lv.bcache.device is None else ""


def _has_bcache(row: VolumeSnapshot) -> bool:
    return _has_cache(row) and row.volume.layout == "bcache"


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
    said = hello.get("boot")
    return said if isinstance(said, dict) else {}


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
    drifted = [row.volume.label for row in rows if differences_of(row)]
    if not drifted:
        return Point(True, "All volumes match the record.")
    return Point(
        False,
        f"{counted(len(drifted), 'volume')} that differ from the record: {', '.join(drifted[:5])}.",
        "Accept or repair them first, so that the check after the restart is meaningful.",
    )


def _ran(hello: dict[str, Any]) -> Point:
    booted = _boot(hello)
    failed = [str(line) for line in booted.get("failed", ())]
    if failed:
        return Point(False, " ".join(failed), f"After fixing the cause, run as root: {AGENT} boot")
    if booted.get("ran"):
        return Point(True, "The boot unit ran since the last start, without failures.")
    return Point(
        False,
        "The boot unit did not run since the last start.",
        f"As root on the host: {AGENT} boot",
    )


def _active(rows: Sequence[VolumeSnapshot]) -> Point:
    managed = [row for row in rows if row.volume.managed and row.lv is not None]
    off = [
        f"{row.lv.vg_name}/{row.lv.name}"
        for row in managed
        if row.lv is not None and not row.lv.active and not row.lv.rests and not _is_retired(row)
    ]
    resting = sum(row.lv is not None and row.lv.rests for row in managed)
    if not off and resting:
        active = len(managed) - resting
        said = f"{counted(active, 'managed volume')} active; {resting} off with Proxmox guests."
        return Point(True, said)
    if not off:
        return Point(True, f"All {len(managed)} managed volumes are active.")
    return Point(
        False,
        f"{counted(len(off), 'managed volume')} not active: {', '.join(off[:5])}.",
        f"On the host: lvchange -ay {shlex.quote(off[0])}",
    )


def _is_retired(row: VolumeSnapshot) -> bool:
    wish = row.volume.current_wish
    return wish is not None and wish.life != "live"


def _caches(rows: Sequence[VolumeSnapshot]) -> Point:
    wanted = [row for row in rows if _has_cache(row)]
    gone = [row.volume.label for row in wanted if row.cache is None]
    if not gone:
        return Point(True, f"All {len(wanted)} recorded caches are attached.")
    return Point(
        False,
        f"{counted(len(gone), 'recorded cache')} not attached: {', '.join(gone[:5])}.",
        f"As root on the host: {AGENT} boot. What is missing then is shown as drift below.",
    )


def _has_cache(row: VolumeSnapshot) -> bool:
    wish = row.volume.current_wish
    return wish is not None and wish.cache is not None and row.lv is not None


def _settings(rows: Sequence[VolumeSnapshot]) -> Point:
    changed = [
        row.volume.label
        for row in rows
        if any(each.what in SETTINGS for each in differences_of(row))
    ]
    if not changed:
        return Point(True, "Every cache has its recorded settings.")
    return Point(
        False,
        f"{counted(len(changed), 'cache')} without the recorded settings: "
        f"{', '.join(changed[:5])}.",
        f"As root on the host: {AGENT} boot. Or repair these volumes.",
    )
