"""Whether a host may be restarted, and whether all is back since."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest

from storage.byte_sizes import GIB
from storage.health.restart_checks import Point, after_restart, before_restart
from storage.inventory.facts import HostFacts, LogicalVolume
from storage.inventory.volume_parts import VolumeUser, WriteCache
from storage.models import Volume
from storage.planner.technologies.lookup import cache_of
from storage.planner.wish import Bcache, LvmCache, Wish
from storage.volumes.snapshot import VolumeSnapshot
from tests import make

POOL = "c-aaaaaaaaaaaaaaaa"
WELL = {"boot": {"unit": True, "ran": True, "failed": []}}


def row(lv: LogicalVolume, wish: Wish | None = None) -> VolumeSnapshot:
    volume = Volume(
        key="aaaaaaaaaaaaaaaa", label=lv.name, managed=True, size_bytes=lv.size_bytes,
        wish=wish.to_json() if wish is not None else {},
    )  # fmt: skip
    return VolumeSnapshot(volume, None, make.facts(lv), lv, None, None)


def failing(points: tuple[Point, ...]) -> list[str]:
    assert all(point.correction for point in points if not point.is_well)
    return [point.text for point in points if not point.is_well]


def before(facts: HostFacts, jobs: int = 0, hello: dict[str, Any] = WELL) -> list[str]:
    return failing(before_restart(hello, facts, [], jobs))


def test_an_idle_clean_host_may_be_restarted() -> None:
    assert before(make.facts(make.lv(cache=make.dm_cache(POOL)))) == []


def test_dirty_data_is_named_with_its_volume() -> None:
    dirty = make.lv("db1", cache=make.dm_cache(POOL, dirty_bytes=GIB))
    (text,) = before(make.facts(dirty))
    assert "vg0/db1 (1 GiB)" in text
    (text,) = before(make.facts(make.lv("web", bcache=make.bcache(dirty_bytes=512))))
    assert "512 B" in text
    held = WriteCache("wf_cvol", 2 * GIB, GIB, dirty_known=True, pvs=("md0",))
    (text,) = before(make.facts(make.lv("log", layout=("writecache",), writecache=held)))
    assert "vg0/log (1 GiB)" in text


def test_dirty_data_of_a_volume_leads_to_it_with_the_figure_of_the_last_sample() -> None:
    lv = make.lv("v-aaaa", cache=make.dm_cache(POOL, dirty_bytes=3 * GIB))
    facts = make.facts(lv)
    sample: Any = SimpleNamespace(dirty_bytes=GIB, age_seconds=5.0)
    dirty = dataclasses.replace(row(lv), cache=cache_of(facts, lv), latest=sample)
    point = before_restart(WELL, facts, [dirty], 0)[0]
    assert point.text == "1 GiB only in 1 cache, not on the HDDs."
    assert [(each.label, each.text, each.is_dirty) for each in point.volumes] == [
        ("v-aaaa", "1 GiB dirty", True)
    ]
    old = dataclasses.replace(dirty, latest=SimpleNamespace(dirty_bytes=0, age_seconds=9e9))  # type: ignore[arg-type]
    assert before_restart(WELL, facts, [old], 0)[0].text.startswith("3 GiB only in")


@pytest.mark.parametrize(
    "lv",
    [
        make.lv("db1", cache=make.dm_cache(POOL, failed=True)),
        make.lv("db1", cache=make.dm_cache(POOL, needs_check=True)),
        make.lv("db1", cache=make.dm_cache(POOL), active=False),
        make.lv("db1", bcache=make.bcache(state="inconsistent")),
        make.lv("db1", bcache=make.bcache(cset_uuid=make.CSET_UUID, device=None, state="clean")),
        make.lv("db1", bcache=make.bcache(state="dirty", device=None)),
        make.lv("db1", layout=("writecache",)),
        make.lv("db1", layout=("writecache",), writecache=WriteCache("wf", GIB, 0, False, ())),
    ],
)
def test_a_cache_that_does_not_tell_is_not_called_clean(lv: LogicalVolume) -> None:
    (text,) = before(make.facts(lv))
    assert "It is unknown what 1 cache may hold" in text and "vg0/db1" in text


def test_a_recorded_bcache_that_is_not_registered_is_not_called_clean() -> None:
    cache = Bcache("s-aaaaaaaaaaaaaaaa", make.CSET_UUID, 2 * GIB)
    away = row(make.lv("db1"), Wish(8 * GIB, layout="bcache", cache=cache))
    away.volume.layout = "bcache"
    point = before_restart(WELL, make.facts(away.lv or make.lv()), [away], 0)[0]
    assert (
        not point.is_well
        and [each.label for each in point.volumes] == ["db1"]
        and "agent.pyz boot" in point.correction
    )


def test_volumes_off_that_have_no_cache_and_bcache_without_one_are_clean() -> None:
    off, ready = make.lv("db1", active=False), make.lv("db2", bcache=make.bcache())
    assert before(make.facts(off, ready)) == []


def test_what_is_dirty_and_what_is_unknown_are_both_named() -> None:
    dirty = make.lv("db1", cache=make.dm_cache(POOL, dirty_bytes=GIB))
    failed = make.lv("db2", cache=make.dm_cache("c-bbbbbbbbbbbbbbbb", failed=True))
    point = before_restart(WELL, make.facts(dirty, failed), [], 0)[0]
    assert "vg0/db1 (1 GiB)" in point.text and "vg0/db2 (failed" in point.text
    assert "Flush" in point.correction and "lvconvert --repair" in point.correction


def test_jobs_a_missing_unit_and_a_missing_disk_are_waited_for() -> None:
    facts = make.facts(vgs=(make.vg(missing_pv_count=1),))
    assert len(before(facts, jobs=2, hello={})) == 3


def test_after_a_good_start_all_is_back() -> None:
    assert failing(after_restart(WELL, make.facts(), [row(make.lv())])) == []


def test_a_volume_that_is_off_with_its_proxmox_guest_is_back() -> None:
    user = VolumeUser("proxmox", "web12", "scsi0", None)
    resting = dataclasses.replace(make.lv("web12"), active=False, users=(user,))
    points = after_restart(WELL, make.facts(), [row(resting), row(make.lv("db1"))])
    assert failing(points) == []
    assert any("1 managed volume active; 1 off" in point.text for point in points)


def test_what_is_not_back_is_named() -> None:
    off = dataclasses.replace(make.lv("web12"), active=False)
    cached = Wish(8 * GIB, cache=LvmCache(POOL, 2 * GIB))
    bare = make.lv("db1")
    points = after_restart({}, make.facts(), [row(off), row(bare, cached)])
    texts = failing(points)
    assert len(texts) == 3
    assert "did not run" in texts[0]
    assert [each.label for point in points for each in point.volumes] == ["web12", "db1"]
    failed = {"boot": {"unit": True, "ran": True, "failed": ["vg0/x: stuck."]}}
    assert failing(after_restart(failed, make.facts(), []))[0] == "vg0/x: stuck."
