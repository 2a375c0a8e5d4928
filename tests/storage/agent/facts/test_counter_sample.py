"""What a round of counters says of volumes, and of the devices below them."""

from __future__ import annotations

from typing import Any

from storage.agent.facts.counter_sample import PARTITIONS_LIMIT, sample
from storage.metrics.counters import decode_devices
from tests import make
from tests.fake.host import FakeHost

GIB = 2**30
KEY = "aaaabbbbccccdddd"


def volumes(host: FakeHost) -> dict[str, Any]:
    return {each["lv_uuid"]: each for each in sample(host)[0]["volumes"]}


def loaded(seed: str) -> FakeHost:
    host = FakeHost(seed)
    host.root.add_lv("plain", GIB, tags=make.tags(KEY))
    host.root.load("plain", write_share=0.3)
    return host


def test_a_flush_is_no_write_for_dm_stats() -> None:
    host = loaded("flushes")
    lv = host.root.lv("plain")
    volumes(host)
    before = volumes(host)[lv.uuid]["latency"]
    lv.counters.write(10, 80, 4.0)
    lv.counters.flush(7, 12.0)
    lv.counters.discard(2, 4096, 1.0)
    after = volumes(host)[lv.uuid]["latency"]
    moved = {name: after[name] - before[name] for name in ("reads", "writes", "flushes")}
    assert moved == {"reads": 0, "writes": 12, "flushes": 7}
    assert after["write_ns"] - before["write_ns"] == 42_000_000
    assert after["flush_ms"] - before["flush_ms"] == 84


def test_a_suspended_device_is_not_asked_for_its_latency() -> None:
    host = loaded("suspended")
    lv = host.root.lv("plain")
    volumes(host)
    lv.suspended = True
    assert (volumes(host)[lv.uuid]["latency"], volumes(host)[lv.uuid]["suspended"]) == (None, True)


def test_some_volumes_alone_cost_no_look_at_the_devices() -> None:
    host = loaded("some")
    host.root.add_lv("other", GIB)
    wanted = host.root.lv("plain").uuid
    data, _ = sample(host, [wanted, "no-such-volume"])
    assert [each["lv_uuid"] for each in data["volumes"]] == [wanted]
    assert set(data) == {"volumes"}


class Partitioned(FakeHost):
    """With partitions, which no model of the fake host has."""

    def read(self, path: str) -> bytes | None:
        data = super().read(path)
        if path != "/proc/diskstats" or data is None:
            return data
        names = ["sdc1", "loop0p1", "bcache0p1", *(f"sdc{n}" for n in range(2, 2000))]
        return data + b"".join(f"8 1 {name} {'1 ' * 17}\n".encode() for name in names)


def test_partitions_of_disks_are_counted_and_not_too_many() -> None:
    data, _ = sample(Partitioned("partitions"))
    assert [each["name"] for each in data["partitions"][:3]] == ["sdc1", "sdc2", "sdc3"]
    assert len(data["partitions"]) == PARTITIONS_LIMIT


def test_devices_say_which_of_their_name_they_are() -> None:
    devices = decode_devices(sample(FakeHost("seq"))[0])
    known = {each.name: each.seq for each in (*devices.disks, *devices.arrays)}
    assert None not in known.values()
    assert len(set(known.values())) > 1
