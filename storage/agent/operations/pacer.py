"""Runs Tiercel's own long I/O next to the guests': in cycles of work and rest, one operation at a
time on each disk.

Zeroing is a program of ours: it is stopped and continued (SIGSTOP, SIGCONT), and dies with the
agent. A pvmove copies in the kernel: the throttle of its mirrors sets the share of the time.

The latency of the other volumes on the disks sets the pace. It comes from their histograms
(dm-stats), read at the layer directly on the disks: I/O that a cache in front of a volume answers
never reaches it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Callable

from ..calls.call import VerbCall
from ..commands.command import BY_MIRROR, BY_READS, BY_STOPS, Command
from ..kernel import disks, dm, stats
from ..kernel.local_host import Beat, LocalHost, LockBusy
from . import journal
from .pace import MOST_SHARE, Histograms, Others
from .rhythm import MOST_BEAT_SECONDS, Rhythm

# Others come and go: so many looks later their devices are looked for anew.
KNOWN_LOOKS = 6
# A look at each costs two ioctls; the busiest show what the disks are like.
MOST_DEVICES = 64
_PVMOVE = re.compile(r".*-pvmove\d+")


def leaves(host: LocalHost, kname: str, depth: int = 8) -> frozenset[str]:
    """The disks that a block device rests on in the end."""
    base = disks.whole(host, kname)
    parts = host.list(f"/sys/block/{base}/slaves") if depth else ()
    if not parts:
        return frozenset((base,))
    return frozenset(leaf for part in parts for leaf in leaves(host, part, depth - 1))


def device_stack(host: LocalHost, kname: str, depth: int = 8) -> frozenset[str]:
    """A device and all that it stands on."""
    parts = host.list(f"/sys/block/{kname}/slaves") if depth else ()
    return frozenset((kname,)).union(*(device_stack(host, part, depth - 1) for part in parts))


class Neighbours:
    """The volumes on the disks `under`, without `own` (knames)."""

    def __init__(self, host: LocalHost, under: frozenset[str], own: frozenset[str]) -> None:
        self._host = host
        self._under = under
        self._own = own
        self._looks = 0
        self._devices: tuple[tuple[str, str, str], ...] = ()
        self._last: dict[str, tuple[int, ...]] = {}

    def look(self) -> Histograms | None:
        """What they did since the last look, by the disks they lie on; None where there are some
        whose I/O is unknown."""
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
        devices = dm.dm_devices(self._host)
        lvm = {device.kname for device in devices}
        neighbours = []
        for device in devices:
            if device.kname in self._own or device.suspended or _PVMOVE.fullmatch(device.name):
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


POLL_SECONDS = 1.0
# Operations that wait for a disk in their order; more wait for a place.
PLACES = 8
# A percentage of the time that the kernel copies, of all mirrors on the host.
# Its lock: what one pvmove sets holds for every other.
ALL_MIRRORS = "all-mirrors"
THROTTLE = "/sys/module/dm_mirror/parameters/raid1_resync_throttle"
FULL = "100"
RESUMED = "10"
# The kernel copies a piece each second at least, whatever the throttle.
LEAST_PERCENT = 1
RAISED = "pace-"
# By how many percent a person may let the p95 of the other volumes rise for one operation.
RISES = (20, 50, 100, 200, 500)


def allowed(host: LocalHost, op: str, policy_percent: int) -> int:
    """By how many percent the others' p95 may rise: as the policy says, or more where a person has
    raised it for this operation."""
    raised = (each for each in RISES if host.op_marked(op, f"{RAISED}{each}"))
    return max((policy_percent, *raised))


def allow(host: LocalHost, op: str, percent: int) -> None:
    """Let the others' p95 rise by up to `percent` (one of RISES) for the rest of an operation. What
    was allowed once is not taken back. Raises Refusal(journal_unwritable)."""
    try:
        host.op_mark(op, f"{RAISED}{percent}")
    except OSError as error:
        raise journal.unwritable(error) from None


class Pacer:
    """Says when our own I/O rests. `own` is the volume that it goes to: no other one. `pace` says
    how it rests, as in Command."""

    def __init__(
        self,
        host: LocalHost,
        under: frozenset[str],
        own: str,
        allowed_percent: Callable[[], int],
        pace: str,
    ) -> None:
        self._host = host
        self._own = own
        self._allowed = allowed_percent
        is_cached = pace == BY_READS
        excluded = device_stack(host, own) if is_cached else frozenset((own,))
        neighbours = Neighbours(host, under, excluded)
        # A read of ours has ended by the time it is asked; what else is under way is its guest's.
        busy = {BY_STOPS: self._is_busy, BY_READS: lambda: False}.get(pace)
        # Its own guest is no neighbour, and waits on the same disk.
        most_share = MOST_SHARE if is_cached else 1.0
        self._rhythm = Rhythm(host.boottime_ns, neighbours.look, allowed_percent, busy, most_share)

    def beat(self) -> Beat:
        """To be asked from before the work begins, as often as it says."""
        return self._rhythm.beat()

    def duty(self) -> float:
        """The same for what cannot be stopped: which share of the time its I/O may take now."""
        return self._rhythm.duty()

    @property
    def others(self) -> Others:
        governor = self._rhythm.governor
        percent = max(1, round(100 * self._rhythm.share))
        return Others(int(governor.p95_ns), int(governor.alone_p95_ns), self._allowed(), percent)

    def _is_busy(self) -> bool:
        counts = dm.text(self._host, f"/sys/block/{self._own}/inflight").split()
        return any(count != "0" for count in counts)


class _Place:
    """A place in the queue of a disk, 0 at its front. A place is a lock: a process moves only from
    one to the next, so that none overtakes, and a process that dies frees its place."""

    def __init__(self, host: LocalHost, name: str) -> None:
        self._host = host
        self._name = name
        self._number = PLACES
        self._held = ExitStack()

    def step(self) -> bool:
        """Onto the next place; False while that is taken, or at the front."""
        with ExitStack() as tried:
            try:
                # No VG has such a name.
                name = f"@disk-{self._name}-{self._number - 1}"
                tried.enter_context(self._host.lock(name, 0.0))
            except LockBusy:
                return False
            self.leave()
            self._held = tried.pop_all()
            self._number -= 1
        return True

    def is_first(self) -> bool:
        while self._number and self.step():
            pass
        return self._number == 0

    def leave(self) -> None:
        self._held.close()


@contextmanager
def alone_on(
    host: LocalHost, names: Iterable[str], say: Callable[[str], None], go_on: Callable[[], None]
) -> Iterator[bool]:
    """Hold the agent's own locks on these disks, however long that takes, after all who came
    before; True where it took some time. `go_on` raises where the operation is to stop
    meanwhile."""
    listed, has_waited = sorted(names), False
    places: list[_Place] = []
    with ExitStack() as stack, ExitStack() as queue:
        while True:
            places = places or _queued(host, listed, queue)
            is_first = len(places) == len(listed) and all([each.is_first() for each in places])
            if is_first and _taken(host, listed, stack):
                break
            if not has_waited:
                say(
                    f"Waiting: another operation is zeroing or moving data on {', '.join(listed)}, "
                    "or on one of them. Only one at a time runs, to leave room "
                    "for the guests."
                )
            has_waited = True
            go_on()
            host.sleep(POLL_SECONDS)
        queue.close()
        yield has_waited


def _queued(host: LocalHost, names: Sequence[str], queue: ExitStack) -> list[_Place]:
    """At the end of the queue of each disk, or of none: of two operations the same one is first in
    all queues that both are in."""
    with ExitStack() as tried:
        try:
            tried.enter_context(host.lock("@disk-queues", 0.0))
        except LockBusy:
            return []
        places = [_Place(host, name) for name in names]
        if not all([place.step() for place in places]):
            for place in places:
                place.leave()
            return []
    for place in places:
        queue.callback(place.leave)
    return places


def _taken(host: LocalHost, names: Iterable[str], stack: ExitStack) -> bool:
    with ExitStack() as tried:
        try:
            for name in names:
                tried.enter_context(host.lock(f"@disk-{name}", 0.0))
        except LockBusy:
            return False
        stack.enter_context(tried.pop_all())
        return True


@contextmanager
def throttling(host: LocalHost, pacer: Pacer) -> Iterator[Callable[[], Beat]]:
    """For the run of a pvmove: asked as often as it says, it throttles the kernel's copying instead
    of having a program stand still. Afterwards nothing is throttled."""

    def rests() -> Beat:
        percent = str(max(LEAST_PERCENT, round(100 * pacer.duty())))
        # What an earlier move left behind may have been put back just now.
        if dm.text(host, THROTTLE) != percent:
            throttle(host, percent)
        return Beat(False, MOST_BEAT_SECONDS)

    try:
        yield rests
    finally:
        throttle(host, FULL)


def throttle(host: LocalHost, percent: str) -> None:
    """Nothing where the kernel has no such throttle: the module is loaded with the first mirror."""
    if host.exists(THROTTLE):
        with suppress(OSError):
            # It is taken up again at the next beat; nothing but the others' latency hangs on it.
            host.write(THROTTLE, percent)


def slow_down_resumed(host: LocalHost) -> list[str]:
    """LVM resumes a pvmove when it activates the volume after a restart, and nothing paces it until
    the panel asks for the move again. Returns what was written, as a shell line."""
    if dm.text(host, THROTTLE) != FULL:
        return []
    throttle(host, RESUMED)
    return [f"echo {RESUMED} > {THROTTLE}"]


def end_resumed(host: LocalHost) -> None:
    """That is over: the move came to its end, or was given up."""
    if dm.text(host, THROTTLE) == RESUMED:
        throttle(host, FULL)


def under(host: LocalHost, call: VerbCall, command: Command, kname: str) -> frozenset[str]:
    """The disks that a paced command works on; `kname` is that of the volume it names."""
    if command.pace != BY_MIRROR:
        return leaves(host, kname) if kname else frozenset()
    pvs = (*call.args["from_pvs"], *call.args["to_pvs"])
    return frozenset(leaf for pv in pvs for leaf in leaves(host, pv))
