"""bcache by sysfs: backing devices and cache sets."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from .dm import text
from .local_host import LocalHost

FS = "/sys/fs/bcache"
CLEAN = frozenset(("no cache", "clean"))
STATES = CLEAN | {"dirty", "inconsistent"}

_DEVICE = re.compile(r"bcache\d+")
_HUMAN = re.compile(r"(-?)(\d+)(?:\.(\d))?([kMGTPEZY]?)")
_UNUSED = re.compile(r"^Unused:\s*(\d{1,3})%$", re.MULTILINE)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Backing:
    """A registered backing device. `device` is its bcacheN, None while the kernel waits for the
    cache set. `dirty_bytes` is what the kernel prints, one decimal digit: a gauge, never less
    than 512 while anything is dirty. Unless `dirty_known` the kernel reported nothing usable (a
    number below 0, say), and 0 does not mean clean."""

    kname: str
    uuid: str
    device: str | None
    cset_uuid: str | None
    state: str
    cache_mode: str
    sequential_cutoff_bytes: int
    writeback_percent: int
    dirty_bytes: int
    dirty_known: bool


@dataclass(frozen=True)
class RegisteredCset:
    """A registered cache set with the kname of its cache device. `available_percent` is what is not
    dirty: clean cached data counts as available."""

    uuid: str
    kname: str | None
    bucket_bytes: int
    bucket_count: int
    available_percent: int | None
    backing: tuple[str, ...]


def human(value: str) -> int:
    """Bytes of the kernel's "1.2G" (base 1024, digits cut off, so never more than the truth)."""
    match = _HUMAN.fullmatch(value.strip())
    if match is None:
        return 0
    sign, whole, tenth, unit = match.groups()
    scale: int = 1024 ** (" kMGTPEZY".index(unit) if unit else 0)
    size = int(whole) * scale + int(tenth or 0) * scale // 10
    return -size if sign else size


def chosen(value: str) -> str:
    """The bracketed word of "writethrough [writeback] writearound none"."""
    match = re.search(r"\[([^\]]+)\]", value)
    return match.group(1) if match else value


def folder(kname: str) -> str:
    return f"/sys/block/{kname}/bcache"


def is_device(kname: str) -> bool:
    """Whether it is called bcacheN."""
    return _DEVICE.fullmatch(kname) is not None


def bcache_devices(host: LocalHost) -> tuple[str, ...]:
    """Every bcacheN that is there."""
    return tuple(name for name in host.list("/sys/block") if is_device(name))


def below(host: LocalHost, device: str) -> str | None:
    """kname of the backing device under a bcacheN; None for any other device. Not by `slaves`: the
    cache device is one too."""
    link = host.link(folder(device)) if is_device(device) else None
    return None if link is None else _owner(link)


def backing(host: LocalHost, kname: str) -> Backing | None:
    """The backing device on `kname`; None when it is none, or is not registered."""
    return _backing(host, kname, folder(kname))


def other_backings(host: LocalHost, lvs: Collection[str]) -> tuple[Backing, ...]:
    """The registered backing devices that are none of `lvs` (knames): disks, partitions, arrays.
    The folder of a bcacheN leads to that of its backing device, which would be found twice."""
    names = [name for name in host.list("/sys/class/block") if name not in lvs]
    knames = [
        _backing(host, name, f"/sys/class/block/{name}/bcache")
        for name in names
        if not is_device(name)
    ]
    return tuple(each for each in knames if each is not None)


def _backing(host: LocalHost, kname: str, here: str) -> Backing | None:
    state, modes = (text(host, f"{here}/{name}") for name in ("state", "cache_mode"))
    if not (state or modes):
        return None
    device = host.link(f"{here}/dev")
    cset = host.link(f"{here}/cache")
    percent = text(host, f"{here}/writeback_percent")
    dirty = text(host, f"{here}/dirty_data")
    return Backing(
        kname=kname,
        uuid=text(host, f"{here}/backing_dev_uuid"),
        device=None if device is None else device.rsplit("/", 1)[-1],
        cset_uuid=None if cset is None else cset.rsplit("/", 1)[-1],
        state=state,
        cache_mode=chosen(modes),
        sequential_cutoff_bytes=human(text(host, f"{here}/sequential_cutoff")),
        writeback_percent=int(percent) if percent.isdecimal() else 0,
        dirty_bytes=max(0, human(dirty)),
        dirty_known=state in CLEAN or (_HUMAN.fullmatch(dirty) is not None and human(dirty) >= 0),
    )


def cache_sets(host: LocalHost) -> tuple[RegisteredCset, ...]:
    """Every registered cache set."""
    return tuple(
        cache_set(host, uuid) for uuid in host.list(FS) if _UUID.fullmatch(uuid) is not None
    )


def cache_set(host: LocalHost, uuid: str) -> RegisteredCset:
    here = f"{FS}/{uuid}"
    cache = host.link(f"{here}/cache0")
    available = text(host, f"{here}/cache_available_percent")
    buckets = text(host, f"{here}/cache0/nbuckets")
    names = [name for name in host.list(here) if re.fullmatch(r"bdev\d+", name)]
    links = [host.link(f"{here}/{name}") for name in names]
    return RegisteredCset(
        uuid=uuid,
        kname=None if cache is None else _owner(cache),
        bucket_bytes=human(text(host, f"{here}/bucket_size")),
        bucket_count=int(buckets) if buckets.isdecimal() else 0,
        available_percent=int(available) if available.isdecimal() else None,
        backing=tuple(_owner(link) for link in links if link is not None),
    )


def unused_percent(host: LocalHost, uuid: str) -> int | None:
    """How much of a cache set holds nothing; None where the kernel does not say. It looks at every
    bucket for that, under a lock, and sorts them: facts/cset_fill.py says how often to ask."""
    match = _UNUSED.search(text(host, f"{FS}/{uuid}/cache0/priority_stats"))
    percent = int(match.group(1)) if match is not None else None
    return percent if percent is not None and percent <= 100 else None


def cache_set_of(host: LocalHost, kname: str) -> str | None:
    """uuid of the registered cache set whose cache device is `kname`."""
    link = host.link(f"{folder(kname)}/set")
    return None if link is None else link.rsplit("/", 1)[-1]


def _owner(link: str) -> str:
    """ "../../../devices/virtual/block/dm-7/bcache" -> "dm-7"."""
    parts = link.rstrip("/").split("/")
    return parts[-2] if len(parts) > 1 else ""
