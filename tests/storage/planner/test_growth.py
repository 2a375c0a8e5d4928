"""Volumes that grow, and volumes that go to the other tier."""

from __future__ import annotations

import dataclasses
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any, Literal

import pytest

from storage.byte_sizes import GIB, MIB
from storage.inventory.facts import HostFacts, LogicalVolume
from storage.inventory.volume_parts import VolumeUser, Work
from storage.naming import GROWN_TAG, MOVING_TAG, room_name
from storage.planner import Refused, plan
from storage.planner.current_wish import tier_of, uncached, wish_now
from storage.planner.wish import Wish
from tests import make
from tests.storage.planner.case import (
    KEY,
    OURS,
    PLAIN,
    POOL_TAGS,
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
from tests.storage.planner.model import finish

LARGER = Wish(9 * GIB)
ON_SSD = Wish(8 * GIB, "ssd")
KNOWN = f"{GROWN_TAG}={8 * GIB}"


def room(**fields: Any) -> LogicalVolume:
    return make.lv(room_name(KEY), **{"tags": ROOM_TAGS, "size_bytes": GIB, **fields})


def test_a_volume_grows_on_the_disk_it_lies_on_and_its_guest_is_informed() -> None:
    lv = ours(users=(VolumeUser("qemu", "web12", "vda", 4711, "raw"),))
    pvs = (make.pv("sdb", free_bytes=99 * GIB), make.pv("sdc"), make.fast_pv())
    facts = make.facts(lv, pvs=pvs)
    extend, tell = steps(facts, lv, Wish(8 * GIB + 1))
    assert extend.verb == "volume.extend" and extend.polled and not extend.holds_vg
    assert extend.args == {
        "vg": "vg0",
        "lv": "web12",
        "from_bytes": 8 * GIB,
        "size_bytes": 8 * GIB + 4 * MIB,
        "pvs": ["sdc"],
        "volume_key": KEY,
    }
    # A guest may keep the step waiting: meanwhile the group is free for others.
    assert tell.verb == "guest.resize" and tell.makes_irrevocable and not tell.holds_vg
    assert tell.args == {
        "vg": "vg0",
        "lv": "web12",
        "from_bytes": 8 * GIB,
        "size_bytes": 8 * GIB + 4 * MIB,
        "guests": ["web12"],
    }
    after, done = finish(facts, aim(lv), LARGER)
    assert done == ["volume.extend", "guest.resize"]
    assert after.public_lvs()[0].size_bytes == 9 * GIB


UUID = "00000000-0000-4000-8000-000000000012"
PATH = "/dev/vg0/web12"
BY_LIBVIRT = {"domains": [{"uuid": UUID, "path": PATH}]}


@pytest.mark.parametrize(
    ("user", "args"),
    [
        (VolumeUser("libvirt", "12", "vda", 7, "raw", UUID, PATH), BY_LIBVIRT),
        (VolumeUser("libvirt", "-c evil", "vda", 7, "raw", UUID, PATH), BY_LIBVIRT),
        (VolumeUser("proxmox", "web12", "scsi0", 7, "raw"), {"guests": ["web12"]}),
        (VolumeUser("libvirt", "web12", "vda", None, "raw", UUID, PATH), {}),
        (VolumeUser("libvirt", "web12", "vda", 7, "raw", UUID, ""), {}),
        (VolumeUser("libvirt", "web12", "vda", 7, "raw", "", PATH), {}),
        (VolumeUser("libvirt", "web12", "vda", 7, "", UUID, PATH), {}),
        (VolumeUser("qemu", "web12", "vda", 7), {}),
        (VolumeUser("qemu", "-c evil", "vda", 7, "raw"), {}),
        (VolumeUser("xen", "web12", "xvda", None), {}),
    ],
)
def test_a_guest_is_informed_in_its_own_way(user: VolumeUser, args: dict[str, Any]) -> None:
    lv = ours(users=(user,), tags=(*OURS, KNOWN))
    (tell,) = steps(make.facts(lv), lv, PLAIN)
    assert {key: tell.args[key] for key in ("guests", "domains") if key in tell.args} == args
    runs = user.pid is not None
    assert ("at its next start" in tell.title) == (runs and not args)


def test_every_guest_of_a_shared_volume_is_informed() -> None:
    users = tuple(
        VolumeUser("libvirt", f"node{n}", "vda", n, "raw", f"{UUID[:-1]}{n}", PATH) for n in (1, 2)
    )
    lv = ours(users=(*users, VolumeUser("qemu", "odd", "vda", 3)), tags=(*OURS, KNOWN))
    (tell,) = steps(make.facts(lv), lv, PLAIN)
    assert [each["uuid"][-1] for each in tell.args["domains"]] == ["1", "2"]
    assert tell.title == (
        "Inform node1 and node2 of the new size; odd sees it at its next start: its image is of an "
        "unknown format"
    )
    # A guest may keep us waiting: other jobs have the group meanwhile.
    assert tell.polled and not tell.holds_vg


@pytest.mark.parametrize("pid", [7, None])
@pytest.mark.parametrize("image", ["qcow2", "luks", "slice"])
def test_a_volume_whose_image_has_a_size_of_its_own_does_not_grow(
    image: str, pid: int | None
) -> None:
    lv = ours(users=(VolumeUser("proxmox", "web12", "scsi0", pid, image),))
    with pytest.raises(Refused, match=image) as caught:
        plan(make.facts(lv), aim(lv), LARGER)
    assert caught.value.code == "unsupported"
    grown = dataclasses.replace(lv, tags=(*OURS, KNOWN))
    (tell,) = steps(make.facts(grown), grown, PLAIN)
    assert "guests" not in tell.args


@pytest.mark.parametrize("tag", [GROWN_TAG, f"{GROWN_TAG}=1", f"{GROWN_TAG}=x"])
def test_no_guest_is_informed_where_the_size_before_is_not_known(tag: str) -> None:
    lv = ours(users=(VolumeUser("qemu", "web12", "vda", 7, "raw"),), tags=(*OURS, tag))
    (tell,) = steps(make.facts(lv), lv, PLAIN)
    assert not {"guests", "from_bytes"} & tell.args.keys()
    assert "the size that it knows is not recorded" in tell.title


def test_what_has_grown_does_not_become_smaller_and_says_so() -> None:
    lv = ours(size_bytes=9 * GIB, tags=(*OURS, GROWN_TAG))
    assert refused(make.facts(lv), lv, PLAIN) == "grown"
    assert verbs(make.facts(lv), lv, Wish(9 * GIB - 1)) == ["guest.resize"]


def test_what_a_broken_extension_left_is_used_or_removed() -> None:
    lv = ours()
    left = room(pvs=("sdd",))
    extend, _ = steps(make.facts(lv, left), lv, LARGER)
    assert extend.args["pvs"] == ["sdd"]
    (tidy,) = steps(make.facts(lv, left), lv, PLAIN)
    assert tidy.args["size_bytes"] == tidy.args["from_bytes"] == 8 * GIB
    assert verbs(make.facts(lv, left), lv, Wish(10 * GIB))[:2] == ["volume.extend"] * 2
    for wish in (PLAIN, LARGER, Wish(10 * GIB)):
        after, _ = finish(make.facts(lv, left), aim(lv), wish)
        assert len(after.lvs) == 1 and after.lvs[0].size_bytes == wish.size_bytes
    stranger = room(tags=(), size_bytes=2 * GIB)
    assert refused(make.facts(lv, stranger), lv, LARGER) == "already_exists"


@pytest.mark.parametrize("mark", ["", "pool"])
@pytest.mark.parametrize("wish", [PLAIN, LARGER, Wish(10 * GIB)])
def test_room_without_its_mark_is_neither_used_nor_removed(wish: Wish, mark: str) -> None:
    """The agent refuses it: that shows before anything is begun."""
    lv, left = ours(), room(tags=make.tags(KEY, made=mark))
    caught = refusal(make.facts(lv, left), lv, wish)
    assert caught.code == "not_ours"
    assert f"lvchange --addtag tiercel.made=room vg0/{left.name}" in caught.correction


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"layout": ("raid", "raid1")}, "unsupported"),
        ({"role": ("public", "origin", "thickorigin")}, "occupied"),
        ({"layout": ("thin", "sparse")}, "unsupported"),
    ],
)
def test_what_lvm_could_not_do_online_is_refused(fields: dict[str, Any], code: str) -> None:
    lv = ours(**fields)
    assert refused(make.facts(lv), lv, LARGER) == code
    assert refused(make.facts(lv), lv, ON_SSD) == code


