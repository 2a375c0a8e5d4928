"""Records of heat as an agent sends them."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from storage.analysis.curve.heat import heat_record, observations, references, usable
from storage.host_data import BadHostData
from tests.storage.analysis.curve.traces import NS, heat, zipf_load

SENT: dict[str, Any] = {
    "lv_uuid": "Ax0-1",
    "begun_ns": 1_790_000_000 * NS,
    "seconds": 3600,
    "chunk_bytes": 65536,
    "share": 64,
    "reads": 9000,
    "writes": 1000,
    "read_bytes": 9000 * 4096,
    "write_bytes": 1000 * 4096,
    "clock_before": 50_000,
    "clock": 10_000,
    "sequential": {"reads": 90, "read_bytes": 90 * 4096, "writes": 0, "write_bytes": 0},
    "reuse": {
        "reads": {"cold": 40, "buckets": [[0, 3], [64, 100]]},
        "writes": {"cold": 10, "buckets": []},
    },
    "kept": {
        "clock_before": 45_000,
        "clock": 9_900,
        "reuse": {
            "reads": {"cold": 40, "buckets": [[64, 90]]},
            "writes": {"cold": 10, "buckets": []},
        },
    },
    "lost": 0,
}


def test_a_record_is_read_as_the_agent_sends_it() -> None:
    record = heat_record(SENT)
    assert record.observed == 153
    assert record.read_references == pytest.approx(9000)
    assert record.let_in.clock == 9_900
    assert record.let_in_reads == pytest.approx(9_900 * 8_910 / 9_910)
    assert heat_record(SENT | {"kept": None}).let_in.clock == 10_000


@pytest.mark.parametrize(
    "change",
    [
        {"share": 0},
        {"seconds": 0},
        {"clock": -1},
        {"clock_before": None},
        {"kept": {"clock_before": 0, "clock": 1}},
        {
            "reuse": {
                "reads": {"cold": 1, "buckets": [[1, 1]] * 1009},
                "writes": {"cold": 0, "buckets": []},
            }
        },
        {"reuse": {"reads": {"cold": 1, "buckets": [[1008, 1]]}, "writes": {}}},
        {"reuse": {"reads": {"cold": -1, "buckets": []}, "writes": {"cold": 0, "buckets": []}}},
    ],
)
def test_a_record_out_of_range_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(BadHostData, match="heat"):
        heat_record(SENT | change)


def test_an_io_larger_than_a_chunk_is_several_references() -> None:
    assert references(10, 10 * 4096, 65536) == 10
    assert references(10, 10 * (4096 + 2 * 65536), 65536) == 30


def test_a_record_that_lost_much_or_saw_nothing_is_left_out() -> None:
    hours = list(heat(zipf_load(1.0, 8000, 512), share=1, hours=4))
    hours[1] = dataclasses.replace(hours[1], lost=hours[1].observed)
    hours[2] = dataclasses.replace(hours[2], lost=1)
    empty = dataclasses.replace(hours[3], clock=0)
    assert usable([empty, hours[3], hours[2], hours[1], hours[0]]) == [
        hours[0],
        hours[2],
        hours[3],
    ]


def test_only_references_that_came_late_enough_can_have_a_long_reuse_time() -> None:
    hour = list(heat(zipf_load(1.0, 8000, 512), share=1, hours=4))[1]
    assert (hour.clock_before, hour.clock) == (2000, 2000)
    ages = (0, 2000, 3000, 5000)
    assert [hour.references_older_than(age) for age in ages] == [2000, 2000, 1000, 0]


def test_each_choice_of_chunks_is_one_observation() -> None:
    """Also that which began before the records do, and whose first hour is missing."""
    trace = zipf_load(0.9, 24_000, 512)
    first = list(heat(trace.part(0, 12_000), share=4, hours=3, offset=1))
    second = list(heat(trace.part(12_000, 24_000), share=4, hours=3, offset=2))
    assert observations(first[1:]) == 1
    assert observations([first[0], first[2]]) == 1
    assert observations([*first[1:], *second, *first]) == 3
