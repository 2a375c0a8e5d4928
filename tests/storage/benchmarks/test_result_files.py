from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.benchmarks.matrix import TargetKind
from storage.benchmarks.result_files import read_result
from storage.benchmarks.summary import PERCENTILES, RunSummary
from storage.host_data import BadHostData
from tests.storage.benchmarks.make_spec import cell
from tests.storage.benchmarks.run_files import (
    CHUNK_SECTORS,
    SECTOR,
    conditions,
    files,
    fio_json,
    iops_log,
    legs,
    run_json,
)

HDD = cell(target=TargetKind.HDD, cache_bytes=0, mode="")


def summary(**changes: bytes | None) -> RunSummary:
    found = read_result(files(**changes), cell()).summary
    assert found is not None
    return found


def refused(**changes: bytes | None) -> str:
    with pytest.raises(BadHostData) as error:
        read_result(files(**changes), cell())
    return str(error.value)


def test_what_became_of_a_run_stands_beside_its_conditions() -> None:
    result = read_result(files(), cell())
    assert (result.outcome, result.boot_id, result.kernel) == ("finished", "boot", "6.1.0")
    assert (result.fio_version, result.reached_seconds) == ("3.33", 60)
    assert result.conditions["args"] == {"seed": 7}
    assert result.conditions["state_before"] == {"used_percent": 0}
    assert result.conditions["disks"][0]["model"] == "HDD"


def test_iops_are_fio_s_count_by_its_time_over_all_streams() -> None:
    found = summary()
    assert (found.ios, found.iops, found.reached_seconds) == (6000, 100.0, 60.0)
    assert found.bytes_s == 100 * 4096
    assert found.read is not None
    assert found.write is None
    assert [job.iops for job in found.jobs] == [50.0, 50.0]


def test_percentiles_come_from_summed_bins_where_there_are_enough_requests() -> None:
    read = summary().read
    assert read is not None
    known = dict(zip(PERCENTILES, read.percentiles, strict=True))
    assert known[50.0] == pytest.approx(1_003_520, rel=0.01)
    assert known[99.0] == pytest.approx(2_007_040, rel=0.01)
    assert known[99.99] is None
    assert read.mean_ns == pytest.approx(1_505_280, rel=0.01)


def test_series_of_streams_lie_on_one_grid_and_add_up() -> None:
    series = summary().series
    assert series.step_ms == 500
    assert len(series.iops) == 120
    assert set(series.iops) == {100.0}
    assert [set(job) for job in series.jobs] == [{50.0}, {50.0}]


def test_a_long_run_has_no_more_points_than_a_chart_shows() -> None:
    hour = 3600
    found = summary(
        fio_json=fio_json(ios=100 * hour, seconds=hour),
        iops_1_log=iops_log(50, hour),
        iops_2_log=iops_log(50, hour),
        legs_jsonl=legs(hour),
    )
    assert found.series.step_ms == 3000
    assert len(found.series.iops) == 1200


def test_the_hit_rate_comes_from_the_legs_without_promotions() -> None:
    found = summary()
    assert found.hit_rate == pytest.approx(0.75, abs=0.01)
    assert found.end_hit_rate == pytest.approx(0.75, abs=0.02)
    known = [rate for rate in found.series.hit_rate[8:-8] if rate is not None]
    assert known
    assert all(rate == pytest.approx(0.75, abs=0.03) for rate in known)


def test_what_a_cache_moved_and_wrote_to_its_ssd_is_counted() -> None:
    found = summary()
    assert (found.promotions, found.demotions) == (120, 120)
    assert found.ssd_written_bytes == 120 * (CHUNK_SECTORS + 8) * SECTOR
    assert found.cpu_share == pytest.approx(0.25)


def test_a_target_without_a_cache_has_no_hit_rate_and_one_on_hdd_wrote_to_no_ssd() -> None:
    found = read_result(files(), HDD).summary
    assert found is not None
    assert (found.hit_rate, found.series.hit_rate, found.ssd_written_bytes) == (None, (), None)


def test_a_pause_is_no_part_of_the_measured_time() -> None:
    found = summary(run_json=run_json(pauses=[[10_000, 20_000], [15_000, 40_000]]))
    assert found.iops == pytest.approx(6000 / 30)
    assert found.pauses == ((10_000, 20_000), (15_000, 40_000))


def test_of_a_run_that_was_killed_the_legs_tell_how_far_it_came() -> None:
    stopped = run_json(outcome="stopped", reached_seconds=20)
    left = {"fio_json": None, "iops_1_log": None, "iops_2_log": None}
    cut = legs(20) + b'{"ms": 20500, "to'
    result = read_result(files(run_json=stopped, legs_jsonl=cut, **left), cell())
    assert (result.outcome, result.reached_seconds) == ("stopped", 20)
    assert result.summary is not None
    assert result.summary.reached_seconds == 20
    assert result.summary.iops == pytest.approx(100)
    assert result.summary.hit_rate == pytest.approx(0.75, abs=0.02)
    assert result.summary.read is None


