"""Validators for the values in a request: one function per kind of value.

Each takes a JSON value and returns it, or raises ValueError with what is expected. Patterns are
used with fullmatch: `$` would admit a trailing newline.
"""

from __future__ import annotations

import re
from typing import Any, Callable

MAX_BYTES = 1 << 60
Check = Callable[[Any], str]

_UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_LVM_UUID = re.compile(r"[0-9A-Za-z]{6}(?:-[0-9A-Za-z]{4}){5}-[0-9A-Za-z]{6}")
_LVM_NAME = re.compile(r"[A-Za-z0-9+_.][A-Za-z0-9+_.-]{0,126}")
_PART = r"[A-Za-z0-9][A-Za-z0-9_.+:-]{0,126}"
_DEVICE = re.compile(rf"{_PART}(?:/{_PART}){{0,2}}")
_GUEST = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+@-]{0,63}")
_DISK = re.compile(r"[a-z]{2,8}[0-9]{0,3}")
_FORMAT = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
_KERNEL_NAME = re.compile(r"[a-z][A-Za-z0-9_-]{0,31}")
_SERIAL = re.compile(r"[!-~](?:[ -~]{0,126}[!-~])?")
_SMART_DEVICE = re.compile(r"/dev/[A-Za-z0-9_./:-]{1,58}")
_SMART_TYPE = re.compile(r"[A-Za-z0-9+,_/-]{0,40}")
_KEY = re.compile(r"[a-z2-7]{8,26}")
_TAG = re.compile(r"[A-Za-z0-9_+./=!:&#][A-Za-z0-9_+.\-/=!:&#]{0,1023}")
_TYPES = re.compile(r"[A-Za-z0-9_=.,+ -]*")
_WORDS = re.compile(r"[A-Za-z0-9_=., -]*")

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+_.-")

# Sub-volumes that LVM makes for itself: touching one of them touches its owner.
_RESERVED = re.compile(
    r"_(?:cdata|cmeta|corig|cpool|cvol|wcorig|mimage|mlog|rimage|rmeta|tdata|tmeta|vdata|imeta"
    r"|iorig|pmspare|vorigin)"
)


def _text(value: Any, pattern: re.Pattern[str], expected: str) -> str:
    if not isinstance(value, str) or pattern.fullmatch(value) is None:
        raise ValueError(expected)
    return value


def request_id(value: Any) -> str:
    return _text(value, _UUID4, "a random UUID (version 4) in lower case")


def uuid(value: Any) -> str:
    return _text(value, _UUID, "a UUID in lower case")


def lvm_uuid(value: Any) -> str:
    return _text(value, _LVM_UUID, "an LVM UUID such as AbCdEf-GhIj-KlMn-OpQr-StUv-WxYz-012345")


