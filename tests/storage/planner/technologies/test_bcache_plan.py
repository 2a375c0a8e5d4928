from __future__ import annotations

from typing import Any

import pytest

from storage.byte_sizes import GIB, MIB
from storage.inventory.facts import BcacheBacking, LogicalVolume
from storage.naming import FORMAT_TAG
from tests import make
from tests.storage.planner.case import (
    DEVICE,
    KEY,
    OTHER,
    OURS,
    READY,
    aim,
    bcached,
    lvmcache,
    ours,
    refused,
    steps,
    verbs,
)
from tests.storage.planner.model import finish

OTHER_CSET = "7b8d2f5f-1b57-4c0e-8a53-90e54ab1c002"
MADE = make.tags(KEY, made="cset")
WRITEBACK = bcached(cache_mode="writeback")


def device(name: str = DEVICE, **fields: Any) -> LogicalVolume:
    return make.lv(name, **{"tags": MADE, "size_bytes": 2 * GIB, "pvs": ("md0",), **fields})


def formatted(**fields: Any) -> LogicalVolume:
    return ours(bcache=make.bcache(**fields))


def attached(**fields: Any) -> LogicalVolume:
    return formatted(**{"cset_uuid": make.CSET_UUID, "state": "clean", **fields})


def test_a_bcache_volume_is_made_cached_and_freed_again() -> None:
    facts, done = finish(make.facts(), aim(None), WRITEBACK)
    assert done == ["volume.create", "bcache.format", "cset.create", "bcache.attach"]
    _, undone = finish(facts, aim(None), READY)
    assert undone == ["bcache.detach", "cset.remove"]


@pytest.mark.parametrize(("percent", "afterwards"), [(20, 20), (0, 10)])
def test_what_is_dirty_is_written_back_before_a_detach_that_cannot_be_cancelled(
    percent: int, afterwards: int
) -> None:
    dirty = {"cache_mode": "writeback", "dirty_bytes": 4096, "writeback_percent": percent}
    lv, made = attached(**dirty), device()
    facts = make.facts(lv, made, csets=(make.cset(made.uuid, backing_count=1),))
    flush, detach, _ = steps(facts, lv, READY)
    assert (flush.verb, flush.polled, detach.verb) == ("bcache.flush", True, "bcache.detach")
    assert (flush.args["dirty_limit_bytes"], flush.args["writeback_percent"]) == (0, afterwards)
    _, done = finish(facts, aim(lv), READY)
    assert done == ["bcache.flush", "bcache.detach", "cset.remove"]


def test_only_what_was_born_for_bcache_is_formatted() -> None:
    fresh, used = ours(tags=(*OURS, FORMAT_TAG)), ours()
    assert verbs(make.facts(fresh), fresh, READY) == ["bcache.format"]
    assert refused(make.facts(used), used, READY) == "not_fresh"
    assert refused(make.facts(used), used, bcached()) == "not_fresh"


def test_a_volume_whose_ssd_died_under_bcache_is_not_called_another_kind() -> None:
    """Its cache device is still there by name, on a disk that is missing."""
    stopped, lost = ours(), device(pvs=("[unknown]",))
    for wish in (READY, bcached()):
        assert refused(make.facts(stopped, lost), stopped, wish) == "degraded"


def test_a_format_that_left_its_tag_is_finished() -> None:
    lv = ours(tags=(*OURS, FORMAT_TAG), bcache=make.bcache())
    assert verbs(make.facts(lv), lv, READY) == ["bcache.format"]


def test_a_cache_set_is_made_on_ssd_and_attached() -> None:
    lv = formatted()
    create, attach = steps(make.facts(lv), lv, WRITEBACK)
    assert create.args["pvs"] == ["md0"] and create.args["cset_uuid"] == make.CSET_UUID
    assert attach.args == {
        "vg": "vg0",
        "lv": "web12",
        "cset_uuid": make.CSET_UUID,
        "cache_mode": "writeback",
        "sequential_cutoff_bytes": 0,
    }


@pytest.mark.parametrize(
    ("pvs", "code"),
    [
        ((make.pv(),), "no_fast_disk"),
        ((make.pv(), make.fast_pv(free_bytes=2 * GIB - 1)), "no_space"),
        ((make.pv(), make.fast_pv(logical_sector_bytes=4096)), "unsupported"),
    ],
)
def test_an_unsuitable_ssd_is_refused(pvs: Any, code: str) -> None:
    lv = formatted()
    assert refused(make.facts(lv, pvs=pvs), lv, bcached()) == code
    assert refused(make.facts(pvs=pvs), None, bcached()) == code


