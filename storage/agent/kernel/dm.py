"""Device-mapper devices by sysfs, messages to their targets, and the status line of dm-cache."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import struct
from dataclasses import dataclass, fields

from ..calls.refusals import Refusal
from .local_host import LocalHost, MissingTool, TimedOut

STATUS = ("dmsetup", "status", "--noflush", "--target", "cache")
SECTOR = 512
CONTROL = "/dev/mapper/control"
TARGET_MESSAGE = 0xC138FD0E  # _IOWR(0xfd, 14, struct dm_ioctl)
BUFFER_FULL = 1 << 8
DATA_OUT = 1 << 16
ANSWER_LIMIT = 256 * 1024
USUAL_ANSWER = 16 * 1024
"""The kernel copies the whole buffer: a sample sends some hundreds of messages."""

# version[3], data_size, data_start, target_count, open_count, flags, event_nr, padding, dev,
# name[128], uuid[129], padding to 312 bytes.
_HEADER = struct.Struct("=3I2IIiIIIQ128s129s7s")

_LINE = re.compile(r"(?P<name>[^:]+): (?P<start>\d+) (?P<length>\d+) cache (?P<rest>.*)")
_LVM = re.compile(r"LVM-([0-9A-Za-z]{32})([0-9A-Za-z]{32})(?:-([a-z]+))?")
# No count or size of a device has more digits.
_COUNT = re.compile(r"[0-9]{1,18}")


# dm names double the hyphens of VG and LV names; one single hyphen stands between the two.
_SPLIT = re.compile(r"(?P<vg>(?:[^-]|--)+)-(?P<lv>(?:[^-]|--)+)")
_HIDDEN = re.compile(
    r"_(?:cdata|cmeta|corig|cpool|cvol|wcorig|mimage|mlog|rimage|rmeta|tdata|tmeta|vdata|imeta"
    r"|iorig|pmspare|vorigin)(?:_|\d|$)|^(?:snapshot|pvmove)\d"
)


@dataclass(frozen=True)
class DmDevice:
    """One dm-N. `lv` and `layer` come from an LVM dm uuid: the LV's uuid in LVM's dashed form
    and the suffix ("" = the visible LV, "cdata", "cmeta", "real", …)."""

    kname: str
    name: str
    vg_uuid: str
    lv_uuid: str
    layer: str
    suspended: bool


@dataclass(frozen=True)
class CacheStatus:
    """Fields of `dmsetup status` of a cache target (storage units in its own chunks). Where it has
    `failed` the kernel gives none of them, and the zeros say nothing."""

    metadata_used: int
    metadata_total: int
    chunk_sectors: int
    used: int
    total: int
    read_hits: int
    read_misses: int
    write_hits: int
    write_misses: int
    demotions: int
    promotions: int
    dirty: int
    mode: str
    policy: str
    migration_threshold: int | None
    read_only: bool
    needs_check: bool
    failed: bool

    @property
    def dirty_bytes(self) -> int | None:
        """What the slow disk does not have; None where the kernel no longer knows."""
        return None if self.failed else self.dirty * self.chunk_sectors * SECTOR


COUNTERS = (
    "read_hits",
    "read_misses",
    "write_hits",
    "write_misses",
    "demotions",
    "promotions",
    "dirty",
)
STATUS_COUNTERS = tuple(
    field.name for field in fields(CacheStatus) if field.name != "migration_threshold"
)
"""The fields of a status that a sample has."""
FAILED = CacheStatus(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "", "", None, True, True, True)


def text(host: LocalHost, path: str) -> str:
    """A small sysfs or procfs file, stripped; "" when it cannot be read."""
    data = host.read(path)
    return "" if data is None else data.decode("utf-8", "replace").strip()


def dm_devices(host: LocalHost) -> tuple[DmDevice, ...]:
    """Every device that LVM made, hidden layers too."""
    listed = []
    for kname in host.list("/sys/block"):
        if not kname.startswith("dm-"):
            continue
        match = _LVM.fullmatch(text(host, f"/sys/block/{kname}/dm/uuid"))
        if match is None:
            continue
        suspended = text(host, f"/sys/block/{kname}/dm/suspended") == "1"
        name = text(host, f"/sys/block/{kname}/dm/name")
        vg_uuid, lv_uuid = dashed(match.group(1)), dashed(match.group(2))
        listed.append(DmDevice(kname, name, vg_uuid, lv_uuid, match.group(3) or "", suspended))
    return tuple(listed)


def visible(device: DmDevice) -> bool:
    """Whether it is a public LV, known without asking LVM: no layer suffix in its dm uuid, and
    not named like one of LVM's own sub-volumes."""
    match = _SPLIT.fullmatch(device.name)
    lv = device.name if match is None else match.group("lv").replace("--", "-")
    return device.layer == "" and _HIDDEN.search(lv) is None


def group_name(device: DmDevice) -> str:
    """The name of its volume group."""
    match = _SPLIT.fullmatch(device.name)
    return "" if match is None else match.group("vg").replace("--", "-")


def lv_uuid(host: LocalHost, vg: str, lv: str) -> str | None:
    """Uuid of an active LV by its name, without asking LVM; None where the kernel has none."""
    device = _named(host, vg, lv)
    return None if device is None else device.lv_uuid