def test_a_bcache_volume_grows_only_while_its_guest_is_off() -> None:
    lv = ours(bcache=make.bcache(size_bytes=8 * GIB - 4 * MIB))
    assert refused(make.facts(lv), lv, dataclasses.replace(READY, size_bytes=9 * GIB)) == (
        "needs_guest_off"
    )


PROGRAMS = ("lvcreate", "blkdiscard", "cmp", "lvs", "lvremove", "lvextend")


@pytest.mark.parametrize("failing", [*PROGRAMS, ""])
def test_the_printed_way_registers_nothing_after_a_command_that_failed(
    tmp_path: Path, failing: str
) -> None:
    """The lines run in a real shell, with programs that only note that they were run."""
    lv = ours(bcache=make.bcache(size_bytes=8 * GIB - 4 * MIB))
    lines = refusal(make.facts(lv), lv, dataclasses.replace(READY, size_bytes=9 * GIB)).correction
    assert len(lines.splitlines()) > len(PROGRAMS), "a block to copy, not a sentence"
    (tmp_path / "register_quiet").touch()
    stubs = "".join(
        f"{name}() {{ echo {name} >> run; {'false' if name == failing else 'true'}; }}\n"
        for name in PROGRAMS
    )
    here = lines.replace("/sys/fs/bcache/", f"{tmp_path}/").replace("/sys/block/", f"{tmp_path}/")
    (tmp_path / "bcache0" / "bcache").mkdir(parents=True)
    # As the kernel does, the device goes once it has to stop.
    gone = f"while [ -e {tmp_path}/bcache0 ]; do rm -r {tmp_path}/bcache0; sleep 0"
    here = re.sub(r"while \[ -e \S+ \]; do sleep 1", gone, here)
    ended = subprocess.run(["bash", "-c", stubs + here], cwd=tmp_path, check=False)
    registered = (tmp_path / "register_quiet").read_text()
    assert (ended.returncode == 0, bool(registered)) == (not failing, not failing)
    ran = (tmp_path / "run").read_text().split()
    if not failing:
        assert registered == "/dev/vg0/web12\n"
        assert ran == [
            "lvcreate",
            "blkdiscard",
            "cmp",
            "lvs",
            "lvremove",
            "lvextend",
            "cmp",
        ], "what the guest gets is zeroed and compared before it is its own, and once more after"
    else:
        assert ran[-1] == failing


