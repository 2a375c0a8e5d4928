"""What is chosen for a cache becomes a wish, or an error at the choice that is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.core.exceptions import ValidationError

from storage.byte_sizes import GIB, MIB
from storage.planner.wish import Bcache, LvmCache
from storage.volumes.cache_wish import CacheChoices, cache_wish, no_size, offered_sizes
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of
from tests import make
from tests.scene import scene

pytestmark = pytest.mark.django_db
POOL = "c-aaaaaaaaaaaaaaaa"


def bare() -> VolumeSnapshot:
    """A volume of 8 GiB beside an SSD."""
    return snapshots_of([scene().volume])[0]


def cached() -> VolumeSnapshot:
    """The same with a cache."""
    return snapshots_of([scene(make.lv(cache=make.dm_cache(POOL))).volume])[0]


def errors(row: VolumeSnapshot, choices: CacheChoices) -> dict[str, list[str | None]]:
    """The codes of what is wrong, by field."""
    with pytest.raises(ValidationError) as wrong:
        cache_wish(row, choices)
    if not hasattr(wrong.value, "error_dict"):
        return {"": [wrong.value.code]}
    return {name: [each.code for each in found] for name, found in wrong.value.error_dict.items()}


def test_a_size_gives_a_volume_without_a_cache_a_new_one() -> None:
    wish = cache_wish(bare(), CacheChoices("writethrough", GIB))
    assert isinstance(wish.cache, LvmCache)
    assert (wish.size_bytes, wish.cache.size_bytes, wish.cache.mode) == (
        8 * GIB,
        GIB,
        "writethrough",
    )


def test_a_volume_born_for_bcache_gets_a_cache_of_bcache() -> None:
    row = snapshots_of([scene(make.lv(bcache=make.bcache()), layout="bcache").volume])[0]
    wish = cache_wish(row, CacheChoices("writearound", GIB, {"writeback_percent": 20}))
    assert isinstance(wish.cache, Bcache)
    assert (wish.cache.cache_mode, wish.cache.writeback_percent) == ("writearound", 20)


def test_without_a_size_the_cache_stays_the_same_one() -> None:
    row = cached()
    wish = cache_wish(row, CacheChoices("writeback", None, {"migration_threshold_sectors": 4096}))
    assert row.wish is not None and isinstance(row.wish.cache, LvmCache)
    changed = {"mode": "writeback", "migration_threshold_sectors": 4096}
    assert wish == replace(row.wish, cache=replace(row.wish.cache, **changed))


def test_a_size_puts_another_cache_with_the_same_settings_in_its_place() -> None:
    row = cached()
    wish = cache_wish(row, CacheChoices("writethrough", GIB))
    assert row.wish is not None and isinstance(row.wish.cache, LvmCache)
    assert isinstance(wish.cache, LvmCache)
    assert wish.cache.name != row.wish.cache.name
    threshold = row.wish.cache.migration_threshold_sectors
    assert (wish.cache.size_bytes, wish.cache.migration_threshold_sectors) == (GIB, threshold)


@pytest.mark.parametrize(
    ("choices", "wrong"),
    [
        (CacheChoices("writearound", GIB), {"mode": ["invalid_choice"]}),
        (CacheChoices("writethrough", MIB), {"size_bytes": ["too_small"]}),
        (CacheChoices("writethrough", 10**18), {"": ["invalid"]}),
        (CacheChoices("writethrough"), {"": ["invalid"]}),
        (
            CacheChoices("fast", GIB, {"migration_threshold_sectors": 2**40}),
            {"mode": ["invalid_choice"], "migration_threshold_sectors": ["max_value"]},
        ),
    ],
)
def test_every_wrong_choice_is_named(choices: CacheChoices, wrong: dict[str, list[str]]) -> None:
    assert errors(bare(), choices) == wrong


def test_writeback_needs_mirrored_ssds() -> None:
    single = scene(pvs=(make.pv(), make.fast_pv(redundant=False)))
    row = snapshots_of([single.volume])[0]
    assert errors(row, CacheChoices("writeback", GIB)) == {"mode": ["invalid"]}


def test_a_cache_larger_than_its_volume_is_not_offered() -> None:
    assert max(offered_sizes(bare())) == 8 * GIB


def test_where_no_size_is_offered_it_is_said_why() -> None:
    row = snapshots_of([scene(pvs=(make.pv(),)).volume])[0]
    assert offered_sizes(row) == []
    refusal = no_size(row)
    assert refusal is not None and refusal.code == "no_fast_disk"
