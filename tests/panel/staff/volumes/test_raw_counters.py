"""Counters as the host sent them, with names and units."""

from __future__ import annotations

from typing import Any

from panel.staff.volumes.raw_counters import CounterGroup, groups
from storage.metrics.counters import decode_volume, encode_counters
from tests.storage import wire


def shown(**fields: Any) -> dict[str, CounterGroup]:
    """As `LatestSample.counters` keeps them, by title."""
    stored = encode_counters(decode_volume(wire.volume(**fields)))
    return {group.title: group for group in groups(stored)}


def values(group: CounterGroup) -> dict[str, tuple[int, str]]:
    return {counter.name: (counter.value, counter.unit) for counter in group.counters}


def test_every_counter_of_the_device_has_a_unit() -> None:
    found = values(shown(disk=wire.disk(reads=7, read_ms=9, read_sectors=3))["Logical volume dm-4"])
    assert found["reads"] == (7, "I/Os")
    assert found["read_ms"] == (9, "ms")
    assert found["read_sectors"] == (3, "sectors of 512 B")
    assert found["in_flight"] == (0, "I/Os now")


def test_a_dm_cache_shows_its_counters_and_both_legs() -> None:
    found = shown(cache=wire.cache(read_hits=5, origin=wire.disk(), cdata=wire.disk(writes=4)))
    assert values(found["dm-cache"])["read_hits"] == (5, "accesses")
    assert values(found["SSD below (cache data)"])["writes"] == (4, "I/Os")
    assert "Slow device below (origin)" in found


def test_a_bcache_volume_shows_what_its_guest_sees_and_warns_of_its_own_counters() -> None:
    found = shown(bcache=wire.bcache(hits=12, available_percent=None))
    assert "What the guest sees, bcache0" in found
    assert values(found["bcache"])["hits"] == (12, "accesses, loses counts under load")
    assert "available_percent" not in values(found["bcache"])


def test_the_histogram_names_its_buckets() -> None:
    found = values(shown(latency=wire.latency(3, 4))["Latency of reads and writes"])
    assert found["below 0.1 ms"] == (3, "I/Os")
    assert found["0.1 ms to 0.2 ms"] == (4, "I/Os")
    assert found["1000 ms and more"] == (0, "I/Os")


def test_counters_of_another_version_are_not_shown() -> None:
    assert groups({"lv_uuid": "x"}) == ()
