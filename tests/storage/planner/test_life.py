from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from storage.inventory.facts import LogicalVolume
from storage.inventory.unread import Unread
from storage.inventory.volume_parts import VolumeUser
from storage.naming import FORMAT_TAG, WIPING_TAG, room_name
from storage.planner import plan
from storage.planner.wish import BadWish, Wish
from tests import make
from tests.storage.planner.case import (
    KEY,
    OURS,
    PLAIN,
    READY,
    ROOM_TAGS,
    aim,
    lvmcache,
    ours,
    refusal,
    refused,
    steps,
    verbs,
)

RETIRED = dataclasses.replace(PLAIN, life="retired")
GONE = dataclasses.replace(PLAIN, life="gone")
DEL = f"del-{KEY}"
MARKS = ("tiercel.name=web12", "tiercel.retired=1790000000")


def marked(name: str = DEL, **fields: Any) -> LogicalVolume:
    tags = (*OURS, *MARKS)
    return make.lv(name, **{"tags": tags, "active": False, "open_count": 0, **fields})


def test_a_volume_is_switched_off_and_renamed() -> None:
    lv = ours()
    (step,) = steps(make.facts(lv), lv, RETIRED)
    assert (step.verb, step.makes_irrevocable) == ("volume.retire", False)
    names = {"vg": "vg0", "lv": "web12", "retired_name": DEL}
    assert step.args == {**names, "volume_key": KEY, "layout": "plain"}
    assert step.expect["lv_uuid"] == lv.uuid


def test_its_cache_goes_first() -> None:
    cached = ours(cache=make.dm_cache(f"c-{KEY}"))
    assert verbs(make.facts(cached), cached, RETIRED) == [
        "cache.detach", "volume.clear", "volume.retire",
    ]  # fmt: skip
    backing = ours(bcache=make.bcache(cset_uuid=make.CSET_UUID, state="clean"))
    off = dataclasses.replace(READY, life="retired")
    detach, retire = steps(make.facts(backing), backing, off)
    assert (detach.verb, retire.verb) == ("bcache.detach", "volume.retire")
    assert retire.args["layout"] == "bcache"


def test_an_adopted_volume_is_tagged_first() -> None:
    lv = make.lv()
    assert verbs(make.facts(lv), lv, RETIRED) == ["volume.tag", "volume.retire"]


def test_what_was_begun_is_finished_and_what_is_done_is_left_alone() -> None:
    begun, done = marked("web12", active=True), marked()
    assert verbs(make.facts(begun), begun, RETIRED) == ["volume.retire"]
    assert verbs(make.facts(done), done, RETIRED) == []


def test_a_volume_that_a_guest_holds_is_not_ended() -> None:
    held = ours(users=(VolumeUser("qemu", "web12", "vda", 42),))
    assert refused(make.facts(held), held, RETIRED) == "in_use"
    off = marked(users=(VolumeUser("proxmox", "101", "scsi0", None),))
    assert refused(make.facts(off), off, GONE) == "in_use"


@pytest.mark.parametrize("name", [DEL, "web12"])
def test_a_volume_comes_back_under_its_own_name(name: str) -> None:
    lv = marked(name)
    (step,) = steps(make.facts(lv), lv, PLAIN)
    assert step.verb == "volume.restore"
    assert (step.args["lv"], step.args["retired_name"]) == ("web12", DEL)
    assert (step.args["retired_at"], step.args["layout"]) == (1790000000, "plain")


def test_only_a_formatted_volume_is_registered_with_bcache_again() -> None:
    lv, unformatted = marked(), marked(tags=(*OURS, *MARKS, FORMAT_TAG))
    (step,) = steps(make.facts(lv), lv, READY)
    assert step.args["layout"] == "bcache"
    (step,) = steps(make.facts(unformatted), unformatted, READY)
    assert step.args["layout"] == "plain"


def test_a_name_that_another_volume_has_now_is_not_given_back() -> None:
    lv = marked()
    assert refused(make.facts(lv, make.lv("web12")), lv, PLAIN) == "already_exists"


