"""The pace of our own I/O on disks that are played: what their guests feel of it, and how fast it
gets on."""

from __future__ import annotations

import random
from bisect import bisect_right
from dataclasses import dataclass, field, replace

import pytest

from storage.agent.kernel.stats import FINE_NS
from storage.agent.operations.pace import CLASSES, Histograms
from storage.agent.operations.rhythm import Rhythm

MINUTE_NS = 60_000_000_000


@dataclass
class Disk:
    """`servers` serve a request in `service_ms` each, first come, first served; a guest reads
    `reads_per_second` at random moments. A step of ours is so many requests at once, and the next
    step comes when all of them are done, unless it is to rest."""

    service_ms: float
    reads_per_second: float
    servers: int = 1
    requests_per_step: int = 1
    jitter: float = 0.0
    seed: int = 1
    steps: int = 0
    latencies_ns: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._free_ns = [0] * self.servers
        self._next_read_ns = self._gap_ns()
        self._step_ends_ns = 0
        self._counts = [0.0] * CLASSES
        self.now_ns = 0

    def _gap_ns(self) -> int:
        return int(self._random.expovariate(self.reads_per_second) * 1e9)

    def _serve(self, at_ns: int, server: int) -> int:
        factor = 1 + self.jitter * (2 * self._random.random() - 1)
        end = max(at_ns, self._free_ns[server]) + int(self.service_ms * 1e6 * factor)
        self._free_ns[server] = end
        return end

    def run(self, until_ns: int, works: bool) -> None:
        """Let time pass; `works` says whether ours is continued as soon as its step is done."""
        while True:
            step_ns = max(self._step_ends_ns, self.now_ns) if works else until_ns
            if min(step_ns, self._next_read_ns) >= until_ns:
                break
            if step_ns < self._next_read_ns:
                self.now_ns = step_ns
                ends = [
                    self._serve(step_ns, (self.steps + each) % self.servers)
                    for each in range(self.requests_per_step)
                ]
                self._step_ends_ns = max(ends)
                self.steps += 1
            else:
                at_ns = self.now_ns = self._next_read_ns
                took_ns = self._serve(at_ns, self._random.randrange(self.servers)) - at_ns
                self._counts[bisect_right(FINE_NS, took_ns)] += 1
                self.latencies_ns.append(took_ns)
                self._next_read_ns += self._gap_ns()
        self.now_ns = until_ns

    def look(self) -> Histograms:
        found, self._counts = {"sdc": self._counts}, [0.0] * CLASSES
        return found

    def is_busy(self) -> bool:
        return self._step_ends_ns > self.now_ns


def governed(disk: Disk, minutes: float, allowed_percent: int = 20) -> Rhythm:
    """Our work beside the guest, paced as the agent does it."""
    rhythm = Rhythm(lambda: disk.now_ns, disk.look, lambda: allowed_percent, disk.is_busy)
    while disk.now_ns < minutes * MINUTE_NS:
        rests, seconds = rhythm.beat()
        disk.run(disk.now_ns + int(seconds * 1e9), not rests)
    return rhythm


def governed_mirror(disk: Disk, minutes: float, allowed_percent: int = 20) -> Rhythm:
    """The same where the kernel copies, as dm-kcopyd does: a request at a time, each waiting in
    turns of 0.1 s as long as its share of the time is used up, but a second at most."""
    rhythm = Rhythm(lambda: disk.now_ns, disk.look, lambda: allowed_percent, None)
    io_ns = total_ns = 0.0
    while disk.now_ns < minutes * MINUTE_NS:
        before, steps, slept = disk.now_ns, disk.steps, 0
        while slept < 10 and io_ns > rhythm.duty() * total_ns:
            disk.run(disk.now_ns + 100_000_000, works=False)
            total_ns, slept = total_ns + 100_000_000, slept + 1
        before = disk.now_ns
        while disk.steps == steps or disk.is_busy():
            disk.run(disk.now_ns + 1_000_000, works=disk.steps == steps)
        io_ns, total_ns = io_ns + disk.now_ns - before, total_ns + disk.now_ns - before
        if total_ns >= 1e9:
            io_ns, total_ns = io_ns / 2, total_ns / 2
    return rhythm


