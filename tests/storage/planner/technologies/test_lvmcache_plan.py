from __future__ import annotations

from typing import Any

import pytest

from storage.byte_sizes import GIB, MIB
from storage.inventory.facts import LogicalVolume
from storage.planner import Refused, plan
from storage.planner.wish import Wish
from tests import make
from tests.storage.planner.case import (
    KEY,
    OTHER,
    OURS,
    PLAIN,
    POOL,
    POOL_TAGS,
    aim,
    lvmcache,
    ours,
    refusal,
    refused,
    steps,
    verbs,
)
from tests.storage.planner.model import finish

WRITEBACK = lvmcache(mode="writeback")
SINGLE = (make.pv(), make.fast_pv("sdb", redundant=False))


def cached(**fields: Any) -> LogicalVolume:
    return ours(cache=make.dm_cache(POOL, **fields))


def test_a_cache_is_made_on_ssd_and_attached() -> None:
    lv = ours()
    create, attach = steps(make.facts(lv), lv, WRITEBACK)
    assert (create.verb, attach.verb) == ("pool.create", "cache.attach")
    assert create.args["pvs"] == ["md0"] and create.args["size_bytes"] == 2 * GIB
    assert attach.args["mode"] == "writeback" and attach.args["pool"] == POOL


def test_a_volume_and_its_cache_are_one_plan() -> None:
    wish = lvmcache(mode="writeback", chunk_kib=96, size_bytes=GIB + 1)
    facts, done = finish(make.facts(), aim(None), wish)
    assert done == ["volume.create", "pool.create", "cache.attach"]
    _, undone = finish(facts, aim(None), PLAIN)
    assert undone == ["cache.flush", "cache.detach", "volume.clear"]


@pytest.mark.parametrize("chunk_kib", [64, 96, 8192])
def test_a_pool_is_whole_extents_and_whole_chunks(chunk_kib: int) -> None:
    lv = ours()
    wish = lvmcache(size_bytes=GIB + 1, chunk_kib=chunk_kib)
    size_bytes = steps(make.facts(lv), lv, wish)[0].args["size_bytes"]
    assert size_bytes % (4 * MIB) == size_bytes % (chunk_kib * 1024) == 0
    assert size_bytes > GIB


@pytest.mark.parametrize(
    ("pvs", "code"),
    [
        ((make.pv(),), "no_fast_disk"),
        ((make.pv(), make.fast_pv(vg_uuid="another")), "no_fast_disk"),
        ((make.pv(), make.fast_pv(free_bytes=2 * GIB + 15 * MIB)), "no_space"),
        ((make.pv(), make.fast_pv(missing=True)), "no_space"),
        ((make.pv(), make.fast_pv(logical_sector_bytes=4096)), "unsupported"),
    ],
)
def test_an_unsuitable_ssd_is_refused(pvs: Any, code: str) -> None:
    lv = ours()
    assert refused(make.facts(lv, pvs=pvs), lv, lvmcache()) == code
    assert refused(make.facts(pvs=pvs), None, lvmcache()) == code


@pytest.mark.parametrize("fault", [{"redundant": False}, {"healthy": False}])
def test_writeback_needs_a_redundant_and_healthy_ssd(fault: dict[str, Any]) -> None:
    pvs = (make.pv(), make.fast_pv(**fault))
    lv, pool, attached = ours(), make.pool(POOL, tags=POOL_TAGS), cached()
    assert refused(make.facts(lv, pvs=pvs), lv, WRITEBACK) == "not_redundant"
    assert refused(make.facts(lv, pool, pvs=pvs), lv, WRITEBACK) == "not_redundant"
    assert refused(make.facts(attached, pvs=pvs), attached, WRITEBACK) == "not_redundant"
    assert verbs(make.facts(lv, pvs=pvs), lv, lvmcache()) == ["pool.create", "cache.attach"]


@pytest.mark.parametrize("below", [(), ("sdb",), ("md0", "sdb"), ("md0", "[unknown]")])
def test_writeback_asks_about_the_ssds_below_this_very_cache(below: tuple[str, ...]) -> None:
    pvs = (*SINGLE, make.fast_pv())
    lv, pool, attached = ours(), make.pool(POOL, tags=POOL_TAGS, pvs=below), cached(pvs=below)
    assert refused(make.facts(attached, pvs=pvs), attached, WRITEBACK) == "not_redundant"
    assert refused(make.facts(lv, pool, pvs=pvs), lv, WRITEBACK) == "not_redundant"


