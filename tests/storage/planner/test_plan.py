"""Whatever a host says and whatever is wished: a plan is refused, or it ends in `()`."""

from __future__ import annotations

import dataclasses
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from storage.byte_sizes import GIB, MIB
from storage.inventory.facts import HostFacts, LogicalVolume, decode
from storage.naming import FORMAT_TAG, MANAGED_TAG, ZEROING_TAG, volume_tag
from storage.planner import Refused, Target, plan
from storage.planner.wish import Bcache, LvmCache, Wish
from tests import make
from tests.storage.planner import model

KEY, OTHER = "aaaaaaaabbbbbbbb", "ccccccccdddddddd"
POOL, DEVICE = f"c-{KEY}", f"s-{KEY}"
OTHER_CSET = "7b8d2f5f-1b57-4c0e-8a53-90e54ab1c002"

some = st.sampled_from
threshold = some([0, 2048, 16384])

lvm_caches = st.builds(
    lambda name, size, mode, sectors: LvmCache(name, size[0], mode, size[1], sectors),
    some([POOL, f"c-{OTHER}"]),
    some([(GIB, 64), (2 * GIB + 5, 96), (GIB, 8192), (200 * GIB, 256)]),
    some(["writethrough", "writeback"]),
    threshold,
)


def _sized(draw: st.DrawFn) -> Wish:
    size_bytes = draw(some([8 * GIB - 4 * MIB, 8 * GIB, 9 * GIB]))
    kind = draw(some(["plain", "lvmcache", "bcache-ready", "bcache"]))
    if kind == "plain":
        return Wish(size_bytes, draw(some(["hdd", "ssd"])))
    if kind == "bcache-ready":
        return Wish(size_bytes, "hdd", "bcache")
    if kind == "bcache":
        return Wish(size_bytes, "hdd", "bcache", draw(bcaches))
    return Wish(size_bytes, "hdd", "plain", draw(lvm_caches))


bcaches = st.builds(
    Bcache,
    some([DEVICE, f"s-{OTHER}", ""]),
    some([make.CSET_UUID, OTHER_CSET]),
    some([GIB, 2 * GIB]),
    some(["writethrough", "writeback", "writearound"]),
    some([0, 4 * MIB]),
)
wishes = st.composite(_sized)()
tag_sets = st.lists(
    some([MANAGED_TAG, volume_tag(KEY), volume_tag(OTHER), ZEROING_TAG, FORMAT_TAG, "backup"]),
    unique=True,
).map(tuple) | st.just(make.tags(KEY))
pv_lists = some([("md0",), ("sdb",), ("md0", "sdb"), ("[unknown]",)])
dm_caches = st.builds(
    make.dm_cache,
    some([POOL, f"{POOL}_cpool", "fastpool", f"c-{OTHER}"]),
    mode=some(["writethrough", "writeback", "passthrough"]),
    policy=some(["smq", "cleaner"]),
    lvm_policy=some(["smq", "cleaner", ""]),
    dirty_bytes=some([0, 64 * MIB, 3 * GIB]),
    needs_check=some([False, False, True]),
    failed=some([False, False, True]),
    migration_threshold_sectors=threshold,
    pvs=pv_lists,
)
backings = st.builds(
    make.bcache,
    device=some(["bcache0", "bcache0", None]),
    cset_uuid=some([None, make.CSET_UUID, OTHER_CSET]),
    state=some(["no cache", "clean", "dirty", "inconsistent"]),
    cache_mode=some(["writethrough", "writeback", "none"]),
)
volumes = st.builds(
    make.lv,
    some(["web12", f"v-{KEY}"]),
    tags=tag_sets,
    cache=st.none() | dm_caches,
    bcache=st.none() | backings,
    suspended=some([False, False, True]),
    health=some(["", "", "partial"]),
    role=some([("public",), ("public",), ("private",)]),
    layout=some([("linear",), ("raid", "raid1"), ("thin", "sparse")]),
)
beside = st.lists(
    st.one_of(
        st.builds(make.pool, some([POOL, f"c-{OTHER}", "pool0"]), tags=tag_sets, pvs=pv_lists),
        st.builds(make.lv, some([POOL, DEVICE, f"s-{OTHER}"]), tags=tag_sets, pvs=pv_lists),
    ),
    max_size=3,
    unique_by=lambda lv: lv.name,
)


def _inventory(draw: st.DrawFn) -> tuple[HostFacts, Target]:
    volume = draw(st.none() | volumes)
    others: list[LogicalVolume] = draw(beside)
    csets = [
        make.cset(lv.uuid, uuid=uuid, backing_count=draw(some([0, 0, 1])))
        for lv, uuid in zip(others, [make.CSET_UUID, OTHER_CSET], strict=False)
        if draw(st.booleans())
    ]
    if draw(st.booleans()):
        csets.append(make.cset(None, uuid="8c9e3a6a-1b57-4c0e-8a53-90e54ab1c003"))
    free = some([0, 64 * MIB, 40 * GIB])
    flags: dict[str, Any] = {"healthy": some([True, True, False])}
    pvs = [
        draw(st.builds(make.pv, st.just("sdc"), free_bytes=free)),
        draw(st.builds(make.fast_pv, st.just("md0"), free_bytes=free, **flags)),
        draw(
            st.builds(
                make.fast_pv,
                st.just("sdb"),
                redundant=st.just(False),
                free_bytes=free,
                duplicate=some([False, False, True]),
                logical_sector_bytes=some([512, 4096]),
            )
        ),
    ]
    vg = draw(
        st.builds(make.vg, allowed=some([True, True, False]), missing_pv_count=some([0, 0, 1]))
    )
    facts = make.facts(
        *([volume] if volume else []),
        *others,
        pvs=tuple(draw(st.permutations(pvs))),
        vgs=(vg,),
        csets=tuple(csets),
        consistent=draw(some([True, True, True, False])),
    )
    target = Target(KEY, make.VG_UUID, "vg0", volume.name if volume else f"v-{KEY}", None)
    if volume and draw(st.booleans()):
        target = dataclasses.replace(target, lv_uuid=volume.uuid)
    return facts, target


inventories = st.composite(_inventory)()


@settings(max_examples=3 * settings().max_examples)
@given(inventories, wishes)
def test_a_plan_is_refused_or_ends_and_touches_nothing_that_is_not_ours(
    case: tuple[HostFacts, Target], wish: Wish
) -> None:
    facts, target = case
    assert decode(make.inventory(facts)) == facts
    foreign = {lv.uuid: lv for lv in facts.lvs if volume_tag(KEY) not in lv.tags}
    foreign.pop(target.lv_uuid or "", None)
    try:
        ended, _ = model.finish(facts, target, wish)
    except Refused as refusal:
        assert refusal.code and refusal.message and refusal.correction
        return
    for uuid, lv in foreign.items():
        assert ended.lv(uuid) == lv
    assert plan(ended, target, wish) == ()


@given(inventories, wishes)
def test_what_a_host_must_not_change_gets_no_step(
    case: tuple[HostFacts, Target], wish: Wish
) -> None:
    facts, target = case
    for vg in (make.vg(allowed=False), make.vg(missing_pv_count=1)):
        closed = dataclasses.replace(facts, vgs=(vg,))
        try:
            assert plan(closed, target, wish) == ()
        except Refused as refusal:
            assert refusal.correction
