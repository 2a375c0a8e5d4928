"""Which disks of a host could take a place in an array, and the one step that puts one there."""

from __future__ import annotations

import pytest

from storage.inventory.facts import Array, ArrayMember, Disk, HostFacts
from storage.planner import Refused
from storage.planner.host_wish import read_host_wish, steps_of
from storage.planner.member_wish import Replacement, disks_for, refusal_of, replace
from storage.planner.ssd_wish import Preparation
from storage.planner.wish import BadWish
from tests import make

WANTED = Replacement("md0", "76600b8d", "sda", "sde", "new", make.VG_UUID, "vg0", "old")
WHOLE = (ArrayMember("sda", "in_sync", "0"), ArrayMember("sdb", "in_sync", "1"))


def ssd(name: str, **fields: object) -> Disk:
    return make.disk(name, **{"rotational": False, "serial": "new", **fields})


def array(*members: ArrayMember, **fields: object) -> Array:
    return make.array(members=members or WHOLE, **fields)


def facts(of: Array, *more: Disk, **fields: object) -> HostFacts:
    disks = (ssd("sda", serial="old"), ssd("sdb", serial="other"), *(more or (ssd("sde"),)))
    return make.facts(
        **{"arrays": (of,), "disks": disks, "pvs": (make.pv(), make.fast_pv("md0")), **fields}
    )


def test_an_unused_disk_that_is_large_and_fast_enough_may_be_taken() -> None:
    of = array()
    assert [disk.name for disk in disks_for(facts(of), of)] == ["sde"]
    small, slow = ssd("sde", size_bytes=99 << 30), ssd("sde", rotational=True)
    other = ssd("sde", logical_sector_bytes=4096)
    for odd in (small, slow, other, ssd("sde", serial=""), ssd("sde", read_only=True)):
        assert disks_for(facts(of, odd), of) == ()


def test_of_an_array_with_parity_a_member_is_a_part_of_it() -> None:
    of = array(level="raid5", disk_count=3, size_bytes=200 << 30)
    assert [disk.name for disk in disks_for(facts(of), of)] == ["sde"]


@pytest.mark.parametrize(
    ("of", "fields", "code"),
    [
        (array(level="raid0"), {}, "unsupported"),
        (array(), {"vgs": (make.vg(allowed=False),)}, "observe_only"),
        (array(), {"pvs": (make.pv(),)}, "observe_only"),
        (array(name="md.backup"), {"pvs": (make.fast_pv("md.backup"),)}, "observe_only"),
        (array(sync_action="check"), {}, "busy"),
        (array(), {"disks": ()}, "not_found"),
        (array(ArrayMember("sda", "in_sync"), ArrayMember("sdb", "in_sync")), {}, "unsupported"),
    ],
)
def test_why_no_disk_can_be_replaced_is_said(
    of: Array, fields: dict[str, object], code: str
) -> None:
    refused = refusal_of(facts(of, **fields), of, allowed=True)
    assert refused is not None and refused.code == code and refused.correction


def test_root_on_the_host_has_the_last_word() -> None:
    of = array()
    assert refusal_of(facts(of), of, allowed=True) is None
    refused = refusal_of(facts(of), of, allowed=False)
    assert refused is not None and "allow-replacement" in refused.correction
    old = refusal_of(facts(of), of, allowed=None)
    assert old is not None and old.code == "unsupported"


def test_the_agent_gets_array_member_and_disk_by_what_they_cannot_share() -> None:
    (step,) = replace(facts(array()), WANTED)
    assert (step.verb, step.expect) == ("array.replace", {"vg_uuid": make.VG_UUID})
    names = {"array": "md0", "uuid": "76600b8d", "device": "sde", "serial": "new"}
    assert step.args == {"vg": "vg0", "member": "sda", "member_serial": "old", **names}
    assert step.polled and not step.holds_vg, "other jobs need not wait for hours"
    failed = array(WHOLE[0], ArrayMember("sdb", "faulty", "none"), degraded_count=1)
    (step,) = replace(facts(failed), Replacement(**{**WANTED.to_json(), "member": ""}))
    assert "member" not in step.args


def test_a_member_whose_name_is_another_disks_by_now_is_not_taken_out() -> None:
    swapped = (ssd("sda", serial="other"), ssd("sdb", serial="old"), ssd("sde"))
    with pytest.raises(Refused, match="another disk") as caught:
        replace(facts(array(), disks=swapped), WANTED)
    assert caught.value.code == "stale"


def test_nothing_is_left_once_it_has_all_data_and_the_old_one_is_out() -> None:
    new, other = ArrayMember("sde", "in_sync", "0"), WHOLE[1]
    assert replace(facts(array(new, other)), WANTED) == ()
    for of in (
        array(new, other, ArrayMember("sda", "faulty", "none")),
        array(ArrayMember("sde", "spare,replacement", "0"), *WHOLE),
    ):
        assert len(replace(facts(of), WANTED)) == 1
    fills = Replacement(**{**WANTED.to_json(), "member": ""})
    assert replace(facts(array(new, other)), fills) == ()
    left = array(new, other, ArrayMember("sda", "faulty", "none"))
    assert len(replace(facts(left), fills)) == 1


@pytest.mark.parametrize(
    ("of", "fields", "code"),
    [
        (array(uuid="another"), {}, "not_found"),
        (array(name="md1"), {}, "not_found"),
        (array(), {"consistent": False}, "inconsistent"),
        (array(), {"vgs": ()}, "not_found"),
        (array(), {"vgs": (make.vg(allowed=False),)}, "observe_only"),
    ],
)
def test_without_the_array_or_an_allowed_group_nothing_is_planned(
    of: Array, fields: dict[str, object], code: str
) -> None:
    with pytest.raises(Refused) as refused:
        replace(facts(of, **fields), WANTED)
    assert refused.value.code == code


def test_a_replacement_says_in_json_what_it_is() -> None:
    assert read_host_wish(WANTED.to_json()) == WANTED
    other = Preparation("sde", "new", make.VG_UUID, "vg0")
    assert read_host_wish(other.to_json()) == other
    assert len(steps_of(facts(array()), WANTED)) == len(steps_of(facts(array()), other)) == 1
    for odd in ({**WANTED.to_json(), "more": ""}, {**WANTED.to_json(), "device": 1}):
        with pytest.raises(BadWish):
            read_host_wish(odd)
