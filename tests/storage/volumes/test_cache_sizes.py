"""What a cache is now, and what could be had."""

from __future__ import annotations

import dataclasses

import pytest

from storage.byte_sizes import GIB, MIB
from storage.planner import plan
from storage.planner.current_wish import wish_now
from storage.planner.technologies.lookup import cache_of, of_layout
from storage.planner.wish import BadWish, Bcache, LvmCache, Wish
from storage.volumes.cache_sizes import sizes_for, writeback_refusal
from storage.volumes.wish_diff import WishChange, changes
from tests import make

KEY = "aaaaaaaaaaaaaaaa"


def cached_bcache() -> tuple[object, object]:
    """Facts and the LV of a volume whose bcache lies on the LV `s-…`."""
    ssd = make.lv(f"s-{KEY}", size_bytes=2 * GIB, pvs=("md0",), tags=make.tags(KEY))
    lv = make.lv(
        "web",
        tags=make.tags(KEY),
        bcache=make.bcache(cset_uuid=make.CSET_UUID, state="clean"),
    )
    return make.facts(lv, ssd, csets=(make.cset(ssd.uuid, unused_percent=75),)), lv


def test_lvmcache_is_listed_under_the_name_we_gave_it() -> None:
    lv = make.lv(cache=make.dm_cache(f"c-{KEY}_cpool", used_bytes=MIB))
    cache = cache_of(make.facts(lv), lv)
    assert cache is not None
    assert (cache.technology, cache.name, cache.used_bytes) == ("lvmcache", f"c-{KEY}", MIB)


def test_bcache_is_listed_with_the_size_of_its_device() -> None:
    facts, lv = cached_bcache()
    cache = cache_of(facts, lv)  # type: ignore[arg-type]
    assert cache is not None
    assert (cache.technology, cache.name) == ("bcache", f"s-{KEY}")
    assert (cache.size_bytes, cache.used_bytes) == (2 * GIB, GIB // 2)


def test_a_formatted_volume_without_a_cache_has_none() -> None:
    lv = make.lv(bcache=make.bcache())
    assert cache_of(make.facts(lv), lv) is None


def test_a_lost_cache_device_is_trouble_and_its_size_unknown() -> None:
    lv = make.lv(bcache=make.bcache(cset_uuid=make.CSET_UUID, state="clean"))
    cache = cache_of(make.facts(lv), lv)
    assert cache is not None
    assert cache.size_bytes is None
    assert "not registered" in cache.trouble


@pytest.mark.parametrize("field", ["failed", "needs_check"])
def test_a_broken_lvmcache_is_trouble(field: str) -> None:
    lv = make.lv(cache=make.dm_cache(f"c-{KEY}", **{field: True}))
    cache = cache_of(make.facts(lv), lv)
    assert cache is not None
    assert cache.trouble


def test_the_wish_of_what_is_there_changes_nothing() -> None:
    lvm = make.lv(tags=make.tags(KEY), cache=make.dm_cache(f"c-{KEY}_cpool"))
    facts = make.facts(lvm)
    assert plan(facts, make.target(lvm, volume_key=KEY), wish_now(facts, lvm, "plain")) == ()
    facts, lv = cached_bcache()  # type: ignore[assignment]
    wish = wish_now(facts, lv, "bcache")  # type: ignore[arg-type]
    assert plan(facts, make.target(lv, volume_key=KEY), wish) == ()  # type: ignore[arg-type]


def test_a_foreign_cache_in_passthrough_is_no_wish() -> None:
    lv = make.lv(cache=make.dm_cache("theirs", mode="passthrough"))
    with pytest.raises(BadWish):
        wish_now(make.facts(lv), lv, "plain")


def test_every_offered_size_can_be_planned() -> None:
    fast = make.fast_pv(free_bytes=5 * GIB)
    facts = make.facts(lv := make.lv(tags=make.tags(KEY)), pvs=(make.pv(), fast))
    sizes = sizes_for(facts, make.VG_UUID, of_layout("plain"))
    assert sizes[-1] == 4 * GIB
    for size_bytes in sizes:
        wish = Wish(lv.size_bytes, cache=LvmCache("c-bbbbbbbbbbbbbbbb", size_bytes))
        assert plan(facts, make.target(lv, volume_key=KEY), wish)


def test_bcache_is_offered_from_512_mib_up() -> None:
    assert sizes_for(make.facts(), make.VG_UUID, of_layout("bcache"))[0] == 512 * MIB


def test_an_unknown_group_offers_nothing() -> None:
    assert sizes_for(make.facts(), "gone", of_layout("plain")) == ()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, ""),
        ({"redundant": False}, "not redundant"),
        ({"healthy": False}, "degraded"),
        ({"missing": True}, "degraded"),
    ],
)
def test_writeback_needs_a_redundant_and_healthy_ssd(fields: dict[str, bool], words: str) -> None:
    facts = make.facts(pvs=(make.pv(), make.fast_pv(**fields)))
    refusal = writeback_refusal(facts, make.VG_UUID)
    assert words in refusal
    assert bool(words) == bool(refusal)


def test_changes_name_only_what_differs() -> None:
    plain = Wish(8 * GIB)
    cached = dataclasses.replace(plain, cache=LvmCache("c-aaaaaaaaaaaaaaaa", 2 * GIB))
    assert changes(plain, plain) == ()
    assert changes(plain, cached) == (
        WishChange("Cache", "none", "lvmcache"),
        WishChange("Cache size", "-", "2 GiB"),
        WishChange("Cache mode", "-", "writethrough"),
        WishChange("Migration threshold", "-", "8 MiB (16384 sectors)"),
    )
    assert changes(cached, dataclasses.replace(cached, flushed=True)) == (
        WishChange("Dirty data", "-", "written to the HDD"),
    )


def test_a_new_volume_changes_everything() -> None:
    cache = Bcache("s-aaaaaaaaaaaaaaaa", make.CSET_UUID, GIB)
    wish = Wish(8 * GIB, layout="bcache", cache=cache)
    assert [change.before for change in changes(None, wish)] == ["-"] * len(changes(None, wish))
    assert len(changes(None, wish)) >= 7
