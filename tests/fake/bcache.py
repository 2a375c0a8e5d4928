"""bcache: superblocks, registration, and the writes to its sysfs files."""

from __future__ import annotations

import dataclasses
import errno
import os
from collections.abc import Sequence
from typing import Any

from storage.agent.kernel.local_host import CommandResult
from tests.fake import udev
from tests.fake.argv import parse
from tests.fake.group import Steps
from tests.fake.machine import Machine
from tests.fake.parts import KIB, SECTOR, Backing, CacheSet, Lv, ModelGap, Signature

MODES = ("writethrough", "writeback", "writearound", "none")
NO_SET = "00000000-0000-0000-0000-000000000000"
REGISTER = ("/sys/fs/bcache/register", "/sys/fs/bcache/register_quiet")


def oserror(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def make(machine: Machine, argv: Sequence[str]) -> Steps:
    """make-bcache; udev's rule registers what it made, as on Debian."""
    line = parse(argv, (), ("-B", "-C", "--data-offset", "--bucket", "--cset-uuid"))
    path = line.one("-B") if line.has("-B") else line.one("-C")
    lv = machine.lv_at(path)
    if lv is None:
        return CommandResult(1, "", f"Can't open dev {path}: No such file or directory\n")
    if machine.open_count(lv):
        return CommandResult(1, "", f"Can't open dev {path}: Device or resource busy\n")
    if lv.signature is not None:
        kind = "bcache" if lv.signature.type == "bcache" else "non-bcache"
        complaint = (
            f"Device {path} already has a {kind} superblock, remove it using wipefs and wipefs -a\n"
        )
        return CommandResult(1, "", complaint)
    cache_device = line.has("-C")
    cset_uuid = line.one("--cset-uuid") if line.has("--cset-uuid") else machine.uuid4()
    bucket = int(line.one("--bucket").removesuffix("k")) * KIB if cache_device else 0
    offset = 0 if cache_device else int(line.one("--data-offset"))
    lv.signature = Signature(
        "bcache", machine.uuid4(), cset_uuid, cache_device, bucket, offset
    )  # fmt: skip
    yield 0.1
    udev.appeared(machine, path)
    return CommandResult(0, f"UUID:\t\t\t{lv.signature.uuid}\nSet UUID:\t\t{cset_uuid}\n")


def super_show(machine: Machine, argv: Sequence[str]) -> Steps:
    path = parse(argv, (), ()).operands[0]
    yield 0.0
    lv = machine.lv_at(path)
    if lv is None:
        return CommandResult(1, "", f"Can't open dev {path}: No such file or directory\n")
    found = lv.signature
    if found is None or found.type != "bcache":
        return CommandResult(2, "sb.magic\t\tbad magic\n", "Invalid superblock (bad magic)\n")
    kind = "3 [cache device]" if found.cache_device else "4 [backing device]"
    return CommandResult(
        0, f"sb.magic\t\tok\nsb.first_sector\t\t8 [match]\nsb.csum\t\t\t0 [match]\n"
        f"sb.version\t\t{kind}\n\ndev.label\t\t(empty)\ndev.uuid\t\t{found.uuid}\n"
        f"dev.sectors_per_block\t1\n"
        f"dev.sectors_per_bucket\t{found.bucket_bytes // SECTOR or 1024}\n"
        f"\ncset.uuid\t\t{found.cset_uuid}\n",
    )  # fmt: skip


def register(machine: Machine, path: str) -> None:
    """Known already: nothing, as register_quiet says nothing. Raises OSError."""
    lv = machine.lv_at(path)
    found = None if lv is None else lv.signature
    if lv is None or found is None or found.type != "bcache":
        raise oserror(errno.EINVAL)
    if machine.backing(lv) is not None or any(each.lv is lv for each in machine.csets):
        return
    if found.cache_device:
        if lv.size_bytes // found.bucket_bytes <= 512:
            raise oserror(errno.EINVAL)
        machine.csets.append(CacheSet(lv, found.cset_uuid, found.bucket_bytes))
        _run_waiting(machine, machine.csets[-1])
    else:
        taken = {each.number for each in machine.backings} | machine.bcache_numbers()
        number = next(n for n in range(len(taken) + 1) if n not in taken)
        cset = machine.cset(found.cset_uuid) if found.attached else None
        waits_for = found.cset_uuid if found.attached and cset is None else None
        made = Backing(
            lv, number, found.uuid, found.data_sectors, cset, found.cache_mode, waits_for
        )
        machine.backings.append(made)
        if waits_for is None:
            udev.appeared(machine, f"/dev/{made.device}", "add")
    machine.changed()


def _run_waiting(machine: Machine, cset: CacheSet) -> None:
    """A new cache set takes in every backing device that waits for it (bcache's run_cache_set)."""
    for backing in machine.backings:
        if backing.waits_for == cset.uuid:
            backing.cset, backing.waits_for = cset, None
            udev.appeared(machine, f"/dev/{backing.device}")


def write(machine: Machine, path: str, value: str) -> None:
    """One write to a file of bcache; raises OSError with the kernel's errno."""
    value = value.strip()
    if path in REGISTER:
        if "bcache" not in machine.modules:
            raise oserror(errno.ENOENT)
        register(machine, value)
        return
    parts = path.split("/")
    if path.startswith("/sys/fs/bcache/") and parts[-1] == "unregister":
        _unregister(machine, parts[-2])
    elif path.startswith("/sys/fs/bcache/") and parts[-1].startswith("congested_"):
        _set_congestion(machine, parts[-2], parts[-1], value)
        return
    elif path.startswith("/sys/block/dm-") and parts[-2] == "bcache":
        lv = machine.lv_of_minor(int(parts[3].removeprefix("dm-")))
        backing = None if lv is None else machine.backing(lv)
        if backing is None:
            raise oserror(errno.ENOENT)
        _set(machine, backing, parts[-1], value)
        if parts[-1] in ("sequential_cutoff", "writeback_percent"):
            return
    elif path.startswith("/sys/block/dm-") and parts[-2] == "set":
        lv = machine.lv_of_minor(int(parts[3].removeprefix("dm-")))
        cset = next((each for each in machine.csets if each.lv is lv), None)
        if cset is None or parts[-1] != "unregister":
            raise oserror(errno.ENOENT)
        _unregister(machine, cset.uuid)
    else:
        raise ModelGap(f"write to {path}")
    machine.changed()


def _unregister(machine: Machine, uuid: str) -> None:
    cset = machine.cset(uuid)
    if cset is None:
        raise oserror(errno.ENOENT)
    if any(each.cset is cset for each in machine.backings):
        raise ModelGap("unregister of a cache set in use detaches every volume of it")
    machine.csets.remove(cset)


def _set_congestion(machine: Machine, uuid: str, name: str, value: str) -> None:
    cset = machine.cset(uuid)
    if cset is None or name not in cset.congested_us:
        raise oserror(errno.ENOENT)
    if not value.isdecimal():
        raise oserror(errno.EINVAL)
    cset.congested_us[name] = int(value)


def _set(machine: Machine, backing: Backing, name: str, value: str) -> None:
    if backing.waits_for is not None and name != "stop":
        raise ModelGap(f"write to {name} of a backing device that waits for its cache set")
    if name == "attach":
        _attach(machine, backing, value)
    elif name == "detach":
        if backing.cset is not None:
            backing.detaching = True
            settle(machine, backing)
    elif name == "stop":
        backing.stopping = True
        settle(machine, backing)
    elif name == "cache_mode":
        if value not in MODES:
            raise oserror(errno.EINVAL)
        backing.cache_mode = value
        _sign(backing, cache_mode=value)
    elif name == "sequential_cutoff":
        if not value.isdecimal():
            raise oserror(errno.EINVAL)
        backing.sequential_cutoff_bytes = int(value)
    elif name == "writeback_percent":
        # The kernel takes what is too much for the most it allows.
        if not value.isdecimal():
            raise oserror(errno.EINVAL)
        backing.writeback_percent = min(40, int(value))
    elif name == "writeback_running":
        if value not in ("0", "1"):
            raise oserror(errno.EINVAL)
        backing.writeback_running = value == "1"
    else:
        raise ModelGap(f"write to the bcache attribute {name}")


def _attach(machine: Machine, backing: Backing, uuid: str) -> None:
    cset = machine.cset(uuid)
    if cset is None:
        raise oserror(errno.ENOENT)
    if backing.cset is not None or backing.stopping:
        raise oserror(errno.EINVAL)
    backing.cset = cset
    backing.warmth = 0.0
    _sign(backing, cset_uuid=cset.uuid, attached=True)


def _sign(backing: Backing, **fields: Any) -> None:
    """What the superblock remembers over a reboot."""
    if backing.lv.signature is not None:
        backing.lv.signature = dataclasses.replace(backing.lv.signature, **fields)


def reboot(machine: Machine) -> None:
    """The kernel forgets every registration, and every setting but the mode."""
    if any(each.dirty_bytes >= SECTOR for each in machine.backings):
        raise ModelGap("a reboot with dirty data in bcache")
    machine.csets.clear()
    machine.backings.clear()


def settle(machine: Machine, backing: Backing) -> None:
    """End a detach whose data is written, and a stop whose last user is gone."""
    if backing.detaching and backing.dirty_bytes < SECTOR:
        backing.detaching, backing.cset, backing.dirty_bytes = False, None, 0.0
        _sign(backing, cset_uuid=NO_SET, attached=False)
        machine.changed()
    path = f"/dev/{backing.device}"
    is_free = not machine.openers(path) and not backing.lv.held
    if backing.stopping and is_free and backing in machine.backings:
        machine.backings.remove(backing)
        machine.changed()


def human(size: float) -> str:
    """The kernel's "1.2G": base 1024, one digit after the point, cut off."""
    value, units = int(size) * 10 // KIB, "kMGTPE"
    for unit in units:
        if value < 10240:
            return f"{value // 10}.{value % 10}{unit}"
        value = value // 1024
    return f"{value // 10}.{value % 10}Z"


def size_sectors(lv: Lv, backing: Backing) -> int:
    return lv.size_bytes // SECTOR - backing.data_sectors
