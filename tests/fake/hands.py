"""What root on the host, guests and time do to a fake host, behind the agent's back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.fake import bcache, group, growth, monitor, report, udev
from tests.fake.counters import Counters
from tests.fake.machine import Machine
from tests.fake.parts import (
    EXTENT,
    KIB,
    SECTOR,
    BcacheDisk,
    CacheSet,
    Load,
    Lv,
    Process,
    Run,
    Signature,
    Vg,
    Written,
)

if TYPE_CHECKING:
    from tests.fake.host import FakeHost


@dataclass(frozen=True)
class Hands:
    """Each method changes the machine at once."""

    host: FakeHost

    def add_lv(
        self,
        name: str,
        size_bytes: int,
        pv: str = "sdc",
        *,
        vg: str = "vg0",
        tags: Sequence[str] = (),
        signature: str | None = None,
        scribbled: bool = True,
    ) -> Lv:
        """An LV made by hand, with an earlier owner's data in it, or with what lay there."""
        with self.host.changing() as machine:
            found = _vg(machine, vg)
            on = [each for each in found.pvs if each.device.name == pv]
            runs = machine.place(found, -(-size_bytes // EXTENT), on)
            if runs is None:
                raise ValueError(f"{pv} has no room for {name}")
            lv = Lv(
                found, machine.lvm_uuid(), name, -(-size_bytes // EXTENT) * EXTENT, runs,
                tags=list(tags), minor=machine.free_minor(),
            )  # fmt: skip
            if signature is not None:
                lv.signature = Signature(signature, machine.uuid4())
            found.lvs.append(lv)
            found.seqno += 1
        if scribbled:
            self.scribble(lv)
        return lv

    def make_bcache(
        self, below: str, cache: str, *, number: int = 0, mode: str = "writethrough"
    ) -> BcacheDisk:
        """bcacheN of two whole devices, as `make-bcache -B … -C …` makes it; the PV that lay on
        `below` lies on it."""
        with self.host.changing() as machine:
            devices = {each.name: each for each in (*machine.disks, *machine.arrays)}
            made = BcacheDisk(
                f"bcache{number}", devices[below].size_bytes - 16 * SECTOR, False, major=251,
                minor=number * 128, below=devices[below], cache=devices[cache],
                uuid=machine.uuid4(), cset_uuid=machine.uuid4(), cache_mode=mode,
            )  # fmt: skip
            machine.disks.append(made)
            for pv in (pv for vg in machine.vgs for pv in vg.pvs):
                if pv.device is made.below:
                    pv.device = made
        return made

    def bcache_by_hand(self, lv: str, cache: str | None = None, *, vg: str = "vg0") -> str:
        """`make-bcache -B` of a volume, and `-C` of another with the first one attached to it; the
        distribution's rule registers them. What a guest opens."""
        with self.host.changing() as machine:
            below, on = self.lv(lv, vg), None if cache is None else self.lv(cache, vg)
            set_uuid = machine.uuid4()
            below.signature = Signature(
                "bcache", machine.uuid4(), set_uuid, data_sectors=16, attached=on is not None
            )
            if on is not None:
                on.signature = Signature("bcache", machine.uuid4(), set_uuid, True, 64 * KIB)
                bcache.register(machine, on.path)
            bcache.register(machine, below.path)
        return self.device(lv, vg)

    def attach(self, lv: str, disk: BcacheDisk, mode: str, vg: str = "vg0") -> None:
        """A volume formatted for bcache comes to the cache set of a bcacheN made by hand."""
        backing = self.host.machine.backing(self.lv(lv, vg))
        if backing is None:
            raise KeyError(f"{vg}/{lv} is no bcache")
        with self.host.changing():
            backing.cset = CacheSet(backing.lv, disk.cset_uuid, 512 * KIB)
            backing.cache_mode = mode

    def lv(self, name: str, vg: str = "vg0") -> Lv:
        found = _vg(self.host.machine, vg).lv(name)
        if found is None:
            raise KeyError(f"{vg}/{name}")
        return found

    def older_pool(self, name: str, vg: str = "vg0") -> Lv:
        """A cache pool as `lvcreate --type cache-pool` of an older agent made it: the tags are its
        own, not those of its data part."""
        pool = self.lv(name, vg)
        if pool.data is not None and pool.data.tags:
            with self.host.changing():
                pool.tags, pool.data.tags = pool.data.tags, []
        return pool

    def device(self, lv: str, vg: str = "vg0") -> str:
        """What a guest opens: bcacheN of a bcache volume, else the LV itself."""
        found = self.lv(lv, vg)
        backing = self.host.machine.backing(found)
        return found.path if backing is None else f"/dev/{backing.device}"

    def remove_lv(self, name: str, vg: str = "vg0") -> None:
        with self.host.changing() as machine:
            group.forget(_vg(machine, vg), self.lv(name, vg))
            _vg(machine, vg).seqno += 1

    def lose_metadata(self, name: str, vg: str = "vg0") -> Lv:
        """LVM knows the volume no more, the kernel keeps its device: a disk dropped what was
        written."""
        lost = self.lv(name, vg)
        with self.host.changing() as machine:
            group.forget(_vg(machine, vg), lost)
            machine.left_devices.append(lost)
        return lost

    def fill(self, pv: str, vg: str = "vg0") -> Lv:
        """Take all that is free on a PV."""
        found = _vg(self.host.machine, vg)
        on = next(each for each in found.pvs if each.device.name == pv)
        return self.add_lv(f"filler-{pv}", found.free(on) * EXTENT, pv, vg=vg)

    def scribble(self, lv: Lv) -> None:
        """Write something over the whole LV."""
        for run in lv.bottom.runs:
            run.pv.stale |= _extents(run)

    def guest_writes(self, lv: Lv, written: Written) -> None:
        """A guest writes to the device that it has, and lets it go: udev looks at it."""
        with self.host.changing() as machine:
            backing = machine.backing(lv)
            lv.written = written
            if backing is None:
                lv.signature = written.signature or Signature(written.type, machine.uuid4())
                udev.appeared(machine, lv.path)
                return
            if written.vg is not None:
                written.vg.inside = lv
                machine.vgs.append(written.vg)
            udev.appeared(machine, f"/dev/{backing.device}", "add")

    def reads_as_zeros(self, lv: Lv) -> bool:
        return not any(run.pv.stale & _extents(run) for run in lv.bottom.runs)

    def pvmove(self, source: str, target: str, vg: str = "vg0", *, percent: int = 50) -> None:
        """An operator's `pvmove SOURCE TARGET` at work: all that lies on the source is on its
        way, and stands still at `percent`."""
        with self.host.changing() as machine:
            found = _vg(machine, vg)
            lvs = [lv for lv in found.lvs if any(run.pv.device.name == source for run in lv.runs)]
            refused = growth.begin(machine, found, lvs, f"/dev/{source}", [f"/dev/{target}"])
            if refused is not None:
                raise ValueError(refused.stderr)
            for lv in lvs:
                if lv.move is not None:
                    lv.move.done_bytes = lv.move.mirror.size_bytes * percent / 100

    def end_pvmove(self, source: str) -> None:
        """The pvmove of `source` was aborted where it began."""
        with self.host.changing() as machine:
            growth.abort(machine, f"/dev/{source}")

    def snapshot(self, lv: str, name: str, size_bytes: int, vg: str = "vg0") -> Lv:
        """`lvcreate -s` by hand; what its target does is of no matter here."""
        made = self.add_lv(name, size_bytes, vg=vg)
        with self.host.changing():
            origin = self.lv(lv, vg)
            made.origin, made.role = origin.name, "public,snapshot,thicksnapshot"
            origin.role = "public,origin,thickorigin"
        return made

    def guest(self, name: str, path: str, *, image: str = "raw") -> Process:
        """A paused QEMU that holds `path` (/dev/VG/LV or /dev/bcacheN) open as its vda."""
        drive = f"file={path},if=virtio,format={image}"
        argv = ["qemu-system-x86_64", "-S", "-name", name, "-drive", drive]
        argv += ["-qmp", f"unix:{monitor.path(name)},server=on,wait=off"]
        return self._qemu(argv, path)

    def domain(self, name: str, path: str, uuid: str, *, image: str = "raw") -> Process:
        """A guest of libvirt, which keeps the monitor for itself."""
        disk = f"<driver name='qemu' type='{image}'/><source dev='{path}'/><target dev='vda'/>"
        xml = (
            f"<domain><name>{name}</name><uuid>{uuid}</uuid><devices><disk type='block'>{disk}"
            "</disk></devices></domain>"
        )
        self.host.save(f"/etc/libvirt/qemu/{name}.xml", xml.encode())
        self.host.save(f"/run/libvirt/qemu/{name}.xml", f"<domstatus>{xml}</domstatus>".encode())
        drive = f"file={path},if=virtio,format={image}"
        argv = ["qemu-system-x86_64", "-name", f"guest={name}", "-uuid", uuid, "-drive", drive]
        return self._qemu(argv, path)

    def _qemu(self, argv: list[str], path: str) -> Process:
        with self.host.changing() as machine:
            pid = 1000 + len(machine.processes) + machine.drawn
            sizes = {path: monitor.size_of(machine, path)}
            process = Process(pid, "qemu-system-x86", argv, [path], sizes)
            machine.processes.append(process)
        return process

    def end(self, process: Process) -> None:
        with self.host.changing() as machine:
            machine.processes.remove(process)

    def mount(self, path: str, point: str) -> None:
        with self.host.changing() as machine:
            machine.mounts.append((path, point))

    def swap(self, path: str) -> None:
        with self.host.changing() as machine:
            machine.swaps.append(path)

    def load(
        self,
        lv: str,
        iops: float = 5000.0,
        hit_rate: float = 0.97,
        *,
        vg: str = "vg0",
        write_share: float = 0.0,
        disk_iops: float = 300.0,
        warm_up_seconds: float = 20.0,
    ) -> Load:
        """A guest's I/O from now on: `iops` wished for, `disk_iops` without a cache, `hit_rate`
        once a cache is warm. Another load on the same LV takes its place."""
        with self.host.changing() as machine:
            target = self.lv(lv, vg)
            machine.loads = [each for each in machine.loads if each.lv is not target]
            made = Load(
                target, iops, hit_rate, write_share, disk_iops, warm_up_seconds=warm_up_seconds
            )
            machine.loads.append(made)
        return made

    def stop_load(self, load: Load) -> None:
        with self.host.changing() as machine:
            machine.loads.remove(load)

    def dirty(self, lv: str, size_bytes: int, *, vg: str = "vg0") -> None:
        """So much data in the cache that the disk has not."""
        with self.host.changing() as machine:
            target = self.lv(lv, vg)
            backing = machine.backing(target)
            if backing is not None:
                backing.dirty_bytes = float(size_bytes)
            elif target.cache is not None:
                chunks = size_bytes / target.cache.pool.chunk_bytes
                target.cache.dirty = chunks
                target.cache.used = max(target.cache.used, chunks)

    def lose_pv(self, pv: str, vg: str = "vg0") -> None:
        """The disk under a PV is gone."""
        with self.host.changing() as machine:
            next(each for each in _vg(machine, vg).pvs if each.device.name == pv).missing = True

    def reboot(self, *, registers: bool = True, up_seconds: float = 600.0) -> None:
        """A new boot: guests are gone, kernel counters begin at nothing, bcache has forgotten its
        settings, and LVM switches nothing on that lies on a lost disk. `registers`: the
        distribution's udev rule is there; `up_seconds`: how long ago it was, whether the boot unit
        has run meanwhile or not."""
        with self.host.changing() as machine:
            machine.boot_id = machine.uuid4()
            self.host.restarted(up_seconds)
            machine.processes.clear()
            machine.loads.clear()
            owners: list[Any] = [*machine.disks, *machine.arrays, *machine.lvs()]
            for each in [*owners, *machine.backings]:
                each.counters = Counters()
            for lv in machine.lvs():
                partial = any(run.pv.missing for part in report.parts(lv) for run in part.runs)
                lv.minor = None if lv.skipped or partial else lv.minor
            for vg in machine.vgs:
                for lv in vg.lvs:
                    lv.held = False
                    lv.minor = None if vg.inside is not None else lv.minor
            bcache.reboot(machine)
            machine.bcache_rule = registers
            udev.coldplug(machine)
            machine.bcache_rule = True


def _vg(machine: Machine, name: str) -> Vg:
    found = machine.vg(name)
    if found is None:
        raise KeyError(name)
    return found


def _extents(run: Run) -> set[int]:
    return set(range(run.first, run.first + run.count))
