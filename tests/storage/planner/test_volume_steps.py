from __future__ import annotations

import pytest

from storage.byte_sizes import GIB, MIB
from storage.inventory.facts import PhysicalVolume
from storage.naming import FORMAT_TAG, MANAGED_TAG, ZEROING_TAG
from storage.planner.wish import Wish
from tests import make
from tests.storage.planner.case import (
    KEY,
    OTHER,
    OURS,
    PLAIN,
    READY,
    aim,
    lvmcache,
    ours,
    refused,
    steps,
    verbs,
)
from tests.storage.planner.model import finish


def test_a_new_volume_is_created_on_slow_disk_and_zeroed() -> None:
    (step,) = steps(make.facts(), None, PLAIN)
    assert step.verb == "volume.create" and step.polled
    assert step.args == {
        "vg": "vg0",
        "name": f"v-{KEY}",
        "size_bytes": 8 * GIB,
        "pvs": ["sdc"],
        "volume_key": KEY,
        "layout": "plain",
    }
    assert step.expect == {"vg_uuid": make.VG_UUID}


def test_a_volume_for_ssd_lies_on_ssd() -> None:
    assert steps(make.facts(), None, Wish(8 * GIB, "ssd"))[0].args["pvs"] == ["md0"]


def test_a_bcache_ready_volume_is_created_larger_and_formatted() -> None:
    create, form = steps(make.facts(), None, READY)
    assert (create.verb, form.verb) == ("volume.create", "bcache.format")
    assert create.args["size_bytes"] == 8 * GIB + 4 * MIB
    facts, done = finish(make.facts(), aim(None), READY)
    assert done == ["volume.create", "bcache.format"]
    assert facts.public_lvs()[0].guest_size_bytes == 8 * GIB


def test_odd_sizes_are_rounded_up_to_extents() -> None:
    assert steps(make.facts(), None, Wish(GIB + 1))[0].args["size_bytes"] == GIB + 4 * MIB


def test_zeroing_that_was_interrupted_goes_on_where_the_volume_lies() -> None:
    tags = make.tags(KEY, zeroing=True, unformatted=True)
    lv = make.lv(f"v-{KEY}", tags=tags, size_bytes=9 * GIB, pvs=("sdd",))
    for known in (None, lv):
        create, form = steps(make.facts(lv), known, READY)
        assert (create.verb, form.verb) == ("volume.create", "bcache.format")
        assert create.args["size_bytes"] == 9 * GIB and create.args["pvs"] == ["sdd"]
        assert create.expect["lv_uuid"] == lv.uuid


@pytest.mark.parametrize(
    "tags", [(), (MANAGED_TAG,), make.tags(OTHER), make.tags(OTHER) + OURS, OURS[1:]]
)
def test_a_zeroing_tag_alone_never_zeroes_a_volume(tags: tuple[str, ...]) -> None:
    lv = make.lv(f"v-{KEY}", tags=(*tags, ZEROING_TAG))
    assert refused(make.facts(lv), lv, PLAIN) == "not_ours"


def test_an_unfinished_volume_under_another_name_is_not_zeroed() -> None:
    lv = make.lv("web12", tags=make.tags(KEY, zeroing=True))
    assert refused(make.facts(lv), lv, PLAIN) == "not_ours"


@pytest.mark.parametrize("tags", [(), (MANAGED_TAG,), OURS[1:], ("backup",)])
def test_a_found_volume_is_tagged_first(tags: tuple[str, ...]) -> None:
    lv = make.lv(tags=tags)
    (step,) = steps(make.facts(lv), lv, PLAIN)
    assert step.verb == "volume.tag"
    assert step.expect == {
        "vg_uuid": make.VG_UUID,
        "lv_uuid": lv.uuid,
        "lv_name": "web12",
        "size_bytes": 8 * GIB,
    }
    assert verbs(make.facts(lv), lv, lvmcache()) == ["volume.tag", "pool.create", "cache.attach"]


@pytest.mark.parametrize("tags", [make.tags(OTHER), OURS + make.tags(OTHER)])
def test_another_records_volume_is_not_taken_over(tags: tuple[str, ...]) -> None:
    lv = make.lv(tags=tags)
    assert refused(make.facts(lv), lv, PLAIN) == "not_ours"


def test_a_volume_as_wished_needs_nothing() -> None:
    lv = ours()
    assert verbs(make.facts(lv), lv, PLAIN) == []
    assert verbs(make.facts(lv), lv, Wish(GIB)) == []


def test_a_volume_waiting_for_its_format_is_not_a_plain_one() -> None:
    lv = ours(tags=(*OURS, FORMAT_TAG))
    assert refused(make.facts(lv), lv, PLAIN) == "unsupported"


@pytest.mark.parametrize(
    "pvs",
    [
        (make.fast_pv(),),
        (make.pv(free_bytes=8 * GIB - 1),),
        (make.pv(missing=True), make.fast_pv()),
        (make.pv(vg_uuid="another"),),
        (),
    ],
)
def test_a_full_group_is_refused(pvs: tuple[PhysicalVolume, ...]) -> None:
    assert refused(make.facts(pvs=pvs), None, PLAIN) == "no_space"
