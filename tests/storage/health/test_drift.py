"""What counts as drift of a volume, and what does not."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from storage.byte_sizes import GIB, MIB
from storage.health.drift import drift_of, repaired
from storage.inventory.facts import HostFacts, LogicalVolume
from storage.models import Host, Placement, Volume
from storage.naming import FORMAT_TAG, ZEROING_TAG
from storage.planner.technologies.lookup import cache_of
from storage.planner.wish import Bcache, LvmCache, Wish
from storage.volumes.snapshot import VolumeSnapshot
from tests import make

KEY = "aaaaaaaaaaaaaaaa"
POOL, DEVICE = f"c-{KEY}", f"s-{KEY}"
CACHED = Wish(8 * GIB, cache=LvmCache(POOL, 2 * GIB))
READY = Wish(8 * GIB, layout="bcache", cache=Bcache(DEVICE, make.CSET_UUID, 2 * GIB))


def row(
    lv: LogicalVolume, recorded: Wish, facts: HostFacts | None = None, **fields: Any
) -> VolumeSnapshot:
    lv = dataclasses.replace(lv, tags=(*make.tags(KEY), *lv.tags))
    facts = facts or make.facts(lv)
    defaults = {"managed": True, "layout": recorded.layout, "wish": recorded.to_json()}
    volume = Volume(key=KEY, label="web12", size_bytes=8 * GIB, **{**defaults, **fields})
    placement = Placement(
        volume=volume,
        host=Host(name="h", state="active"),
        vg_name="vg0",
        vg_uuid=make.VG_UUID,
        lv_name=lv.name,
        lv_uuid=lv.uuid,
    )
    return VolumeSnapshot(volume, placement, facts, lv, cache_of(facts, lv), None)


def words(found: VolumeSnapshot) -> list[str]:
    drift = drift_of(found)
    return [each.what for each in drift.differences] if drift is not None else []


def can_accept(found: VolumeSnapshot) -> bool:
    drift = drift_of(found)
    assert drift is not None
    return drift.can_accept


def cached(**fields: Any) -> LogicalVolume:
    return make.lv(cache=make.dm_cache(POOL, **fields), layout=("cache",))


def bcached(**fields: Any) -> tuple[LogicalVolume, HostFacts]:
    backing = make.bcache(**{"cset_uuid": make.CSET_UUID, "state": "clean", **fields})
    lv, device = make.lv(bcache=backing), make.lv(DEVICE, pvs=("md0",), size_bytes=2 * GIB)
    return lv, make.facts(lv, device, csets=(make.cset(device.uuid, backing_count=1),))


def test_what_is_as_recorded_is_no_drift() -> None:
    assert words(row(cached(), CACHED)) == []
    lv, facts = bcached()
    assert words(row(lv, READY, facts)) == []


def test_sizes_that_lvm_rounded_up_are_no_drift() -> None:
    odd = Wish(8 * GIB - MIB, cache=LvmCache(POOL, 2 * GIB - MIB))
    assert words(row(cached(), odd)) == []


def test_a_threshold_that_the_kernel_raised_is_no_drift() -> None:
    low = Wish(8 * GIB, cache=LvmCache(POOL, 2 * GIB, migration_threshold_sectors=0))
    assert words(row(cached(migration_threshold_sectors=1024), low)) == []


@pytest.mark.parametrize(
    ("cache", "what"),
    [
        ({"mode": "writeback"}, "Cache mode"),
        ({"migration_threshold_sectors": 2048}, "Migration threshold"),
        ({"size_bytes": 4 * GIB}, "Cache size"),
        ({"policy": "cleaner"}, "Writing back"),
        ({"pool": "c-bbbbbbbbbbbbbbbb"}, "Cache"),
    ],
)
def test_a_changed_cache_is_drift(cache: dict[str, Any], what: str) -> None:
    lv = make.lv(cache=make.dm_cache(**{"pool": POOL, **cache}), layout=("cache",))
    assert words(row(lv, CACHED)) == [what]


@pytest.mark.parametrize(
    ("backing", "what"),
    [
        ({"sequential_cutoff_bytes": 4 * MIB}, "Sequential cutoff"),
        ({"writeback_percent": 0}, "Writeback percent"),
        ({"cache_mode": "writeback"}, "Cache mode"),
    ],
)
def test_a_setting_that_a_restart_forgot_is_drift(backing: dict[str, Any], what: str) -> None:
    lv, facts = bcached(**backing)
    found = row(lv, READY, facts)
    assert words(found) == [what]
    drift = drift_of(found)
    assert drift is not None and drift.refusal is None and drift.can_accept


def test_a_cache_that_is_gone_or_came_by_hand_is_drift() -> None:
    assert words(row(make.lv(), CACHED)) == ["Cache"]
    assert words(row(cached(), Wish(8 * GIB))) == ["Cache"]


def test_a_bcache_volume_that_does_not_run_is_drift_and_nothing_else_and_no_record() -> None:
    """What is there has neither the cache nor the size that its guest knows."""
    waiting = make.lv(bcache=make.bcache(state="dirty", device=None, size_bytes=0))
    for lv in (make.lv(size_bytes=8 * GIB + 4 * MIB), waiting):
        found = row(lv, READY)
        assert words(found) == ["bcache"]
        assert not can_accept(found)


def test_a_cache_whose_set_is_not_registered_is_no_record() -> None:
    backing = make.bcache(cset_uuid=make.CSET_UUID, state="dirty")
    found = row(make.lv(bcache=backing), READY)
    assert words(found) == ["Cache"]
    assert not can_accept(found)


def test_a_lost_tag_is_drift_that_no_record_could_say() -> None:
    found = row(cached(), CACHED, managed=False)
    assert words(found) == ["Management"]
    assert not can_accept(found)
    assert not can_accept(row(cached(policy="cleaner"), CACHED))


def test_what_a_record_can_say_may_be_accepted() -> None:
    bare, sized = row(make.lv(), CACHED), row(cached(size_bytes=4 * GIB), CACHED)
    off = row(make.lv(tags=("tiercel.retired=1700000000", "tiercel.name=web12")), Wish(8 * GIB))
    uncached = row(make.lv(bcache=make.bcache()), READY)
    assert all(can_accept(each) for each in (bare, sized, off, uncached))


def test_a_volume_retired_by_hand_is_drift() -> None:
    retired = make.lv(tags=("tiercel.retired=1700000000",))
    assert words(row(retired, Wish(8 * GIB))) == ["State"]
    assert not can_accept(row(retired, Wish(8 * GIB))), "half of its marks say nothing"


def test_what_was_never_recorded_or_is_retired_has_no_drift() -> None:
    assert words(row(cached(), CACHED, wish={})) == []
    assert words(row(cached(), Wish(8 * GIB, life="retired"))) == []


@pytest.mark.parametrize("tag", [ZEROING_TAG, FORMAT_TAG])
@pytest.mark.parametrize("wish", [{}, Wish(8 * GIB).to_json()])
def test_a_half_made_volume_is_unfinished_and_nothing_else(
    tag: str, wish: dict[str, object]
) -> None:
    lv = make.lv(f"v-{KEY}", tags=(tag,), size_bytes=9 * GIB)
    found = row(lv, Wish(8 * GIB), wish=wish, layout="plain" if tag == ZEROING_TAG else "bcache")
    drift = drift_of(found)
    assert drift is not None and drift.is_unfinished and not drift.can_accept
    assert words(found) == ["Creation"]
    assert repaired(found) is not None


@pytest.mark.parametrize("tag", [ZEROING_TAG, FORMAT_TAG])
def test_the_tag_of_a_half_made_volume_says_nothing_of_a_retired_one_or_anothers(tag: str) -> None:
    off = make.lv(tags=(tag, "tiercel.retired=1700000000"))
    assert words(row(off, Wish(8 * GIB, life="retired"))) == []
    anothers = make.lv(tags=(tag, *make.tags("bbbbbbbbbbbbbbbb")))
    assert words(row(anothers, Wish(8 * GIB))) == []


def test_a_foreign_cache_can_neither_be_described_nor_accepted() -> None:
    found = row(cached(mode="passthrough"), CACHED)
    drift = drift_of(found)
    assert drift is not None and not drift.can_accept
