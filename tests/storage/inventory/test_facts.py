from __future__ import annotations

import copy
import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.health.inventory_findings import findings_of
from storage.host_data import BadHostData
from storage.inventory.facts import PARTS, HostFacts, decode, encode, restored
from storage.inventory.orphan import Orphan
from storage.naming import MANAGED_TAG
from storage.planner.draft import Refused, group_of
from tests import make

KEY = "aaaaaaaabbbbbbbb"
HUGE = 10**5000
"""Python does not print a number of more than 4300 digits: an error message must not try."""


def kind(value: object) -> str:
    return type(value).__name__


def full() -> HostFacts:
    """An inventory in which every kind of thing occurs."""
    user = {"kind": "qemu", "name": "web12", "disk": "vdb", "pid": 123}
    array = {
        "name": "md0",
        "dev": "9:0",
        "uuid": "u",
        "level": "raid1",
        "state": "clean",
        "size_bytes": 1,
        "degraded_count": 0,
        "sync_action": "idle",
        "members": [{"name": "sda", "state": "in_sync"}],
    }
    device = make.lv(f"s-{KEY}", tags=make.tags(KEY), pvs=("md0",))
    data = make.inventory(
        make.facts(
            make.lv(cache=make.dm_cache("c-aaaaaaaa")),
            make.lv("web13", bcache=make.bcache(cset_uuid=make.CSET_UUID)),
            device,
            disks=(make.disk(),),
            csets=(make.cset(device.uuid),),
            orphans=(Orphan("vg0-lost", "dm-9", "u", "LVM has no such volume in vg0"),),
        )
    )
    data["arrays"] = [array]
    data["lvs"][0]["users"] = [user]
    data["benchmarks"] = [{"key": KEY, "outcome": "stopped"}]
    return decode(data)


FULL = make.inventory(full())

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
hostile = (
    json_values
    | st.sampled_from([-1, 2**63, HUGE, float("nan"), float("inf")])
    | st.sampled_from(["\0", "\ud800", "x" * 10**5])
    | st.text(st.characters(), max_size=2000)
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) in a JSON document."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def oddity(document: Any) -> str:
    """What is wrong with an inventory, in whichever way that is reported."""
    try:
        (unread,) = decode(document).unread
    except BadHostData as error:
        return str(error)
    return unread.why


def test_decoding_is_the_inverse_of_the_inventory() -> None:
    facts = full()
    assert decode(make.inventory(facts)) == facts


def test_what_is_stored_is_plain_json_of_every_field() -> None:
    assert encode(decode(FULL)) == FULL
    bare = make.facts()
    assert encode(bare) == make.inventory(bare)


def test_what_a_newer_agent_says_more_is_ignored() -> None:
    data = copy.deepcopy(FULL)
    data["new"] = 1
    data["lvs"][0]["new"] = {"a": "\0"}
    assert decode(data) == decode(FULL)


def test_what_an_older_agent_does_not_say_is_none() -> None:
    data = copy.deepcopy(FULL)
    del data["orphans"]
    del data["lvs"][0]["cache"]["lvm_policy"]
    facts = decode(data)
    cache = facts.lvs[0].cache
    assert facts.orphans == () and cache is not None and cache.lvm_policy == ""


@given(hostile)
def test_arbitrary_json_is_no_inventory(data: Any) -> None:
    with pytest.raises(BadHostData):
        decode(data)


@settings(max_examples=4 * settings().max_examples)
@given(st.data())
def test_a_hostile_field_gives_facts_or_bad_facts(data: st.DataObject) -> None:
    document = copy.deepcopy(FULL)
    all_places = list(places(document))
    container, key = all_places[data.draw(st.integers(0, len(all_places) - 1))]
    container[key] = data.draw(hostile)
    try:
        facts = decode(document)
    except BadHostData as error:
        assert str(error)
        return
    text = json.dumps(make.inventory(facts), allow_nan=False, ensure_ascii=False)
    assert "\\u0000" not in text
    text.encode()
    assert decode(make.inventory(facts)) == facts


