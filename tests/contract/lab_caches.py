"""The same of the lab: by its kernel, and by tables that are loaded under the cache's devices."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from storage.byte_sizes import KIB
from tests.contract.caches import Broken
from tests.contract.client import MIB, SMALL_CSET_BYTES, SMALL_POOL_BYTES, VOLUME_BYTES
from tests.lab import guest
from tests.lab.disks import DISKS
from tests.lab.vm import Lab

COLD_FROM_BYTES: Final = 128 * MIB
HOT_BYTES: Final = SMALL_POOL_BYTES - MIB
SPAN_BYTES: Final = SMALL_CSET_BYTES + 16 * MIB
"""What is read once to fill a bcache: none of it is cold."""
QUICK_SECTORS: Final = 65_536
"""By its usual threshold a dm-cache fills slowly, and hardly changes what it holds once full."""
USED: Final = 0.97

# Fields of a status line: 7 is chunks in use of all.
FILL_DM_CACHE: Final = """
set -e
name=$(dmsetup info -c --noheadings -o name {device})
dmsetup message $name 0 migration_threshold {threshold}
for pass in $(seq 40); do
    for what in write read; do
        fio --name=fill --filename={device} --rw=$what --bs=64k --size={size} --direct=1 \\
            --ioengine=libaio --iodepth=4 --thread --output=/dev/null
    done
    dmsetup status --noflush $name | awk '{{ split($7, part, "/")
        exit part[1] < {used} * part[2] }}' && exit 0
done
exit 1
"""
FILL_BCACHE: Final = """
for pass in $(seq 20); do
    fio --name=fill --filename={device} --rw=randread --bs=256k --size={size} --direct=1 \\
        --ioengine=libaio --iodepth=4 --thread --output=/dev/null
    unused=$(awk '/^Unused/ {{ print int($2) }}' /sys/fs/bcache/*-*/cache0/priority_stats)
    [ $unused -le 3 ] && exit 0