def test_a_half_made_cache_device_is_finished_where_it_lies() -> None:
    lv, half = formatted(), device(pvs=("sdb",), size_bytes=3 * GIB)
    pvs = (make.pv(), make.fast_pv(free_bytes=0), make.fast_pv("sdb", redundant=False))
    facts = make.facts(lv, half, pvs=pvs)
    create, attach = steps(facts, lv, bcached())
    assert (create.verb, attach.verb) == ("cset.create", "bcache.attach")
    assert create.args["size_bytes"] == 3 * GIB and create.args["pvs"] == ["sdb"]
    assert create.expect["lv_uuid"] == half.uuid
    assert refused(facts, lv, WRITEBACK) == "not_redundant"


def test_a_cache_set_from_a_broken_attempt_is_used() -> None:
    lv, made = formatted(), device()
    facts = make.facts(lv, made, csets=(make.cset(made.uuid),))
    assert verbs(facts, lv, WRITEBACK) == ["bcache.attach"]


@pytest.mark.parametrize(
    "taken",
    [
        device(tags=()),
        device(tags=make.tags(OTHER)),
        device(role=("private",)),
        device(size_bytes=GIB),
    ],
)
def test_what_has_the_devices_name_but_is_not_this_cache_is_left_alone(
    taken: LogicalVolume,
) -> None:
    lv = formatted()
    assert refused(make.facts(lv, taken), lv, bcached()) == "already_exists"


def test_a_cache_set_on_another_device_is_not_shared() -> None:
    lv, other = formatted(), device(f"s-{OTHER}", tags=make.tags(OTHER))
    for on in (other.uuid, None):
        facts = make.facts(lv, other, csets=(make.cset(on),))
        assert refused(facts, lv, bcached()) == "already_exists"


@pytest.mark.parametrize("name", ["ssd", "", "c-aaaaaaaa"])
def test_a_cache_gets_no_name_of_a_persons_choice(name: str) -> None:
    lv = formatted()
    assert refused(make.facts(lv), lv, bcached(name=name)) == "bad_request"


@pytest.mark.parametrize("name", [DEVICE, "", f"s-{OTHER}"])
def test_the_cache_set_in_use_is_never_removed_while_it_is_wished(name: str) -> None:
    lv, made = attached(), device()
    facts = make.facts(lv, made, csets=(make.cset(made.uuid, backing_count=1),))
    assert verbs(facts, lv, bcached(name=name)) == []


def test_mode_and_cutoff_are_set_on_an_attached_cache() -> None:
    lv, made = attached(), device()
    facts = make.facts(lv, made, csets=(make.cset(made.uuid, backing_count=1),))
    wish = bcached(cache_mode="writeback", sequential_cutoff_bytes=4 * MIB)
    (step,) = steps(facts, lv, wish)
    assert step.verb == "bcache.set"
    assert {
        "cache_mode": "writeback",
        "sequential_cutoff_bytes": 4 * MIB,
    }.items() <= step.args.items()
    assert step.title == (
        "Set the cache's mode to writeback and its sequential cutoff to 4194304 bytes"
    )


@pytest.mark.parametrize("below", [(), ("sdb",), ("md0", "sdb"), ("[unknown]",)])
def test_writeback_asks_about_the_ssds_below_this_very_cache(below: tuple[str, ...]) -> None:
    pvs = (make.pv(), make.fast_pv(), make.fast_pv("sdb", redundant=False))
    made = device(pvs=below)
    csets = (make.cset(made.uuid),)
    for lv in (attached(), formatted()):
        facts = make.facts(lv, made, pvs=pvs, csets=csets)
        assert refused(facts, lv, WRITEBACK) == "not_redundant"


def test_a_device_that_was_made_on_a_disk_that_is_gone_is_not_gone_on_with() -> None:
    lv, made = formatted(), device(pvs=("[unknown]",))
    assert refused(make.facts(lv, made), lv, bcached()) == "degraded"


def test_writeback_on_a_cache_set_outside_lvm_is_refused() -> None:
    lv = attached()
    assert refused(make.facts(lv, csets=(make.cset(None),)), lv, WRITEBACK) == "not_redundant"


def test_the_same_cache_set_does_not_grow() -> None:
    lv, made = attached(), device()
    facts = make.facts(lv, made, csets=(make.cset(made.uuid, backing_count=1),))
    assert refused(facts, lv, bcached(size_bytes=3 * GIB)) == "unsupported"