def test_nothing_measured_is_no_summary() -> None:
    names = ("fio_json", "iops_1_log", "iops_2_log", "legs_jsonl")
    bare = files(run_json=run_json(outcome="failed"), **dict.fromkeys(names))
    assert read_result(bare, cell()).summary is None


def test_a_counter_that_runs_backwards_tells_nothing() -> None:
    rows = legs().splitlines(keepends=True)
    back = json.loads(rows[10])
    back["top"]["read_sectors"] = 0
    found = summary(
        legs_jsonl=b"".join([*rows[:10], json.dumps(back).encode() + b"\n", *rows[11:]])
    )
    assert found.hit_rate is None


def test_a_steady_run_is_steady_and_says_how_it_ended() -> None:
    minutes = 20 * 60
    found = summary(
        fio_json=fio_json(ios=100 * minutes, seconds=minutes),
        iops_1_log=iops_log(50, minutes),
        iops_2_log=iops_log(50, minutes),
        legs_jsonl=legs(minutes),
    )
    assert found.steady is not None
    assert (found.steady.is_steady, found.steady.first_round, found.steady.rounds) == (True, 1, 20)
    assert found.first_30s_iops == pytest.approx(100)
    assert found.seconds_to_90 == 0
    assert found.ending
    assert found.hit_ending


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"run_json": None}, "run.json: it is missing"),
        ({"run_json": b"{"}, "run.json: no JSON"),
        ({"run_json": b"[" * 100_000}, "run.json: no JSON"),
        ({"run_json": b"[]"}, "run.json"),
        ({"run_json": run_json(outcome="won")}, "outcome"),
        ({"run_json": run_json(reached_seconds=-1)}, "reached_seconds"),
        ({"run_json": run_json(reached_seconds=float("nan"))}, "run.json: no JSON"),
        ({"run_json": run_json(reached_seconds=10**30)}, "reached_seconds"),
        ({"run_json": run_json(pauses=[[1]])}, "pauses"),
        ({"run_json": b" " * (2 << 20)}, "are the most"),
        ({"conditions_json": b"[]"}, "conditions.json: no object"),
        ({"conditions_json": b"\xff\xfe"}, "conditions.json: no JSON"),
        ({"fio_json": b'{"fio version": "fio-3.33", "jobs": [{"read": NaN}]}'}, "fio.json"),
        ({"fio_json": b"\x00\x01binary"}, "fio.json"),
        ({"fio_json": None}, "no figures"),
        ({"legs_jsonl": b"nonsense\n"}, "legs.jsonl, row 1"),
        ({"legs_jsonl": b'{"ms": -1}\n'}, "legs.jsonl, row 1"),
        ({"legs_jsonl": b'{"ms": 5}\n{"ms": 4}\n'}, "earlier"),
        ({"legs_jsonl": b'{"ms": 5, "top": {"reads": 1e400}}\n'}, "legs.jsonl, row 1"),
        ({"legs_jsonl": b'{"ms": 5, "top": {"reads": 99999999999999999999}}\n'}, "legs.jsonl"),
        ({"legs_jsonl": b"\n" * 500_000}, "more than"),
    ],
)
def test_what_no_run_writes_is_refused_with_its_place(
    changes: dict[str, bytes | None], words: str
) -> None:
    assert words in refused(**changes)


def test_a_log_that_cannot_be_read_is_left_out_and_named() -> None:
    result = read_result(files(iops_1_log=b"500, many, 0, 4096, 0\n"), cell())
    assert result.message.startswith("iops.1.log is left out: ")
    assert result.summary is not None
    assert result.summary.iops == 100.0


def test_texts_are_as_postgresql_holds_them() -> None:
    odd = conditions(kernel={"release": "6.1\u0000" + "x" * 500}, junk="\ud800")
    result = read_result(files(conditions_json=odd), cell())
    assert "\0" not in result.kernel
    assert len(result.kernel) <= 128
    json.dumps(result.conditions).encode()
    result = read_result(files(run_json=run_json(begun_ns=10**40)), cell())
    assert result.conditions["begun_ns"] is None


@given(st.dictionaries(st.sampled_from(sorted(files())), st.binary(max_size=200)))
def test_no_content_breaks_the_reader(garbage: dict[str, bytes]) -> None:
    try:
        read_result(files() | garbage, cell())
    except BadHostData as error:
        assert str(error)
