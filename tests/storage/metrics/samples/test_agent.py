"""The agent's own samples of a host under load, as figures."""

from __future__ import annotations

import json
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import QuerySet
from django.utils import timezone

from storage.discovery.ingest import apply_facts
from storage.metrics.rates import CachedBy, GapReason
from storage.metrics.samples import latest, record_sample, window
from storage.models import Device, DeviceSample, Host, Sample, Volume
from tests import make
from tests.fake.host import FakeHost
from tests.storage.metrics.samples.rounds import NOON

pytestmark = pytest.mark.django_db
MIB = 2**20
KEY = "aaaabbbbccccdddd"
POOL = "c-aaaabbbbccccdddd"


class Sampled:
    """A fake host with one volume under load, and its records."""

    def __init__(self) -> None:
        self.fake = FakeHost("samples")
        self.lv = self.fake.root.add_lv("web12", 1024 * MIB, tags=make.tags(KEY))
        self.fake.root.load("web12", hit_rate=0.9, warm_up_seconds=0.001)
        self.host: Host = make.host()
        self.volume: Volume = make.volume()
        make.placement(self.volume, self.host, lv_uuid=self.lv.uuid)
        self.seconds = 0

    def ask(self, verb: str, **fields: Any) -> dict[str, Any]:
        request = {"v": 1, "id": str(uuid.uuid4()), "verb": verb, "args": {}, **fields}
        reply: dict[str, Any] = json.loads(self.fake.answer(json.dumps(request).encode()))
        assert reply["ok"], reply
        self.fake.wait_for_ops()
        return reply

    def round(self, seconds: int = 10) -> None:
        self.fake.advance(seconds)
        self.seconds += seconds
        reply = self.ask("sample")
        at = NOON + timedelta(seconds=self.seconds)
        assert record_sample(self.host, reply["data"], reply["host"], at).unknown_lv_uuids == set()

    def attach(self) -> None:
        vg = self.lv.vg
        pool = {"vg": vg.name, "name": POOL, "size_bytes": 512 * MIB, "pvs": ["md0"]}
        pool |= {"chunk_kib": 64, "volume_key": KEY}
        self.ask("pool.create", args=pool, expect={"vg_uuid": vg.uuid})
        args = {"vg": vg.name, "lv": "web12", "pool": POOL, "mode": "writethrough"}
        expect = {"vg_uuid": vg.uuid, "lv_uuid": self.lv.uuid}
        self.ask("cache.attach", args=args, expect=expect)


def test_a_volume_before_and_after_its_cache() -> None:
    sampled = Sampled()
    for _ in range(3):
        sampled.round()
    slow = latest(sampled.volume)
    assert slow is not None
    assert (slow.technology, slow.hit_rate) == (CachedBy.NONE, None)
    assert slow.read_iops == pytest.approx(300, rel=0.02)
    sampled.attach()
    sampled.round()
    attached = latest(sampled.volume)
    assert attached is not None
    assert (attached.gap, attached.cache_gap) == (None, GapReason.CACHE_ATTACHED)
    for _ in range(3):
        sampled.round()
    end = NOON + timedelta(seconds=sampled.seconds)
    fast = window(sampled.volume, end - timedelta(seconds=35), end)
    assert fast.read_iops is not None and slow.read_iops is not None
    assert fast.read_iops > 5 * slow.read_iops
    assert fast.hit_rate == pytest.approx(0.9, abs=0.01)
    assert fast.read_ms is not None and slow.read_ms is not None
    assert fast.read_ms < slow.read_ms / 3
    assert fast.latency_p50_ms is not None and slow.latency_p50_ms is not None
    assert fast.latency_p50_ms < 1 < slow.latency_p50_ms


def test_what_all_volumes_ask_of_a_disk_is_what_the_disk_did() -> None:
    """Within 5 %: the slow legs and the volumes without a cache together are the HDD, the fast legs
    the array of SSDs; the members of the array have no part in it."""
    sampled = Sampled()
    sampled.fake.root.load("web12", hit_rate=0.9, write_share=0.3, warm_up_seconds=0.001)
    plain = sampled.fake.root.add_lv("db1", 1024 * MIB, tags=make.tags("bbbbccccddddeeee"))
    sampled.fake.root.load("db1", write_share=0.5)
    other = make.volume()
    make.placement(other, sampled.host, lv_uuid=plain.uuid)
    sampled.attach()
    apply_facts(sampled.host, sampled.ask("inventory")["data"], timezone.now())
    for _ in range(8):
        sampled.round()
    web12 = Sample.objects.filter(volume=sampled.volume, slow_reads__isnull=False)
    db1 = Sample.objects.filter(volume=other, ts__in=web12.values("ts"))
    (hdd,) = {run.pv.device.name for run in plain.runs}
    array = Device.objects.counted_once().get(kind="array")
    assert not Device.objects.counted_once().filter(part_of=array).exists()
    for name in ("reads", "writes", "read_sectors", "write_sectors", "read_ms", "write_ms"):
        slow = total(web12, f"slow_{name}") + total(db1, name)
        device = DeviceSample.objects.filter(device__name=hdd, ts__in=web12.values("ts"))
        assert slow == pytest.approx(total(device, name), rel=0.05)
        fast = total(web12, f"fast_{name}")
        device = DeviceSample.objects.filter(device=array, ts__in=web12.values("ts"))
        assert fast == pytest.approx(total(device, name), rel=0.05)


def total(rows: QuerySet[Any], name: str) -> int:
    assert rows.count() >= 5
    return sum(rows.values_list(name, flat=True))


def test_a_reboot_of_the_host_is_a_gap() -> None:
    sampled = Sampled()
    sampled.round()
    sampled.round()
    sampled.fake.root.reboot()
    sampled.round()
    found = latest(sampled.volume)
    assert found is not None
    assert (found.gap, found.read_iops) == (GapReason.REBOOTED, None)