@pytest.mark.parametrize(
    "taken",
    [
        make.pool(POOL),
        make.pool(POOL, tags=make.tags(OTHER)),
        make.pool(POOL, tags=OURS[:1]),
        make.lv(POOL, tags=OURS),
        make.lv(POOL),
    ],
)
def test_what_has_the_pools_name_but_is_no_pool_of_ours_is_left_alone(
    taken: LogicalVolume,
) -> None:
    lv = ours()
    assert refused(make.facts(lv, taken), lv, lvmcache()) == "already_exists"


@pytest.mark.parametrize("name", ["fastpool", "", "s-aaaaaaaa", "c-short"])
def test_a_cache_gets_no_name_of_a_persons_choice(name: str) -> None:
    lv = ours()
    assert refused(make.facts(lv), lv, lvmcache(name=name)) == "bad_request"


@pytest.mark.parametrize("mark", ["", "cset"])
@pytest.mark.parametrize("wish", [lvmcache(), lvmcache(name=f"c-{OTHER}"), PLAIN])
def test_an_idle_pool_without_its_mark_is_neither_used_nor_removed(wish: Wish, mark: str) -> None:
    """The agent refuses it: that shows before anything is begun."""
    lv, pool = ours(), make.pool(POOL, tags=make.tags(KEY, made=mark))
    caught = refusal(make.facts(lv, pool), lv, wish)
    assert caught.code == "not_ours"
    assert f"lvchange --addtag tiercel.made=pool vg0/{POOL}" in caught.correction


def test_a_pool_from_a_broken_attempt_is_used() -> None:
    lv, pool = ours(), make.pool(POOL, tags=POOL_TAGS)
    assert verbs(make.facts(lv, pool), lv, WRITEBACK) == ["cache.attach"]


def test_a_pool_that_is_too_small_makes_room_for_a_new_one() -> None:
    lv, pool = ours(), make.pool(POOL, tags=POOL_TAGS, size_bytes=GIB)
    pvs = (make.pv(), make.fast_pv(free_bytes=GIB + 16 * MIB))
    wanted = ["pool.remove", "pool.create", "cache.attach", "volume.clear"]
    assert verbs(make.facts(lv, pool, pvs=pvs), lv, lvmcache()) == wanted


def test_leftover_pools_go_and_their_room_counts() -> None:
    lv, left = ours(), make.pool(f"c-{OTHER}", tags=POOL_TAGS)
    pvs = (make.pv(), make.fast_pv(free_bytes=16 * MIB))
    facts = make.facts(lv, left, pvs=pvs)
    made = ["pool.remove", "pool.create", "cache.attach", "volume.clear"]
    assert verbs(facts, lv, lvmcache()) == made
    assert verbs(facts, lv, PLAIN) == ["pool.remove", "volume.clear"]
    assert steps(facts, lv, PLAIN)[0].expect["lv_uuid"] == left.uuid


def test_other_peoples_pools_stay() -> None:
    lv = ours()
    pools = (make.pool("pool0", tags=POOL_TAGS), make.pool(f"c-{OTHER}", tags=make.tags(OTHER)))
    assert verbs(make.facts(lv, *pools), lv, PLAIN) == []


@pytest.mark.parametrize("name", [POOL, f"{POOL}_cpool"])
def test_an_attached_cache_as_wished_needs_nothing(name: str) -> None:
    lv = ours(cache=make.dm_cache(name))
    assert verbs(make.facts(lv), lv, lvmcache()) == []


def test_a_mode_is_changed_after_dirty_data_is_written_back() -> None:
    lv = cached(mode="writeback", dirty_bytes=64 * MIB + 1)
    flush, change = steps(make.facts(lv), lv, lvmcache())
    assert flush.verb == "cache.flush" and flush.polled
    assert {"mode": "writethrough", "policy": "smq"}.items() <= change.args.items()
    assert change.title == "Set the cache's mode to writethrough"
    few = cached(mode="writeback", dirty_bytes=64 * MIB)
    assert verbs(make.facts(few), few, lvmcache()) == ["cache.set"]


def test_a_cleaner_that_was_left_on_is_put_back() -> None:
    lv = cached(policy="cleaner")
    (step,) = steps(make.facts(lv), lv, lvmcache())
    assert step.args == {"vg": "vg0", "lv": "web12", "policy": "smq"}


HALF_REMOVED = cached(policy="cleaner", lvm_policy="smq")


