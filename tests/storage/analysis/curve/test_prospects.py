"""What is said of each size: forty loads that no size helps, forty that one does."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.analysis.curve.cache_policy import CachePolicy, bcache, lvmcache
from storage.analysis.curve.heat import HeatRecord
from storage.analysis.curve.prospects import (
    DAY,
    HostRates,
    Prospect,
    VolumeWaits,
    expected_curve,
    prospects,
    without_cache,
)
from storage.analysis.forecast import Expectation
from tests.storage.analysis.curve.test_miss_ratio import records
from tests.storage.analysis.curve.traces import (
    CHUNK_BYTES,
    NS,
    Trace,
    databases_load,
    heat,
    journal_load,
    scan_load,
    uniform_load,
    zipf_load,
)

VOLUME: Final = 16_384
DAYS, OF_DAY = 7, 3000
OFFERED: Final = tuple(VOLUME // part * CHUNK_BYTES for part in (64, 32, 24))
HOST = HostRates(ssd_read_ms=0.2, hdd_iops=300, hdd_utilisation=0.6)
WAITS = VolumeWaits(
    volume_bytes=VOLUME * CHUNK_BYTES,
    read_ms=11,
    slow_reads=0.9,
    slow_read_ms=12,
    read_seconds_per_day=3 * 3600,
)


def days(trace: Trace) -> list[HeatRecord]:
    """A week of two records a day, of half of the chunks."""
    found = list[HeatRecord]()
    for day in range(DAYS):
        part = trace.part(day * OF_DAY, (day + 1) * OF_DAY)
        found += heat(
            part,
            share=2,
            hours=2,
            begun_ns=day * DAY * NS,
            seconds=DAY // 2,
            offset=day,
        )
    return found


def read_once(seed: int) -> Trace:
    """Nothing is read twice: an image is copied, a log is written."""
    start = np.random.default_rng(seed).integers(0, VOLUME)
    chunks = (start + np.arange(DAYS * OF_DAY)) % (2 * VOLUME)
    return Trace(chunks, chunks % 3 == 0, VOLUME)


def useless(seed: int) -> tuple[list[HeatRecord], VolumeWaits, CachePolicy]:
    """Reads all over the volume; a scan that is longer than every cache; data read once; reads that
    are hot and hardly waited for; and writes that wait whatever the cache is, in writethrough."""
    n = DAYS * OF_DAY
    policy = (lvmcache(writeback=False), bcache(writeback=False))[seed % 2]
    match seed % 5:
        case 0:
            return days(uniform_load(n, VOLUME, seed)), WAITS, policy
        case 1:
            loop = np.arange(n) % (VOLUME // 4 + 100 * seed)
            return days(Trace(loop, loop % 5 == 0, VOLUME)), WAITS, policy
        case 2:
            return days(read_once(seed)), WAITS, policy
        case 3:
            short = dataclasses.replace(WAITS, read_seconds_per_day=seed)
            return days(zipf_load(1.1, n, VOLUME, seed)), short, policy
        case _:
            written = dataclasses.replace(
                WAITS, read_seconds_per_day=200, write_seconds_per_day=4 * 3600
            )
            return days(journal_load(n, VOLUME, seed)), written, policy


def good(seed: int) -> tuple[list[HeatRecord], VolumeWaits, CachePolicy]:
    """Loads with data that is read again and again, of which a part fits."""
    n = DAYS * OF_DAY
    policy = (lvmcache(writeback=seed % 3 == 0), bcache(writeback=seed % 3 == 0))[seed % 2]
    load = (
        zipf_load(0.8 + seed / 80, n, VOLUME, seed),
        zipf_load(1.0 + seed / 100, n, VOLUME, seed),
        scan_load(n, VOLUME, seed),
        journal_load(n, VOLUME, seed),
        databases_load(n, VOLUME, seed),
    )[seed % 5]
    return days(load), WAITS, policy


@cache
def of_good(seed: int) -> tuple[Prospect, ...]:
    found, waits, policy = good(seed)
    return prospects(found, waits, HOST, policy, OFFERED)


def test_forty_loads_that_no_size_helps_are_called_so_for_every_size() -> None:
    others = dict[int, list[str]]()
    for seed in range(40):
        found, waits, policy = useless(seed)
        verdicts = [each.verdict for each in prospects(found, waits, HOST, policy, OFFERED)]
        if verdicts != ["no_help"] * len(OFFERED):
            others[seed] = list(verdicts)
    assert not others


def test_of_forty_good_loads_at_most_one_is_called_helped_by_no_size() -> None:
    refused = [
        seed for seed in range(40) if all(each.verdict == "no_help" for each in of_good(seed))
    ]
    assert len(refused) <= 1


def test_most_good_loads_are_promised_help() -> None:
    helped = [seed for seed in range(40) if any(each.verdict == "helps" for each in of_good(seed))]
    assert len(helped) >= 30


def test_without_records_nothing_is_known() -> None:
    assert prospects([], WAITS, HOST, bcache(writeback=False), OFFERED) == ()


def test_one_hour_decides_neither_way() -> None:
    hour = list(heat(zipf_load(1.0, OF_DAY, VOLUME), share=4))
    found = prospects(hour, WAITS, HOST, bcache(writeback=False), OFFERED)
    assert {each.verdict for each in found} == {"unknown"}


def test_a_larger_cache_saves_more_and_a_full_one_saves_nearly_all() -> None:
    sizes = (*OFFERED, VOLUME * CHUNK_BYTES)
    found, waits, policy = good(1)
    of_size = prospects(found, waits, HOST, policy, sizes)
    likely = [each.hit_rate.likely for each in of_size]
    assert likely == sorted(likely)
    assert of_size[-1].saved_seconds_per_day.high > 0.95 * waits.read_seconds_per_day
    assert of_size[-1].read_ms.low < 1 < of_size[-1].read_ms_now


def test_reads_that_the_hdd_answers_from_its_memory_may_be_those_that_the_cache_takes() -> None:
    """As in the published baseline: 61 % of the reads were fast without a cache."""
    found, _, policy = good(1)
    fast = dataclasses.replace(WAITS, slow_reads=0.39)
    whole = prospects(found, WAITS, HOST, policy, OFFERED)[-1]
    partly = prospects(found, fast, HOST, policy, OFFERED)[-1]
    assert partly.saved_seconds_per_day.low < 0.5 * whole.saved_seconds_per_day.low
    assert partly.saved_seconds_per_day.high == pytest.approx(
        whole.saved_seconds_per_day.high, rel=0.1
    )


def test_writeback_saves_waiting_of_writes_and_writethrough_does_not() -> None:
    trace = journal_load(DAYS * OF_DAY, VOLUME)
    written = dataclasses.replace(WAITS, read_seconds_per_day=0, write_seconds_per_day=7200)
    back, through = (
        prospects(days(trace), written, HOST, bcache(writeback=each), OFFERED)[-1]
        for each in (True, False)
    )
    assert (back.verdict, through.verdict) == ("helps", "no_help")
    assert back.saved_seconds_per_day.low == 7200
    assert through.saved_seconds_per_day.high == 0


def test_a_cache_that_begins_empty_serves_less_at_first() -> None:
    found, waits, policy = good(1)
    for each in prospects(found, waits, HOST, policy, OFFERED):
        assert each.first_half_hour.high <= each.first_day.high <= each.hit_rate.high
        assert each.first_half_hour.low < each.hit_rate.likely


def test_a_cache_that_promotes_late_serves_less_on_its_first_day() -> None:
    found, waits, _ = good(1)
    soon, late = (
        prospects(found, waits, HOST, lvmcache(writeback=False, promotion_share=share), OFFERED)[-1]
        for share in (1.0, 0.005)
    )
    assert late.first_day.high < soon.first_day.low
    assert late.hit_rate.likely >= soon.hit_rate.likely


def test_a_smaller_cache_than_now_costs_waiting() -> None:
    found, waits, policy = good(1)
    cached = dataclasses.replace(waits, hit_rate=0.99, slow_reads=0.01, read_seconds_per_day=600)
    saved = prospects(found, cached, HOST, policy, OFFERED)[0].saved_seconds_per_day
    assert saved.low < saved.high < 0


def test_an_expectation_keeps_the_curve() -> None:
    curve = expected_curve(of_good(1))
    kept = Expectation(kind="own_misses", text="", basis="", curve=curve).to_json()["curve"]
    assert [size for size, _, _ in kept] == list(OFFERED)
    assert all(0 <= low <= high <= 1 for _, low, high in kept)


SHARE = st.floats(0, 1)


@settings(max_examples=25)
@given(
    sent=st.lists(records(), min_size=1, max_size=2),
    slow_reads=SHARE,
    hit_rate=SHARE,
    fast_writes=SHARE,
    waited=st.floats(0, DAY / 2),
    written=st.floats(0, DAY / 2),
    utilisation=SHARE,
    promotion_share=st.floats(0.001, 1),
    writeback=st.booleans(),
)
def test_whatever_was_measured_no_more_is_saved_than_is_waited(
    sent: list[HeatRecord],
    slow_reads: float,
    hit_rate: float,
    fast_writes: float,
    waited: float,
    written: float,
    utilisation: float,
    promotion_share: float,
    writeback: bool,
) -> None:
    waits = VolumeWaits(
        volume_bytes=2**32,
        read_ms=5,
        slow_reads=slow_reads,
        slow_read_ms=10,
        read_seconds_per_day=waited,
        write_seconds_per_day=written,
        hit_rate=hit_rate,
        fast_writes=fast_writes,
    )
    host = HostRates(ssd_read_ms=0.2, hdd_iops=200, hdd_utilisation=utilisation)
    for policy in (
        lvmcache(writeback=writeback, promotion_share=promotion_share),
        bcache(writeback=writeback),
    ):
        for each in prospects(sent, waits, host, policy, (2**20, 2**28, 2**32)):
            assert 0 <= each.hit_rate.low <= each.hit_rate.likely <= each.hit_rate.high <= 1
            saved = each.saved_seconds_per_day
            assert saved.low <= saved.high <= waited + written + 1e-6
            assert waited + written - saved.low <= DAY + 1e-6
            assert 0 < each.read_ms.low <= each.read_ms.high


def test_without_its_cache_a_volume_waits_for_each_read_that_it_serves() -> None:
    cached = dataclasses.replace(WAITS, hit_rate=0.6, slow_reads=0.2)
    without = without_cache(cached)
    # At worst each hit lost is slow (0.8 of the reads), at best only as many as of the misses.
    assert without.low == pytest.approx(-3 * cached.read_seconds_per_day)
    assert without.high == pytest.approx(-1.5 * cached.read_seconds_per_day)
    assert without_cache(WAITS).low == without_cache(WAITS).high == 0


def test_a_larger_cache_copies_less_to_ssd() -> None:
    records = days(zipf_load(1.0, DAYS * OF_DAY, VOLUME))
    found = prospects(records, WAITS, HOST, lvmcache(writeback=False), OFFERED)
    written = [each.ssd_bytes_per_day.high for each in found]
    sizes = [each.size_bytes for each in found]
    assert written[sizes.index(max(sizes))] < written[sizes.index(min(sizes))]
    few = prospects(records, WAITS, HOST, lvmcache(writeback=False, promotion_share=0.1), OFFERED)
    assert few[0].ssd_bytes_per_day.high < written[0]
