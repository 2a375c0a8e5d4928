"""The forecast from a volume's own traffic against caches that are then made, on the lab's kernel:
each load is observed without a cache, then it gets caches of some sizes of both technologies.

The volume lies on the lab's SSDs, so that a load does in a minute what it does in an hour on an
HDD: hit rates are compared, not times.

    make bench-forecast LOADS=zipf:1.2,grep SIZES=40,160
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from statistics import median, quantiles

from storage.analysis.curve.cache_policy import CachePolicy, bcache, lvmcache
from storage.analysis.curve.heat import HeatRecord, heat_record
from storage.analysis.curve.prospects import HostRates, Prospect, VolumeWaits, prospects
from tests.bench.forecast_loads import LOADS, VOLUME_MIB, VolumeLoad
from tests.contract.client import MIB, Agent, cset_args, pool_args
from tests.contract.lab_world import LabWorld
from tests.lab.vm import Lab

OBSERVED_SECONDS, WARMED_SECONDS, MEASURED_SECONDS = 150, 90, 40
CHUNK_BYTES = 65536
MEMORY = "80M"
"""Of a load on a file system: the rest of what it reads comes from the volume."""
UNIT, FOLDER = "load-forecast", "/mnt/forecast"
# What the hit rate does not depend on.
WAITS = VolumeWaits(
    volume_bytes=VOLUME_MIB * MIB,
    read_ms=8.0,
    slow_reads=1.0,
    slow_read_ms=8.0,
    read_seconds_per_day=10_000,
)
RATES = HostRates(ssd_read_ms=0.2, hdd_iops=150, hdd_utilisation=0.5)


@dataclass(frozen=True, slots=True)
class Compared:
    """Hit rates of reads, 0 to 1: forecast from what was observed without a cache, and measured."""

    load: str
    technology: str
    size_mib: int
    low: float
    likely: float
    high: float
    measured: float

    @property
    def error(self) -> float:
        return abs(self.likely - self.measured)

    @property
    def is_covered(self) -> bool:
        return self.low <= self.measured <= self.high


class ForecastLab:
    """A lab whose host has one volume at a time."""

    def __init__(self, lab: Lab) -> None:
        self.world = LabWorld(lab)
        self.agent = Agent(self.world)
        self.lab = lab
        self.promotion_share = 1.0
        """As the lab's host has shown it last, as a panel would know."""

    def volume(self, layout: str) -> str:
        self.world.reset()
        args = self.agent.volume_args(layout=layout, pvs=["md0"], size_bytes=VOLUME_MIB * MIB)
        self.agent.do("volume.create", args)
        name = str(args["name"])
        if layout == "bcache":
            self.agent.do("bcache.format", {"lv": name})
        return name

    def cache(self, volume: str, technology: str, size_mib: int) -> None:
        key = volume.removeprefix("v-")
        if technology == "lvmcache":
            self.agent.do("pool.create", pool_args(key, size_bytes=size_mib * MIB))
            wished = {"lv": volume, "pool": f"c-{key}", "mode": "writethrough"}
            self.agent.do("cache.attach", wished)
            return
        made = cset_args(key, size_bytes=size_mib * MIB) | {"bucket_kib": 64}
        self.agent.do("cset.create", made)
        which = {"lv": volume, "cset_uuid": made["cset_uuid"], "cache_mode": "writethrough"}
        self.agent.do("bcache.attach", which | {"sequential_cutoff_bytes": 4 * MIB})

    @contextmanager
    def loaded(self, load: VolumeLoad, volume: str) -> Iterator[None]:
        """The load at work until the end of the block."""
        device = self.world.device(volume)
        if load.prepares:
            prepare = f"mkfs.ext4 -q -F {device}; mkdir -p {FOLDER}; mount {device} {FOLDER}"
            self.lab.run(prepare)
            program = f"cd {FOLDER}; exec python3 -I -c {shlex.quote(load.prepares)}"
            self.lab.run(program, timeout_seconds=900)
        else:
            fill = ["dd", "if=/dev/urandom", f"of={device}", "bs=1M", f"count={VOLUME_MIB}"]
            self.lab.run([*fill, "oflag=direct", "status=none"], timeout_seconds=300)
        words = [word.replace("DEVICE", device) for word in load.command]
        unit = ["systemd-run", "-q", f"--unit={UNIT}", "--collect", "-p", "Nice=5"]
        limit = (
            ["-p", f"MemoryMax={MEMORY}", "-p", f"WorkingDirectory={FOLDER}"]
            if load.prepares
            else []
        )
        self.lab.run("sync; echo 3 > /proc/sys/vm/drop_caches")
        self.lab.run([*unit, *limit, "--", *words])
        try:
            yield
        finally:
            self.lab.run(f"systemctl stop {UNIT}; umount {FOLDER}", check=False)

    def observed(self, load: VolumeLoad, layout: str) -> list[HeatRecord]:
        """Records of a trace of the load, in chunks of a cache."""
        volume = self.volume(layout)
        uuid = self.agent.lv(volume)["uuid"]
        with self.loaded(load, volume):
            self.agent.data("heat.observe", {"lv_uuids": [uuid]})
            self.world.install_heat()
            minutes = OBSERVED_SECONDS // 60 + 2
            wanted = {"lv_uuid": uuid, "minutes": minutes, "chunk_kib": 64}
            self.agent.data("heat.trace", wanted)
            time.sleep(OBSERVED_SECONDS)
            self.lab.run("systemctl disable -q --now tiercel-heat.service")
        records = [
            heat_record(each) for each in self.agent.data("heat.records", {"after": 0})["records"]
        ]
        return [each for each in records if each.share == 4 and each.chunk_bytes == CHUNK_BYTES]

    def measured(self, load: VolumeLoad, technology: str, size_mib: int) -> float:
        """The hit rate of reads once the cache has had its time to fill."""
        volume = self.volume("bcache" if technology == "bcache" else "plain")
        self.cache(volume, technology, size_mib)
        with self.loaded(load, volume):
            time.sleep(WARMED_SECONDS)
            before = self._counts(volume)
            time.sleep(MEASURED_SECONDS)
            after = self._counts(volume)
        passed = [now - then for now, then in zip(after, before, strict=True)]
        reads, missed = passed[:2]
        if technology == "lvmcache":
            misses, promotions = passed[2:]
            self.promotion_share = min(1.0, promotions / misses) if misses > 100 else 1.0
        return 1 - missed / reads

    def _counts(self, volume: str) -> list[int]:
        """Reads of the volume and those that its slow part answered; of a dm-cache also misses,
        and promotions."""
        uuid = self.agent.lv(volume)["uuid"]
        (found,) = (v for v in self.agent.data("sample")["volumes"] if v["lv_uuid"] == uuid)
        if found["cache"] is None:
            return [found["bcache"]["disk"][0], found["disk"][0]]
        cache = found["cache"]
        reads = cache["read_hits"] + cache["read_misses"]
        misses = cache["read_misses"] + cache["write_misses"]
        return [reads, cache["read_misses"], misses, cache["promotions"]]


