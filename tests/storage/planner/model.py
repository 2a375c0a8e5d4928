"""What each verb does to the facts of a host, in a few lines: enough to see that plans end.

`apply` asserts what must hold before a step: nothing that is not ours is changed, and the names
and sizes in the step are those of the facts.
"""

from __future__ import annotations

import dataclasses
import json
import uuid
from collections.abc import Callable
from typing import Any

from storage.agent.wire import protocol
from storage.byte_sizes import MIB
from storage.inventory.facts import HostFacts, LogicalVolume
from storage.naming import (
    FORMAT_TAG,
    GROWN_TAG,
    MANAGED_TAG,
    MOVING_TAG,
    ZEROED_TAG,
    ZEROING_TAG,
    grown_tags,
    held_name,
    room_name,
    tagged_volume_key,
    volume_tag,
)
from storage.planner import PlannedStep, Target, plan
from storage.planner.technologies.lvmcache_plan import is_half_removed
from storage.planner.wish import Wish
from tests import make

LIMIT_STEPS = 12
NO_TAG_NEEDED = {"volume.create", "volume.tag", "pool.create", "cset.create"}


def finish(facts: HostFacts, target: Target, wish: Wish) -> tuple[HostFacts, list[str]]:
    """Run plans, one step each as the runner does, until there is none left."""
    verbs: list[str] = []
    while steps := plan(facts, target, wish):
        assert len(verbs) < LIMIT_STEPS, f"no end: {verbs}"
        check(steps)
        facts = apply(facts, target, steps[0])
        verbs.append(steps[0].verb)
    return facts, verbs


def check(steps: tuple[PlannedStep, ...]) -> None:
    """The agent admits every step of the plan as a dry run."""
    dry_run = [{"verb": s.verb, "args": s.args, "expect": s.expect} for s in steps]
    request = {"v": 1, "id": str(uuid.uuid4()), "dry_run": dry_run}
    protocol.parse(json.dumps(request).encode())


def apply(facts: HostFacts, target: Target, step: PlannedStep) -> HostFacts:
    args, subject = step.args, _subject(facts, step)
    assert step.expect["vg_uuid"] == make.VG_UUID
    if subject is not None:
        assert step.expect.get("lv_uuid") == subject.uuid
        if step.verb != "volume.tag":
            assert MANAGED_TAG in subject.tags
            assert tagged_volume_key(subject.tags) == target.volume_key
    elif step.verb not in NO_TAG_NEEDED:
        raise AssertionError(f"{step.verb} on what is not there")
    return VERBS[step.verb](facts, args, subject)


def _subject(facts: HostFacts, step: PlannedStep) -> LogicalVolume | None:
    own = ("pool",) if step.verb == "pool.remove" else ("lv", "name", "pool")
    name = next((step.args[each] for each in own if each in step.args), None)
    assert isinstance(name, str)
    return facts.lv_named(make.VG_UUID, name)


Args = dict[str, Any]
Subject = LogicalVolume | None


def _with(facts: HostFacts, *new: LogicalVolume, without: Subject = None) -> HostFacts:
    """`facts` with LVs put in the place of those with their uuid, or added, or removed."""
    lvs = {lv.uuid: lv for lv in (*facts.lvs, *new)}
    if without is not None:
        del lvs[without.uuid]
    return dataclasses.replace(facts, lvs=tuple(lvs.values()))


def _change(facts: HostFacts, lv: Subject, **fields: Any) -> HostFacts:
    assert lv is not None
    return _with(facts, dataclasses.replace(lv, **fields))


def _without_tag(lv: LogicalVolume, tag: str) -> tuple[str, ...]:
    return tuple(other for other in lv.tags if other != tag)


