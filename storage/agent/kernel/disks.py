"""Physical disks, md arrays, and the disks below a block device."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from . import bcache_sysfs
from .dm import text
from .local_host import LocalHost, MissingTool, TimedOut

LSBLK = (
    "lsblk",
    "-J",
    "-b",
    "-d",
    "-o",
    "NAME,KNAME,MAJ:MIN,TYPE,SIZE,ROTA,MODEL,SERIAL,TRAN,LOG-SEC,RO",
)
# Levels of arrays that have every block twice, or can compute it.
COPIES = frozenset(("raid1", "raid4", "raid5", "raid6", "raid10"))
VIRTUAL = ("bcache", "loop", "ram", "zram", "nbd", "rbd", "zd", "drbd")


def disks(host: LocalHost) -> list[dict[str, Any]]:
    """Facts of every physical (or virtio) disk. Model and serial are the disk's own words."""
    rows = [row for row in _lsblk(host) if row.get("type") == "disk"]
    listed = []
    for row in rows:
        kname = str(row.get("kname") or row.get("name") or "")
        if not kname or kname.startswith(VIRTUAL):
            continue
        listed.append(
            {
                "name": kname,
                "dev": str(row.get("maj:min") or "").strip(),
                "size_bytes": _number(row.get("size")),
                "rotational": _true(row.get("rota")),
                "model": str(row.get("model") or "").strip(),
                "serial": str(row.get("serial") or "").strip(),
                "transport": str(row.get("tran") or ""),
                "logical_sector_bytes": _number(row.get("log-sec")) or 512,
                "read_only": _true(row.get("ro")),
                "scheduler": scheduler(host, kname),
            }
        )
    return listed


def scheduler(host: LocalHost, kname: str) -> str:
    """The I/O scheduler that a disk has now, of those that the kernel lists ("[none] bfq")."""
    match = re.search(r"\[([\w-]+)\]", text(host, f"/sys/block/{kname}/queue/scheduler"))
    return "" if match is None else match[1]


def disk_names(host: LocalHost) -> tuple[str, ...]:
    """The same disks by sysfs alone, for samples: only a real device has `device`. One path of
    several to an NVMe namespace ("nvme0c1n1") is hidden: the namespace is the disk."""
    return tuple(
        name
        for name in host.list("/sys/block")
        if not name.startswith(VIRTUAL)
        and host.exists(f"/sys/block/{name}/device")
        and text(host, f"/sys/block/{name}/hidden") != "1"
    )


def arrays(host: LocalHost) -> list[dict[str, Any]]:
    """Facts of every assembled md array."""
    return [array(host, name) for name in host.list("/sys/block") if is_array(host, name)]


def is_array(host: LocalHost, kname: str) -> bool:
    return host.exists(f"/sys/block/{kname}/md/level")


def whole(host: LocalHost, kname: str) -> str:
    """The disk of a partition; the name itself for anything else."""
    if host.exists(f"/sys/block/{kname}"):
        return kname
    real = host.real(f"/sys/class/block/{kname}")
    return kname if real is None else real.split("/")[-2]


def stands_on(host: LocalHost, kname: str, volumes: Collection[str]) -> str | None:
    """Which of `volumes` (kernel names) a device is, or is a part of, or stands on, however many
    arrays and mappings lie between. A bcacheN stands on its backing device: its cache device is
    beside it."""
    seen: set[str] = set()
    todo = [whole(host, kname)]
    while todo:
        name = todo.pop()
        if name in volumes:
            return name
        if name in seen:
            continue
        seen.add(name)
        below = bcache_sysfs.below(host, name)
        lower = host.list(f"/sys/block/{name}/slaves") if below is None else (below,)
        todo += [whole(host, each) for each in lower]
    return None


def kname_of(host: LocalHost, dev: str) -> str | None:
    """ "9:0" -> "md0"."""
    link = host.link(f"/sys/dev/block/{dev}")
    return None if link is None else link.rsplit("/", 1)[-1]


def rotational(host: LocalHost, kname: str) -> bool | None:
    """Of a bcacheN that of its backing device: the kernel calls every bcache an SSD."""
    base = whole(host, kname)
    below = bcache_sysfs.below(host, base)
    if below is not None:
        base = whole(host, below)
    value = text(host, f"/sys/block/{base}/queue/rotational")
    return {"0": False, "1": True}.get(value)


def logical_sector_bytes(host: LocalHost, kname: str) -> int:
    value = text(host, f"/sys/block/{whole(host, kname)}/queue/logical_block_size")
    return int(value) if value.isdecimal() else 512