def test_odd_names_in_the_printed_way_are_quoted() -> None:
    lv = ours(name="a;b $c", bcache=make.bcache(device=None, size_bytes=8 * GIB - 4 * MIB))
    said = refusal(make.facts(lv), lv, dataclasses.replace(READY, size_bytes=9 * GIB)).correction
    words = shlex.split(said, comments=True)
    assert {"vg0/a;b $c", "/dev/vg0/a;b $c", "vg0/a;b $c-room", "a;b $c-room"} <= set(words)


def test_a_full_disk_is_refused() -> None:
    lv = ours()
    assert refused(make.facts(lv), lv, Wish(99 * GIB)) == "no_space"
    assert refused(make.facts(lv, pvs=(make.pv(),)), lv, ON_SSD) == "no_space"


def in_group(policy: str, facts: HostFacts) -> HostFacts:
    vgs = tuple(dataclasses.replace(vg, allocation=policy) for vg in facts.vgs)
    return dataclasses.replace(facts, vgs=vgs)


@pytest.mark.parametrize(
    ("of_group", "own", "free_bytes", "why"),
    [
        ("contiguous", "inherit", 99 * GIB, "vgchange --alloc normal vg0"),
        ("contiguous", "normal", 99 * GIB, ""),
        ("normal", "contiguous", 99 * GIB, "lvchange --alloc normal vg0/web12"),
        ("cling", "inherit", 99 * GIB, ""),
        ("cling", "inherit", 0, "vgchange --alloc normal vg0"),
        ("normal", "cling_by_tags", 0, "lvchange --alloc normal vg0/web12"),
        ("normal", "inherit", 0, ""),
        ("", "", 0, ""),
    ],
)
def test_where_root_lets_lvm_grow_nothing_nothing_is_zeroed(
    of_group: str, own: str, free_bytes: int, why: str
) -> None:
    lv = dataclasses.replace(ours(), allocation=own)
    pvs = (make.pv("sdb", free_bytes=99 * GIB), make.pv("sdc", free_bytes=free_bytes))
    facts = in_group(of_group, make.facts(lv, pvs=pvs))
    if not why:
        assert verbs(facts, lv, LARGER)[0] == "volume.extend"
    else:
        refusing = refusal(facts, lv, LARGER)
        assert refusing.code == "unsupported" and why in refusing.correction


