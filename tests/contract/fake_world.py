"""The contract's world over the fake host."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from storage.agent.heat.trace_filter import CHUNK_SECTORS
from storage.agent.operations.boot import boot
from storage.agent.operations.execute import execute
from tests.contract.fake_caches import FakeCaches
from tests.fake import FakeHost
from tests.fake.parts import GIB, Disk, Signature
from tests.storage.agent.heat.traced_host import TracedHost

LVM = {
    "lvs",
    "vgs",
    "pvs",
    "lvm",
    "lvmconfig",
    "lvcreate",
    "lvchange",
    "lvconvert",
    "lvremove",
    "lvrename",
}


class FakeWorld:
    name = "fake"
    slow = ("sdc", "sdd")
    poll_seconds = 0.002

    def __init__(self, host: FakeHost) -> None:
        self.host = host
        self.caches = FakeCaches(host)

    def answer(self, line: bytes) -> bytes:
        return self.host.answer(line)

    def add_lv(
        self, name: str, size_bytes: int, pv: str | None = None, *, tags: Sequence[str] = ()
    ) -> None:
        self.host.root.add_lv(name, size_bytes, pv or self.slow[0], tags=tags)

    def take_lv(self, name: str, size_bytes: int, pv: str | None = None) -> None:
        self.host.root.add_lv(name, size_bytes, pv or self.slow[0], scribbled=False)

    def format(self, lv: str) -> None:
        with self.host.changing() as machine:
            self.host.root.lv(lv).signature = Signature("ext2", machine.uuid4())

    def unformat(self, lv: str) -> None:
        with self.host.changing():
            self.host.root.lv(lv).signature = None

    @contextmanager
    def allocation(self, policy: str, lv: str | None = None) -> Iterator[None]:
        (vg,) = (vg for vg in self.host.machine.vgs if vg.name == "vg0")
        changed = vg if lv is None else self.host.root.lv(lv)
        before = changed.allocation
        with self.host.changing():
            changed.allocation = policy
        yield
        with self.host.changing():
            changed.allocation = before

    def fill(self) -> None:
        for pv in ("md0", *self.slow):
            self.host.root.fill(pv)

    def scribble(self, lv: str) -> None:
        self.host.root.scribble(self.host.root.lv(lv))

    def remove_lv(self, lv: str) -> None:
        self.host.root.remove_lv(lv)

    @contextmanager
    def barred(self, pv: str) -> Iterator[None]:
        (found,) = (
            each for vg in self.host.machine.vgs for each in vg.pvs if each.device.name == pv
        )
        with self.host.changing():
            found.allocatable = False
        yield
        with self.host.changing():
            found.allocatable = True

    def interrupt_check(self, array: str) -> None:
        self.host.write(f"/sys/block/{array}/md/sync_action", "check")
        with self.host.changing() as machine:
            found = next(each for each in machine.arrays if each.name == array)
            found.sync_completed = f"{found.size_bytes // 1024} / {found.size_bytes // 512}"
            found.interrupt()

    @contextmanager
    def evacuating(self, pv: str, to: str) -> Iterator[None]:
        self.host.root.pvmove(pv, to)
        yield
        self.host.root.end_pvmove(pv)

    @contextmanager
    def snapshot(self, lv: str, name: str) -> Iterator[None]:
        self.host.root.snapshot(lv, name, 32 << 20)
        yield
        self.host.root.remove_lv(name)

    def reads_as_zeros(self, lv: str) -> bool:
        return self.host.root.reads_as_zeros(self.host.root.lv(lv))

    @contextmanager
    def guest(self, name: str, lv: str) -> Iterator[int]:
        process = self.host.root.guest(name, self.host.root.device(lv))
        yield process.pid
        self.host.root.end(process)

    def guest_sees(self, name: str) -> int:
        found = next(each for each in self.host.machine.processes if name in each.argv)
        return next(iter(found.sizes.values()))

    @contextmanager
    def mounted(self, lv: str) -> Iterator[str]:
        entry = (self.host.root.device(lv), "/mnt/contract")
        self.host.root.mount(*entry)
        yield entry[1]
        with self.host.changing() as machine:
            machine.mounts.remove(entry)

    def make_dirty(self, lv: str) -> None:
        self.host.root.dirty(lv, 16 << 20)

    def read(self, lv: str, size_bytes: int) -> None:
        load = self.host.root.load(lv, hit_rate=0.9)
        self.host.advance(2 * size_bytes / 4096 / load.disk_iops)
        self.host.root.stop_load(load)

    @contextmanager
    def counting(self) -> Iterator[None]:
        self.traced = TracedHost(self.host)
        self.traced.run(11)
        yield
        self.traced.service.end()

    def read_counted(self, lv: str, chunks: Sequence[int], times: int) -> None:
        self.traced.run(11)
        with self.host.changing() as machine:
            backing = machine.backing(self.host.root.lv(lv))
        number = self.traced.number(f"/dev/{backing.device}" if backing else f"/dev/vg0/{lv}")
        now_ns = self.host.boottime_ns()
        ios = [(now_ns, number, chunk * CHUNK_SECTORS, 8, b"R") for chunk in chunks]
        self.traced.tracer.waiting += ios * times
        self.traced.run(80)

    def write_synced(self, lv: str, count: int) -> None:
        with self.host.changing():
            counters = self.host.root.lv(lv).counters
            counters.write(count, 8 * count, 10)
            counters.flush(count, 5)

    def pause(self) -> None:
        self.host.advance(1)

    def cache_accesses(self, lv: str) -> int:
        cache = self.host.root.lv(lv).cache
        assert cache is not None
        counts = (cache.read_hits, cache.read_misses, cache.write_hits, cache.write_misses)
        return sum(int(count) for count in counts)

    def sectors_read(self, kname: str) -> int:
        lines = (self.host.read("/proc/diskstats") or b"").decode().splitlines()
        return next(int(line.split()[5]) for line in lines if line.split()[2] == kname)

    @contextmanager
    def clock_stepped(self, seconds: int) -> Iterator[None]:
        self.host.clock.step(seconds)
        yield
        self.host.clock.step(-seconds)

    @contextmanager
    def lost_member(self) -> Iterator[None]:
        with self.host.changing() as machine:
            mirror = machine.arrays[0]
            mirror.failed = {mirror.members[0].name}
        yield
        with self.host.changing():
            mirror.failed = set()

    @contextmanager
    def crowded_metadata(self) -> Iterator[None]:
        (vg,) = (vg for vg in self.host.machine.vgs if vg.name == "vg0")
        with self.host.changing():
            vg.text_bytes = vg.metadata_area_bytes * 3 // 8
        yield
        with self.host.changing():
            vg.text_bytes = None

    @contextmanager
    def suspended(self, lv: str) -> Iterator[None]:
        with self.host.changing():
            self.host.root.lv(lv).suspended = True
        yield
        with self.host.changing():
            self.host.root.lv(lv).suspended = False

    def allow(self, vgs: Sequence[str], **more: int) -> None:
        policy = {"vgs": list(vgs), **more}
        self.host.save("/etc/tiercel/agent.json", json.dumps(policy).encode())

    @contextmanager
    def vg_lock(self) -> Iterator[None]:
        with self.host.vg_lock("vg0"):
            yield

    @contextmanager
    def journal_full(self) -> Iterator[None]:
        self.host.journal_full = True
        yield
        self.host.journal_full = False

    @contextmanager
    def held(self, program: str) -> Iterator[None]:
        pause = self.host.pause_next(program)
        yield
        pause.resume()

    def slow_moves(self) -> None:
        with self.host.changing() as machine:
            machine.move_bytes_per_second = 64 * 1024

    def run_op(self, op: str) -> None:
        execute(self.host, op)

    def forget_settings(self, lv: str) -> None:
        with self.host.changing() as machine:
            backing = machine.backing(self.host.root.lv(lv))
            if backing is None:
                raise KeyError(lv)
            backing.sequential_cutoff_bytes = 4 << 20

    def begin_without_set(self, lv: str, cset_uuid: str) -> None:
        with self.host.changing() as machine:
            machine.backings = [each for each in machine.backings if each.lv.name != lv]
            machine.csets = [each for each in machine.csets if each.uuid != cset_uuid]
        self.host.write("/sys/fs/bcache/register_quiet", f"/dev/vg0/{lv}")

    def restart(self) -> None:
        self.host.root.reboot()

    def boot(self) -> tuple[int, str]:
        done, failed = boot(self.host)
        return int(bool(failed)), "\n".join([*done, *failed])

    def path_of(self, key: str) -> str | None:
        real = self.host.real(f"/dev/tiercel/{key}")
        return None if real is None else real.rsplit("/", 1)[-1]

    @contextmanager
    def another_ssd(self) -> Iterator[tuple[str, str]]:
        disk = Disk("sde", 6 * GIB, False, "LAB-SSD", "ssd2", minor=64)
        with self.host.changing() as machine:
            machine.disks.append(disk)
        yield "sde", "ssd2"
        with self.host.changing() as machine:
            machine.disks.remove(disk)

    def wipe(self, disk: str) -> None:
        with self.host.changing() as machine:
            machine.signed.pop(f"/dev/{disk}", None)

    @contextmanager
    def without(self, tool: str) -> Iterator[None]:
        gone = LVM if tool in LVM else {tool}
        with self.host.changing() as machine:
            machine.missing_tools |= gone
        yield
        with self.host.changing() as machine:
            machine.missing_tools -= gone
