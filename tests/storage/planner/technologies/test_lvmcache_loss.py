"""A cache whose SSD is gone is given up only where it held nothing but copies."""

from __future__ import annotations

from typing import Any

import pytest

from storage.inventory.facts import HostFacts, LogicalVolume
from storage.planner.technologies.lvmcache_loss import loss_of
from storage.planner.wish import Wish
from tests import make
from tests.storage.planner.case import PLAIN, POOL, lvmcache, ours, refused, steps, verbs

GONE = "[unknown]"


def lost_volume(**cache: Any) -> LogicalVolume:
    fields = {"pvs": (GONE,), **cache}
    return ours(cache=make.dm_cache(POOL, **fields), health="partial", layout=("cache",))


def host(*lvs: LogicalVolume, missing: int = 1) -> HostFacts:
    """vg0 without its SSD; the pool's hidden parts lay there."""
    parts = [
        make.lv(f"{POOL}_cpool_cdata", role=("private", "cache", "pool", "data"), pvs=(GONE,)),
        make.lv(f"{POOL}_cpool_cmeta", role=("private", "cache", "pool", "metadata"), pvs=(GONE,)),
        make.lv("lvol0_pmspare", role=("private", "pool", "spare"), pvs=(GONE,)),
    ]
    return make.facts(
        *lvs,
        *parts,
        pvs=(make.pv(), make.fast_pv(GONE, missing=True)),
        vgs=(make.vg(missing_pv_count=missing),),
    )


def test_a_clean_writethrough_cache_is_given_up_and_there_is_no_way_back() -> None:
    lv = lost_volume()
    (step,) = steps(host(lv), lv, PLAIN)
    assert (step.verb, step.args["pool"], step.makes_irrevocable) == ("cache.drop", POOL, True)


@pytest.mark.parametrize(
    ("cache", "kind", "code"),
    [
        ({"mode": "writeback"}, "dirty", "dirty"),
        ({"dirty_bytes": 65536}, "dirty", "dirty"),
        ({"failed": True}, "unknown", "degraded"),
        ({"needs_check": True}, "unknown", "degraded"),
    ],
)
def test_what_may_have_held_data_is_never_given_up(
    cache: dict[str, Any], kind: str, code: str
) -> None:
    lv = lost_volume(**cache)
    loss = loss_of(host(lv), lv)
    assert loss is not None and loss.kind == kind
    assert refused(host(lv), lv, PLAIN) == code


def test_a_volume_that_is_off_cannot_prove_anything() -> None:
    lv = lost_volume()
    off = ours(uuid=lv.uuid, cache=lv.cache, health="partial", active=False, layout=("cache",))
    assert refused(host(off), off, PLAIN) == "degraded"


def test_a_disk_that_also_carried_other_data_is_not_given_up() -> None:
    lv, other = lost_volume(), make.lv("db1", pvs=("sdc", GONE), health="partial")
    loss = loss_of(host(lv, other), lv)
    assert loss is not None
    assert (loss.kind, loss.others) == ("mixed", ("db1",))
    assert refused(host(lv, other), lv, PLAIN) == "degraded"


def test_a_pool_that_tiercel_did_not_make_stays() -> None:
    lv = ours(cache=make.dm_cache("fastpool", pvs=(GONE,)), health="partial", layout=("cache",))
    assert refused(host(lv), lv, PLAIN) == "not_ours"


def test_nothing_but_the_drop_is_done_while_a_disk_is_missing() -> None:
    plain = ours()
    assert refused(host(plain), plain, lvmcache()) in ("degraded", "no_space")
    lv = lost_volume()
    assert refused(host(lv), lv, lvmcache(mode="writeback")) in ("degraded", "not_redundant")


def test_a_cache_that_is_there_is_removed_in_the_ordinary_way() -> None:
    lv = ours(cache=make.dm_cache(POOL), layout=("cache",))
    facts = make.facts(lv)
    assert loss_of(facts, lv) is None
    assert verbs(facts, lv, Wish(lv.size_bytes)) == ["cache.detach", "volume.clear"]
