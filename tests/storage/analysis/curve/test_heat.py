"""Records of heat as an agent sends them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from storage.analysis.curve.heat import HeatRecord, heat_record, observed, references
from storage.host_data import BadHostData
from tests.storage.analysis.curve.traces import NS, Trace, heat, scan_load, zipf_load

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
    "clock": 10_000,
    "sequential": {"reads": 90, "read_bytes": 90 * 4096, "writes": 0, "write_bytes": 0},
    "reuse": {
        "reads": {"cold": 40, "buckets": [[0, 3], [64, 100]]},
        "writes": {"cold": 10, "buckets": []},
    },
    "lost": 0,
}


def test_a_record_is_read_as_the_agent_sends_it() -> None:
    record = heat_record(SENT)
    assert record.observed == 153
    assert record.read_references == pytest.approx(9000)
    assert record.sequential_reads == pytest.approx(90)
    assert record.reuse.reads.longest == 16


@pytest.mark.parametrize(
    "change",
    [
        {"share": 0},
        {"seconds": 0},
        {"clock": -1},
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


def test_a_record_that_lost_much_is_left_out_and_observation_begins_anew_after_it() -> None:
    hours = list(heat(zipf_load(1.0, 8000, 512), share=1, hours=4))
    hours[1] = dataclasses.replace(hours[1], lost=hours[1].observed)
    hours[2] = dataclasses.replace(hours[2], lost=1)
    assert [part.age_before for part in observed(hours)] == [0, 0, 2000]


def test_a_record_without_any_reference_is_left_out() -> None:
    empty = heat_record(
        SENT
        | {
            "clock": 0,
            "reads": 0,
            "writes": 0,
            "reuse": {
                "reads": {"cold": 0, "buckets": []},
                "writes": {"cold": 0, "buckets": []},
            },
        }
    )
    assert observed([empty]) == []


def test_observation_begins_anew_where_the_long_reuse_times_are_gone() -> None:
    """As on the next day, when the agent observes other chunks."""
    trace = zipf_load(0.9, 24_000, 512)
    first = list(heat(trace.part(0, 12_000), share=4, hours=3, offset=1))
    second = list(heat(trace.part(12_000, 24_000), share=4, hours=3, offset=2))
    later = [dataclasses.replace(each, begun_ns=each.begun_ns + 3 * 3600 * NS) for each in second]
    ages = [part.age_before for part in observed([*later, *first])]
    assert ages == [0, 4000, 8000, 0, 4000, 8000]


def test_a_scan_that_took_hours_to_come_back_is_one_observation() -> None:
    hours = heat(scan_load(40_000, 6000), share=1, hours=8)
    assert [part.age_before for part in observed(hours)] == [5000 * n for n in range(8)]


def test_hours_with_a_pause_between_them_are_two_observations() -> None:
    hours: list[HeatRecord] = list(heat(zipf_load(1.0, 8000, 512), share=1, hours=4))
    assert [part.age_before for part in observed([*hours[:2], hours[3]])] == [0, 2000, 0]


def test_data_read_once_is_observed_anew_after_a_day() -> None:
    """No reuse time shows that the agent went on to other chunks."""
    chunks = np.arange(6000)
    trace = Trace(chunks, chunks < 0, 6000)
    hours = heat(trace, share=4, hours=30)
    ages = [part.age_before for part in observed(hours)]
    assert ages == [200 * (n % 24) for n in range(30)]
