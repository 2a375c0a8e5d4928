"""What the suite needs of a host beside its agent: root's hands, guests, and a look at the data."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from tests.contract.caches import Caches


class World(Protocol):
    """A host with md0 (RAID1 of SSDs), two HDDs and vg0 over the three, all of it empty.

    `slow` are the kernel's names of the HDDs, which change from boot to boot. `name` is "fake" or
    "lab". `poll_seconds` is how long to wait between two looks at an operation. What a test leaves
    is removed by the fixture.
    """

    name: str
    slow: tuple[str, str]
    poll_seconds: float

    @property
    def caches(self) -> Caches: ...

    def answer(self, line: bytes) -> bytes:
        """One request line to the agent -> its reply line."""

    def add_lv(
        self, name: str, size_bytes: int, pv: str | None = None, *, tags: Sequence[str] = ()
    ) -> None:
        """An LV of vg0 that root made, on the first HDD unless it is said."""

    def take_lv(self, name: str, size_bytes: int, pv: str | None = None) -> None:
        """The same, and what lay on its extents before can be read."""

    def format(self, lv: str) -> None:
        """Put a file system's signature on an LV."""

    def unformat(self, lv: str) -> None:
        """Take the signature off again."""

    def allocation(self, policy: str, lv: str | None = None) -> AbstractContextManager[None]:
        """`vgchange --alloc`, or `lvchange --alloc` of an LV, until the end of the block."""

    def fill(self) -> None:
        """Leave no free extent in vg0."""

    def scribble(self, lv: str) -> None:
        """Write something that is not zeros all over an LV."""

    def remove_lv(self, lv: str) -> None:
        """Remove an LV without wiping it."""

    def barred(self, pv: str) -> AbstractContextManager[None]:
        """`pvchange -xn`: LVM puts nothing more on that disk."""

    def evacuating(self, pv: str, to: str) -> AbstractContextManager[None]:
        """An operator's pvmove of all that lies on a disk, at work until the end of the block."""

    def snapshot(self, lv: str, name: str) -> AbstractContextManager[None]:
        """A classic snapshot that an operator made of a volume."""

    def reads_as_zeros(self, lv: str) -> bool:
        """Whether every byte of an LV is zero."""

    def guest(self, name: str, lv: str) -> AbstractContextManager[int]:
        """A paused QEMU that holds the volume (its bcacheN if it has one); gives its pid."""

    def guest_sees(self, name: str) -> int:
        """The size in bytes of the volume, as that guest's QEMU has it."""

    def mounted(self, lv: str) -> AbstractContextManager[str]:
        """The volume with a file system on it, mounted; gives the mount point."""

    def make_dirty(self, lv: str) -> None:
        """Write some MiB into the writeback cache of a volume, that stay there for a while."""

    def read(self, lv: str, size_bytes: int) -> None:
        """Read the beginning of a volume as its guest would."""

    def counting(self) -> AbstractContextManager[None]:
        """The agent's service that counts heat is at work until the end of the block."""

    def read_counted(self, lv: str, chunks: Sequence[int], times: int) -> None:
        """The guest reads the first page of these chunks of 64 KiB, so many times, and the service
        has seen it. Before that it has looked at what it is to count."""

    def write_synced(self, lv: str, count: int) -> None:
        """Write that many blocks of 4 KiB to a volume, each followed by a flush."""

    def pause(self) -> None:
        """Some time passes."""

    def cache_accesses(self, lv: str) -> int:
        """Hits and misses of reads and writes, as the kernel counts them for a cached volume."""

    def sectors_read(self, kname: str) -> int:
        """How much was read of a device since the boot."""

    def clock_stepped(self, seconds: int) -> AbstractContextManager[None]:
        """A person sets the wall clock forward, and back again at the end of the block."""

    def lost_member(self) -> AbstractContextManager[None]:
        """The SSD mirror `md0` has lost a disk; it is whole again at the end of the block."""

    def crowded_metadata(self) -> AbstractContextManager[None]:
        """More than 70 % of the group's metadata area is used: it has many long tags."""

    def suspended(self, lv: str) -> AbstractContextManager[None]:
        """The volume's device is suspended, as by a command that never resumed it."""

    def allow(self, vgs: Sequence[str], **more: int) -> None:
        """The local policy: which VGs the panel may change, and `undo_hours`, `destroy_per_hour`
        where they are not the usual ones."""

    def vg_lock(self) -> AbstractContextManager[None]:
        """vg0 locked by another LVM command."""

    def journal_full(self) -> AbstractContextManager[None]:
        """No room any more where the agent keeps its journal."""

    def held(self, program: str) -> AbstractContextManager[None]:
        """The next run of a program takes until the end of the block, at least. It may then end
        as if it had been stopped."""

    def interrupt_check(self, array: str) -> None:
        """A person has the kernel check an idle array, and stops that half-way."""

    def slow_moves(self) -> None:
        """A pvmove takes long enough to be stopped half-way."""

    def run_op(self, op: str) -> None:
        """Run what the scope of an operation runs, once more, to its end."""

    def forget_settings(self, lv: str) -> None:
        """What a restart does to the sequential cutoff of a bcache volume."""

    def begin_without_set(self, lv: str, cset_uuid: str) -> None:
        """What a restart does that finds a bcache volume before its cache set."""

    def restart(self) -> None:
        """A power cut; returns when the agent answers again."""

    def boot(self) -> tuple[int, str]:
        """Run the agent as the boot unit does; exit code and what it said."""

    def path_of(self, key: str) -> str | None:
        """The kernel's name of what /dev/tiercel/KEY leads to, once udev is done."""

    def another_ssd(self) -> AbstractContextManager[tuple[str, str]]:
        """An empty SSD of 6 GiB, plugged in until the end of the block: its name and its serial
        number."""

    def wipe(self, disk: str) -> None:
        """Take every signature off a disk that nothing uses."""

    def without(self, tool: str) -> AbstractContextManager[None]:
        """A program that is not installed for a while: lvcreate (all of lvm2), make-bcache…"""
