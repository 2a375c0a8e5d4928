"""What of a volume group forbids a change, or takes a disk out of the choice."""

from __future__ import annotations

from typing import Any

import pytest

from storage.byte_sizes import GIB
from storage.inventory.volume_parts import WriteCache
from storage.planner.current_wish import tier_of
from storage.planner.wish import Wish
from storage.volumes.ssd_capacity import capacities
from tests import make
from tests.storage.planner.case import KEY, PLAIN, lvmcache, ours, refusal, refused, steps, verbs

LARGER = Wish(9 * GIB)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"sharing": ("its lock type is sanlock",), "allowed": False}, "observe_only"),
        ({"sharing": ("sdc is reached by iSCSI",)}, "observe_only"),
        ({"sharing": None}, "unsupported"),
    ],
    ids=str,
)
def test_a_group_that_others_may_use_is_not_changed(fields: dict[str, Any], code: str) -> None:
    lv = ours()
    facts = make.facts(lv, vgs=(make.vg(**fields),))
    assert refused(facts, lv, LARGER) == code
    assert verbs(facts, lv, PLAIN) == []


def test_an_older_agent_is_to_be_upgraded_by_a_command_that_is_named() -> None:
    lv = ours()
    facts = make.facts(lv, vgs=(make.vg(sharing=None),))
    assert "manage.py enrol" in refusal(facts, lv, LARGER).correction


def test_roots_word_that_no_other_machine_uses_it_counts() -> None:
    lv = ours()
    facts = make.facts(lv, vgs=(make.vg(sharing=("it is clustered",), alone=True),))
    assert verbs(facts, lv, LARGER)[0] == "volume.extend"


def test_a_disk_that_lvm_does_not_allocate_from_is_not_chosen() -> None:
    lv = ours(pvs=("sdd",))
    barred = make.pv("sdc", free_bytes=0, unusable_bytes=90 * GIB, allocatable=False)
    facts = make.facts(lv, pvs=(barred, make.pv("sdd", free_bytes=20 * GIB), make.fast_pv()))
    assert steps(facts, None, Wish(8 * GIB))[0].args["pvs"] == ["sdd"]
    assert refused(facts, None, Wish(30 * GIB)) == "no_space"


def test_what_a_plan_frees_on_a_barred_disk_is_not_counted_on() -> None:
    """Its new cache is larger than the SSD that is not barred."""
    barred = make.fast_pv(free_bytes=0, allocatable=False)
    cache = make.dm_cache(f"c-{KEY}_cpool", size_bytes=20 * GIB)
    lv = ours(cache=cache, layout=("cache",))
    facts = make.facts(lv, pvs=(make.pv(), barred))
    wish = lvmcache(name="c-bbbbbbbbbbbbbbbb", size_bytes=4 * GIB)
    assert refused(facts, lv, wish) == "no_space"


@pytest.mark.parametrize("field", ["missing", "exported", "duplicate"])
def test_no_sold_space_lies_on_a_disk_that_is_not_there(field: str) -> None:
    assert not make.pv(**{field: True}).is_usable


def test_a_full_metadata_area_stops_a_cache_before_it_is_begun() -> None:
    lv = ours()
    facts = make.facts(lv, vgs=(make.vg(metadata_free_bytes=1500),))
    assert refused(facts, lv, lvmcache()) == "no_space"
    assert verbs(facts, lv, PLAIN) == []


def test_room_for_metadata_is_capacity() -> None:
    facts = make.facts(vgs=(make.vg(metadata_free_bytes=100_000),))
    assert [part.more_caches for part in capacities(facts, (), {})] == [50]
    unknown = make.facts(vgs=(make.vg(metadata_bytes=None, metadata_free_bytes=None),))
    assert [part.more_caches for part in capacities(unknown, (), {})] == [None]


@pytest.mark.parametrize(("version", "code"), [("2.03.11", "unsupported"), ("", "unsupported")])
def test_a_cached_volume_grows_only_with_an_lvm_that_can_do_that(version: str, code: str) -> None:
    cached = ours(cache=make.dm_cache(f"c-{KEY}_cpool"), layout=("cache",))
    wish = Wish(9 * GIB, cache=lvmcache().cache)
    assert refused(make.facts(cached, lvm_version=version), cached, wish) == code
    assert verbs(make.facts(cached), cached, wish)[0] == "volume.extend"
    plain = ours()
    assert verbs(make.facts(plain, lvm_version=version), plain, LARGER)[0] == "volume.extend"


def test_a_volume_behind_a_writecache_gets_no_cache_of_ours_and_counts_as_slow() -> None:
    held = WriteCache("wf_cvol", GIB, 20, dirty_known=True, pvs=("md0",))
    lv = ours(layout=("writecache",), writecache=held, pvs=("md0",))
    assert refused(make.facts(lv), lv, lvmcache()) == "unsupported"
    assert tier_of(make.facts(lv), lv) == "hdd"