def kname(host: LocalHost, vg: str, lv: str) -> str:
    """ "dm-7", as the kernel itself says, "" where it has none: a link in /dev may be old."""
    device = _named(host, vg, lv)
    return "" if device is None else device.kname


def _named(host: LocalHost, vg: str, lv: str) -> DmDevice | None:
    """In device-mapper's names each dash of a part is doubled."""
    name = "-".join(part.replace("-", "--") for part in (vg, lv))
    return next((each for each in dm_devices(host) if each.name == name), None)


def dashed(plain: str) -> str:
    """LVM's 32 characters as 6-4-4-4-4-4-6, the form its reports use."""
    ends = (0, 6, 10, 14, 18, 22, 26, 32)
    return "-".join(plain[a:b] for a, b in zip(ends, ends[1:]))


def caches(host: LocalHost) -> dict[str, CacheStatus]:
    """dm name -> status of its cache target. `--noflush`: without it each call would commit the
    cache's metadata. Raises Refusal(missing_tool | timeout | cmd_failed)."""
    try:
        result = host.run(STATUS, timeout=10.0)
    except MissingTool:
        raise Refusal(
            "missing_tool",
            "dmsetup is not installed on this host.",
            "Install the package dmsetup.",
            argv=STATUS,
        ) from None
    except TimedOut:
        raise Refusal(
            "timeout",
            "dmsetup did not answer within 10 seconds.",
            TimedOut.correction,
            argv=STATUS,
        ) from None
    if result.rc != 0:
        raise Refusal(
            "cmd_failed",
            f"dmsetup failed with exit code {result.rc}.",
            "Run the command on the host by hand and read what it says.",
            argv=STATUS,
            rc=result.rc,
            stderr=result.stderr,
        )
    statuses = {}
    for line in result.stdout.splitlines():
        match = _LINE.fullmatch(line.strip())
        if match is not None:
            statuses[match.group("name")] = parse_cache(match.group("rest"))
    return statuses


def parse_cache(rest: str) -> CacheStatus:
    """Everything after the target's name. The counts are walked, because features, core and
    policy arguments vary in number. `Fail` and `Error` (or nonsense) give FAILED."""
    words = rest.split()
    try:
        metadata_used, metadata_total = _pair(words[1])
        used, total = _pair(words[3])
        counters = dict(zip(COUNTERS, map(_count, words[4:11])))
        at = 11
        features = words[at + 1 : at + 1 + int(words[at])]
        at += 1 + int(words[at])
        core = words[at + 1 : at + 1 + int(words[at])]
        at += 1 + int(words[at])
        policy = words[at]
        at += 2 + int(words[at + 1])
        access = words[at]
        check = words[at + 1] if len(words) > at + 1 else "-"
        settings = dict(zip(core[::2], core[1::2]))
        threshold = settings.get("migration_threshold")
        modes = [word for word in features if word in ("writethrough", "writeback", "passthrough")]
        return CacheStatus(
            metadata_used,
            metadata_total,
            _count(words[2]),
            used,
            total,
            mode=modes[0] if modes else "writeback",
            policy=policy,
            migration_threshold=None if threshold is None else _count(threshold),
            read_only=access != "rw",
            needs_check=check != "-",
            failed=False,
            **counters,
        )
    except (IndexError, ValueError):
        return FAILED


def _pair(word: str) -> tuple[int, int]:
    used, _, total = word.partition("/")
    return _count(used), _count(total)


def _count(word: str) -> int:
    """Raises ValueError for what the kernel cannot have counted."""
    if not _COUNT.fullmatch(word):
        raise ValueError(word)
    return int(word)


def message(name: str, words: str) -> str:
    """Send `words` to sector 0 of the device and return the answer, by ioctl on /dev/mapper/control
    (linux/dm-ioctl.h): `dmsetup message` would need a process for each volume and sample. A longer
    answer than the usual is asked for again, so no message may mind being sent twice. Raises
    OSError; ENOBUFS when the answer does not fit into ANSWER_LIMIT."""
    try:
        return _message(name, words, USUAL_ANSWER)
    except OSError as error:
        if error.errno != errno.ENOBUFS:
            raise
    return _message(name, words, ANSWER_LIMIT)


def _message(name: str, words: str, limit: int) -> str:
    body = struct.pack("=Q", 0) + words.encode() + b"\0"
    header = _HEADER.pack(4, 0, 0, limit, _HEADER.size, 0, 0, 0, 0, 0, 0, name.encode(), b"", b"")
    buffer = bytearray(limit)
    buffer[: len(header) + len(body)] = header + body
    control = os.open(CONTROL, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.ioctl(control, TARGET_MESSAGE, buffer, True)
    finally:
        os.close(control)
    fields = _HEADER.unpack_from(buffer)
    start, flags = fields[4], fields[7]
    if flags & BUFFER_FULL:
        raise OSError(errno.ENOBUFS, os.strerror(errno.ENOBUFS))
    if not flags & DATA_OUT:
        return ""
    return bytes(buffer[start:]).split(b"\0", 1)[0].decode("utf-8", "replace")
