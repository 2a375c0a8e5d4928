"""volume.clear in a plan: a preview has it before anything has left the volume."""

from __future__ import annotations

import dataclasses

import pytest

from storage.byte_sizes import GIB
from storage.inventory.facts import LogicalVolume
from storage.inventory.volume_parts import Work
from storage.planner.wish import Wish
from tests import make
from tests.storage.planner.case import (
    KEY,
    OURS,
    PLAIN,
    POOL_TAGS,
    aim,
    lvmcache,
    ours,
    refused,
    steps,
    verbs,
)
from tests.storage.planner.model import LEFT, finish

ON_SSD = Wish(8 * GIB, tier="ssd")
HELD = make.lv(f"w-{KEY}", tags=make.tags(KEY, made="left"))


def cached() -> LogicalVolume:
    return ours(cache=make.dm_cache(f"c-{KEY}_cpool"), layout=("cache",))


@pytest.mark.parametrize("clears", [False, None])
def test_a_host_that_does_not_clear_or_cannot_is_not_asked_to(clears: bool | None) -> None:
    vgs = (make.vg(clears_freed=clears),)
    for lv, wish in ((ours(), ON_SSD), (cached(), PLAIN), (ours(tags=(*OURS, LEFT)), PLAIN)):
        assert "volume.clear" not in verbs(make.facts(lv, HELD, vgs=vgs), lv, wish)


def test_an_older_agent_is_asked_to_remove_a_pool_as_it_knows_it() -> None:
    lv, pool = ours(), make.pool(f"c-{KEY}", tags=POOL_TAGS)
    for clears, noted in ((None, False), (False, True), (True, True)):
        facts = make.facts(lv, pool, vgs=(make.vg(clears_freed=clears),))
        assert ("lv" in steps(facts, lv, PLAIN)[0].args) == noted


def test_what_a_killed_try_noted_or_reserved_is_cleared_by_the_next_job() -> None:
    noted = ours(tags=(*OURS, LEFT))
    for facts, lv in (
        (make.facts(noted), noted),
        (make.facts(noted, HELD), noted),
        (make.facts(plain := ours(), HELD), plain),
    ):
        after, done = finish(facts, aim(lv), PLAIN)
        assert done == ["volume.clear"]
        assert [left.tags for left in after.lvs] == [OURS]


def test_an_lv_of_that_name_without_the_mark_is_none_of_ours() -> None:
    lv, other = ours(), make.lv(f"w-{KEY}", tags=OURS)
    assert verbs(make.facts(lv, other), lv, PLAIN) == []


def test_nothing_is_cleared_while_a_move_is_at_work() -> None:
    lv = ours(tags=(*OURS, LEFT), work=Work("pvmove", "sdc", 10, False))
    assert refused(make.facts(lv), lv, PLAIN) == "occupied"
    mine = dataclasses.replace(lv, work=Work("pvmove", "sdc", 10, True))
    assert verbs(make.facts(mine), mine, PLAIN)[0] == "move.abort"


def test_a_cache_whose_disk_is_lost_is_still_given_up() -> None:
    cache = make.dm_cache(f"c-{KEY}_cpool", pvs=("[unknown]",))
    lv = ours(cache=cache, layout=("cache",), tags=(*OURS, LEFT), health="partial")
    facts = make.facts(lv, vgs=(make.vg(missing_pv_count=1),))
    assert verbs(facts, lv, PLAIN) == ["cache.drop"]


def test_where_lvms_text_is_full_a_cache_comes_off_and_no_clearing_is_promised() -> None:
    lv = cached()
    facts = make.facts(lv, vgs=(make.vg(metadata_free_bytes=2000),))
    assert verbs(facts, lv, PLAIN) == ["cache.detach"]


def test_a_new_cache_is_attached_before_the_old_ones_place_is_zeroed() -> None:
    lv = cached()
    found = verbs(make.facts(lv), lv, lvmcache(size_bytes=3 * GIB))
    assert found[-2:] == ["cache.attach", "volume.clear"]