def test_a_leftover_cache_set_goes_and_its_room_counts() -> None:
    lv, left = formatted(), device(f"s-{OTHER}")
    pvs = (make.pv(), make.fast_pv(free_bytes=0))
    facts = make.facts(lv, left, pvs=pvs, csets=(make.cset(left.uuid, uuid=OTHER_CSET),))
    assert verbs(facts, lv, bcached()) == ["cset.remove", "cset.create", "bcache.attach"]
    (step,) = steps(facts, lv, READY)
    assert (step.verb, step.args["name"]) == ("cset.remove", f"s-{OTHER}")
    assert step.expect["lv_uuid"] == left.uuid


def test_a_leftover_that_another_volume_uses_stays() -> None:
    lv, left = formatted(), device()
    facts = make.facts(lv, left, csets=(make.cset(left.uuid, backing_count=1),))
    assert refused(facts, lv, READY) == "in_use"
    both, made = attached(), device()
    shared = make.facts(both, made, csets=(make.cset(made.uuid, backing_count=2),))
    assert refused(shared, both, READY) == "in_use"


def test_other_peoples_cache_sets_stay() -> None:
    lv, foreign = formatted(), device(f"s-{OTHER}", tags=make.tags(OTHER))
    named = device("ssd-cache")
    csets = (make.cset(foreign.uuid), make.cset(named.uuid, uuid=OTHER_CSET))
    assert verbs(make.facts(lv, foreign, named, csets=csets), lv, READY) == []


@pytest.mark.parametrize(
    "backing",
    [
        make.bcache(state="inconsistent"),
        make.bcache(state="inconsistent", cset_uuid=make.CSET_UUID),
        make.bcache(state="dirty", device=None),
        make.bcache(state="clean", device=None, cset_uuid=make.CSET_UUID),
    ],
)
def test_a_volume_that_lost_its_cache_set_is_left_alone(backing: BcacheBacking) -> None:
    lv = ours(bcache=backing)
    for wish in (READY, bcached()):
        assert refused(make.facts(lv), lv, wish) == "degraded"


def test_a_plain_wish_on_a_bcache_volume_is_refused() -> None:
    lv = formatted()
    assert refused(make.facts(lv), lv, lvmcache()) == "unsupported"


def test_an_unregistered_cache_device_that_a_broken_removal_left_is_removed() -> None:
    """The agent was killed after it had unregistered the old set, which has no name any more."""
    lv, made, left = attached(), device(), device(f"s-{OTHER}")
    facts = make.facts(lv, made, left, csets=(make.cset(made.uuid, backing_count=1),))
    (step,) = steps(facts, lv, bcached())
    assert step.verb == "cset.remove"
    assert step.args == {"vg": "vg0", "name": f"s-{OTHER}"}
    assert step.expect["lv_uuid"] == left.uuid
    after, done = finish(facts, aim(lv), bcached())
    assert done == ["cset.remove"]
    assert {each.name for each in after.lvs} == {"web12", DEVICE}


def test_an_unregistered_cache_device_goes_where_no_cache_is_wished() -> None:
    lv, left = formatted(), device()
    (step,) = steps(make.facts(lv, left), lv, READY)
    assert (step.verb, "cset_uuid" in step.args) == ("cset.remove", False)


@pytest.mark.parametrize("wish", [READY, bcached(name=f"s-{OTHER}", cset_uuid=OTHER_CSET)])
def test_a_cache_is_not_begun_to_be_removed_where_its_device_lacks_the_mark(wish: Any) -> None:
    """The agent refuses to remove it: that shows before the cache is flushed and detached."""
    lv, old = attached(), device(tags=OURS)
    facts = make.facts(lv, old, csets=(make.cset(old.uuid, backing_count=1),))
    assert refused(facts, lv, wish) == "not_ours"


def test_an_unregistered_leftover_makes_room_and_the_wished_device_is_finished() -> None:
    lv, half, left = formatted(), device(), device(f"s-{OTHER}")
    found = steps(make.facts(lv, half, left), lv, bcached())
    assert [step.verb for step in found] == ["cset.remove", "cset.create", "bcache.attach"]
    assert (found[0].args["name"], found[1].args["name"]) == (f"s-{OTHER}", DEVICE)


def test_a_replacement_never_removes_the_new_device_before_its_set_is_registered() -> None:
    lv, old, half = attached(), device(), device(f"s-{OTHER}")
    facts = make.facts(lv, old, half, csets=(make.cset(old.uuid, backing_count=1),))
    wish = bcached(name=f"s-{OTHER}", cset_uuid=OTHER_CSET)
    found = steps(facts, lv, wish)
    assert [step.verb for step in found] == [
        "cset.create", "bcache.detach", "bcache.attach", "cset.remove",
    ]  # fmt: skip
    assert found[3].args["name"] == DEVICE
