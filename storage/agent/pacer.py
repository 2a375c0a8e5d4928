"""Our own long I/O beside the guests': in turns of work and rest, one at a time on each disk.

Zeroing is a program of ours: it is stopped and continued (SIGSTOP, SIGCONT), and dies with the
agent. A pvmove copies in the kernel: the throttle of its mirrors is put down and up. What the
other volumes feel is read from their latency histograms (dm-stats), at the layer that lies on the
disks: what a cache in front of a volume answers never came to them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Callable

from . import disks, dm, journal, schema, stats
from .command import BY_MIRROR, Command
from .host import Host, LockBusy
from .pace import FIRST_SHARE, Governor, Histograms, Others
from .protocol import Call

POLL_SECONDS = 1.0
BEAT_SECONDS = 0.05
# A turn of work and rest. The kernel's throttle takes up to 0.1 s to be felt.
TURN_SECONDS = 2.0
MIRROR_TURN_SECONDS = 4.0
# Before anything is begun: what the others feel without us.
FIRST_LOOK_SECONDS = 4.0
# After work the disk still writes what it was given: that belongs to the work.
SETTLE_SECONDS = 0.4
# Others come and go: so many turns later their devices are looked for anew.
KNOWN_TURNS = 15
# A look at each costs two ioctls; the busiest tell what the disks are like.
MOST_DEVICES = 64
# Where nobody can tell what the others feel.
BLIND_SHARE = 0.25
# A percentage of the time that the kernel copies, of all mirrors on the host.
# Its lock: what one pvmove sets holds for every other.
ALL_MIRRORS = "all-mirrors"
THROTTLE = "/sys/module/dm_mirror/parameters/raid1_resync_throttle"
FULL, RESTING = "100", "1"
RAISED = "pace-"
RISES = schema.RISES
_PVMOVE = re.compile(r".*-pvmove\d+")


def leaves(host: Host, kname: str, depth: int = 8) -> frozenset[str]:
    """The disks that a block device rests on in the end."""
    base = disks.whole(host, kname)
    parts = host.list(f"/sys/block/{base}/slaves") if depth else ()
    if not parts:
        return frozenset((base,))
    return frozenset(leaf for part in parts for leaf in leaves(host, part, depth - 1))


def allowed(host: Host, op: str, policy_percent: int) -> int:
    """By how many percent the others' p95 may rise: as the policy says, or more where a person has
    raised it for this operation."""
    raised = (each for each in RISES if host.op_marked(op, f"{RAISED}{each}"))
    return max((policy_percent, *raised))


def allow(host: Host, op: str, percent: int) -> None:
    """Let the others' p95 rise by up to `percent` (one of RISES) for the rest of an operation. What
    was allowed once is not taken back. Raises Refusal(journal_unwritable)."""
    try:
        host.op_mark(op, f"{RAISED}{percent}")
    except OSError as error:
        raise journal.unwritable(error) from None


class Pacer:
    """Says when our own I/O rests. `own` devices are no others."""

    def __init__(
        self,
        host: Host,
        under: frozenset[str],
        own: Iterable[str],
        allowed_percent: Callable[[], int],
        turn_seconds: float = TURN_SECONDS,
    ) -> None:
        self._host = host
        self._under = under
        self._own = frozenset(own)
        self._allowed = allowed_percent
        self._turn_seconds = turn_seconds
        self._governor = Governor()
        self._turn = 0
        self._devices: tuple[tuple[str, str, str], ...] = ()
        self._last: dict[str, tuple[str, tuple[int, ...]]] = {}
        self._beside: tuple[Histograms, float] = ({}, 0.0)
        self._works = False
        self._blind = False
        self._look()
        self._phases = self._turns()
        self._until_ns = host.boottime_ns()

    def rests(self) -> bool:
        """To be asked about twenty times a second, from before the work begins."""
        while self._host.boottime_ns() >= self._until_ns:
            self._until_ns += int(next(self._phases) * 1e9)
        return not self._works

    @property
    def others(self) -> Others:
        governor = self._governor
        share = BLIND_SHARE if self._blind else governor.share
        return Others(
            int(governor.p95_ns), int(governor.alone_p95_ns), self._allowed(), round(100 * share)
        )

    def _turns(self) -> Iterator[float]:
        """The seconds of one phase after the other; `_works` says which it is."""
        if self._devices:
            yield FIRST_LOOK_SECONDS
        self._finish(FIRST_LOOK_SECONDS)
        while True:
            share = BLIND_SHARE if self._blind else self._governor.share
            work_seconds = share * self._turn_seconds
            self._works = True
            yield work_seconds
            self._works = share >= 1
            if share < 1:
                yield SETTLE_SECONDS
            self._beside = self._look(), work_seconds
            rest_seconds = max(SETTLE_SECONDS, self._turn_seconds - work_seconds)
            if share < 1:
                yield rest_seconds
            self._finish(rest_seconds if share < 1 else 0.0)

    def _finish(self, rest_seconds: float) -> None:
        self._turn += 1
        alone = self._look()
        alone_share = self._governor.share
        self._governor.look(self._allowed(), self._beside, (alone, rest_seconds))
        self._beside = {}, 0.0
        if alone_share >= 1 > self._governor.share:
            self._governor.share = FIRST_SHARE

    def _look(self) -> dict[str, list[float]]:
        """What the others did since the last look, by the disks they lie on."""
        if self._turn % KNOWN_TURNS == 0:
            self._devices = self._neighbours()
        seen: dict[str, tuple[str, tuple[int, ...]]] = {}
        flow: dict[str, list[float]] = {}
        for kname, name, group in self._devices:
            size = dm.text(self._host, f"/sys/block/{kname}/size")
            found = stats.latency(self._host, name, int(size) if size.isdecimal() else 0)
            if found is None:
                continue
            counts = tuple(found["counts"])
            seen[name] = group, counts
            before = self._last.get(name, (group, counts))[1]
            more = [float(max(0, b - a)) for a, b in zip(before, counts)]
            old = flow.get(group, [0.0] * len(more))
            flow[group] = [a + b for a, b in zip(old, more)]
        # The first look may only have made the histograms.
        self._blind = bool(self._devices) and not seen and bool(self._turn)
        self._last = seen
        return flow

    def _neighbours(self) -> tuple[tuple[str, str, str], ...]:
        """(kname, name, disks) of the LVM devices that stand on these disks with nothing of LVM
        between, the busiest of them."""
        devices = dm.devices(self._host)
        lvm = {device.kname for device in devices}
        found = []
        for device in devices:
            if device.kname in self._own or device.suspended or _PVMOVE.fullmatch(device.name):
                continue
            below = set(self._host.list(f"/sys/block/{device.kname}/slaves")) - lvm
            under = frozenset(leaf for each in below for leaf in leaves(self._host, each))
            if under & self._under:
                group = "+".join(sorted(under))
                found.append((self._io_count(device.kname), device.kname, device.name, group))
        busiest = sorted(found, reverse=True)[:MOST_DEVICES]
        return tuple((kname, name, group) for _, kname, name, group in busiest)

    def _io_count(self, kname: str) -> int:
        words = dm.text(self._host, f"/sys/block/{kname}/stat").split()
        return sum(int(word) for word in words[0:5:4]) if len(words) > 4 else 0


@contextmanager
def alone_on(
    host: Host, names: Iterable[str], say: Callable[[str], None], go_on: Callable[[], None]
) -> Iterator[bool]:
    """Hold the agent's own locks on these disks, however long that takes; True where it took some
    time. `go_on` raises where the operation is to stop meanwhile."""
    has_waited = False
    with ExitStack() as stack:
        while not _taken(host, sorted(names), stack):
            if not has_waited:
                say(
                    f"Waits: another operation zeroes or moves on {', '.join(sorted(names))}, or "
                    "on one of them. One at a time leaves the guests room."
                )
            has_waited = True
            go_on()
            host.sleep(POLL_SECONDS)
        yield has_waited


def _taken(host: Host, names: Iterable[str], stack: ExitStack) -> bool:
    with ExitStack() as tried:
        try:
            for name in names:
                # No VG has such a name.
                tried.enter_context(host.lock(f"@disk-{name}", 0.0))
        except LockBusy:
            return False
        stack.enter_context(tried.pop_all())
        return True


@contextmanager
def throttling(host: Host, pacer: Pacer) -> Iterator[Callable[[], bool]]:
    """For the run of a pvmove: asked as often as `Pacer.rests`, it throttles the kernel's copying
    instead of having a program stand still. Afterwards nothing is throttled."""
    written = FULL

    def rests() -> bool:
        nonlocal written
        wanted = RESTING if pacer.rests() else FULL
        if wanted != written:
            throttle(host, wanted)
            written = wanted
        return False

    try:
        yield rests
    finally:
        throttle(host, FULL)


def throttle(host: Host, percent: str) -> None:
    """Nothing where the kernel has no such throttle: the module is loaded with the first mirror."""
    if host.exists(THROTTLE):
        with suppress(OSError):
            # It is taken up again at the next turn; nothing but the others' latency hangs on it.
            host.write(THROTTLE, percent)


def under(host: Host, call: Call, command: Command, kname: str) -> frozenset[str]:
    """The disks that a paced command works on; `kname` is that of the volume it names."""
    if command.pace != BY_MIRROR:
        return leaves(host, kname) if kname else frozenset()
    pvs = (*call.args["from_pvs"], *call.args["to_pvs"])
    return frozenset(leaf for pv in pvs for leaf in leaves(host, pv))
