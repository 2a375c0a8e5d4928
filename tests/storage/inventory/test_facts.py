from __future__ import annotations

import copy
import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.host_data import BadHostData
from storage.inventory.facts import HostFacts, Orphan, decode, encode
from storage.naming import MANAGED_TAG
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
        "lvm_policy",
        "snapshots",
        "work",
        "host_use",
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
    }
    fields = [
        n for n, (_, key) in enumerate(places(FULL)) if isinstance(key, str) and key not in newer
    ]
    assert len(fields) > 100
    for number in fields:
        document = copy.deepcopy(FULL)
        container, key = list(places(document))[number]
        del container[key]
        with pytest.raises(BadHostData, match=f"missing required field `{key}`"):
            decode(document)


@pytest.mark.parametrize("value", ["1", 1.0, True, None, -1, 2**63, HUGE, [1]], ids=kind)
def test_sizes_are_whole_numbers_that_a_database_can_hold(value: Any) -> None:
    document = copy.deepcopy(FULL)
    document["lvs"][0]["size_bytes"] = value
    with pytest.raises(BadHostData, match=r"lvs\[0\].size_bytes"):
        decode(document)


@pytest.mark.parametrize("value", ["medium", "", None, 1, [], ["fast"], {}, HUGE], ids=kind)
def test_a_tier_is_fast_or_slow(value: Any) -> None:
    document = copy.deepcopy(FULL)
    document["pvs"][0]["tier"] = value
    with pytest.raises(BadHostData, match=r"inventory.pvs\[0\].tier: "):
        decode(document)


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
def test_an_lv_that_no_row_could_hold_is_refused(field: str, value: Any) -> None:
    document = copy.deepcopy(FULL)
    document["lvs"][0][field] = value
    with pytest.raises(BadHostData, match=rf"inventory.lvs\[0\].{field}: Expected"):
        decode(document)


def test_two_lvs_with_one_uuid_are_refused() -> None:
    document = copy.deepcopy(FULL)
    document["lvs"][1]["uuid"] = document["lvs"][0]["uuid"]
    with pytest.raises(BadHostData, match="one uuid"):
        decode(document)


def test_a_group_without_an_extent_size_is_refused() -> None:
    document = copy.deepcopy(FULL)
    document["vgs"][0]["extent_bytes"] = 0
    with pytest.raises(BadHostData, match="extent"):
        decode(document)


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
        with pytest.raises(BadHostData):
            decode(document)


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


@pytest.mark.parametrize("name", ["c-mustermann", "s-mailserver", "x-windowsserver"])
def test_a_customers_volume_with_such_a_name_is_public(name: str) -> None:
    adopted = make.lv(name, tags=make.tags(KEY))
    made = make.lv("web12", tags=make.tags(KEY, made="cset"))
    assert make.facts(adopted, made).public_lvs() == (adopted, made)


def test_a_bcache_guest_sees_less_than_its_lv() -> None:
    assert make.lv(bcache=make.bcache(size_bytes=5)).guest_size_bytes == 5
    assert make.lv(bcache=make.bcache(size_bytes=0)).guest_size_bytes == make.lv().size_bytes


def test_pvs_of_an_lv_are_told_once() -> None:
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
