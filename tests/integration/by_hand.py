"""A hit rate computed without Tiercel: root's own notes of the kernel's counters in the lab."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.lab.vm import Lab

NOTES = "/run/counters"
SCRIPT = """
rm -f {notes}
name=$(dmsetup info -c --noheadings -o name /dev/vg0/{lv})
kernel=$(basename $(realpath /dev/vg0/{lv}))
front=$(readlink /sys/block/$kernel/bcache/dev) && front=$(basename $front) || front=$kernel
systemd-run -q --collect --unit=load-counters sh -c "
    while :; do
        u=\\$(cut -d' ' -f1 /proc/uptime)
        d=\\$(dmsetup status --noflush '$name')
        f=\\$(awk '\\$3 == \\"$front\\" {{ print \\$6 }}' /proc/diskstats)
        b=\\$(awk '\\$3 == \\"$kernel\\" {{ print \\$6 }}' /proc/diskstats)
        echo \\$u \\$f \\$b \\$d >> {notes}
        sleep 0.2
    done"
"""


@dataclass(frozen=True, slots=True)
class Note:
    """Counters at a time since boot: sectors read of what the guest reads and of the LV below, and
    what dm-cache counts (None of other targets)."""

    at_seconds: float
    front_sectors: int
    back_sectors: int
    hits: int | None
    misses: int | None

    @classmethod
    def of(cls, line: str) -> Note:
        """One line of the notes. dm-cache's status is explained in the kernel's
        Documentation/admin-guide/device-mapper/cache.rst: behind the target's name come metadata
        block size, used/total, cache block size, used/total, read hits, read misses."""
        uptime, front, back, _start, _length, target, *status = line.split()
        hits, misses = (int(n) for n in status[4:6]) if target == "cache" else (None, None)
        return cls(float(uptime), int(front), int(back), hits, misses)


@contextmanager
def noting(lab: Lab, lv: str) -> Iterator[None]:
    """Write the counters of a volume down, five times a second."""
    lab.run(SCRIPT.format(lv=lv, notes=NOTES))
    try:
        yield
    finally:
        lab.run("systemctl stop load-counters", check=False)


def hit_rate(lab: Lab, start_seconds: float, end_seconds: float) -> float | None:
    """Between two times since boot; None where the notes do not reach over both."""
    notes = [Note.of(line) for line in lab.run(["cat", NOTES]).stdout.splitlines()[:-1]]
    if not notes or notes[0].at_seconds > start_seconds or notes[-1].at_seconds < end_seconds:
        return None
    first, last = (
        min(notes, key=lambda note: abs(note.at_seconds - at))
        for at in (start_seconds, end_seconds)
    )
    if first.hits is None or last.hits is None or first.misses is None or last.misses is None:
        return 1 - (last.back_sectors - first.back_sectors) / (
            last.front_sectors - first.front_sectors
        )
    hits = last.hits - first.hits
    return hits / (hits + last.misses - first.misses)
