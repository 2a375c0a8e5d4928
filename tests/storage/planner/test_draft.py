from __future__ import annotations

import pytest

from storage.inventory.facts import VolumeGroup
from storage.planner.draft import begin_draft
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
    refused,
    steps,
    verbs,
)


def test_contradicting_reports_are_not_planned_on() -> None:
    lv = ours()
    assert refused(make.facts(lv, consistent=False), lv, PLAIN) == "inconsistent"


def test_a_group_or_volume_that_is_gone_is_named() -> None:
    lv = ours()
    assert refused(make.facts(lv, vgs=()), lv, PLAIN) == "not_found"
    assert refused(make.facts(), lv, PLAIN) == "not_found"


def test_a_volume_that_moved_to_another_group_is_stale() -> None:
    lv = ours(vg_uuid="another", vg_name="vg1")
    assert refused(make.facts(lv), lv, PLAIN) == "stale"


@pytest.mark.parametrize("role", [("private", "raid", "image"), ("private", "cache", "pool"), ()])
def test_a_part_of_another_volume_is_left_alone(role: tuple[str, ...]) -> None:
    lv = ours(role=role)
    assert refused(make.facts(lv), lv, lvmcache()) == "unsupported"


@pytest.mark.parametrize("tags", [(), ("tiercel",), make.tags(OTHER), OURS + make.tags(OTHER)])
def test_a_name_that_is_taken_is_not_taken_over(tags: tuple[str, ...]) -> None:
    facts = make.facts(make.lv(f"v-{KEY}", tags=tags))
    assert refused(facts, None, PLAIN) == "already_exists"


@pytest.mark.parametrize(
    ("vg", "code"),
    [(make.vg(allowed=False), "observe_only"), (make.vg(missing_pv_count=1), "degraded")],
)
def test_a_closed_or_broken_group_gets_no_step(vg: VolumeGroup, code: str) -> None:
    lv = make.lv()
    assert refused(make.facts(lv, vgs=(vg,)), lv, PLAIN) == code
    done = ours()
    assert verbs(make.facts(done, vgs=(vg,)), done, PLAIN) == []


def test_a_physical_volume_seen_twice_stops_every_change() -> None:
    lv = ours()
    pvs = (make.pv(), make.fast_pv(), make.pv("sdz", duplicate=True))
    assert refused(make.facts(lv, pvs=pvs), lv, lvmcache()) == "degraded"


@pytest.mark.parametrize("fault", [{"suspended": True}, {"health": "partial"}])
def test_a_sick_volume_gets_no_step(fault: dict[str, str | bool]) -> None:
    lv = ours(**fault)
    assert refused(make.facts(lv), lv, lvmcache()) == "degraded"
    assert verbs(make.facts(lv), lv, PLAIN) == []


def test_commands_use_the_names_that_the_host_says_now() -> None:
    lv = ours(name="renamed", vg_name="moved")
    facts = make.facts(lv, vgs=(make.vg(name="moved"),))
    attach = steps(facts, lv, lvmcache())[-1]
    assert (attach.args["vg"], attach.args["lv"]) == ("moved", "renamed")
    assert attach.expect == {
        "vg_uuid": make.VG_UUID,
        "lv_uuid": lv.uuid,
        "size_bytes": lv.size_bytes,
    }


def test_ours_are_the_lvs_with_this_volumes_tag_in_this_group() -> None:
    lv, pool = ours(), make.pool(POOL, tags=POOL_TAGS)
    others = (
        make.pool(f"c-{OTHER}", tags=make.tags(OTHER)),
        make.pool("pool0"),
        make.pool("c-elsewhere", tags=POOL_TAGS, vg_uuid="another"),
        make.pool("half-tagged", tags=OURS[1:]),
    )
    assert begin_draft(make.facts(lv, pool, *others), aim(lv), PLAIN).ours() == (pool,)
