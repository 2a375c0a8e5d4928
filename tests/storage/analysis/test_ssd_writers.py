"""Who wears an SSD: shares of volumes, and what none of them explains."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from storage.analysis.ssd_writers import SsdWriters, ssd_writers, uses_of
from storage.byte_sizes import SECTOR_BYTES
from storage.health.smart_records import conditions_of, record_smart
from storage.inventory.facts import Array, ArrayMember, HostFacts
from storage.metrics.samples.chunk_store import VOLUMES
from storage.metrics.samples.packer import pack_samples
from storage.models import Host
from tests import make
from tests.smart_disks import ata, attribute, nvme
from tests.storage import wire
from tests.storage.health.test_smart_records import disk, reply
from tests.storage.metrics.samples.rounds import noon_gone, take

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
CHUNK_BYTES = 65536
SECTORS = 4_000_000


def array(level: str, *members: str) -> Array:
    parts = tuple(ArrayMember(name, "in_sync") for name in members)
    return Array("md0", "9:0", "u", level, "clean", 1 << 40, 0, "idle", parts)


def facts(level: str = "raid1", **lvs: Any) -> HostFacts:
    cache = make.dm_cache("c-aaaaaaaaaaaaaaaa", chunk_bytes=CHUNK_BYTES)
    listed = lvs.pop("lvs", (make.lv("busy", cache=cache), make.lv("quiet", cache=cache)))
    return make.facts(
        *listed,
        disks=(make.disk("sda", rotational=False, serial="N1"),),
        arrays=(array(level, "sda", "sdb"),),
    )


def sampled(host: Host, there: HostFacts, start: datetime) -> None:
    """Five hours of samples: the busy volume writes three times as much as the quiet one."""
    for n in range(61):
        readings = []
        for lv, factor in zip(there.lvs, (3, 1), strict=False):
            data = wire.disk(writes=n, write_sectors=factor * SECTORS * n // 60)
            cache = wire.cache(promotions=factor * 10 * n, cdata=data, origin=wire.disk())
            volume = wire.disk(writes=n, write_sectors=factor * SECTORS * n // 60)
            readings.append(wire.volume(lv.uuid, disk=volume, cache=cache))
        take(host, 300 * n, *readings, start=start)


def placed(there: HostFacts) -> Host:
    host = make.host()
    for lv in there.lvs:
        make.placement(make.volume(label=lv.name), host, lv_uuid=lv.uuid)
    return host


def wear(host: Host, at: datetime, written_bytes: int) -> None:
    document = nvme("M", "N1", units_written=written_bytes // 512_000)
    record_smart(host, reply(disk(document)), "b", at)


def asked(host: Host, there: HostFacts, now: datetime) -> SsdWriters:
    (condition,) = conditions_of(host, now)
    return ssd_writers(condition, there, "sda", now, DAY)


@pytest.mark.parametrize("is_packed", [False, True])
def test_each_volume_has_its_share_and_the_rest_is_other(is_packed: bool) -> None:
    there, start = facts(), noon_gone()
    host, end = placed(there), start + 5 * HOUR
    wear(host, start, 0)
    wear(host, end, 10 * SECTORS * SECTOR_BYTES)
    sampled(host, there, start)
    if is_packed:
        assert pack_samples(VOLUMES, end + 4 * HOUR).rows
    found = asked(host, there, end)
    assert [each.label for each in found.volumes] == ["busy", "quiet"]
    assert [round(each.share, 2) for each in found.volumes] == [0.3, 0.1]
    busy = found.volumes[0]
    assert busy.written_bytes == pytest.approx(3 * SECTORS * SECTOR_BYTES, rel=0.01)
    assert busy.promoted_bytes == 3 * 600 * CHUNK_BYTES
    assert found.other_bytes == pytest.approx(6 * SECTORS * SECTOR_BYTES, rel=0.01)
    assert found.other_share == pytest.approx(0.6, abs=0.01)
    assert (found.start, found.end) == (start, end)


def test_without_a_proven_unit_shares_are_of_what_volumes_explain() -> None:
    there, start = facts(), noon_gone()
    host = placed(there)
    dom = ata("SuperMicro SSD", "N1", [attribute(241, "Total_LBAs_Written", 5)])
    record_smart(host, reply(disk(dom)), "b", start)
    sampled(host, there, start)
    found = asked(host, there, start + 5 * HOUR)
    assert (found.total_bytes, found.other_bytes, found.other_share) == (None, None, None)
    assert [round(each.share, 2) for each in found.volumes] == [0.75, 0.25]


def test_an_ssd_without_volumes_is_other_alone() -> None:
    there, start = make.facts(), noon_gone()
    host = make.host()
    wear(host, start, 0)
    wear(host, start + HOUR, 10**9)
    found = asked(host, there, start + HOUR)
    assert (found.volumes, found.other_share) == ((), 1.0)


@pytest.mark.parametrize(
    ("level", "fraction"), [("raid1", 1.0), ("raid10", 1.0), ("raid0", 0.5), ("raid5", None)]
)
def test_an_array_brings_each_disk_its_part(level: str, fraction: float | None) -> None:
    uses = uses_of(facts(level), "sda")
    assert {use.fraction for use in uses.values()} == ({fraction} if fraction else set())


def test_a_volume_on_the_ssd_itself_writes_all_it_writes_there() -> None:
    lv = make.lv("fast", pvs=("md0",))
    (use,) = uses_of(facts(lvs=(lv,)), "sda").values()
    assert (use.fraction, use.chunk_bytes) == (1.0, None)
    assert uses_of(facts(lvs=(make.lv("slow", pvs=("sdc",)),)), "sda") == {}


def test_a_cache_that_lvm_mirrors_over_two_ssds_writes_all_to_each() -> None:
    cache = make.dm_cache("c-aaaaaaaaaaaaaaaa", pvs=("sda", "sdb"), chunk_bytes=CHUNK_BYTES)
    lv = make.lv("v", cache=cache)
    striped = uses_of(facts(lvs=(lv,)), "sda")
    data = make.lv("c-aaaaaaaaaaaaaaaa_cdata", layout=("raid", "raid1"), role=("private",))
    mirrored = uses_of(facts(lvs=(lv, data)), "sda")
    assert [use.fraction for use in (*striped.values(), *mirrored.values())] == [0.5, 1.0]


def bcache_on_sda(**cset: Any) -> HostFacts:
    """A bcache volume whose cache set lies on the mirror of sda and sdb."""
    device = make.lv("s-aaaaaaaa", pvs=("md0",), role=("private",))
    made = make.cset(device.uuid, **cset)
    lv = make.lv("b", bcache=make.bcache(cset_uuid=made.uuid))
    return make.facts(
        lv,
        device,
        csets=(made,),
        disks=(make.disk("sda", rotational=False, serial="N1"),),
        arrays=(array("raid1", "sda", "sdb"),),
    )


def sampled_bcache(host: Host, there: HostFacts, start: datetime, *, is_counted: bool) -> None:
    """Five hours of samples, of whose cache set an older agent tells nothing."""
    for n in range(61):
        data = wire.disk(writes=n, write_sectors=SECTORS * n // 60) if is_counted else None
        own = wire.bcache(cset_uuid=there.csets[0].uuid, cset_disk=data, disk=wire.disk(writes=n))
        take(host, 300 * n, wire.volume(there.lvs[0].uuid, bcache=own), start=start)


@pytest.mark.parametrize(
    ("backing_count", "is_counted", "labels"),
    [(1, True, ["b"]), (1, False, []), (2, True, [])],
)
def test_what_a_bcache_set_of_one_volume_wrote_is_that_volumes(
    backing_count: int, is_counted: bool, labels: list[str]
) -> None:
    """A set of several volumes tells of none of them."""
    there, start = bcache_on_sda(backing_count=backing_count), noon_gone()
    host, end = make.host(), start + 5 * HOUR
    make.placement(make.volume(label="b", layout="bcache"), host, lv_uuid=there.lvs[0].uuid)
    wear(host, start, 0)
    wear(host, end, 2 * SECTORS * SECTOR_BYTES)
    sampled_bcache(host, there, start, is_counted=is_counted)
    found = asked(host, there, end)
    assert ([each.label for each in found.volumes], found.uncounted) == (labels, 1 - len(labels))
    for each in found.volumes:
        assert each.written_bytes == pytest.approx(SECTORS * SECTOR_BYTES, rel=0.01)
        assert (each.promoted_bytes, round(each.share, 2)) == (None, 0.5)
