"""What stands in /proc, /sys and /dev for each thing of a machine."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from tests.fake import bcache
from tests.fake.counters import Counters
from tests.fake.machine import Machine
from tests.fake.parts import DM_MAJOR, SECTOR, Array, Backing, BcacheDisk, CacheSet, Disk, Lv

if TYPE_CHECKING:
    from tests.fake.tree import Tree

VIRTUAL = "/sys/devices/virtual/block"
THROTTLE = "/sys/module/dm_mirror/parameters/raid1_resync_throttle"
PCI = "/sys/devices/pci0000:00"


def system(machine: Machine, tree: Tree) -> None:
    tree.file("/proc/sys/kernel/osrelease", machine.kernel + "\n")
    tree.file("/proc/sys/kernel/version", machine.kernel_version + "\n")
    if machine.kernel_signature:
        tree.file("/proc/version_signature", machine.kernel_signature + "\n")
    tree.file("/proc/sys/kernel/random/boot_id", machine.boot_id + "\n")
    tree.file("/proc/diskstats", lambda: diskstats(machine))
    swaps = "".join(f"{path} partition\t65532\t0\t-2\n" for path in machine.swaps)
    tree.file("/proc/swaps", f"Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n{swaps}")
    tree.file("/proc/self/mountinfo", lambda: mountinfo(machine, tree))
    tree.file("/proc/stat", "cpu  1000 0 500 90000 200 0 10 0 0 0\ncpu0 1000 0 500 90000 200\n")
    tree.file("/proc/meminfo", "MemTotal:       16310432 kB\nMemFree:         8155216 kB\n")
    tree.file("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Fake CPU @ 2.00GHz\n")
    tree.file("/proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")
    cpu = "/sys/devices/system/cpu"
    tree.file(f"{cpu}/cpu0/cpufreq/scaling_governor", "performance\n")
    tree.file(f"{cpu}/vulnerabilities/meltdown", "Mitigation: PTI\n")
    tree.file("/etc/machine-id", machine.machine_id + "\n")
    tree.file("/etc/os-release", 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\n')
    for name in machine.modules:
        tree.folder(f"/sys/module/{name}")
    if "dm_mirror" in machine.modules:
        tree.file(THROTTLE, lambda: f"{machine.mirror_throttle}\n".encode())
    tree.folder("/sys/block")
    if "bcache" in machine.modules:
        for name in ("register", "register_quiet", "pendings_cleanup"):
            tree.file(f"/sys/fs/bcache/{name}", "")


def mountinfo(machine: Machine, tree: Tree) -> bytes:
    lines = ["24 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw"]
    for number, (path, point) in enumerate(machine.mounts, start=40):
        real = tree.resolve(path)
        dev = tree.devices.get(real or "", "0:0")
        lines.append(f"{number} 24 {dev} / {point} rw,relatime shared:{number} - ext4 {path} rw")
    return "".join(f"{line}\n" for line in lines).encode()


def diskstats(machine: Machine) -> bytes:
    rows: list[tuple[str, str, Counters]] = [
        *((each.dev, each.name, each.counters) for each in machine.disks),
        *((each.dev, each.name, each.counters) for each in machine.arrays),
        *(
            (f"{DM_MAJOR}:{lv.minor}", str(lv.kname), lv.counters)
            for lv in machine.lvs() if lv.minor is not None
        ),
        *(
            (each.dev, each.device, each.counters)
            for each in machine.backings if each.waits_for is None
        ),
    ]  # fmt: skip
    lines = []
    for dev, name, counters in rows:
        major, minor = dev.split(":")
        lines.append(f"{major:>4} {minor:>7} {name} {' '.join(map(str, counters.fields()))}\n")
    return "".join(lines).encode()


def _block(tree: Tree, name: str, dev: str, size_bytes: int, home: str, queue: Disk) -> str:
    real = f"{home}/{name}"
    tree.file(f"{real}/dev", f"{dev}\n")
    tree.file(f"{real}/diskseq", f"{int(dev.rpartition(':')[2]) + 1}\n")
    tree.file(f"{real}/size", f"{size_bytes // SECTOR}\n")
    tree.file(f"{real}/ro", "0\n")
    tree.file(f"{real}/removable", "0\n")
    tree.file(f"{real}/hidden", "0\n")
    tree.file(f"{real}/queue/rotational", f"{int(queue.rotational)}\n")
    tree.file(f"{real}/queue/logical_block_size", f"{queue.sector_bytes}\n")
    tree.file(f"{real}/queue/scheduler", f"{queue.scheduler}\n")
    for each, value in (
        ("nr_requests", "64"), ("read_ahead_kb", "128"), ("write_cache", "write back"),
    ):  # fmt: skip
        tree.file(f"{real}/queue/{each}", f"{value}\n")
    tree.folder(f"{real}/holders")
    tree.folder(f"{real}/slaves")
    target = real.removeprefix("/sys/")
    tree.link(f"/sys/block/{name}", f"../{target}")
    tree.link(f"/sys/class/block/{name}", f"../../{target}")
    tree.link(f"/sys/dev/block/{dev}", f"../../{target}")
    tree.link(f"{real}/subsystem", _relative(real, "/sys/class/block"))
    tree.device(f"/dev/{name}", dev)
    return real


def _stands_on(tree: Tree, upper: str, lower: str) -> None:
    tree.link(f"{upper}/slaves/{lower.rsplit('/', 1)[-1]}", lower)
    tree.link(f"{lower}/holders/{upper.rsplit('/', 1)[-1]}", upper)


def home(device: Disk | Array) -> str:
    if device.name.startswith("bcache") and "p" in device.name:
        return f"{VIRTUAL}/{device.name.partition('p')[0]}"
    if isinstance(device, Array | BcacheDisk) or device.name.startswith("bcache"):
        return VIRTUAL
    return f"{PCI}/host0/target0:0:{device.minor // 16}/block"


def disks(machine: Machine, tree: Tree) -> None:
    for disk in machine.disks:
        real = _block(tree, disk.name, disk.dev, disk.size_bytes, home(disk), disk)
        if not isinstance(disk, BcacheDisk):
            tree.file(f"{real}/device/model", f"{disk.model or ''}\n")
            tree.file(f"{real}/device/rev", "1.0\n")
    for array in machine.arrays:
        real = _block(tree, array.name, array.dev, array.size_bytes, VIRTUAL, array.members[0])
        md = f"{real}/md"
        tree.file(f"{md}/level", f"{array.level}\n")
        tree.file(f"{md}/array_state", "clean\n")
        tree.file(f"{md}/chunk_size", "0\n")
        tree.file(f"{md}/degraded", f"{len(array.failed)}\n")
        tree.file(f"{md}/sync_action", f"{array.sync_action}\n")
        tree.file(f"{md}/sync_completed", f"{array.sync_completed}\n")
        tree.file(f"{md}/sync_speed", f"{array.sync_speed}\n")
        tree.file(f"{md}/sync_min", f"{array.sync_min}\n")
        tree.file(f"{md}/mismatch_cnt", f"{array.mismatch_sectors}\n")
        tree.file(f"{md}/last_sync_action", "check\n")
        tree.file(f"{md}/metadata_version", "1.2\n")
        tree.file(f"{md}/raid_disks", f"{len(array.members)}\n")
        tree.file(f"{md}/uuid", f"{array.uuid}\n")
        tree.file(f"{md}/component_size", f"{array.size_bytes // 1024}\n")
        for disk, slot, state in array.all_members:
            tree.file(f"{md}/dev-{disk.name}/slot", f"{slot}\n")
            tree.file(f"{md}/dev-{disk.name}/state", f"{state}\n")
            tree.file(f"{md}/dev-{disk.name}/offset", "10240\n")
            _stands_on(tree, real, f"{home(disk)}/{disk.name}")


def volumes(machine: Machine, tree: Tree) -> None:
    active = [lv for lv in machine.lvs() if lv.minor is not None]
    for lv in (*active, *machine.left_devices):
        _volume(machine, tree, lv)
    for lv in active:
        real = f"{VIRTUAL}/{lv.kname}"
        for run in lv.runs:
            if not run.pv.missing:
                device = run.pv.device
                _stands_on(tree, real, f"{home(device)}/{device.name}")
        if lv.move is not None:
            _stands_on(tree, real, f"{VIRTUAL}/{lv.move.mirror.kname}")
        if lv.cache is not None:
            pool = lv.cache.pool
            for part in (pool.data, pool.metadata, lv.cache.origin):
                if part is not None:
                    _stands_on(tree, real, f"{VIRTUAL}/{part.kname}")


def _volume(machine: Machine, tree: Tree, lv: Lv) -> None:
    bottom = lv.bottom.runs[0].pv.device
    queue = bottom.members[0] if isinstance(bottom, Array) else bottom
    dev = f"{DM_MAJOR}:{lv.minor}"
    real = _block(tree, str(lv.kname), dev, lv.size_bytes, VIRTUAL, queue)
    tree.file(f"{real}/dm/name", f"{lv.dm_name}\n")
    tree.file(f"{real}/dm/uuid", f"{lv.dm_uuid}\n")
    tree.file(f"{real}/dm/suspended", lambda: f"{int(lv.suspended)}\n".encode())
    # A program of ours that writes to it has one request under way.
    tree.file(f"{real}/inflight", lambda: f"       0 {_writers(machine, lv):8}\n".encode())
    tree.file(
        f"{real}/stat", lambda: (" ".join(map(str, lv.counters.fields())) + "\n").encode()
    )  # fmt: skip
    tree.link(f"/dev/mapper/{lv.dm_name}", f"../{lv.kname}")
    if lv.public:
        tree.link(lv.path, f"../{lv.kname}")


def _writers(machine: Machine, lv: Lv) -> int:
    mine = f"--filename={lv.path} "
    return sum(words.endswith(f"/{lv.name}") or mine in words for words in machine.hammered)


def bcache_devices(machine: Machine, tree: Tree) -> None:
    for cset in machine.csets:
        _cache_set(machine, tree, cset)
    for backing in machine.backings:
        _backing(tree, backing)
    for disk in machine.disks:
        if isinstance(disk, BcacheDisk):
            _made_by_hand(tree, disk)


def _cache_set(machine: Machine, tree: Tree, cset: CacheSet) -> None:
    here = f"/sys/fs/bcache/{cset.uuid}"
    device = f"{VIRTUAL}/{cset.lv.kname}/bcache"
    tree.link(f"{here}/cache0", f"../../../devices/virtual/block/{cset.lv.kname}/bcache")
    tree.link(f"{device}/set", f"../../../../../fs/bcache/{cset.uuid}")
    for folder in (here, device):
        tree.file(f"{folder}/bucket_size", f"{bcache.human(cset.bucket_bytes)}\n")
    tree.file(f"{device}/nbuckets", f"{cset.buckets}\n")
    tree.file(f"{here}/cache_available_percent", functools.partial(_available, cset, machine))
    tree.file(f"{device}/priority_stats", functools.partial(_priority_stats, cset, machine))
    tree.file(f"{here}/unregister", "")
    for each in cset.congested_us:
        tree.file(f"{here}/{each}", functools.partial(_congestion, cset, each))


def _dirty_percent(cset: CacheSet, machine: Machine) -> int:
    dirty = sum(each.dirty_bytes for each in machine.backings if each.cset is cset)
    return int(100 * dirty / cset.lv.size_bytes)


def _available(cset: CacheSet, machine: Machine) -> bytes:
    """Metadata and dirty data are in use; clean cached data is not."""
    return f"{99 - _dirty_percent(cset, machine)}\n".encode()


def _priority_stats(cset: CacheSet, machine: Machine) -> bytes:
    dirty, unused = _dirty_percent(cset, machine), cset.unused_percent
    return (
        f"Unused:\t\t{unused}%\nClean:\t\t{max(0, 99 - unused - dirty)}%\nDirty:\t\t{dirty}%\n"
        "Metadata:\t0%\nAverage:\t99\nSectors per Q:\t33792\nQuantiles:\t[0 0 0]\n"
    ).encode()


def _congestion(cset: CacheSet, name: str) -> bytes:
    return f"{cset.congested_us[name]}\n".encode()


def _backing(tree: Tree, backing: Backing) -> None:
    lv = backing.lv
    below = f"{VIRTUAL}/{lv.kname}"
    here = f"{below}/bcache"
    if backing.waits_for is None:
        bottom = lv.runs[0].pv.device
        queue = bottom.members[0] if isinstance(bottom, Array) else bottom
        size = bcache.size_sectors(lv, backing) * SECTOR
        top = _block(tree, backing.device, backing.dev, size, VIRTUAL, queue)
        _stands_on(tree, top, below)
        tree.link(f"{top}/bcache", f"../{lv.kname}/bcache")
        if lv.written is not None and lv.written.partition:
            _partition(tree, top, f"{backing.device}p1", f"251:{backing.number * 128 + 1}")
    if backing.stopping:
        return
    if backing.waits_for is None:
        tree.link(f"{here}/dev", f"../../{backing.device}")
    tree.file(f"{here}/backing_dev_uuid", f"{backing.uuid}\n")
    tree.file(
        f"{here}/writeback_percent", lambda: f"{backing.writeback_percent}\n".encode()
    )  # fmt: skip
    tree.file(f"{here}/writeback_running", f"{int(backing.writeback_running)}\n")
    for name in ("attach", "detach", "stop"):
        tree.file(f"{here}/{name}", "")
    tree.file(f"{here}/state", lambda: f"{backing.state}\n".encode())
    tree.file(f"{here}/dirty_data", lambda: f"{bcache.human(backing.dirty_bytes)}\n".encode())
    modes = " ".join(f"[{each}]" if each == backing.cache_mode else each for each in bcache.MODES)
    tree.file(f"{here}/cache_mode", f"{modes}\n")
    tree.file(
        f"{here}/sequential_cutoff",
        lambda: f"{bcache.human(backing.sequential_cutoff_bytes)}\n".encode(),
    )
    tree.file(f"{here}/stats_total/cache_hits", lambda: f"{int(backing.hits)}\n".encode())
    tree.file(f"{here}/stats_total/cache_misses", lambda: f"{int(backing.misses)}\n".encode())
    for name in ("cache_bypass_hits", "cache_bypass_misses"):
        tree.file(f"{here}/stats_total/{name}", "0\n")
    if backing.cset is not None:
        uuid = backing.cset.uuid
        tree.link(f"{here}/cache", f"../../../../../fs/bcache/{uuid}")
        bdev = f"/sys/fs/bcache/{uuid}/bdev{backing.number}"
        tree.link(bdev, f"../../../devices/virtual/block/{lv.kname}/bcache")


def _partition(tree: Tree, disk: str, name: str, dev: str) -> None:
    real = f"{disk}/{name}"
    tree.file(f"{real}/dev", f"{dev}\n")
    tree.file(f"{real}/partition", "1\n")
    target = real.removeprefix("/sys/")
    tree.link(f"/sys/class/block/{name}", f"../../{target}")
    tree.link(f"/sys/dev/block/{dev}", f"../../{target}")
    tree.device(f"/dev/{name}", dev)


def _made_by_hand(tree: Tree, disk: BcacheDisk) -> None:
    top, fs = f"{VIRTUAL}/{disk.name}", f"/sys/fs/bcache/{disk.cset_uuid}"
    data, cache = (f"{home(each)}/{each.name}" for each in (disk.below, disk.cache))
    for lower in (data, cache):
        _stands_on(tree, top, lower)
    tree.link(f"{top}/bcache", _relative(top, f"{data}/bcache"))
    here = f"{data}/bcache"
    tree.link(f"{here}/dev", _relative(here, top))
    tree.link(f"{here}/cache", _relative(here, fs))
    modes = " ".join(f"[{each}]" if each == disk.cache_mode else each for each in bcache.MODES)
    for name, content in {
        "backing_dev_uuid": disk.uuid, "state": "clean", "cache_mode": modes, "dirty_data": "0.0k",
        "sequential_cutoff": "4.0M", "writeback_percent": "10",
    }.items():  # fmt: skip
        tree.file(f"{here}/{name}", f"{content}\n")
    tree.link(f"{cache}/bcache/set", _relative(f"{cache}/bcache", fs))
    tree.file(f"{cache}/bcache/nbuckets", f"{disk.cache.size_bytes // (512 << 10)}\n")
    tree.link(f"{fs}/cache0", _relative(fs, f"{cache}/bcache"))
    tree.link(f"{fs}/bdev0", _relative(fs, f"{data}/bcache"))
    tree.file(f"{fs}/bucket_size", "512.0k\n")
    tree.file(f"{fs}/cache_available_percent", "99\n")


def _relative(folder: str, target: str) -> str:
    """As sysfs stores a link that lies in `folder`."""
    return "../" * (folder.count("/") - 1) + target.removeprefix("/sys/")


def bus(machine: Machine, tree: Tree) -> None:
    if machine.has_bus:
        tree.file("/run/dbus/system_bus_socket", "")


def processes(machine: Machine, tree: Tree) -> None:
    tree.folder("/proc/1/fd")
    tree.file("/proc/1/comm", "systemd\n")
    tree.file("/proc/1/cmdline", "/sbin/init\0")
    for process in machine.processes:
        here = f"/proc/{process.pid}"
        tree.file(f"{here}/comm", f"{process.comm}\n")
        tree.file(f"{here}/cgroup", f"0::{process.cgroup}\n")
        tree.file(f"{here}/cmdline", "\0".join(process.argv) + "\0")
        for number, path in enumerate(process.paths, start=10):
            real = tree.resolve(path)
            if real is not None:
                tree.link(f"{here}/fd/{number}", real)