def forecast(
    records: Sequence[HeatRecord], policy: CachePolicy, sizes_mib: Sequence[int]
) -> tuple[Prospect, ...]:
    """For the minutes to come."""
    sizes = [size * MIB for size in sizes_mib]
    return prospects(
        records, WAITS, RATES, policy, sizes, horizon_seconds=WARMED_SECONDS + MEASURED_SECONDS
    )


def compare(site: ForecastLab, load: VolumeLoad, sizes_mib: Sequence[int]) -> Iterator[Compared]:
    """Each size and technology, printed as it comes."""
    records = site.observed(load, "plain")
    if not records:
        print(f"{load.name}: no records; the service says {site.agent.data('hello')['heat']}")
        return
    for technology in ("lvmcache", "bcache"):
        for size_mib in sizes_mib:
            policy = (
                bcache(writeback=False)
                if technology == "bcache"
                else lvmcache(writeback=False, promotion_share=site.promotion_share)
            )
            (prospect,) = forecast(records, policy, [size_mib])
            rate = prospect.hit_rate
            measured = site.measured(load, technology, size_mib)
            found = Compared(
                load.name, technology, size_mib, rate.low, rate.likely, rate.high, measured
            )
            print(
                f"{load.name:20} {technology:9} {size_mib:4} MiB  forecast "
                f"{rate.low:6.1%} - {rate.likely:6.1%} - {rate.high:6.1%}  measured "
                f"{measured:6.1%}  p {site.promotion_share:.3f}",
                flush=True,
            )
            yield found


def main() -> int:
    """Prints each comparison, their errors, and BENCH {json}."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loads", default=",".join(load.name for load in LOADS))
    parser.add_argument("--sizes", default="40,80,160", help="MiB")
    given = parser.parse_args()
    wanted = given.loads.split(",")
    sizes = [int(size) for size in given.sizes.split(",")]
    compared = list[Compared]()
    with Lab("forecast", say=warnings.warn) as lab:
        site = ForecastLab(lab)
        for load in LOADS:
            if load.name in wanted:
                compared += compare(site, load, sizes)
        site.world.close()
    errors = [each.error for each in compared]
    result = {
        "compared": [asdict(each) for each in compared],
        "median_error": round(median(errors), 4),
        "p90_error": round(quantiles(errors, n=10)[-1], 4),
        "covered": sum(each.is_covered for each in compared) / len(compared),
        "median_half_width": round(median((each.high - each.low) / 2 for each in compared), 4),
    }
    shown = {name: value for name, value in result.items() if name != "compared"}
    print(shlex.join(f"{name}={value}" for name, value in shown.items()))
    print("BENCH " + json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