def _volume_create(facts: HostFacts, args: Args, lv: Subject) -> HostFacts:
    if lv is not None:
        assert ZEROING_TAG in lv.tags and args["size_bytes"] == lv.size_bytes
        return _change(facts, lv, tags=_without_tag(lv, ZEROING_TAG))
    tags = make.tags(args["volume_key"], unformatted=args["layout"] == "bcache")
    made = make.lv(args["name"], size_bytes=args["size_bytes"], pvs=args["pvs"], tags=tags)
    return _with(facts, made)


def _volume_tag(facts: HostFacts, args: Args, lv: Subject) -> HostFacts:
    assert lv is not None
    tags = dict.fromkeys((*lv.tags, MANAGED_TAG, volume_tag(args["volume_key"])))
    return _change(facts, lv, tags=tuple(tags))


def _pool_create(facts: HostFacts, args: Args, lv: Subject) -> HostFacts:
    assert args["size_bytes"] % (args["chunk_kib"] * 1024) == 0
    assert lv is None or (lv.layout == ("linear",) and args["size_bytes"] == lv.size_bytes)
    tags = make.tags(args["volume_key"], made="pool")
    made = make.pool(args["name"], size_bytes=args["size_bytes"], pvs=args["pvs"], tags=tags)
    return _with(facts, made, without=lv)


LEFT = "tiercel.left=AAAAAA-AAAA-AAAA-AAAA-AAAA-AAAA-AAAAAA/0-9"


def _noted(facts: HostFacts, lv: LogicalVolume) -> tuple[str, ...]:
    """The tags once something of the volume is about to leave, on a host that clears it."""
    (vg,) = facts.vgs
    return tuple(dict.fromkeys((*lv.tags, LEFT))) if vg.clears_freed else lv.tags


def _pool_remove(facts: HostFacts, args: Args, lv: Subject) -> HostFacts:
    facts = _with(facts, without=lv)
    volume = facts.lv_named(make.VG_UUID, args["lv"]) if "lv" in args else None
    return _change(facts, volume, tags=_noted(facts, volume)) if volume is not None else facts


def _volume_clear(facts: HostFacts, args: Args, lv: Subject) -> HostFacts:
    assert lv is not None and lv.work is None
    held = facts.lv_named(make.VG_UUID, held_name(args["volume_key"]))
    facts = _with(facts, without=held) if held is not None else facts
    return _change(facts, lv, tags=_without_tag(lv, LEFT))


def _cache_attach(facts: HostFacts, args: Args, lv: Subject) -> HostFacts:
    pool = facts.lv_named(make.VG_UUID, args["pool"])
    assert lv is not None and pool is not None and lv.cache is None
    assert "pool" in pool.layout and ZEROED_TAG in pool.tags
    assert tagged_volume_key(pool.tags) == tagged_volume_key(lv.tags)
    cache = make.dm_cache(
        args["pool"],
        pool_uuid=pool.uuid,
        mode=args["mode"],
        size_bytes=pool.size_bytes,
        migration_threshold_sectors=max(args["migration_threshold"], 1024),
        pvs=pool.pvs,
        dirty_bytes=200 * MIB if args["mode"] == "writeback" else 0,
    )
    hidden = dataclasses.replace(pool, name=f"{pool.name}_cpool")
    return _with(_change(facts, lv, cache=cache), hidden)


def _cache_set(facts: HostFacts, args: Args, lv: Subject) -> HostFacts:
    assert lv is not None and lv.cache is not None
    fields: dict[str, Any] = {}
    if "mode" in args:
        assert lv.cache.dirty_bytes <= 64 * MIB
        fields["mode"] = args["mode"]
    if "policy" in args:
        # Of a removal that was broken off only a change of mode takes LVM's flag away.
        assert "mode" in args or not is_half_removed(facts, lv.cache)
        fields["policy"] = fields["lvm_policy"] = args["policy"]
    if "migration_threshold" in args:
        fields["migration_threshold_sectors"] = max(args["migration_threshold"], 1024)
    return _change(facts, lv, cache=dataclasses.replace(lv.cache, **fields))