def test_a_missing_field_is_named() -> None:
    newer = {
        "orphans",
        "backings",
        "benchmarks",
        "lvm_policy",
        "snapshots",
        "work",
        "host_use",
        "scheduler",
        "writecache",
        "allocatable",
        "exported",
        "unusable_bytes",
        "sharing",
        "alone",
        "lock_type",
        "system_id",
        "clustered",
        "partial",
        "metadata_bytes",
        "metadata_free_bytes",
        "clears_freed",
        "lvm_version",
        "format",
        "domain",
        "path",
        "unused_percent",
        "allocation",
        "slot",
        "sync_done_sectors",
        "sync_total_sectors",
        "sync_speed_kib",
        "disk_count",
        "sync_min_sectors",
        "mismatch_sectors",
        "kernel",
        "release",
        "version",
        "signature",
        "boot_id",
        "dirty_known",
        "standing",
        "parts",
        "seen_on",
        "unread",
        "left_out",
        "zeroes_pools",
        "container",
        "guests_volume",
        "heat_observed",
        "counted_for",
        "scratch",
    }
    fields = [
        n for n, (_, key) in enumerate(places(FULL)) if isinstance(key, str) and key not in newer
    ]
    assert len(fields) > 100
    for number in fields:
        document = copy.deepcopy(FULL)
        container, key = list(places(document))[number]
        del container[key]
        assert f"missing required field `{key}`" in oddity(document)


@pytest.mark.parametrize("value", ["1", 1.0, True, None, -1, 2**63, HUGE, [1]], ids=kind)
def test_sizes_are_whole_numbers_that_a_database_can_hold(value: Any) -> None:
    document = copy.deepcopy(FULL)
    document["lvs"][0]["size_bytes"] = value
    assert "lvs[0].size_bytes" in oddity(document)


@pytest.mark.parametrize("value", ["medium", "", None, 1, [], ["fast"], {}, HUGE], ids=kind)
def test_a_tier_is_fast_or_slow(value: Any) -> None:
    document = copy.deepcopy(FULL)
    document["pvs"][0]["tier"] = value
    assert "inventory.pvs[0].tier: " in oddity(document)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("uuid", ""),
        ("uuid", "u" * 39),
        ("vg_uuid", ""),
        ("vg_uuid", "u" * 39),
        ("name", ""),
        ("name", "n" * 128),
        ("vg_name", ""),
        ("vg_name", "n" * 128),
        ("size_bytes", 0),
    ],
)
def test_an_lv_that_no_row_could_hold_is_left_out(field: str, value: Any) -> None:
    document = copy.deepcopy(FULL)
    document["lvs"][0][field] = value
    assert f"inventory.lvs[0].{field}: Expected" in oddity(document)
    assert [lv.name for lv in decode(document).lvs] == [lv["name"] for lv in FULL["lvs"][1:]]


def test_of_two_lvs_with_one_uuid_the_first_is_read() -> None:
    document = copy.deepcopy(FULL)
    document["lvs"][1]["uuid"] = document["lvs"][0]["uuid"]
    assert "has its uuid" in oddity(document)
    assert len(decode(document).lvs) == len(FULL["lvs"]) - 1


def test_a_group_without_an_extent_size_is_left_out() -> None:
    document = copy.deepcopy(FULL)
    document["vgs"][0]["extent_bytes"] = 0
    assert "extent" in oddity(document)
    assert decode(document).vgs == ()


ODD = (None, "", [], {}, -1, 2**63, HUGE, True, 1.5, "dreaming", ["x"], {"x": 1})
"""Values of other types, negative, huge, and words that no table has."""


