"""The latency of the other volumes on some disks, from their histograms (dm-stats). They are read
at the layer directly on the disks: I/O that a cache in front of a volume answers never reaches it.
"""

from __future__ import annotations

import re

from ..kernel import disks, dm, stats
from ..kernel.local_host import LocalHost
from .pace import Histograms

# Others come and go: so many looks later their devices are looked for anew.
KNOWN_LOOKS = 6
# A look at each costs two ioctls; the busiest tell what the disks are like.
MOST_DEVICES = 64
_PVMOVE = re.compile(r".*-pvmove\d+")


def leaves(host: LocalHost, kname: str, depth: int = 8) -> frozenset[str]:
    """The disks that a block device rests on in the end."""
    base = disks.whole(host, kname)
    parts = host.list(f"/sys/block/{base}/slaves") if depth else ()
    if not parts:
        return frozenset((base,))
    return frozenset(leaf for part in parts for leaf in leaves(host, part, depth - 1))


class Neighbours:
    """The volumes on the disks `under`, without `own`."""

    def __init__(self, host: LocalHost, under: frozenset[str], own: str) -> None:
        self._host = host
        self._under = under
        self._own = own
        self._looks = 0
        self._devices: tuple[tuple[str, str, str], ...] = ()
        self._last: dict[str, tuple[int, ...]] = {}

    def look(self) -> Histograms | None:
        """What they did since the last look, by the disks they lie on; None where they are there
        and nobody can tell."""
        if self._looks % KNOWN_LOOKS == 0:
            self._devices = self._find()
        self._looks += 1
        seen: dict[str, tuple[int, ...]] = {}
        flow: dict[str, list[float]] = {}
        for kname, name, group in self._devices:
            size = dm.text(self._host, f"/sys/block/{kname}/size")
            sectors = int(size) if size.isdecimal() else 0
            classes = stats.latency(self._host, name, sectors, stats.PACING)
            if classes is None:
                continue
            seen[name] = counts = tuple(classes["counts"])
            before = self._last.get(name, counts)
            more = [float(max(0, b - a)) for a, b in zip(before, counts)]
            old = flow.get(group, [0.0] * len(more))
            flow[group] = [a + b for a, b in zip(old, more)]
        self._last = seen
        # The first look may only have made the histograms.
        return flow if seen or not self._devices or self._looks == 1 else None

    def _find(self) -> tuple[tuple[str, str, str], ...]:
        """(kname, name, disks) of the LVM devices that stand on these disks with nothing of LVM
        between, the busiest of them."""
        devices = dm.devices(self._host)
        lvm = {device.kname for device in devices}
        neighbours = []
        for device in devices:
            if device.kname == self._own or device.suspended or _PVMOVE.fullmatch(device.name):
                continue
            below = set(self._host.list(f"/sys/block/{device.kname}/slaves")) - lvm
            under = frozenset(leaf for each in below for leaf in leaves(self._host, each))
            if under & self._under:
                group = "+".join(sorted(under))
                neighbours.append((self._io_count(device.kname), device.kname, device.name, group))
        busiest = sorted(neighbours, reverse=True)[:MOST_DEVICES]
        return tuple((kname, name, group) for _, kname, name, group in busiest)

    def _io_count(self, kname: str) -> int:
        words = dm.text(self._host, f"/sys/block/{kname}/stat").split()
        return sum(int(word) for word in words[0:5:4]) if len(words) > 4 else 0