def _cache_flush(facts: HostFacts, args: Args, lv: Subject) -> HostFacts:
    assert lv is not None and lv.cache is not None
    left, cleaner = args["dirty_limit_bytes"], "cleaner"
    cache = dataclasses.replace(lv.cache, policy=cleaner, lvm_policy=cleaner, dirty_bytes=left)
    return _change(facts, lv, cache=cache)


def _cache_detach(facts: HostFacts, args: Args, lv: Subject) -> HostFacts:
    assert lv is not None and lv.cache is not None
    assert lv.cache.dirty_bytes <= args["dirty_limit_bytes"]
    pool, tags = facts.lv(lv.cache.pool_uuid), _noted(facts, lv)
    return _with(_change(facts, lv, cache=None, tags=tags), without=pool)


def _cset_create(facts: HostFacts, args: Args, lv: Subject) -> HostFacts:
    tags = make.tags(args["volume_key"], made="cset")
    made = lv or make.lv(args["name"], size_bytes=args["size_bytes"], pvs=args["pvs"], tags=tags)
    assert made.size_bytes == args["size_bytes"] and made.tags == tags
    cset = make.cset(made.uuid, uuid=args["cset_uuid"], size_bytes=made.size_bytes)
    return dataclasses.replace(_with(facts, made), csets=(*facts.csets, cset))


def _cset_remove(facts: HostFacts, args: Args, lv: Subject) -> HostFacts:
    kept = [cset for cset in facts.csets if cset.uuid != args.get("cset_uuid")]
    gone = [cset for cset in facts.csets if cset.uuid == args.get("cset_uuid")]
    assert lv is not None and lv.uuid not in [cset.lv_uuid for cset in kept]
    assert [cset.lv_uuid for cset in gone] == [lv.uuid] * ("cset_uuid" in args)
    assert not any(cset.backing_count for cset in gone)
    return dataclasses.replace(_with(facts, without=lv), csets=tuple(kept))


def _bcache_format(facts: HostFacts, args: Args, lv: Subject) -> HostFacts:
    assert lv is not None and FORMAT_TAG in lv.tags and ZEROING_TAG not in lv.tags
    backing = lv.bcache or make.bcache(size_bytes=lv.size_bytes - 4 * MIB)
    return _change(facts, lv, bcache=backing, tags=_without_tag(lv, FORMAT_TAG))


def _count(facts: HostFacts, cset_uuid: str, by: int) -> HostFacts:
    csets = tuple(
        dataclasses.replace(cset, backing_count=cset.backing_count + by)
        if cset.uuid == cset_uuid
        else cset
        for cset in facts.csets
    )
    return dataclasses.replace(facts, csets=csets)


def _bcache_attach(facts: HostFacts, args: Args, lv: Subject) -> HostFacts:
    cset = facts.cset(args["cset_uuid"])
    assert lv is not None and lv.bcache is not None and cset is not None
    backing = dataclasses.replace(
        lv.bcache,
        cset_uuid=cset.uuid,
        state="clean",
        cache_mode=args["cache_mode"],
        sequential_cutoff_bytes=args["sequential_cutoff_bytes"],
    )
    return _change(_count(facts, cset.uuid, 1), lv, bcache=backing)


def _bcache_detach(facts: HostFacts, args: Args, lv: Subject) -> HostFacts:
    assert lv is not None and lv.bcache is not None
    assert lv.bcache.cset_uuid == args["cset_uuid"]
    backing = dataclasses.replace(lv.bcache, cset_uuid=None, state="no cache", dirty_bytes=0)
    return _change(_count(facts, args["cset_uuid"], -1), lv, bcache=backing)


def _bcache_flush(facts: HostFacts, args: Args, lv: Subject) -> HostFacts:
    assert lv is not None and lv.bcache is not None and lv.bcache.cset_uuid is not None
    percent, left = args["writeback_percent"], args["dirty_limit_bytes"]
    backing = dataclasses.replace(
        lv.bcache, writeback_percent=percent, dirty_bytes=left, cache_mode="writethrough"
    )
    return _change(facts, lv, bcache=backing)