@pytest.mark.parametrize(
    "wish", [lvmcache(), lvmcache(migration_threshold_sectors=2048)], ids=["as is", "changed"]
)
def test_a_removal_that_was_interrupted_is_finished_and_not_put_back(wish: Wish) -> None:
    with pytest.raises(Refused) as caught:
        plan(make.facts(HALF_REMOVED), aim(HALF_REMOVED), wish)
    assert caught.value.code == "degraded"
    assert "was interrupted" in caught.value.message
    assert caught.value.correction == "Finish the removal, then add a cache again."
    assert verbs(make.facts(HALF_REMOVED), HALF_REMOVED, PLAIN) == [
        "cache.detach", "volume.clear",
    ]  # fmt: skip


def test_a_change_of_mode_or_of_size_ends_an_interrupted_removal_by_the_way() -> None:
    facts = make.facts(HALF_REMOVED)
    (change,) = steps(facts, HALF_REMOVED, WRITEBACK)
    assert {"mode": "writeback", "policy": "smq"}.items() <= change.args.items()
    bigger = lvmcache(size_bytes=3 * GIB)
    assert verbs(facts, HALF_REMOVED, bigger) == [
        "cache.detach", "pool.create", "cache.attach", "volume.clear",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("lvm_policy", "stale"), [("cleaner", False), ("", False), ("smq", True)],
    ids=["set by hand", "an older agent", "LVM is at work"],
)  # fmt: skip
def test_a_cleaner_is_no_interrupted_removal_unless_all_tells_so(
    lvm_policy: str, stale: bool
) -> None:
    lv = cached(policy="cleaner", lvm_policy=lvm_policy)
    assert verbs(make.facts(lv, stale=stale), lv, lvmcache()) == ["cache.set"]


@pytest.mark.parametrize(
    ("chunk_bytes", "now", "wanted", "steps_left"),
    [
        (64 * 1024, 2048, 2048, 0),
        (64 * 1024, 2048, 4096, 1),
        (64 * 1024, 1024, 0, 0),
        (MIB, 16384, 2048, 0),
        (MIB, 2048, 2048, 0),
        (MIB, 16384, 32768, 1),
    ],
)
def test_thresholds_below_8_chunks_are_settled(
    chunk_bytes: int, now: int, wanted: int, steps_left: int
) -> None:
    lv = cached(chunk_bytes=chunk_bytes, migration_threshold_sectors=now)
    wish = lvmcache(migration_threshold_sectors=wanted)
    assert len(steps(make.facts(lv), lv, wish)) == steps_left


@pytest.mark.parametrize("fault", [{"needs_check": True}, {"failed": True}])
@pytest.mark.parametrize("wish", [PLAIN, lvmcache(), WRITEBACK])
def test_a_broken_cache_is_repaired_first(fault: dict[str, bool], wish: Wish) -> None:
    lv = cached(**fault)
    assert refused(make.facts(lv), lv, wish) == "degraded"


def test_a_cache_is_flushed_before_it_is_detached() -> None:
    dirty, clean = cached(mode="writeback", dirty_bytes=GIB), cached()
    assert verbs(make.facts(dirty), dirty, PLAIN) == [
        "cache.flush", "cache.detach", "volume.clear",
    ]  # fmt: skip
    step, _ = steps(make.facts(clean), clean, PLAIN)
    assert step.verb == "cache.detach" and step.args["pool"] == POOL and step.holds_vg


@pytest.mark.parametrize("name", ["fastpool", "fastpool_cpool", "web12_cvol"])
def test_a_cache_that_we_did_not_make_is_not_removed(name: str) -> None:
    lv = ours(cache=make.dm_cache(name))
    assert refused(make.facts(lv), lv, PLAIN) == "not_ours"


@pytest.mark.parametrize(
    "kind",
    [
        {"layout": ("thin", "sparse")},
        {"layout": ("writecache",)},
        {"role": ("public", "snapshot", "thicksnapshot")},
    ],
)
def test_volumes_that_lvm_cannot_cache_are_refused(kind: dict[str, tuple[str, ...]]) -> None:
    lv = ours(**kind)
    assert refused(make.facts(lv), lv, lvmcache()) == "unsupported"
    assert verbs(make.facts(lv), lv, PLAIN) == []


def test_of_a_snapshot_it_is_said_that_it_is_one() -> None:
    lv = ours(role=("public", "snapshot", "thicksnapshot"))
    with pytest.raises(Refused, match="is a snapshot") as caught:
        plan(make.facts(lv), aim(lv), lvmcache())
    assert "linear" not in caught.value.message


def test_a_bcache_volume_gets_no_lvmcache() -> None:
    lv = ours(bcache=make.bcache())
    assert refused(make.facts(lv), lv, lvmcache()) == "unsupported"