def test_only_a_retired_volume_is_destroyed_and_there_is_no_way_back() -> None:
    lv, live = marked(), ours()
    (step,) = steps(make.facts(lv), lv, GONE)
    assert (step.verb, step.makes_irrevocable, step.polled) == ("volume.destroy", True, True)
    assert (step.args["lv"], step.args["lv_uuid"]) == (DEL, lv.uuid)
    assert step.args["size_bytes"] == lv.size_bytes
    assert refused(make.facts(live), live, GONE) == "not_retired"


def test_gone_is_only_what_a_sound_inventory_lacks() -> None:
    lv = marked()
    assert plan(make.facts(), aim(lv), GONE) == ()
    stale = dataclasses.replace(make.facts(), stale=True)
    assert refused(stale, lv, GONE) == "not_found"
    # Its record lost the uuid, but the LV still carries the volume's tag.
    assert refused(make.facts(marked()), None, GONE) == "not_found"


@pytest.mark.parametrize(
    ("fields", "code"),
    [({"left_out": True, "allowed": False}, "unsupported"), ({"allowed": False}, "observe_only")],
)
def test_what_a_group_holds_that_is_left_out_is_not_gone(
    fields: dict[str, bool], code: str
) -> None:
    lv = marked()
    assert refused(make.facts(vgs=(make.vg(**fields),)), lv, GONE) == code


@pytest.mark.parametrize("named", [True, False])
def test_a_volume_that_could_not_be_read_is_not_gone(named: bool) -> None:
    lv, vg = marked(), make.vg()
    unread = Unread("lvs", DEL, vg.uuid if named else "", "size_bytes")
    assert refused(make.facts(vgs=(vg,), unread=(unread,)), lv, GONE) == "unsupported"


def test_a_retired_volume_has_no_cache() -> None:
    cache = lvmcache().cache
    with pytest.raises(BadWish):
        Wish(PLAIN.size_bytes, cache=cache, life="retired")
    with pytest.raises(BadWish):
        Wish(PLAIN.size_bytes, life="dead")  # type: ignore[arg-type]


def test_a_wish_of_before_this_version_is_one_of_a_live_volume() -> None:
    said = PLAIN.to_json()
    del said["life"]
    assert Wish.from_json(said).life == "live"
    assert Wish.from_json(GONE.to_json()) == GONE


def test_new_space_that_a_broken_attempt_left_is_taken_away_first() -> None:
    lv = ours()
    left = make.lv(room_name(KEY), tags=ROOM_TAGS, size_bytes=make.EXTENT_BYTES)
    assert verbs(make.facts(lv, left), lv, RETIRED) == ["volume.extend", "volume.retire"]


def test_there_is_no_way_back_once_the_wipe_has_begun() -> None:
    lv = marked(tags=(*OURS, *MARKS, WIPING_TAG))
    assert refused(make.facts(lv), lv, PLAIN) == "unsupported"
    assert verbs(make.facts(lv), lv, GONE) == ["volume.destroy"]


def test_what_a_guest_made_of_its_plain_volume_is_let_go_of() -> None:
    """make-bcache in the guest, registered by the distribution's rule on the host."""
    backing = ours(bcache=make.bcache(cset_uuid=None, state="no cache"))
    (retire,) = steps(make.facts(backing), backing, RETIRED)
    assert (retire.verb, retire.args["layout"]) == ("volume.retire", "bcache")
    lv = ours()
    cset = make.cset(lv.uuid)
    (retire,) = steps(make.facts(lv, csets=(cset,)), lv, RETIRED)
    assert (retire.verb, retire.args["layout"]) == ("volume.retire", "cset")


def test_it_is_cached_only_once_bcache_has_let_go_and_the_refusal_says_how() -> None:
    lv = ours()
    cset = make.cset(lv.uuid)
    backing = ours(bcache=make.bcache(cset_uuid=None, state="no cache"))
    for facts, each, file in (
        (make.facts(backing), backing, "stop"),
        (make.facts(lv, csets=(cset,)), lv, "set/unregister"),
    ):
        why = refusal(facts, each, lvmcache())
        assert why.code == "unsupported"
        assert f"echo 1 > /sys/block/{each.kname}/bcache/{file}" in why.correction
    assert verbs(make.facts(backing), backing, PLAIN) == []