def _bcache_set(facts: HostFacts, args: Args, lv: Subject) -> HostFacts:
    assert lv is not None and lv.bcache is not None
    fields = {key: value for key, value in args.items() if key not in ("vg", "lv")}
    return _change(facts, lv, bcache=dataclasses.replace(lv.bcache, **fields))


def _volume_extend(facts: HostFacts, args: Args, lv: Subject) -> HostFacts:
    assert lv is not None and args["from_bytes"] == lv.size_bytes
    left = facts.lv_named(make.VG_UUID, room_name(args["volume_key"]))
    more = args["size_bytes"] - lv.size_bytes
    facts = _with(facts, without=left) if left is not None else facts
    if not more:
        return facts
    grown = (*lv.segments, make.segment(*args["pvs"], size_bytes=more))
    return _change(facts, lv, size_bytes=args["size_bytes"], segments=grown, tags=_grown(lv, args))


def _grown(lv: LogicalVolume, args: Args) -> tuple[str, ...]:
    """The tag of the first extension that its guest does not know stays."""
    return lv.tags if grown_tags(lv.tags) else (*lv.tags, _grown_tag(args["from_bytes"]))


def _grown_tag(known_bytes: int | None) -> str:
    return GROWN_TAG if known_bytes is None else f"{GROWN_TAG}={known_bytes}"


def _guest_resize(facts: HostFacts, args: Args, lv: Subject) -> HostFacts:
    assert lv is not None and args["size_bytes"] == lv.size_bytes
    known = args.get("from_bytes")
    return _change(facts, lv, tags=_without_tag(lv, _grown_tag(known)))


def _volume_move(facts: HostFacts, args: Args, lv: Subject) -> HostFacts:
    assert lv is not None and lv.cache is None
    assert set(args["from_pvs"]) <= set(lv.pvs)
    there = (make.segment(*args["to_pvs"], size_bytes=lv.size_bytes),)
    tags = _noted(facts, dataclasses.replace(lv, tags=_without_tag(lv, MOVING_TAG)))
    return _change(facts, lv, segments=there, tags=tags, work=None)


def _move_abort(facts: HostFacts, args: Args, lv: Subject) -> HostFacts:
    assert lv is not None and MOVING_TAG in lv.tags and (lv.work is None or lv.work.ours)
    back = tuple(
        dataclasses.replace(each, pvs=each.pvs[:1]) if len(each.pvs) > 1 else each
        for each in lv.segments
    )
    return _change(facts, lv, segments=back, tags=_without_tag(lv, MOVING_TAG), work=None)


def _volume_count(facts: HostFacts, args: Args, lv: Subject) -> HostFacts:
    assert lv is not None and lv.heat_observed
    return _change(facts, lv, counted_for=args["cache"])


def _cache_warm(facts: HostFacts, args: Args, lv: Subject) -> HostFacts:
    assert lv is not None and lv.counted_for
    return _change(facts, lv, counted_for="")


VERBS: dict[str, Callable[[HostFacts, Args, Subject], HostFacts]] = {
    "volume.create": _volume_create,
    "volume.tag": _volume_tag,
    "volume.extend": _volume_extend,
    "volume.move": _volume_move,
    "move.abort": _move_abort,
    "guest.resize": _guest_resize,
    "pool.create": _pool_create,
    "pool.remove": _pool_remove,
    "volume.clear": _volume_clear,
    "cache.attach": _cache_attach,
    "cache.set": _cache_set,
    "cache.flush": _cache_flush,
    "cache.detach": _cache_detach,
    "cset.create": _cset_create,
    "cset.remove": _cset_remove,
    "bcache.format": _bcache_format,
    "bcache.attach": _bcache_attach,
    "bcache.detach": _bcache_detach,
    "bcache.flush": _bcache_flush,
    "bcache.set": _bcache_set,
    "volume.count": _volume_count,
    "cache.warm": _cache_warm,
}
