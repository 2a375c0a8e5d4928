from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.byte_sizes import GIB, MIB
from storage.naming import cache_device_name, new_key, pool_name
from storage.planner.wish import (
    BCACHE_MIN_BYTES,
    LVMCACHE_MIN_BYTES,
    MAX_BYTES,
    BadWish,
    Bcache,
    LvmCache,
    Wish,
    smallest_chunk_kib,
)

CSET = "6a7c1e4e-1b57-4c0e-8a53-90e54ab1c001"

sizes = st.integers(1, MAX_BYTES)
lvm_caches = st.builds(
    lambda size, mode, threshold: LvmCache(
        pool_name(new_key()), size, mode, smallest_chunk_kib(size), threshold
    ),
    st.integers(LVMCACHE_MIN_BYTES, 900_000 * GIB),
    st.sampled_from(["writethrough", "writeback"]),
    st.integers(0, 2**31),
)
bcaches = st.builds(
    lambda size, mode, cutoff: Bcache(cache_device_name(new_key()), CSET, size, mode, cutoff),
    st.integers(BCACHE_MIN_BYTES, MAX_BYTES),
    st.sampled_from(["writethrough", "writeback", "writearound"]),
    st.integers(0, 2**32),
)
wishes = st.one_of(
    st.builds(Wish, sizes, st.sampled_from(["hdd", "ssd"]), st.sampled_from(["plain", "bcache"])),
    st.builds(lambda size, cache: Wish(size, "hdd", "plain", cache), sizes, lvm_caches),
    st.builds(lambda size, cache: Wish(size, "hdd", "bcache", cache), sizes, bcaches),
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
HUGE = 10**5000


def kind(value: object) -> str:
    return type(value).__name__


@given(wishes)
def test_a_wish_survives_json(wish: Wish) -> None:
    assert Wish.from_json(json.loads(json.dumps(wish.to_json()))) == wish


@given(json_values)
def test_arbitrary_json_is_no_wish(data: Any) -> None:
    with pytest.raises(BadWish):
        Wish.from_json(data)


@given(wishes, st.data())
def test_a_wish_with_one_field_replaced_is_a_wish_or_a_bad_wish(wish: Wish, data: Any) -> None:
    document = wish.to_json()
    places = [document] + ([document["cache"]] if document["cache"] else [])
    place = data.draw(st.sampled_from(places))
    field = data.draw(st.sampled_from(sorted(place)) | st.text(max_size=8))
    place[field] = data.draw(json_values | st.just(HUGE) | st.just(-HUGE))
    try:
        changed = Wish.from_json(document)
    except BadWish as error:
        assert str(error)
    else:
        assert Wish.from_json(changed.to_json()) == changed


PLAIN = {"size_bytes": GIB, "tier": "hdd", "layout": "plain", "cache": None}
LVM = {
    "kind": "lvmcache",
    "name": "c-aaaaaaaa",
    "size_bytes": GIB,
    "mode": "writethrough",
    "chunk_kib": 64,
    "migration_threshold_sectors": 2048,
}
BCACHE = {
    "kind": "bcache",
    "name": "s-aaaaaaaa",
    "cset_uuid": CSET,
    "size_bytes": GIB,
    "cache_mode": "writeback",
    "sequential_cutoff_bytes": 0,
}
WRONG_NUMBERS: list[Any] = ["8", 8.0, True, None, [], {}, -1, HUGE, MAX_BYTES + 1, float("nan")]
WRONG_TEXTS: list[Any] = [
    5,
    None,
    True,
    [],
    ["hdd"],
    {},
    "",
    "HDD",
    "plain\n",
    "writethrough\0",
    HUGE,
]


@pytest.mark.parametrize("value", [*WRONG_NUMBERS, 0], ids=kind)
def test_a_volume_needs_a_size_that_is_a_number(value: Any) -> None:
    with pytest.raises(BadWish):
        Wish.from_json({**PLAIN, "size_bytes": value})


@pytest.mark.parametrize("field", ["tier", "layout"])
@pytest.mark.parametrize("value", WRONG_TEXTS, ids=kind)
def test_tier_and_layout_are_one_of_two_words(field: str, value: Any) -> None:
    with pytest.raises(BadWish):
        Wish.from_json({**PLAIN, field: value})


@pytest.mark.parametrize("value", WRONG_NUMBERS, ids=kind)
@pytest.mark.parametrize("field", ["size_bytes", "chunk_kib", "migration_threshold_sectors"])
def test_figures_of_lvmcache_are_numbers_in_range(field: str, value: Any) -> None:
    with pytest.raises(BadWish):
        Wish.from_json({**PLAIN, "cache": {**LVM, field: value}})


@pytest.mark.parametrize("value", WRONG_NUMBERS, ids=kind)
@pytest.mark.parametrize("field", ["size_bytes", "sequential_cutoff_bytes"])
def test_figures_of_bcache_are_numbers_in_range(field: str, value: Any) -> None:
    with pytest.raises(BadWish):
        Wish.from_json({**PLAIN, "layout": "bcache", "cache": {**BCACHE, field: value}})


@pytest.mark.parametrize("value", WRONG_TEXTS, ids=kind)
def test_modes_are_those_that_tiercel_offers(value: Any) -> None:
    with pytest.raises(BadWish):
        Wish.from_json({**PLAIN, "cache": {**LVM, "mode": value}})
    with pytest.raises(BadWish):
        Wish.from_json({**PLAIN, "layout": "bcache", "cache": {**BCACHE, "cache_mode": value}})


@pytest.mark.parametrize("value", [5, None, "a\0b", "\ud800", "é", "a\nb", "x" * 128])
def test_names_are_text_that_can_be_stored(value: Any) -> None:
    for cache, layout in ((LVM, "plain"), (BCACHE, "bcache")):
        with pytest.raises(BadWish):
            Wish.from_json({**PLAIN, "layout": layout, "cache": {**cache, "name": value}})


@pytest.mark.parametrize(
    "cache", ["lvmcache", [], 5, True, {}, {**LVM, "kind": []}, {**LVM, "x": 1}]
)
def test_a_cache_is_an_object_of_a_known_kind(cache: Any) -> None:
    with pytest.raises(BadWish):
        Wish.from_json({**PLAIN, "cache": cache})


def test_each_technology_stays_on_its_own_layout() -> None:
    with pytest.raises(BadWish, match="bcache-ready"):
        Wish.from_json({**PLAIN, "cache": BCACHE})
    with pytest.raises(BadWish, match="bcache-ready"):
        Wish.from_json({**PLAIN, "layout": "bcache", "cache": LVM})


def test_a_volume_on_ssd_gets_no_cache() -> None:
    with pytest.raises(BadWish, match="SSD"):
        Wish.from_json({**PLAIN, "tier": "ssd", "cache": LVM})


def test_a_bcache_cache_needs_more_than_512_buckets() -> None:
    with pytest.raises(BadWish, match="512 MiB"):
        Bcache("s-aaaaaaaa", CSET, 512 * MIB - 1)
    assert Bcache("s-aaaaaaaa", CSET, 512 * MIB).size_bytes == 512 * MIB


def test_chunks_are_multiples_of_32_kib() -> None:
    with pytest.raises(BadWish, match="32 KiB"):
        LvmCache("c-aaaaaaaa", GIB, chunk_kib=65)


@pytest.mark.parametrize(
    ("size_gib", "chunk_kib"), [(1, 64), (61, 64), (62, 128), (122, 128), (123, 256), (244, 256)]
)
def test_the_smallest_chunk_is_what_lvm_admits(size_gib: int, chunk_kib: int) -> None:
    assert smallest_chunk_kib(size_gib * GIB) == chunk_kib
    LvmCache("c-aaaaaaaa", size_gib * GIB, chunk_kib=chunk_kib)
    if chunk_kib > 64:
        with pytest.raises(BadWish, match=f"{chunk_kib} KiB"):
            LvmCache("c-aaaaaaaa", size_gib * GIB, chunk_kib=chunk_kib // 2)


def test_a_cache_too_big_for_any_chunk_is_refused_for_its_size() -> None:
    with pytest.raises(BadWish, match="whole number"):
        LvmCache("c-aaaaaaaa", MAX_BYTES, chunk_kib=1024**2)
