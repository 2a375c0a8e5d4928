"""Benchmarks of a fleet: one that is done, with four targets and a sweep, and one that runs."""

from __future__ import annotations

from datetime import datetime

from panel.models import User
from storage.benchmarks.matrix import (
    CacheState,
    Profile,
    ProfileChoice,
    Spec,
    TargetChoice,
    TargetKind,
)
from storage.byte_sizes import GIB
from storage.models import Benchmark, Host
from storage.stored_inventory import inventory_of
from tests.benchmark_scene import make_benchmark

ZIPF = ProfileChoice(Profile.ZIPF_READ, jobs=2, iodepth=8)
SSD, HDD = TargetChoice(TargetKind.SSD), TargetChoice(TargetKind.HDD)
LVMCACHE = TargetChoice(TargetKind.LVMCACHE, "writethrough")
BCACHE = TargetChoice(TargetKind.BCACHE, "writethrough")


def measure(host: Host, actor: User, now: datetime) -> list[Benchmark]:
    """Both, on a group of the host, where root allows them."""
    said = {"quota_bytes": 64 * GIB, "fio": "3.33"}
    Host.objects.filter(pk=host.pk).update(hello={**host.hello, "benchmarks": said})
    host.refresh_from_db()
    facts = inventory_of(host)
    assert facts is not None
    vg = facts.vgs[0]
    done = Spec(
        vg.uuid, vg.name, (SSD, HDD, BCACHE, LVMCACHE), (ZIPF,), (4 * GIB, 8 * GIB, 16 * GIB), 600,
        cache_bytes=(4 * GIB,), repeats=4,
    )  # fmt: skip
    running = Spec(
        vg.uuid, vg.name, (HDD, LVMCACHE), (ZIPF,), (4 * GIB,), 1800,
        cache_bytes=(4 * GIB,), states=(CacheState.NEW, CacheState.JUNK), repeats=2,
    )  # fmt: skip
    return [
        make_benchmark(host, done, now, title="bcache or lvmcache", actor=actor),
        make_benchmark(host, running, now, done=2, title="Full of junk", actor=actor, seed=2),
    ]