def test_a_volume_goes_to_ssd_and_back() -> None:
    lv = ours()
    move, clear = steps(make.facts(lv), lv, ON_SSD)
    assert (clear.verb, clear.polled, clear.args["volume_key"]) == ("volume.clear", True, KEY)
    assert move.verb == "volume.move" and move.polled and not move.makes_irrevocable
    assert (move.args["from_pvs"], move.args["to_pvs"]) == (["sdc"], ["md0"])
    facts, done = finish(make.facts(lv), aim(lv), ON_SSD)
    assert done == ["volume.move", "volume.clear"] and tier_of(facts, facts.lvs[0]) == "ssd"
    back, _ = steps(facts, facts.lvs[0], PLAIN)
    assert (back.args["from_pvs"], back.args["to_pvs"]) == (["md0"], ["sdc"])


def test_a_cache_goes_before_its_volume_goes_to_ssd() -> None:
    lv = ours(cache=make.dm_cache(f"c-{KEY}_cpool"), layout=("cache",))
    assert verbs(make.facts(lv), lv, ON_SSD) == [
        "cache.detach", "volume.move", "volume.clear",
    ]  # fmt: skip
    assert tier_of(make.facts(lv), lv) == "hdd"


@pytest.mark.parametrize("life", ["live", "retired"])
def test_removing_a_cache_adds_no_move_that_was_not_shown(life: Literal["live", "retired"]) -> None:
    """The volume was moved by hand, or its disk was set to count as fast."""
    cache = make.dm_cache(f"c-{KEY}")
    lv = ours(cache=cache, layout=("cache",), segments=(make.segment("md0", size_bytes=8 * GIB),))
    pool = make.pool(f"c-{KEY}_cpool", uuid=cache.pool_uuid, tags=POOL_TAGS)
    facts = make.facts(lv, pool)
    now = wish_now(facts, lv, "plain")
    wish = uncached(facts, lv, now)
    assert (now.tier, wish) == ("hdd", ON_SSD)
    if life == "live":
        after, done = finish(facts, aim(lv), wish)
        assert done == ["cache.detach", "volume.clear"]
        assert tier_of(after, after.lvs[0]) == "ssd"
    else:
        wish = dataclasses.replace(wish, life=life)
        assert verbs(facts, lv, wish) == ["cache.detach", "volume.clear", "volume.retire"]


def test_who_removes_a_bcache_from_a_volume_on_ssd_gets_no_move_either() -> None:
    device = make.lv(f"s-{KEY}", tags=make.tags(KEY, made="cset"), size_bytes=2 * GIB, pvs=("md0",))
    backing = make.bcache(cset_uuid=make.CSET_UUID, state="clean")
    lv = ours(bcache=backing, segments=(make.segment("md0", size_bytes=8 * GIB),))
    facts = make.facts(lv, device, csets=(make.cset(device.uuid, backing_count=1),))
    wish = uncached(facts, lv, wish_now(facts, lv, "bcache"))
    assert finish(facts, aim(lv), wish)[1] == ["bcache.detach", "cset.remove"]


def test_a_volume_partly_on_ssd_stays_where_it_is_unless_ssd_is_wished() -> None:
    lv = ours(segments=(make.segment("sdc"), make.segment("md0", size_bytes=GIB)))
    assert tier_of(make.facts(lv), lv) == "hdd"
    assert verbs(make.facts(lv), lv, PLAIN) == []
    move, _ = steps(make.facts(lv), lv, ON_SSD)
    assert move.args["from_pvs"] == ["sdc"]


