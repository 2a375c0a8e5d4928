"""Who won, by how much, and how sure that is."""

from __future__ import annotations

from panel.benchmarks.contests import contests_of
from panel.benchmarks.measured import MeasuredRun
from panel.benchmarks.verdicts import ContestOutcome, contest_outcome
from storage.analysis.comparison import Word
from storage.benchmarks.matrix import TargetKind
from tests.panel.benchmarks.measuring import cell, runs

SSD, HDD = cell(TargetKind.SSD), cell(TargetKind.HDD)
LVM, BCACHE = cell(TargetKind.LVMCACHE), cell(TargetKind.BCACHE)


def outcome(found: list[MeasuredRun], *varied: str) -> ContestOutcome:
    [contest] = contests_of(found)
    return contest_outcome(contest, varied)


def test_the_fastest_cache_wins_also_where_ssd_alone_is_faster() -> None:
    found = outcome(
        runs(SSD, [104e3, 105e3, 103e3])
        + runs(HDD, [930, 940, 950])
        + runs(BCACHE, [68e3, 69e3, 68.5e3])
        + runs(LVM, [92e3, 93e3, 92.5e3])
    )
    assert found.headline == "lvmcache won"
    assert found.word is Word.FASTER
    assert found.margin.endswith("more IOPS than bcache")
    assert found.sureness[2] == "sure"
    assert found.beside_raw == "89 % of SSD alone and 98 times HDD alone"
    assert [place.entrant.name for place in found.places] == [
        "lvmcache",
        "bcache",
        "SSD alone",
        "HDD alone",
    ]
    roles = [place.role for place in found.places]
    assert roles == ["", "", "what a cache can reach at most", "without any SSD"]


def test_without_a_cache_the_disks_themselves_compete() -> None:
    found = outcome(runs(HDD, [930, 940]) + runs(SSD, [104e3, 105e3]))
    assert found.headline == "SSD alone won"
    assert "times the IOPS than HDD alone" in found.margin
    assert found.beside_raw == ""


def test_targets_that_are_alike_are_equal_and_not_unsure() -> None:
    level = [50e3, 50.1e3, 49.9e3, 50e3, 50.05e3]
    found = outcome(runs(BCACHE, level) + runs(LVM, [each * 1.001 for each in level]))
    assert found.word is Word.NO_DIFFERENCE
    assert found.headline == "lvmcache and bcache are equal"
    assert found.margin == "Between them no difference over 5 %"


def test_what_may_be_chance_is_said_to_be_with_what_would_settle_it() -> None:
    found = outcome(runs(BCACHE, [50e3, 60e3, 55e3]) + runs(LVM, [58e3, 52e3, 61e3]))
    assert found.word is Word.CANNOT_TELL
    assert found.headline == "lvmcache leads, but that may be chance"
    assert "these runs would have seen" in found.margin
    assert found.sureness == ("warning", "help", "not sure")


def test_single_runs_are_shown_and_nothing_is_claimed() -> None:
    found = outcome(runs(BCACHE, [68_788]) + runs(LVM, [92_120]))
    assert found.headline == "lvmcache measured most"
    assert found.margin == "bcache has 75 % of its IOPS"
    assert found.sureness[2] == "too few runs to be sure"
    assert [place.words for place in found.places] == ["", "75 % of its IOPS, cannot tell"]


def test_a_single_target_has_nothing_to_be_compared_with() -> None:
    found = outcome(runs(LVM, [92e3, 93e3]))
    assert (found.headline, found.margin) == ("lvmcache: 92,499 IOPS", "")
    assert found.verdict is None


def test_conditions_that_differ_are_named_and_forbid_a_verdict() -> None:
    older = runs(LVM, [90e3, 91e3, 90.5e3])
    newer = runs(BCACHE, [60e3, 61e3, 60.5e3], kernel="6.8.0")
    found = outcome(older + newer)
    assert found.word is Word.CANNOT_TELL
    [differing] = found.differing
    assert differing.sentence == "Kernel: 6.1.0 (lvmcache); 6.8.0 (bcache)"
    assert not differing.is_compared
    compared = outcome(older + newer, "kernel")
    assert compared.word is not Word.CANNOT_TELL or compared.noun == "boot"
    assert compared.differing[0].is_compared


def test_kernels_are_compared_by_boots() -> None:
    old = runs(LVM, [90e3] * 4, boots=["a", "a", "b", "b"])
    new = runs(BCACHE, [60e3] * 4, boots=["c", "c", "d", "d"], kernel="6.8.0")
    found = outcome(old + new, "kernel")
    assert found.noun == "boot"
    assert found.verdict is not None
    assert found.verdict.units == (2, 2)


def test_figures_that_may_not_be_compared_are_no_ground_for_a_verdict() -> None:
    found = outcome(
        runs(LVM, [90e3, 91e3, 92e3], reasons=("The units contradict each other.",))
        + runs(BCACHE, [60e3, 61e3, 62e3])
    )
    assert found.word is Word.CANNOT_TELL
    assert "The units contradict each other." in found.margin


def test_all_runs_in_one_boot_are_said_to_be() -> None:
    found = outcome(runs(LVM, [90e3, 91e3, 92e3]) + runs(BCACHE, [60e3, 61e3, 62e3]))
    assert found.basis.startswith(
        "It rests on 3 runs against 3, so it is wrong in at most 1 of 100"
    )
    assert found.basis.endswith("another boot may be different.")
