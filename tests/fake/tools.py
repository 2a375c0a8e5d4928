"""Programs beside LVM and bcache-tools: lsblk, wipefs, blkdiscard, dmsetup, modprobe."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from storage.agent.kernel.local_host import CommandResult
from tests.fake import growth, lvmfilter
from tests.fake.argv import parse
from tests.fake.group import Steps
from tests.fake.machine import Machine
from tests.fake.parts import MIB, SECTOR, Disk, Lv, ModelGap

COPIED = ("/etc/udev/rules.d/61-tiercel.rules", "/etc/lvm/lvmlocal.conf")


def lsblk(machine: Machine, argv: Sequence[str]) -> Steps:
    columns = "NAME,KNAME,MAJ:MIN,TYPE,SIZE,ROTA,MODEL,SERIAL,TRAN,LOG-SEC,RO"
    if list(argv) == ["lsblk", "--version"]:
        yield 0.0
        return CommandResult(0, f"lsblk from util-linux {machine.versions['util_linux']}\n")
    if list(argv) != ["lsblk", "-J", "-b", "-d", "-o", columns]:
        raise ModelGap(" ".join(argv))
    yield 0.0
    rows = [_row(disk, "disk", disk.rotational) for disk in machine.disks]
    return CommandResult(0, json.dumps({"blockdevices": rows}, indent=3))


def _row(disk: Disk, kind: str, rotational: bool) -> dict[str, object]:
    return {
        "name": disk.name, "kname": disk.name, "maj:min": disk.dev, "type": kind,
        "size": disk.size_bytes, "rota": rotational, "model": disk.model, "serial": disk.serial,
        "tran": None, "log-sec": disk.sector_bytes, "ro": False,
    }  # fmt: skip


def wipefs(machine: Machine, argv: Sequence[str]) -> Steps:
    line = parse(argv, ("-nJ", "-a"), ("-t",))
    path = line.operands[0]
    lv = machine.lv_at(path)
    yield 0.0
    backing = next((each for each in machine.backings if f"/dev/{each.device}" == path), None)
    if line.has("-nJ") and backing is not None:
        inside = backing.lv.written
        whole = [] if inside is None or inside.partition else [inside.type]
        rows = [{"device": backing.device, "type": each} for each in whole]
        return CommandResult(0, json.dumps({"signatures": rows}) + "\n" if rows else "")
    if line.has("-nJ") and any(f"/dev/{disk.name}" == path for disk in machine.disks):
        signed = machine.signed.get(path)
        rows = [] if signed is None else [{"device": path, "type": signed}]
        return CommandResult(0, json.dumps({"signatures": rows}) + "\n" if rows else "")
    if lv is None:
        return CommandResult(1, "", f"wipefs: error: {path}: probing initialization failed: "
                      "No such file or directory\n")  # fmt: skip
    found = lv.signature
    if line.has("-nJ"):
        rows = [] if found is None else [
            {"device": lv.name, "offset": "0x1018" if found.type == "bcache" else "0x438",
             "type": found.type, "uuid": found.uuid, "label": None}
        ]  # fmt: skip
        return CommandResult(0, json.dumps({"signatures": rows}, indent=3) + "\n")
    if line.all("-t") != ["bcache"] or not line.has("-a"):
        raise ModelGap(" ".join(argv))
    if machine.open_count(lv):
        return CommandResult(1, "", f"wipefs: error: {path}: probing initialization failed: "
                      "Device or resource busy\n")  # fmt: skip
    if found is None or found.type != "bcache":
        return CommandResult(0)
    lv.signature = None
    if lv.written is not None and lv.written.signature is found:
        lv.written = None
    machine.changed()
    return CommandResult(0, f"{path}: 16 bytes were erased at offset 0x00001018 (bcache): "
                  "c6 85 73 f6 4e 1a 45 ca 82 65 f5 7f 48 ba 6d 81\n")  # fmt: skip


def blkdiscard(machine: Machine, argv: Sequence[str]) -> Steps:
    line = parse(argv, ("--zeroout",), ("--step",))
    path = line.operands[0]
    lv = machine.lv_at(path)
    if lv is None:
        return CommandResult(1, "", f"blkdiscard: cannot open {path}: No such file or directory\n")
    if not line.has("--zeroout"):
        raise ModelGap(" ".join(argv))
    if lv.held or machine.under_bcache(lv):
        return CommandResult(1, "", f"blkdiscard: {path}: Device or resource busy\n")
    step = int(line.one("--step").removesuffix("MiB")) * MIB
    zeroed = 0
    below = frozenset(run.pv.device.name for run in lv.bottom.runs)
    while zeroed < lv.size_bytes:
        zeroed = min(lv.size_bytes, zeroed + max(step, lv.size_bytes // 8))
        lv.counters.write(0, (lv.size_bytes // 8) // SECTOR, 1)
        with machine.hammering(argv, below):
            yield max(step, lv.size_bytes / 8) / machine.zero_bytes_per_second
    for run in lv.bottom.runs:
        run.pv.stale -= set(range(run.first, run.first + run.count))
    lv.signature = lv.written = None
    machine.vgs = [vg for vg in machine.vgs if vg.inside is not lv]
    return CommandResult(0)


def systemctl(machine: Machine, argv: Sequence[str]) -> Steps:
    yield 0.0
    if list(argv[:-1]) == ["systemctl", "start", "--no-block"]:
        return CommandResult(0)
    if list(argv) != ["systemctl", "--version"]:
        raise ModelGap(" ".join(argv))
    number = machine.versions["systemd"]
    return CommandResult(0, f"systemd {number} ({number}.38-1~deb12u1)\n+PAM +AUDIT +SELINUX\n")


def dpkg_query(machine: Machine, argv: Sequence[str]) -> Steps:
    if list(argv) != ["dpkg-query", "-W", "-f", "${Version}", "bcache-tools"]:
        raise ModelGap(" ".join(argv))
    yield 0.0
    if "make-bcache" in machine.missing_tools:
        return CommandResult(1, "", "dpkg-query: no packages found matching bcache-tools\n")
    return CommandResult(0, machine.versions.get("bcache_tools", "1.0.8-4+b1"))


def du(machine: Machine, argv: Sequence[str]) -> Steps:
    if list(argv) != ["du", "-sk", "/etc/lvm/archive"]:
        raise ModelGap(" ".join(argv))
    yield 0.0
    return CommandResult(0, f"{machine.archive_kib}\t/etc/lvm/archive\n")


def lvm_version(machine: Machine, argv: Sequence[str]) -> Steps:
    if list(argv) != ["lvm", "version"]:
        raise ModelGap(" ".join(argv))
    yield 0.0
    return CommandResult(
        0, f"  LVM version:     {machine.versions['lvm']}(2) (2022-05-18)\n"
        "  Library version: 1.02.185 (2022-05-18)\n  Driver version:  4.47.0\n",
    )  # fmt: skip


def lvmconfig(machine: Machine, argv: Sequence[str]) -> Steps:
    line = parse(argv, (), ("--type",))
    listed = ",".join(f'"{entry}"' for entry in lvmfilter.global_filter(machine))
    values = {
        "devices/scan_lvs": f"scan_lvs={int(machine.scan_lvs)}",
        "devices/global_filter": f"global_filter=[{listed}]",
        "devices/filter": 'filter=["a|.*|"]',
        "devices/use_devicesfile": f"use_devicesfile={int(machine.use_devicesfile)}",
        "devices/devicesfile": 'devicesfile="system.devices"',
    }
    unknown = [name for name in line.operands if name not in values]
    if line.one("--type") != "full" or unknown:
        raise ModelGap(" ".join(argv))
    yield 0.0
    return CommandResult(0, "".join(f"{values[name]}\n" for name in line.operands))


def update_initramfs(machine: Machine, argv: Sequence[str]) -> Steps:
    """Builds the image of each kernel, with the hook that the enrolment installs."""
    if list(argv) != ["update-initramfs", "-u", "-k", "all"]:
        raise ModelGap(" ".join(argv))
    yield 30.0
    copied = b"".join(machine.files.get(path, b"") for path in COPIED)
    for path in [each for each in machine.files if each.startswith("/boot/initrd.img-")]:
        record = f"/var/lib/tiercel/initramfs/{path.removeprefix('/boot/initrd.img-')}"
        machine.files[record] = hashlib.sha256(copied).hexdigest().encode() + b"\n"
    machine.changed()
    return CommandResult(0)


def modprobe(machine: Machine, argv: Sequence[str]) -> Steps:
    name = parse(argv, (), ()).operands[0]
    yield 0.0
    if name != "bcache":
        raise ModelGap(" ".join(argv))
    machine.modules.add(name)
    machine.changed()
    return CommandResult(0)


def dmsetup(machine: Machine, argv: Sequence[str]) -> Steps:
    target = argv[-1]
    if target == "writecache":
        yield 0.0
        return _writecache(machine, argv)
    if list(argv) != ["dmsetup", "status", "--noflush", "--target", target]:
        raise ModelGap(" ".join(argv))
    yield 0.0
    if target == "mirror":
        return growth.mirror_status(machine)
    if target != "cache":
        raise ModelGap(" ".join(argv))
    cached = [lv for lv in machine.lvs() if lv.cache is not None and lv.minor is not None]
    return CommandResult(0, "".join(_status(lv) for lv in cached))


def _writecache(machine: Machine, argv: Sequence[str]) -> CommandResult:
    """Blocks of 4 KiB: errors, all, free, being written back, and counters."""
    lines = []
    for lv in machine.lvs():
        if lv.writecache is None:
            continue
        total = lv.writecache.size_bytes // 4096
        head = f"{lv.dm_name}: 0 {lv.size_bytes // SECTOR} writecache"
        if list(argv) == ["dmsetup", "table", "--target", "writecache"]:
            lines.append(f"{head} s 253:1 253:0 4096 0\n")
        elif list(argv) == ["dmsetup", "status", "--noflush", "--target", "writecache"]:
            free = total - lv.writecache_dirty_bytes // 4096
            lines.append(f"{head} 0 {total} {free} 0 522 0 5120 0 0 0 5120 0 0 0\n")
        else:
            raise ModelGap(" ".join(argv))
    return CommandResult(0, "".join(lines))


def _status(lv: Lv) -> str:
    cache = lv.cache
    if cache is None or cache.failed:
        return f"{lv.dm_name}: 0 {lv.size_bytes // SECTOR} cache Fail\n"
    pool = cache.pool
    metadata = pool.metadata.size_bytes // 4096 if pool.metadata else 0
    used = int(cache.used)
    # The cleaner policy runs in writethrough, whatever mode LVM has stored.
    mode = "writethrough" if cache.kernel_policy == "cleaner" else cache.mode
    hits = " ".join(
        str(int(value))
        for value in (
            cache.read_hits, cache.read_misses, cache.write_hits, cache.write_misses,
            cache.demotions, cache.promotions, cache.dirty,
        )
    )  # fmt: skip
    threshold = cache.threshold if cache.threshold is not None else 2048
    return (
        f"{lv.dm_name}: 0 {lv.size_bytes // SECTOR} cache 8 {28 + used // 128}/{metadata} "
        f"{pool.chunk_bytes // SECTOR} {used}/{cache.total} {hits} 2 metadata2 {mode} "
        f"2 migration_threshold {threshold} {cache.kernel_policy} 0 rw "
        f"{'needs_check' if cache.needs_check else '-'} \n"
    )