def lvm_uuids(most: int, least: int = 1) -> Callable[[Any], tuple[str, ...]]:
    expected = f"a list of {least} to {most} different LVM UUIDs"

    def check(value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not least <= len(value) <= most:
            raise ValueError(expected)
        uuids = tuple(lvm_uuid(item) for item in value)
        if len(set(uuids)) != len(uuids):
            raise ValueError(expected)
        return uuids

    return check


def vg_name(value: Any) -> str:
    name = _text(value, _LVM_NAME, "a volume group name")
    if name in (".", ".."):
        raise ValueError("a volume group name")
    return name


def lv_name(value: Any) -> str:
    """Any LV a person may have made; never one of LVM's own sub-volumes."""
    expected = "a logical volume name that is not one of LVM's own"
    name = _text(value, _LVM_NAME, expected)
    hidden = _RESERVED.search(name) is not None or name.startswith(("snapshot", "pvmove"))
    if hidden or name in (".", ".."):
        raise ValueError(expected)
    return name


def any_lv_name(value: Any) -> str:
    """An LV as LVM may call it, its own sub-volumes too."""
    name = _text(value, _LVM_NAME, "a logical volume name")
    if name in (".", ".."):
        raise ValueError("a logical volume name")
    return name


def tag(value: Any) -> str:
    """A tag that LVM itself would write. It takes any that it reads from a disk."""
    return _text(value, _TAG, "an LVM tag of letters, digits and _+.-/=!:&#")


def lvm_words(value: Any) -> str:
    """Layouts, roles, modes and settings as LVM lists them."""
    return _text(value, _WORDS, "words of LVM")


def lvm_type(value: Any) -> str:
    """The type of a segment, or a layout, also one that this LVM does not know."""
    return _text(value, _TYPES, "types of LVM")


def printable(value: str, limit: int = 64) -> str:
    """What a validator refused, fit to be shown to a person and for nothing else: a name of LVM
    never holds the question mark that stands for each odd character."""
    shown = "".join(char if char in _PLAIN else "?" for char in value[:limit])
    return shown if len(value) <= limit else f"{shown}?"


def made(prefix: str) -> Callable[[Any], str]:
    """A name of ours: `v-…` volumes, `c-…` cache pools, `s-…` bcache cache devices, `del-…`
    retired volumes."""
    pattern = re.compile(prefix + r"-[a-z2-7]{8,26}")

    def check(value: Any) -> str:
        return _text(value, pattern, f"a name {prefix}-… of 8 to 26 letters a-z and digits 2-7")

    return check


def volume_key(value: Any) -> str:
    return _text(value, _KEY, "8 to 26 letters a-z and digits 2-7")


def guest(value: Any) -> str:
    """A guest's name as a command takes it; it cannot be taken for an option."""
    return _text(value, _GUEST, "a guest's name of 1 to 64 letters, digits and _.+@-")


def disk(value: Any) -> str:
    """The name of a guest's disk in its configuration."""
    return _text(value, _DISK, "a guest's disk such as vda")


def device(value: Any) -> str:
    """A device name below /dev; no part starts with a dot, so nothing leads out of /dev."""
    return _text(value, _DEVICE, "a device name below /dev, such as md0 or mapper/x")


def device_path(value: Any) -> str:
    """A whole path below /dev, as a guest's configuration names its disk."""
    expected = "a path below /dev"
    if not isinstance(value, str) or not value.startswith("/dev/"):
        raise ValueError(expected)
    _text(value[len("/dev/") :], _DEVICE, expected)
    return value


def image_format(value: Any) -> str:
    """What a guest's disk is written as: raw, qcow2, luks."""
    return _text(value, _FORMAT, "the format of an image, such as raw or qcow2")


def guests(value: Any) -> tuple[str, ...]:
    expected = "a list of 1 to 16 different names of guests"
    if not isinstance(value, list) or not 1 <= len(value) <= 16:
        raise ValueError(expected)
    names = tuple(guest(item) for item in value)
    if len(set(names)) != len(names):
        raise ValueError(expected)
    return names


def domains(value: Any) -> tuple[dict[str, str], ...]:
    """Disks of libvirt's domains, by what no other domain can have: its UUID, and the path of the
    disk. virsh takes a name of digits for the number of a running domain."""
    expected = "a list of 1 to 16 different disks of libvirt's domains, each with uuid and path"
    if not isinstance(value, list) or not 1 <= len(value) <= 16:
        raise ValueError(expected)
    disks = []
    for item in value:
        if not isinstance(item, dict) or set(item) != {"uuid", "path"}:
            raise ValueError(expected)
        disks.append({"uuid": uuid(item["uuid"]), "path": device_path(item["path"])})
    if len({(each["uuid"], each["path"]) for each in disks}) != len(disks):
        raise ValueError(expected)
    return tuple(disks)


def quoted(value: Any) -> str:
    """What QEMU, libvirt or a guest said, as a sentence may quote it: one printable line, cut."""
    return "".join(each if each.isprintable() else "?" for each in str(value)[:200])


def kernel_name(value: Any) -> str:
    """A block device as the kernel calls it: sdb, nvme0n1p3, md127, or md_home where mdadm names
    arrays."""
    return _text(value, _KERNEL_NAME, "a kernel name of a block device, such as sdb or md0")


def serial(value: Any) -> str:
    """A serial number as a disk or an array says it."""
    return _text(value, _SERIAL, "the serial number of the device, as the inventory has it")


def smart_device(value: Any) -> str:
    """A device as `smartctl --scan` names it; some stand for a whole RAID controller."""
    path = _text(value, _SMART_DEVICE, "a device as smartctl --scan names it, such as /dev/sda")
    if ".." in path:
        raise ValueError("a device as smartctl --scan names it, such as /dev/sda")
    return path


def smart_type(value: Any) -> str:
    """What smartctl takes for `-d`; "" leaves the choice to it."""
    return _text(value, _SMART_TYPE, "a device type of smartctl, such as megaraid,0")


def devices(value: Any) -> tuple[str, ...]:
    expected = "a list of 1 to 64 different device names below /dev"
    if not isinstance(value, list) or not 1 <= len(value) <= 64:
        raise ValueError(expected)
    names = tuple(device(item) for item in value)
    if len(set(names)) != len(names):
        raise ValueError(expected)
    return names


def integer(low: int, high: int, multiple: int = 1) -> Callable[[Any], int]:
    """A whole number; JSON's true and false are not numbers."""
    of = f", a multiple of {multiple}" if multiple > 1 else ""

    def check(value: Any) -> int:
        if type(value) is not int or not low <= value <= high or value % multiple:
            raise ValueError(f"a whole number from {low} to {high}{of}")
        return value

    return check


def choice(*allowed: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise ValueError("one of " + ", ".join(allowed))
        return value

    return check


def number_of(*allowed: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if type(value) is not int or value not in allowed:
            raise ValueError("one of " + ", ".join(map(str, allowed)))
        return value

    return check


size_bytes = integer(512, MAX_BYTES, 512)


def bucket_kib(value: Any) -> int:
    """bcache buckets are powers of two; 4 KiB to 16 MiB."""
    number = integer(4, 16384)(value)
    if number & (number - 1):
        raise ValueError("a power of two from 4 to 16384")
    return number


def cutoff_bytes(value: Any) -> int:
    """bcache's sequential_cutoff. The kernel shows it back as "4.0M", cut to one digit, so only
    0 and whole KiB, MiB or GiB below 1000 of them can be compared with what was asked for."""
    number = integer(0, 1 << 32)(value)
    rest = number
    while rest >= 1000 and rest % 1024 == 0:
        rest //= 1024
    if number and (rest >= 1000 or number % 1024):
        raise ValueError("0, or a whole number below 1000 of KiB, MiB or GiB, in bytes")
    return number