done
exit 1
"""
# In writeback a chunk of discarded data comes into the cache by a write of any part of it, in
# writethrough by reads again and again.
TRIM: Final = (
    f"discard 0 {VOLUME_BYTES}",
    *(f"write -P 0 {chunk} 4096" for chunk in range(0, 16 * MIB, 64 * KIB)),
    *(f"read {place} {MIB}" for _ in range(60) for place in range(0, 16 * MIB, MIB)),
)
FOREIGN: Final = "dd if={device} bs=1M iflag=direct 2>/dev/null | tr -dc x | wc -c"
# bcache adds up its counts every 13.64 s; the agent keeps what it read of the fill for a minute.
SETTLE: Final = "sleep 15; rm -f /run/tiercel/fill.json"

# A program that had the device open goes on with the new table; what is under way waits.
LAY: Final = """
set -e
dmsetup table {name} > /run/lain-{name}
read first sectors linear device offset < /run/lain-{name}
dmsetup load {name} --table "$first $sectors {table}"
dmsetup suspend {name}
dmsetup resume {name}
"""
LAY_BACK: Final = """
dmsetup load {name} < /run/lain-{name} && dmsetup suspend {name} && dmsetup resume {name}
rm -f /run/lain-{name}
"""
TABLES: Final[dict[Broken, str]] = {
    "needs check": "flakey $device $offset 0 3600 1 error_writes",
    "failed": "error",
}
DELAYED: Final = "delay $device $offset {milliseconds}"

REPAIR: Final = """
set -e
lvchange -q -an {lv}
lvconvert -q -y --repair {lv}
lvchange -q -ay {lv}
udevadm settle
"""
FLUSH: Final = """
import os, sys
os.fsync(os.open(sys.argv[1], os.O_WRONLY))
"""


class LabCaches:
    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    def fill(self, lv: str) -> None:
        device, is_bcache = self.device(lv)
        script = (
            FILL_BCACHE.format(device=device, size=SPAN_BYTES)
            if is_bcache
            else FILL_DM_CACHE.format(
                device=device, size=SMALL_POOL_BYTES, threshold=QUICK_SECTORS, used=USED
            )
        )
        self.lab.run(script, timeout_seconds=300)

    def read_hot(self, lv: str, count: int, *, at_once: int = 8) -> None:
        self._read(self.device(lv)[0], count, 0, at_once)

    def read_cold(self, lv: str, count: int, *, at_once: int = 8) -> None:
        self._read(self.device(lv)[0], count, COLD_FROM_BYTES, at_once)

    def foreign_bytes_after_trim(self, lv: str) -> int:
        device = f"/dev/vg0/{lv}"
        held = guest.start(self.lab, "trims", device)
        try:
            guest.does(self.lab, "trims", TRIM)
        finally:
            held.stop()
        return int(self.lab.run(FOREIGN.format(device=device), timeout_seconds=300).stdout)

    def read_below(self, lv: str, count: int) -> None:
        self._read(f"/dev/mapper/{self._part(f'{lv}_corig')}", count, COLD_FROM_BYTES, 8)

    def has_settled(self) -> None:
        self.lab.run(SETTLE)

    @contextmanager
    def broken_metadata(self, lv: str, how: Broken) -> Iterator[None]:
        with self.lain(self._part(f"{self._pool(lv)}_cmeta"), TABLES[how]):
            assert not self.flushes(lv)
            yield

    @contextmanager
    def slow_data(self, lv: str, milliseconds: int) -> Iterator[None]:
        """Every read and write of the SSD by that dm-cache takes so much longer."""
        table = DELAYED.format(milliseconds=milliseconds)
        with self.lain(self._part(f"{self._pool(lv)}_cdata"), table):
            yield

    @contextmanager
    def lain(self, name: str, table: str) -> Iterator[None]:
        """Another table in place of a device's linear one. A device that is gone at the end needs
        nothing: LVM makes it anew."""
        self.lab.run(["modprobe", "-a", "dm_delay", "dm_flakey"])
        self.lab.run(LAY.format(name=name, table=table))
        try:
            yield
        finally:
            self.lab.run(LAY_BACK.format(name=name), check=False)

    @contextmanager
    def throttled_ssds(self, iops: int) -> Iterator[None]:
        """The SSDs do no more I/Os a second than that."""
        self._throttle(iops)
        try:
            yield
        finally:
            self._throttle(0)

    def _throttle(self, iops: int) -> None:
        for disk in DISKS:
            if disk.rotation_rate == 1:
                self.lab.throttle(disk, iops)

    def repair(self, lv: str) -> None:
        self.lab.run(REPAIR.format(lv=f"vg0/{shlex.quote(lv)}"))

    def reads(self, lv: str) -> bool:
        words = [f"if={self.device(lv)[0]}", "of=/dev/null", "bs=64k", "count=1"]
        return self._succeeds(["dd", *words, "iflag=direct", "status=none"])

    def flushes(self, lv: str) -> bool:
        return self._succeeds(["python3", "-I", "-c", FLUSH, self.device(lv)[0]])

    def _succeeds(self, argv: list[str]) -> bool:
        return self.lab.run(argv, check=False).returncode == 0

    def _read(self, device: str, count: int, first_byte: int, at_once: int) -> None:
        size = "" if first_byte else f"--size={HOT_BYTES}"
        self.lab.run(
            f"fio --name=read --filename={device} --rw=randread --bs=4k --offset={first_byte} "
            f"{size} --io_size={count * 4096} --direct=1 --ioengine=libaio --iodepth={at_once} "
            "--norandommap --randrepeat=0 --thread --output=/dev/null",
            timeout_seconds=400,
        )

    def device(self, lv: str) -> tuple[str, bool]:
        """What the guest has open, and whether that is a bcache."""
        found = self.lab.run(
            f"readlink /sys/block/$(basename $(realpath /dev/vg0/{lv}))/bcache/dev", check=False
        )
        name = found.stdout.strip().rsplit("/", 1)[-1]
        return (f"/dev/{name}", True) if name else (f"/dev/vg0/{lv}", False)

    def _pool(self, lv: str) -> str:
        return f"c-{lv.removeprefix('v-')}_cpool"

    def _part(self, lv: str) -> str:
        """The device-mapper's name of a volume of vg0."""
        return f"vg0-{lv.replace('-', '--')}"