def moving(*, ours: bool = True, **fields: Any) -> HostFacts:
    """The volume on its way from sdc to md0, by Tiercel or by hand."""
    tags = (*OURS, MOVING_TAG) if ours else OURS
    lv = make.lv(
        tags=tags,
        segments=(make.segment("sdc", "md0"),),
        work=Work("pvmove", "sdc", 37, ours),
        **fields,
    )
    return make.facts(lv, make.lv("pvmove0", role=("private", "pvmove"), pvs=("sdc", "md0")))


def test_a_move_at_work_goes_on_or_back() -> None:
    facts = moving()
    lv = facts.lvs[0]
    on, _ = steps(facts, lv, ON_SSD)
    assert (on.verb, on.args["from_pvs"], on.args["to_pvs"]) == ("volume.move", ["sdc"], ["md0"])
    (back,) = steps(facts, lv, PLAIN)
    assert (back.verb, back.args["pv"]) == ("move.abort", "sdc")


def test_a_pvmove_by_hand_is_left_alone() -> None:
    facts = moving(ours=False)
    assert verbs(facts, facts.lvs[0], PLAIN) == []
    with pytest.raises(Refused) as caught:
        plan(facts, aim(facts.lvs[0]), ON_SSD)
    assert (caught.value.code, caught.value.message) == (
        "occupied",
        "vg0/web12 is being moved by hand (pvmove /dev/sdc), 37 % done.",
    )


def test_whose_move_it_is_an_older_agent_cannot_say() -> None:
    facts = moving(ours=False)
    lv = dataclasses.replace(facts.lvs[0], work=None)
    facts = dataclasses.replace(facts, lvs=(lv, *facts.lvs[1:]))
    assert verbs(facts, lv, PLAIN) == []
    assert refused(facts, lv, ON_SSD) == "occupied"
    assert refused(facts, lv, LARGER) == "occupied"


def test_a_volume_that_is_moved_by_hand_is_only_tagged() -> None:
    facts = moving(ours=False)
    lv = dataclasses.replace(facts.lvs[0], tags=())
    facts = dataclasses.replace(facts, lvs=(lv, *facts.lvs[1:]))
    assert verbs(facts, lv, PLAIN) == ["volume.tag"]


@pytest.mark.parametrize(
    "wish", [LARGER, lvmcache(), dataclasses.replace(PLAIN, life="retired")], ids=str
)
def test_what_needs_the_place_of_the_volume_waits_for_a_pvmove_by_hand(wish: Wish) -> None:
    facts = moving(ours=False)
    assert refused(facts, facts.lvs[0], wish) == "occupied"


def test_a_move_of_our_own_ends_before_a_cache_comes() -> None:
    facts = moving()
    assert verbs(facts, facts.lvs[0], lvmcache()) == ["pool.create", "move.abort", "cache.attach"]


def test_the_mark_of_a_move_that_has_ended_is_taken_off() -> None:
    lv = ours(tags=(*OURS, MOVING_TAG))
    after, done = finish(make.facts(lv), aim(lv), PLAIN)
    assert done == ["move.abort"] and after.lvs[0].tags == OURS
    after, done = finish(make.facts(lv), aim(lv), ON_SSD)
    assert done == ["volume.move", "volume.clear"] and after.lvs[0].tags == OURS


@pytest.mark.parametrize("kind", ["merge", "convert", "sync"])
def test_lvms_work_by_hand_is_named_and_waited_for(
    kind: Literal["merge", "convert", "sync"],
) -> None:
    lv = ours(work=Work(kind, "", None, False))
    assert refused(make.facts(lv), lv, LARGER) == "occupied"
    assert verbs(make.facts(lv), lv, PLAIN) == []


def test_a_device_with_other_sectors_takes_no_part() -> None:
    lv = ours()
    pvs = (make.pv(), make.fast_pv(logical_sector_bytes=4096))
    assert refused(make.facts(lv, pvs=pvs), lv, ON_SSD) == "unsupported"