@pytest.mark.parametrize("part", PARTS)
def test_one_odd_value_costs_the_thing_that_has_it_and_is_reported(part: str) -> None:
    for number, field in ((n, key) for n, each in enumerate(FULL[part]) for key in each):
        for value in (*ODD, "absent"):
            document = copy.deepcopy(FULL)
            if value == "absent":
                del document[part][number][field]
            else:
                document[part][number][field] = value
            facts = decode(document)
            for other in PARTS:
                kept = len(getattr(facts, other)) + sum(u.part == other for u in facts.unread)
                assert kept == len(FULL[other])
                assert other == part or len(getattr(facts, other)) == len(FULL[other])
            codes = [finding.code for finding in findings_of(facts, ())]
            assert codes.count("unread_facts") == len(facts.unread) <= 1
            assert restored(encode(facts)) == facts


def test_nothing_is_changed_in_a_group_of_which_something_cannot_be_read() -> None:
    document = copy.deepcopy(FULL)
    document["lvs"][2]["size_bytes"] = -1
    with pytest.raises(Refused, match="Not everything"):
        group_of(decode(document), make.VG_UUID, "vg0")
    document = copy.deepcopy(FULL)
    document["disks"][0]["size_bytes"] = -1
    assert group_of(decode(document), make.VG_UUID, "vg0").name == "vg0"


def test_text_is_cut_and_made_storable() -> None:
    document = copy.deepcopy(FULL)
    document["disks"][0]["model"] = "a\0\ud800" + "x" * 10**5
    model = decode(document).disks[0].model
    assert model.startswith("a�?x")
    assert len(model) == 512


def test_deep_nesting_in_a_field_is_bad_facts() -> None:
    deep: Any = []
    for _ in range(sys.getrecursionlimit() * 2):
        deep = [deep]
    for field in ("tier", "name", "size_bytes", "healthy"):
        document = copy.deepcopy(FULL)
        document["pvs"][0][field] = deep
        assert field in oddity(document)


def test_what_caches_are_made_of_is_not_public() -> None:
    volume, foreign = make.lv("web12"), make.lv("s-aaaaaaaa")
    registered = make.lv("ssd-cache")
    leftover = make.lv(f"s-{KEY}", tags=make.tags(KEY, made="cset"))
    hidden = make.lv("web13_corig", role=("private", "cache", "origin", "cacheorigin"))
    facts = make.facts(
        volume, foreign, registered, leftover, hidden, csets=(make.cset(registered.uuid),)
    )
    assert facts.public_lvs() == (volume, foreign)
    assert MANAGED_TAG in leftover.tags


def test_a_run_that_ended_is_known_by_its_key() -> None:
    ended = full().benchmark(KEY)
    assert ended is not None and ended.outcome == "stopped"
    assert full().benchmark("ccccccccdddddddd") is None
    older = {key: value for key, value in FULL.items() if key != "benchmarks"}
    assert decode(older).benchmarks == () and not decode(older).unread


@pytest.mark.parametrize("name", ["c-mustermann", "s-mailserver", "x-windowsserver"])
def test_a_customers_volume_with_such_a_name_is_public(name: str) -> None:
    adopted = make.lv(name, tags=make.tags(KEY))
    made = make.lv("web12", tags=make.tags(KEY, made="cset"))
    assert make.facts(adopted, made).public_lvs() == (adopted, made)


def test_a_bcache_guest_sees_less_than_its_lv() -> None:
    assert make.lv(bcache=make.bcache(size_bytes=5)).guest_size_bytes == 5
    assert make.lv(bcache=make.bcache(size_bytes=0)).guest_size_bytes == make.lv().size_bytes


def test_pvs_of_an_lv_are_listed_once() -> None:
    segments = (make.segment("sdc", "sdd"), make.segment("sdd"), make.segment())
    assert make.lv(segments=segments).pvs == ("sdc", "sdd")


def test_things_are_found_by_their_identity() -> None:
    lv = make.lv()
    facts = make.facts(lv, make.lv("other"))
    assert facts.lv(lv.uuid) == facts.lv_named(make.VG_UUID, "web12") == lv
    assert facts.lv_named("other group", "web12") is None
    assert facts.vg("other group") is None
    assert facts.cset(make.CSET_UUID) is None
    assert [pv.name for pv in facts.pvs_of(make.VG_UUID, "fast")] == ["md0"]
    assert facts.pvs_of("other group", "fast") == ()
