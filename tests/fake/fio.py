"""fio: a load on a volume while it runs, and its JSON, its log of IOPS and its histograms when it
ends, in the shapes of fio 3.33."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from storage.agent.kernel.local_host import CommandResult
from tests.fake.counters import Counters
from tests.fake.group import Steps
from tests.fake.load import HIT_MS
from tests.fake.machine import Machine
from tests.fake.parts import MIB, SECTOR, Load, Lv, ModelGap

VERSION = "fio-3.33"
KNOWN = frozenset(
    (
        "name", "filename", "thread", "ioengine", "direct", "invalidate", "randrepeat",
        "allrandrepeat", "randseed", "rw", "rwmixread", "random_distribution", "norandommap", "bs",
        "iodepth", "numjobs", "size", "offset", "time_based", "runtime", "log_avg_msec",
        "write_iops_log", "log_hist_msec", "write_hist_log", "percentile_list", "output-format",
        "output", "fdatasync", "rate_iops", "rate_process", "bssplit", "thinktime",
    )
)  # fmt: skip
SSD_IOPS, HDD_IOPS = 20_000.0, 300.0
STEP_SECONDS = 0.5
MOST_STEPS = 2000
BINS = 29 * 64
INTERRUPTED = 128


def fio(machine: Machine, argv: Sequence[str]) -> Steps:
    if list(argv[1:]) == ["--version"]:
        yield 0.0
        return CommandResult(0, f"{VERSION}\n")
    words = [word.removeprefix("--").partition("=") for word in argv[1:]]
    options = {name: value for name, _, value in words}
    if not options.keys() <= KNOWN:
        raise ModelGap(f"fio's {', '.join(sorted(options.keys() - KNOWN))}")
    yield 0.1
    job = _job(machine, argv, options)
    if job is None:
        name = options["filename"]
        return CommandResult(1, "", f"fio: pid=0, err=2/file:{name}, error=No such file\n")
    if options["name"] == "layout":
        return (yield from _layout(machine, job))
    return (yield from _run(machine, job))


@dataclass
class Job:
    """One run on the device with these counters; `rows` are I/Os of reads and writes in each step,
    with the ms at its end."""

    argv: Sequence[str]
    options: Mapping[str, str]
    lv: Lv
    counters: Counters
    rows: list[tuple[int, float, float]] = field(default_factory=list)

    @property
    def jobs(self) -> int:
        return int(self.options.get("numjobs", "1"))

    @property
    def write_share(self) -> float:
        kind = self.options["rw"]
        if kind in ("rw", "randrw", "readwrite"):
            return 1 - int(self.options.get("rwmixread", "50")) / 100
        return float(kind.endswith("write"))


def _job(machine: Machine, argv: Sequence[str], options: Mapping[str, str]) -> Job | None:
    path = options["filename"]
    lv = machine.lv_at(path)
    if lv is not None:
        return Job(argv, options, lv, lv.counters)
    backing = next((each for each in machine.backings if f"/dev/{each.device}" == path), None)
    return None if backing is None else Job(argv, options, backing.lv, backing.counters)


def _below(machine: Machine, lv: Lv) -> frozenset[str]:
    """What its neighbours feel, where it hurts them."""
    devices = frozenset(run.pv.device.name for run in lv.bottom.runs)
    return devices if machine.fio_hurts else frozenset()


def _layout(machine: Machine, job: Job) -> Steps:
    size = int(job.options["size"])
    for _ in range(8):
        job.counters.write(size / 8 / MIB, size / 8 / SECTOR, 4.0)
        if job.counters is not job.lv.counters:
            job.lv.counters.write(size / 8 / MIB, size / 8 / SECTOR, 4.0)
        with machine.hammering(job.argv, _below(machine, job.lv)):
            yield size / 8 / machine.zero_bytes_per_second
    return CommandResult(0)


@contextmanager
def _loading(machine: Machine, job: Job) -> Iterator[None]:
    rotates = any(run.pv.device.name.startswith("sd") for run in job.lv.bottom.runs)
    load = Load(
        job.lv, SSD_IOPS, 0.0 if job.options["name"] == "junk" else 0.9, job.write_share,
        HDD_IOPS if rotates else SSD_IOPS, int(job.options["bs"]), program=" ".join(job.argv),
    )  # fmt: skip
    machine.loads.append(load)
    try:
        with machine.hammering(job.argv, _below(machine, job.lv)):
            yield
    finally:
        machine.loads.remove(load)


def _run(machine: Machine, job: Job) -> Steps:
    runtime = float(job.options["runtime"])
    step = max(STEP_SECONDS, runtime / MOST_STEPS)
    begun_ns, before, promoted = machine.clock_ns(), _ios(job), _promotions(machine, job)
    passed = 0.0
    try:
        with _loading(machine, job):
            while passed < runtime:
                yield min(step, runtime - passed)
                # Also while it was made to stand still.
                passed = (machine.clock_ns() - begun_ns) / 1e9
                if job.options["name"] == "junk":
                    _fill(machine, job.lv)
                promoted = _write_to_ssd(machine, job, promoted)
                now = _ios(job)
                ms = int(min(passed, runtime) * 1000) + len(job.rows) % 3
                job.rows.append((ms, now[0] - before[0], now[1] - before[1]))
                before = now
    except GeneratorExit:
        # SIGINT: it reports what it has.
        _report(machine, job)
        raise
    _report(machine, job)
    return CommandResult(0)


def _ios(job: Job) -> tuple[float, float]:
    return job.counters.reads, job.counters.writes


def _promotions(machine: Machine, job: Job) -> float:
    """Bytes that a cache has taken in since it was made."""
    cache, backing = job.lv.cache, machine.backing(job.lv)
    if cache is not None:
        return cache.promotions * cache.pool.chunk_bytes
    return backing.misses * int(job.options["bs"]) if backing is not None else 0.0


def _write_to_ssd(machine: Machine, job: Job, before: float) -> float:
    """What the cache has taken in since then is written to its SSD."""
    now, cache, backing = _promotions(machine, job), job.lv.cache, machine.backing(job.lv)
    lv = cache.pool.data if cache is not None else None
    if backing is not None and backing.cset is not None:
        lv = backing.cset.lv
    if lv is not None and now > before:
        for counters in (lv.counters, lv.runs[0].pv.device.counters):
            counters.write((now - before) / 65536, (now - before) / SECTOR, HIT_MS)
    return now


def _fill(machine: Machine, lv: Lv) -> None:
    """Reads that miss bring chunks, until the cache is full."""
    if lv.cache is not None:
        lv.cache.used = min(float(lv.cache.total), lv.cache.used + lv.cache.total / 8)
    backing = machine.backing(lv)
    if backing is not None and backing.cset is not None:
        size = backing.cset.lv.size_bytes
        backing.cset.used_bytes = min(0.97 * size, backing.cset.used_bytes + size / 8)


def _report(machine: Machine, job: Job) -> None:
    output = job.options.get("output")
    if output is None:
        return
    jobs = []
    for number in range(1, job.jobs + 1):
        # No two streams get the same.
        share = 1 / job.jobs * (1 + 0.02 * (number - (job.jobs + 1) / 2))
        jobs.append(_of_job(job, share))
        if prefix := job.options.get("write_iops_log"):
            machine.files[f"{prefix}_iops.{number}.log"] = _iops_log(job, share)
        if prefix := job.options.get("write_hist_log"):
            machine.files[f"{prefix}_clat_hist.{number}.log"] = _hist_log(job, share)
    document = {"fio version": VERSION, "timestamp": 0, "jobs": jobs, "disk_util": []}
    machine.files[output] = json.dumps(document, indent=2).encode() + b"\n"
    machine.changed()


def _iops_log(job: Job, share: float) -> bytes:
    lines, last = [], 0
    for ms, *counts in job.rows:
        for direction, count in enumerate(counts):
            if count:
                iops = round(count * share / max(1, ms - last) * 1000)
                lines.append(f"{ms}, {iops}, {direction}, 0, 0\n")
        last = ms
    return "".join(lines).encode()


def _hist_log(job: Job, share: float) -> bytes:
    every = int(job.options.get("log_hist_msec", "1000"))
    lines, until, sums = [], every, [0.0, 0.0]
    for ms, *counts in job.rows:
        sums = [a + b for a, b in zip(sums, counts, strict=True)]
        if ms < until:
            continue
        until += every
        for direction, count in enumerate(sums):
            if count:
                bins = _bins(job, count * share, direction)
                cells = ", ".join(str(bins.get(at, 0)) for at in range(BINS))
                lines.append(f"{ms}, {direction}, {job.options['bs']}, {cells}\n")
        sums = [0.0, 0.0]
    return "".join(lines).encode()


def _bins(job: Job, count: float, direction: int) -> Counter[int]:
    """A tenth at each of some latencies between that of the cache and that of the disk."""
    cache, backing = job.lv.cache, job.counters is not job.lv.counters
    fast = HIT_MS if cache is not None or backing else 0.4
    slow = 26.0 if any(run.pv.device.name.startswith("sd") for run in job.lv.bottom.runs) else 0.9
    whole, bins = round(count), Counter[int]()
    for part in range(10):
        ms = fast if part < 8 else slow
        bins[_bin_of(int(ms * (1 + part / 20) * 1e6))] += whole // 10 + (part < whole % 10)
    return bins


def _bin_of(ns: int) -> int:
    if ns < 128:
        return ns
    exponent = ns.bit_length() - 7
    return min(BINS - 1, (exponent + 1) * 64 + ((ns >> exponent) & 63))


def _middle_ns(at: int) -> int:
    if at < 128:
        return at
    exponent = (at >> 6) - 1
    return (1 << (exponent + 6)) + ((at & 63) << exponent) + (1 << exponent) // 2


def _of_job(job: Job, share: float) -> dict[str, object]:
    runtime_ms = job.rows[-1][0] if job.rows else 0
    named = {name: value for name, value in job.options.items() if name not in ("output",)}
    return {
        "jobname": job.options["name"], "groupid": 0, "error": 0, "eta": 0,
        "elapsed": runtime_ms // 1000 + 1, "job options": named,
        "read": _direction(job, share, 0, runtime_ms),
        "write": _direction(job, share, 1, runtime_ms),
        "trim": _direction(job, 0.0, 0, 0), "sync": {"total_ios": 0},
        "job_runtime": runtime_ms, "usr_cpu": 1.5, "sys_cpu": 3.5, "ctx": 1000, "majf": 0,
        "minf": 60,
    }  # fmt: skip


def _direction(job: Job, share: float, at: int, runtime_ms: int) -> dict[str, object]:
    total = round(sum(row[1 + at] for row in job.rows) * share)
    bins = _bins(job, total, at) if total else Counter[int]()
    block = int(job.options["bs"])
    seconds = runtime_ms / 1000
    iops = total / seconds if seconds else 0.0
    times = sorted(at for at in bins.elements()) if total < 100_000 else sorted(bins)
    middle = [_middle_ns(each) for each in times]
    mean = sum(middle) / len(middle) if middle else 0.0
    latency: dict[str, object] = {
        "min": middle[0] if middle else 0, "max": middle[-1] if middle else 0, "mean": mean,
        "stddev": 0.0, "N": total,
    }  # fmt: skip
    if total:
        latency["percentile"] = {
            f"{percent:.6f}": middle[min(len(middle) - 1, int(percent / 100 * len(middle)))]
            for percent in (1, 5, 50, 90, 95, 99, 99.9, 99.99)
        }
        latency["bins"] = {str(_middle_ns(each)): bins[each] for each in sorted(bins)}
    return {
        "io_bytes": total * block, "io_kbytes": total * block // 1024,
        "bw_bytes": int(iops * block), "bw": int(iops * block / 1024), "iops": iops,
        "runtime": runtime_ms if total else 0, "total_ios": total, "short_ios": 0, "drop_ios": 0,
        "slat_ns": {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0},
        "clat_ns": latency, "lat_ns": {key: latency[key] for key in ("min", "max", "mean", "N")},
        "iops_mean": iops, "iops_samples": len(job.rows),
    }  # fmt: skip


def blockdev(machine: Machine, argv: Sequence[str]) -> Steps:
    if list(argv[1:-1]) != ["--flushbufs"]:
        raise ModelGap(" ".join(argv))
    yield 0.0
    if machine.lv_at(argv[-1]) is None:
        return CommandResult(1, "", f"blockdev: cannot open {argv[-1]}: No such file\n")
    return CommandResult(0)