def array(host: LocalHost, name: str) -> dict[str, Any]:
    """Facts of one md array."""
    here = f"/sys/block/{name}/md"
    members = []
    for entry in host.list(here):
        if entry.startswith("dev-"):
            state = text(host, f"{here}/{entry}/state")
            slot = text(host, f"{here}/{entry}/slot")
            name_of = entry[len("dev-") :].replace("!", "/")
            members.append({"name": name_of, "state": state, "slot": slot})
    done, _, total = text(host, f"{here}/sync_completed").partition(" / ")
    return {
        "name": name,
        "dev": text(host, f"/sys/block/{name}/dev"),
        "uuid": text(host, f"{here}/uuid"),
        "level": text(host, f"{here}/level"),
        "state": text(host, f"{here}/array_state"),
        "size_bytes": _number(text(host, f"/sys/block/{name}/size")) * 512,
        "degraded_count": _degraded_count(host, here),
        "sync_action": text(host, f"{here}/sync_action") or "idle",
        # Sectors of one disk, and KiB a second; none while the array is idle.
        "sync_done_sectors": _known(done) if total else None,
        "sync_total_sectors": _known(total),
        "sync_speed_kib": _known(text(host, f"{here}/sync_speed")),
        # Where a check that was interrupted would go on; one that came to its end leaves 0.
        "sync_min_sectors": _known(text(host, f"{here}/sync_min")),
        "mismatch_sectors": _differing(host, here),
        "disk_count": _known(text(host, f"{here}/raid_disks").partition(" ")[0]),
        "container": _container(text(host, f"{here}/metadata_version")),
        "members": members,
    }


def _container(metadata: str) -> str:
    """What holds the metadata, and takes the disks, of an array of firmware's RAID: "md127" of
    "external:/md127/0" (with a dash while mdmon keeps it read-only). "" for an array of md's."""
    match = re.fullmatch(r"external:[/-]([^/]+)/.*", metadata)
    return "" if match is None else match[1]


def _differing(host: LocalHost, here: str) -> int | None:
    """What the last check found to differ. After a repair the kernel goes on showing how much that
    has made equal."""
    count = _known(text(host, f"{here}/mismatch_cnt"))
    is_repaired = count and text(host, f"{here}/last_sync_action") == "repair"
    return 0 if is_repaired else count


def _degraded_count(host: LocalHost, here: str) -> int | None:
    """None where the kernel makes no such file though there may be copies: of an array that is not
    started, for one."""
    if text(host, f"{here}/level") in ("raid0", "linear"):
        return 0
    return _known(text(host, f"{here}/degraded"))


def _words(member: Mapping[str, Any]) -> list[str]:
    return str(member["state"]).split(",")


def has_failed(member: Mapping[str, Any]) -> bool:
    """The array has given the member up."""
    return "faulty" in _words(member)


def is_spare(member: Mapping[str, Any]) -> bool:
    """The member waits for another one to fail; one that is being filled has a slot."""
    return "spare" in _words(member) and member["slot"] == "none"


def is_in_place(member: Mapping[str, Any]) -> bool:
    """The member has a place of its own in the array, and all data."""
    words = _words(member)
    return "in_sync" in words and "replacement" not in words and member["slot"].isdecimal()


def is_being_replaced(member: Mapping[str, Any]) -> bool:
    """The array copies the member to another one, or has given it up."""
    return "want_replacement" in _words(member) or has_failed(member)


def _lsblk(host: LocalHost) -> list[dict[str, Any]]:
    """lsblk's rows; without lsblk (or an answer) the bare names that sysfs has."""
    try:
        result = host.run(LSBLK, timeout=10.0)
        document = json.loads(result.stdout)
        return [row for row in document["blockdevices"] if isinstance(row, dict)]
    except (MissingTool, TimedOut, ValueError, LookupError, TypeError):
        return [
            {
                "name": name,
                "type": "disk",
                "maj:min": text(host, f"/sys/block/{name}/dev"),
                "size": _number(text(host, f"/sys/block/{name}/size")) * 512,
                "rota": text(host, f"/sys/block/{name}/queue/rotational"),
                "model": text(host, f"/sys/block/{name}/device/model"),
                "ro": text(host, f"/sys/block/{name}/ro"),
                "log-sec": text(host, f"/sys/block/{name}/queue/logical_block_size"),
            }
            for name in disk_names(host)
        ]


def _number(value: Any) -> int:
    word = str(value).strip()
    return int(word) if word.isdecimal() else 0


def _known(word: str) -> int | None:
    """None for what the kernel says in words ("none", "delayed"), or does not say."""
    return int(word) if word.isdecimal() else None


def _true(value: Any) -> bool:
    return value is True or value in (1, "1")