def steady(disk: Disk, minutes: float, share: float) -> None:
    """The same pulses at a share that never changes, without any rest to measure in."""
    is_on, credit_ns = False, 0.0
    while disk.now_ns < minutes * MINUTE_NS:
        before = disk.now_ns
        disk.run(before + 10_000_000 if is_on else before + 2_000_000, is_on)
        passed = disk.now_ns - before
        credit_ns += passed * share - (passed if is_on or disk.is_busy() else 0)
        is_on = credit_ns >= 0


def p95_ns(*disks: Disk) -> int:
    took = sorted(latency for disk in disks for latency in disk.latencies_ns)
    return took[int(0.95 * len(took))]


DISKS = {
    "hard disk": (Disk(10, 30, jitter=0.5), 6),
    "busy hard disk": (Disk(10, 60, jitter=0.5), 4),
    "faster hard disk": (Disk(3.3, 100, jitter=0.3), 3),
    "hard disk of small requests": (Disk(3.3, 100, requests_per_step=16, jitter=0.3), 4),
    "array": (Disk(8, 150, servers=6, requests_per_step=2, jitter=0.5), 2),
    "SSD": (Disk(0.05, 1000, requests_per_step=8, jitter=0.3), 0.5),
    "SSD that serves eight at once": (
        Disk(0.2, 800, servers=8, requests_per_step=4, jitter=0.3),
        0.5,
    ),
}


def again(disk: Disk, seed: int) -> Disk:
    return replace(disk, seed=seed, latencies_ns=[])


@pytest.mark.parametrize("name", DISKS)
def test_over_the_whole_of_our_work_the_guest_keeps_its_p95(name: str) -> None:
    disk, minutes = DISKS[name]
    alone = [again(disk, seed) for seed in (1, 2)]
    paced = [again(disk, seed) for seed in (3, 4)]
    for each in alone:
        each.run(int(minutes * MINUTE_NS), works=False)
    for each in paced:
        governed(each, minutes)
    assert p95_ns(*paced) <= 1.2 * p95_ns(*alone)
    assert all(each.steps > 0 for each in paced), "it gets on all the same"


@pytest.mark.parametrize("name", ["hard disk", "busy hard disk", "faster hard disk", "array"])
def test_over_the_whole_of_a_move_the_guest_keeps_its_p95(name: str) -> None:
    disk, minutes = DISKS[name]
    alone = [again(disk, seed) for seed in (1, 2)]
    paced = [again(disk, seed) for seed in (3, 4)]
    for each in alone:
        each.run(int(minutes * MINUTE_NS), works=False)
    for each in paced:
        governed_mirror(each, minutes)
    assert p95_ns(*paced) <= 1.2 * p95_ns(*alone)
    assert all(each.steps > 0 for each in paced), "it gets on all the same"


@pytest.mark.parametrize("name", ["hard disk", "hard disk of small requests"])
def test_our_work_gets_on_nearly_as_fast_as_at_the_best_steady_share(name: str) -> None:
    disk, minutes = DISKS[name]
    alone, paced = again(disk, 1), again(disk, 3)
    alone.run(int(minutes * MINUTE_NS), works=False)
    best = 0
    for share in (0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.16, 0.2):
        constant = again(disk, 2)
        steady(constant, minutes, share)
        if p95_ns(constant) <= 1.2 * p95_ns(alone):
            best = max(best, constant.steps)
    governed(paced, minutes)
    assert best > 0 and paced.steps >= 0.5 * best


def test_without_others_all_of_the_time_is_taken_after_the_first_look() -> None:
    disk = Disk(10, 0.001)
    governed(disk, 1)
    assert disk.steps > 0.9 * 56 * 100
