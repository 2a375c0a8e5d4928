"""The agent's `sample` reply is checked before anything is made of it."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.agent.kernel.stats import BOUNDS_NS
from storage.host_data import BadHostData
from storage.metrics.counters import (
    LATENCY_BOUNDS_NS,
    DiskCounters,
    decode_counters,
    decode_stamp,
    decode_volume,
    encode_counters,
    inventory_digest,
)
from tests.storage import wire


def full() -> dict[str, Any]:
    """A volume with every part that the wire knows."""
    return wire.volume(
        disk=list(range(1, 18)),
        cache=wire.cache(origin=wire.disk(reads=5), cdata=wire.disk(reads=6)),
        bcache=wire.bcache(),
        latency=wire.latency(1, 2, 3),
    )


def test_a_sample_decodes_to_named_counters() -> None:
    (volume,) = decode_counters(wire.sample(full()))
    assert volume.lv_uuid == wire.LV_UUID
    assert volume.disk == DiskCounters(*range(1, 18))
    assert volume.disk.weighted_ms == 11
    assert volume.cache is not None
    assert volume.cache.origin is not None
    assert volume.cache.origin.reads == 5
    assert volume.bcache is not None
    assert volume.bcache.device == "bcache0"
    assert volume.latency is not None
    assert volume.latency.counts[:3] == (1, 2, 3)


def test_the_buckets_are_those_of_the_agent() -> None:
    assert LATENCY_BOUNDS_NS == BOUNDS_NS


def test_decoded_counters_decode_again_after_json() -> None:
    volume = decode_volume(full())
    assert decode_volume(json.loads(json.dumps(encode_counters(volume)))) == volume


def test_unknown_keys_of_a_newer_agent_are_ignored() -> None:
    assert decode_counters(wire.sample({**full(), "new": [1]})) == decode_counters(
        wire.sample(full())
    )


def test_the_largest_counters_of_the_kernel_are_kept_whole() -> None:
    volume = decode_volume(wire.volume(disk=wire.disk(read_sectors=2**64 - 1, read_ms=2**32 - 1)))
    assert volume.disk.read_sectors == 2**64 - 1


def test_one_logical_volume_twice_is_refused() -> None:
    with pytest.raises(BadHostData, match="twice"):
        decode_counters(wire.sample(full(), full()))


def test_text_that_a_database_refuses_is_replaced() -> None:
    bcache = wire.bcache(state="cl\0ean", cache_mode="\ud800")
    volume = decode_volume(wire.volume(bcache=bcache))
    assert volume.bcache is not None
    assert volume.bcache.state == "cl\ufffdean"
    assert volume.bcache.cache_mode == "?"


def test_a_boot_time_is_read_with_its_boot() -> None:
    stamp = decode_stamp(wire.stamp(12.5))
    assert (stamp.boot_id, stamp.boottime_ns) == ("boot-1", 12_500_000_000)


@pytest.mark.parametrize("host", [None, [], {}, {"boot_id": "", "boottime_ns": 1}])
def test_a_reply_without_a_boot_is_refused(host: object) -> None:
    with pytest.raises(BadHostData):
        decode_stamp(host)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ((), None),
        (("volumes",), {}),
        (("volumes", 0), "lv"),
        (("volumes", 0, "lv_uuid"), ""),
        (("volumes", 0, "lv_uuid"), 7),
        (("volumes", 0, "suspended"), 1),
        (("volumes", 0, "disk"), [0] * 16),
        (("volumes", 0, "disk"), "0" * 17),
        (("volumes", 0, "disk", 3), -1),
        (("volumes", 0, "disk", 3), 2**64),
        (("volumes", 0, "disk", 3), 1.5),
        (("volumes", 0, "disk", 3), True),
        (("volumes", 0, "disk", 3), "7"),
        (("volumes", 0, "disk", 3), float("nan")),
        (("volumes", 0, "cache"), []),
        (("volumes", 0, "cache", "read_hits"), 2**32),
        (("volumes", 0, "cache", "read_hits"), None),
        (("volumes", 0, "cache", "origin"), 1),
        (("volumes", 0, "bcache", "available_percent"), 101),
        (("volumes", 0, "bcache", "dirty_bytes"), 2**63),
        (("volumes", 0, "bcache", "disk"), None),
        (("volumes", 0, "latency", "bounds_ns", 0), 99_999),
        (("volumes", 0, "latency", "counts"), [0] * 13),
    ],
)
def test_what_does_not_fit_is_refused(path: tuple[str | int, ...], value: object) -> None:
    data: Any = wire.sample(full())
    if path:
        parent = data
        for key in path[:-1]:
            parent = parent[key]
        parent[path[-1]] = value
    else:
        data = value
    with pytest.raises(BadHostData):
        decode_counters(data)


@pytest.mark.parametrize("part", ["volume", "cache", "bcache", "latency"])
def test_every_missing_field_is_named(part: str) -> None:
    whole = full()
    # An agent of an earlier release does not send the fill of bcache.
    keys = set(whole if part == "volume" else whole[part]) - {"vg_uuid", "name", "unused_percent"}
    for key in keys:
        data = copy.deepcopy(whole)
        del (data if part == "volume" else data[part])[key]
        with pytest.raises(BadHostData, match=f"missing required field `{key}`"):
            decode_volume(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)


@settings(deadline=None)
@given(junk=JSON, at=st.sampled_from(["lv_uuid", "disk", "cache", "bcache", "latency", ""]))
def test_junk_never_does_anything_but_decode_or_be_refused(junk: Any, at: str) -> None:
    data = wire.sample({**full(), at: junk}) if at else junk
    try:
        decode_counters(data)
    except BadHostData:
        return
    assert at in ("lv_uuid", "cache", "bcache", "latency")


ARRAY = {
    "name": "md0",
    "degraded_count": 0,
    "sync_action": "idle",
    "members": [{"name": "sda", "state": "in_sync"}, {"name": "sdb", "state": "in_sync"}],
}
WHOLE = {**wire.sample(full()), "disks": [{"name": "sda"}, {"name": "sdb"}], "arrays": [ARRAY]}


def only(volume: dict[str, Any]) -> dict[str, Any]:
    return {"volumes": wire.sample(volume)["volumes"]}


@pytest.mark.parametrize(
    "changed",
    [
        {"disks": [{"name": "sda"}]},
        {"arrays": [{**ARRAY, "degraded_count": 1}]},
        {"arrays": [{**ARRAY, "sync_action": "recover"}]},
        {"arrays": [{**ARRAY, "members": [{"name": "sda", "state": "faulty"}]}]},
        only({**full(), "cache": wire.cache(failed=True)}),
        only({**full(), "cache": None}),
        only({**full(), "bcache": wire.bcache(cset_uuid=None)}),
        {"volumes": []},
    ],
)
def test_what_comes_goes_or_fails_changes_the_inventory_digest(changed: dict[str, Any]) -> None:
    assert inventory_digest({**WHOLE, **changed}) != inventory_digest(WHOLE)


def test_work_keeps_the_inventory_digest() -> None:
    busy = {
        **full(),
        "disk": list(range(2, 19)),
        "suspended": True,
        "cache": wire.cache(dirty=9, promotions=4),
        "bcache": wire.bcache(dirty_bytes=1 << 20, state="dirty"),
    }
    assert inventory_digest({**WHOLE, **only(busy)}) == inventory_digest(WHOLE)


def test_an_older_agent_tells_of_no_arrays() -> None:
    older = {name: WHOLE[name] for name in ("volumes", "disks")}
    assert inventory_digest(older) == inventory_digest(older) != inventory_digest(WHOLE)


def test_a_inventory_digest_nonsense_is_refused() -> None:
    with pytest.raises(BadHostData):
        inventory_digest({**WHOLE, "arrays": [{"name": 1}]})
