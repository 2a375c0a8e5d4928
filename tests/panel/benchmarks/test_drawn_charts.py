"""Charts as the browser gets them."""

from __future__ import annotations

from dataclasses import replace
from math import log2

from panel.benchmarks.contests import contests_of
from panel.benchmarks.drawn_charts import charts_of, nines, thinned
from panel.benchmarks.measured import MeasuredRun
from storage.benchmarks.matrix import TargetKind
from storage.byte_sizes import GIB
from tests.panel.benchmarks.measuring import cell, runs

LVM, HDD = cell(TargetKind.LVMCACHE), cell(TargetKind.HDD)


def charts(found: list[MeasuredRun]) -> dict[str, object]:
    contests = contests_of(found)
    return {chart.name: chart.to_json() for chart in charts_of(contests[0], contests)}


def test_iops_of_all_targets_are_laid_over_each_other_every_500_ms() -> None:
    drawn = charts(runs(LVM, [92e3]) + runs(HDD, [940]))["iops"]
    assert isinstance(drawn, dict)
    assert [line["label"] for line in drawn["lines"]] == ["lvmcache", "HDD alone"]
    assert {(line["start"], line["step"]) for line in drawn["lines"]} == {(0.25, 0.5)}
    assert drawn["span"] == (0.0, 60.0)
    assert drawn["is_log"], "a disk could not be seen beside an SSD otherwise"


def test_only_caches_have_a_hit_rate() -> None:
    drawn = charts(runs(LVM, [92e3]) + runs(HDD, [940]))["hits"]
    assert isinstance(drawn, dict)
    assert [line["label"] for line in drawn["lines"]] == ["lvmcache"]
    assert drawn["top"] == 100.0


def test_latency_stands_on_an_axis_of_nines() -> None:
    assert [nines(each) for each in (90.0, 99.0, 99.9, 99.99)] == [1.0, 2.0, 3.0, 4.0]
    drawn = charts(runs(LVM, [92e3]))["latency"]
    assert isinstance(drawn, dict)
    assert drawn["is_log"] and drawn["unit"] == "ms"
    assert dict(drawn["ticks"])[2.0] == "99 %"
    assert drawn["lines"][0]["xs"][-1] == 4.0


def test_a_sweep_is_drawn_over_the_ratio_of_data_to_cache() -> None:
    sizes = [replace(LVM, data_bytes=size * GIB) for size in (4, 8, 16)]
    found = [run for each in sizes for run in runs(each, [92e3 / (each.data_bytes // GIB)])]
    drawn = charts(found)["sweep"]
    assert isinstance(drawn, dict)
    assert [text for _, text in drawn["ticks"]] == ["1", "2", "4"]
    assert drawn["lines"][0]["xs"] == [0.0, log2(2), log2(4)]
    assert drawn["lines"][0]["label"] == "lvmcache"


def test_one_size_is_no_sweep() -> None:
    assert "sweep" not in charts(runs(LVM, [92e3]))


def test_long_runs_are_thinned_by_means_of_what_is_known() -> None:
    assert thinned([1.0, 3.0, None, 5.0, None, None], 2) == [2.0, 5.0, None]
