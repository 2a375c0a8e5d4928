"""A hit rate computed without Tiercel: root's own notes of the kernel's counters in the lab."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from itertools import pairwise, product
from pathlib import Path

from tests.lab.vm import Lab

MOMENT_SECONDS = 1.0
PROGRAM, NOTES = "/run/note_counters.py", "/run/counters"
SCRIPT = """
rm -f {notes}
name=$(dmsetup info -c --noheadings -o name /dev/vg0/{lv})
kernel=$(basename $(realpath /dev/vg0/{lv}))
front=$(readlink /sys/block/$kernel/bcache/dev) && front=$(basename $front) || front=$kernel
systemd-run -q --collect --unit=load-notes python3 {program} $name $front $kernel {notes}
"""


@dataclass(frozen=True, slots=True)
class Note:
    """Counters at a time since boot: sectors read of what the guest reads and of the LV below, and
    dm-cache's read hits and misses (0 of other targets)."""

    at_seconds: float
    front_sectors: float
    back_sectors: float
    hits: float
    misses: float

    @classmethod
    def of(cls, line: str) -> Note:
        """One line of the notes. dm-cache's status is explained in the kernel's
        Documentation/admin-guide/device-mapper/cache.rst: behind the target's name come metadata
        block size, used/total, cache block size, used/total, read hits, read misses."""
        uptime, front, back, _start, _length, target, *status = line.split()
        hits, misses = status[4:6] if target == "cache" else ("0", "0")
        return cls(*(float(word) for word in (uptime, front, back, hits, misses)))


@contextmanager
def noting(lab: Lab, lv: str) -> Iterator[None]:
    """Write the counters of a volume down."""
    lab.shell.write(PROGRAM, Path(__file__).with_name("note_counters.py").read_bytes())
    lab.run(SCRIPT.format(lv=lv, program=PROGRAM, notes=NOTES))
    try:
        yield
    finally:
        lab.run("systemctl stop load-notes", check=False)


def hit_rates(lab: Lab, start_seconds: float, end_seconds: float) -> list[float] | None:
    """Between two times since boot, each also a moment earlier and later: a busy machine reads its
    counters a moment before or after it reads its clock, and the rate of a cache that warms up
    changes meanwhile. None where the notes do not reach over all of them."""
    text = lab.run(f"cat {NOTES} 2>/dev/null", check=False).stdout
    notes = [Note.of(line) for line in text.split("\n")[:-1]]
    moments = (-MOMENT_SECONDS, 0.0, MOMENT_SECONDS)
    rates = [
        hit_rate(notes, start_seconds + one, end_seconds + other)
        for one, other in product(moments, repeat=2)
    ]
    known = [rate for rate in rates if rate is not None]
    return known if len(known) == len(rates) else None


def hit_rate(notes: Sequence[Note], start_seconds: float, end_seconds: float) -> float | None:
    """Between two times since boot; None where the notes do not reach over both.

    lvmcache: hits / (hits + misses). bcache, whose own counters lose counts: the share of the
    sectors read that did not come from the backing device.
    """
    first, last = at(notes, start_seconds), at(notes, end_seconds)
    if first is None or last is None:
        return None
    hits, misses = last.hits - first.hits, last.misses - first.misses
    if hits + misses:
        return hits / (hits + misses)
    front = last.front_sectors - first.front_sectors
    return 1 - (last.back_sectors - first.back_sectors) / front


def at(notes: Sequence[Note], seconds: float) -> Note | None:
    """The counters at a time, on the straight line between the notes around it."""
    for before, after in pairwise(notes):
        if before.at_seconds <= seconds <= after.at_seconds:
            part = (seconds - before.at_seconds) / (after.at_seconds - before.at_seconds)
            values = zip(astuple(before), astuple(after), strict=True)
            return Note(*(low + part * (high - low) for low, high in values))
    return None
