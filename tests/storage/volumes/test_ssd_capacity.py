"""What of a host's SSD space is sold, used otherwise, reserved and free."""

from __future__ import annotations

import pytest

from storage.byte_sizes import GIB, MIB
from storage.planner.technologies.lookup import of_layout
from storage.planner.wish import Bcache, LvmCache, Wish
from storage.volumes.ssd_capacity import cache_exists, capacities, less_reserved, wanted_bytes
from tests import make

FAST = make.fast_pv(size_bytes=100 * GIB, free_bytes=90 * GIB)
WISH = Wish(8 * GIB, cache=LvmCache("c-aaaaaaaa", 2 * GIB))


def test_the_four_parts_make_the_whole() -> None:
    lv = make.lv(cache=make.dm_cache("c-aaaaaaaa_cpool", size_bytes=4 * GIB))
    facts = make.facts(lv, pvs=(make.pv(), FAST))
    (found,) = capacities(facts, {lv.uuid}, {make.VG_UUID: 5 * GIB})
    assert (found.total_bytes, found.sold_bytes) == (100 * GIB, 4 * GIB)
    assert (found.other_bytes, found.reserved_bytes) == (6 * GIB, 5 * GIB)
    assert found.free_bytes == 85 * GIB
    assert not found.is_oversold


def test_a_cache_without_a_paying_customer_is_not_sold() -> None:
    lv = make.lv(cache=make.dm_cache("c-aaaaaaaa_cpool"))
    (found,) = capacities(make.facts(lv, pvs=(make.pv(), FAST)), set(), {})
    assert (found.sold_bytes, found.other_bytes) == (0, 10 * GIB)


def test_a_sold_bcache_counts_by_its_set() -> None:
    device = make.lv("s-aaaaaaaa", size_bytes=3 * GIB)
    lv = make.lv(bcache=make.bcache(cset_uuid=make.CSET_UUID, state="clean"))
    csets = (make.cset(device.uuid, size_bytes=3 * GIB),)
    facts = make.facts(lv, device, csets=csets, pvs=(make.pv(), FAST))
    (found,) = capacities(facts, {lv.uuid}, {})
    assert found.sold_bytes == 3 * GIB


def test_a_group_without_ssd_is_left_out_and_a_lost_ssd_gives_nothing() -> None:
    assert capacities(make.facts(pvs=(make.pv(),)), set(), {}) == ()
    assert capacities(make.facts(pvs=(make.fast_pv(missing=True),)), set(), {}) == ()


def test_more_promised_than_free_is_said_and_never_negative() -> None:
    facts = make.facts(pvs=(make.fast_pv(free_bytes=GIB),))
    (found,) = capacities(facts, set(), {make.VG_UUID: 2 * GIB})
    assert (found.free_bytes, found.is_oversold) == (0, True)


def test_a_new_cache_takes_its_size_and_its_metadata() -> None:
    facts = make.facts(make.lv())
    needed = of_layout("plain").needed_bytes(facts, make.vg(), 2 * GIB)
    assert wanted_bytes(facts, make.VG_UUID, WISH) == needed > 2 * GIB


def test_a_bcache_takes_whole_extents() -> None:
    cache = Bcache("s-aaaaaaaa", make.CSET_UUID, GIB + 1)
    wish = Wish(8 * GIB, layout="bcache", cache=cache)
    assert wanted_bytes(make.facts(), make.VG_UUID, wish) == GIB + 4 * MIB


@pytest.mark.parametrize("name", ["c-aaaaaaaa", "c-aaaaaaaa_cpool"])
def test_a_cache_that_is_there_takes_nothing_more(name: str) -> None:
    facts = make.facts(make.lv(), make.pool(name))
    assert cache_exists(facts, make.VG_UUID, WISH)
    assert wanted_bytes(facts, make.VG_UUID, WISH) == 0


def test_a_cache_in_the_place_of_another_takes_all_its_room_or_where_that_lacks_the_rest() -> None:
    lv = make.lv(cache=make.dm_cache("c-bbbbbbbb_cpool", size_bytes=GIB))
    facts = make.facts(lv)
    needed = of_layout("plain").needed_bytes(facts, make.vg(), 2 * GIB)
    assert wanted_bytes(facts, make.VG_UUID, WISH, lv.uuid) == needed
    tight = make.facts(lv, pvs=(make.pv(), make.fast_pv(free_bytes=needed - 1)))
    assert wanted_bytes(tight, make.VG_UUID, WISH, lv.uuid) == needed - GIB


def test_no_cache_takes_nothing_and_neither_does_an_unknown_group() -> None:
    assert wanted_bytes(make.facts(), make.VG_UUID, Wish(8 * GIB)) == 0
    assert wanted_bytes(make.facts(), "other", WISH) == 0


def test_reservations_take_from_the_emptiest_ssd_first() -> None:
    big = make.fast_pv("md0", free_bytes=10 * GIB)
    small = make.fast_pv("md1", free_bytes=3 * GIB)
    facts = less_reserved(make.facts(pvs=(make.pv(), small, big)), make.VG_UUID, 11 * GIB)
    assert {pv.name: pv.free_bytes for pv in facts.pvs} == {
        "sdc": 40 * GIB,
        "md0": 0,
        "md1": 2 * GIB,
    }
