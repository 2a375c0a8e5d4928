"""What a report says."""

from __future__ import annotations

from typing import Any

import pytest

from panel.models import Intent, Order, Proof, ProofState
from panel.proofs import proof_texts
from storage.metrics.compare import CLOSE
from storage.models import CachePlan
from tests.panel.proofs.results import RESULT, WRITES


def proof(verdict: str = "gain", **figures: Any) -> Proof:
    result = {**RESULT, "verdict": verdict, **figures}
    order = Order(intent=Intent.UPGRADE)
    return Proof(order=order, state=ProofState.READY, verdict=verdict, result=result, was_warm=True)


def test_a_gain_is_reported_with_shares_times_and_confidence() -> None:
    assert proof_texts.headline(proof()) == "It helped"
    assert proof_texts.verdict(proof()) == (
        "62 % of reads came from SSD (before: 40 %). "
        "A read took 2.00 ms on average instead of 8.00 ms."
    )
    assert proof_texts.confidence(proof()) == "98.7 % sure"


def test_a_first_cache_is_compared_with_none() -> None:
    assert "(before: none)." in proof_texts.verdict(proof(hit_rate_before=0.0))


def test_a_gain_of_which_reads_got_slower_says_so() -> None:
    slower = proof(read_ms_after=9.0, read_times_low=1.1, read_times_high=1.2)
    assert "But a read took longer: 9.00 ms" in proof_texts.verdict(slower)
    lost = proof("loss", read_ms_after=9.0, read_times_low=1.1, read_times_high=1.2)
    assert ". A read took longer: 9.00 ms" in proof_texts.verdict(lost)


def test_a_gain_of_which_reads_got_slower_is_not_called_a_help() -> None:
    slower = proof(read_ms_after=9.0, read_times_low=1.1, read_times_high=1.2)
    assert proof_texts.headline(slower) == "More reads come from SSD, but a read takes longer"
    assert proof_texts.chip(slower).text == "gain, but slower"


def test_times_that_scatter_are_not_called_the_same() -> None:
    wide = proof_texts.verdict(proof(read_times_low=0.04, read_times_high=1.2))
    assert "A read took 2.00 ms on average, before 8.00 ms." in wide
    assert "about as long" not in wide


def test_where_a_loss_is_not_ruled_out_it_is_not_called_the_same() -> None:
    said = proof_texts.verdict(proof("none", hit_rate_after=0.2, hit_rate_change_low=-0.4))
    assert "A noticeable gain is ruled out." in said
    assert "no difference" not in said


def test_of_a_cache_that_takes_writes_reads_alone_say_no_more_than_that() -> None:
    said = proof("none", hit_rate_after=0.41, hit_rate_change_low=-0.4)
    said.order.to_plan = CachePlan(name="Fast", mode="writeback")
    assert proof_texts.headline(said) == "No gain seen for reads"
    assert "writes were not judged" in " ".join(proof_texts.notes(said))
    said.order.to_plan = CachePlan(name="Fast", mode="writethrough")
    assert proof_texts.headline(said) == "No gain seen"
    assert "writes were not judged" not in " ".join(proof_texts.notes(said))


def test_times_that_may_be_chance_are_about_the_same() -> None:
    same = proof(read_times_low=0.95, read_times_high=1.05)
    assert "about as long as before" in proof_texts.verdict(same)


def test_about_the_same_is_what_it_is_wherever_two_times_are_compared() -> None:
    just, beyond = CLOSE - 0.01, CLOSE + 0.01
    for low, high, is_alike in ((0.99, just, True), (0.99, beyond, False), (0.8, 1.0, False)):
        said = proof_texts.verdict(proof(read_times_low=low, read_times_high=high))
        assert ("about as long as before" in said) is is_alike


def of_writes(
    verdict: str = "gain",
    writes: dict[str, Any] = WRITES,
    *,
    reads: str | None = "none",
    **figures: Any,
) -> Proof:
    """The proof of a plan that takes writes too."""
    made = proof(verdict, reads_verdict=reads, writes=writes, **figures)
    made.order.to_plan = CachePlan(name="Fast", mode="writeback")
    return made


def test_a_gain_of_writes_is_reported_as_one() -> None:
    said = of_writes(hit_rate_after=0.41)
    assert proof_texts.headline(said) == "It helped"
    assert proof_texts.chip(said).text == "gain"
    assert proof_texts.verdict(said) == (
        "41 % of reads came from SSD (before: 40 %). You would not notice this difference. "
        "A read took 2.00 ms on average instead of 8.00 ms. "
        "A write took 0.30 ms on average instead of 9.00 ms."
    )
    assert "not judged" not in " ".join(proof_texts.notes(said))
    labels = [row.label for row in proof_texts.rows(said.result)]
    assert ("Average write time" in labels, "Writes per second" in labels) == (True, True)


def test_without_a_read_to_compare_only_writes_are_spoken_of() -> None:
    reads = dict.fromkeys(("hit_rate_before", "hit_rate_after", "hit_rate_change"))
    said = of_writes(reads=None, **reads)
    assert proof_texts.verdict(said) == "A write took 0.30 ms on average instead of 9.00 ms."
    assert "only writes were judged" in proof_texts.notes(said)[0]
    assert "Reads from SSD" not in [row.label for row in proof_texts.rows(said.result)]


LONGER = {**WRITES, "verdict": "loss", "ms_after": 20.0, "times_low": 2.0, "times_high": 2.5}


def test_writes_that_take_longer_are_reported_for_every_plan() -> None:
    lost = of_writes("loss", LONGER)
    assert proof_texts.headline(lost) == "Writes take longer than before"
    assert "A write took longer: 20.0 ms on average instead of 9.00 ms." in proof_texts.verdict(
        lost
    )
    won = proof(writes={**LONGER, "counted": False})
    assert proof_texts.headline(won) == "More reads come from SSD, but a write takes longer"
    assert proof_texts.chip(won).text == "gain, but slower"
    assert "But a write took longer: 20.0 ms" in proof_texts.verdict(won)
    faster = proof(writes={**WRITES, "counted": False})
    assert "A write" not in proof_texts.verdict(faster)


@pytest.mark.parametrize(
    ("verdict", "reads", "figures", "headline"),
    [
        ("gain", "loss", {}, "Writes are faster, but fewer reads come from SSD"),
        ("gain", "loss", {"slower": True}, "Writes are faster, but a read takes longer"),
        ("loss", "gain", {"slower": True}, "Reads take longer than before"),
        ("loss", "loss", {}, "Fewer reads come from SSD than before"),
    ],
)
def test_a_gain_and_a_loss_are_both_reported(
    verdict: str, reads: str, figures: dict[str, Any], headline: str
) -> None:
    times = {"read_times_low": 1.2, "read_times_high": 1.4} if figures else {}
    said = of_writes("gain", reads=reads, is_weighed=True, **times)
    said.verdict = verdict
    assert proof_texts.headline(said) == headline
    assert "opposite directions" in " ".join(proof_texts.notes(said))


def test_a_cheaper_plan_whose_writes_take_longer_does_not_do_as_well() -> None:
    for high, is_kept in ((1.05, True), (1.3, False)):
        writes = {**WRITES, "verdict": "none", "times_low": 0.95, "times_high": high}
        kept = of_writes("none", writes)
        kept.order.intent = Intent.DOWNGRADE
        assert proof_texts.is_kept(kept) is is_kept


def test_no_gain_and_too_few_figures_are_said_in_so_many_words() -> None:
    assert proof_texts.headline(proof("none")) == "No gain seen"
    assert "would not notice this difference" in proof_texts.verdict(proof("none"))
    assert proof_texts.headline(proof("unclear")) == "Not enough data"
    assert proof_texts.confidence(proof("unclear")) == ""


def test_a_cheaper_plan_that_does_as_well_is_no_loss() -> None:
    kept = proof("none")
    kept.order.intent = Intent.DOWNGRADE
    assert (proof_texts.headline(kept), proof_texts.chip(kept).text) == ("No loss seen", "no loss")
    assert proof_texts.confidence(kept) == ""  # it is that of there being no gain
    kept.result["hit_rate_change_low"] = -0.4
    assert proof_texts.headline(kept) == "No gain seen"


def test_other_use_than_before_is_said() -> None:
    assert "2.0 times more" in proof_texts.notes(proof(read_iops_after=200.0))[0]
    assert "2.0 times less" in proof_texts.notes(proof(read_iops_after=50.0))[0]
    assert proof_texts.notes(proof()) == []


def test_a_cache_that_was_still_filling_and_averages_alone_are_said() -> None:
    cold = proof(has_percentiles=False)
    cold.was_warm = False
    assert [note.split(" ")[0:4] for note in proof_texts.notes(cold)] == [
        ["The", "cache", "may", "still"],
        ["Percentiles", "are", "not", "available"],
    ]
    assert [row.label for row in proof_texts.rows(cold.result)] == [
        "Reads from SSD",
        "Average read time",
        "Reads per second",
    ]


def test_the_slowest_of_a_hundred_are_shown_where_they_were_measured() -> None:
    slowest = "99th percentile"
    assert slowest not in {row.label for row in proof_texts.rows(RESULT)}
    measured = {**RESULT, "read_ms_p99_before": 31.0, "read_ms_p99_after": 15.0}
    (row,) = [each for each in proof_texts.rows(measured) if each.label == slowest]
    assert (row.before, row.after) == ("31.0 ms", "15.0 ms")


def test_bars_are_drawn_against_the_larger_of_both_and_shares_against_all_reads() -> None:
    rows = proof_texts.rows(RESULT)
    assert [(row.before_width, row.after_width) for row in rows[:2]] == [
        ("40.0", "62.0"),
        ("100.0", "25.0"),
    ]


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(0.5, 0.7, "within"), (0.7, 0.9, "below"), (0.1, 0.3, "above"), (None, None, "")],
)
def test_what_was_measured_is_held_against_what_was_expected(
    low: float | None, high: float | None, said: str
) -> None:
    order = Order(expected={"hit_rate_low": low, "hit_rate_high": high})
    assert proof_texts.held(order, RESULT) == said
    assert proof_texts.held(Order(), RESULT) == ""


def test_what_reads_alike_is_held_to_be_alike() -> None:
    """Both are shown in whole points: 98 % is not below a forecast of 98 to 99 %."""
    order = Order(expected={"hit_rate_low": 0.982, "hit_rate_high": 0.991})
    assert proof_texts.held(order, {"hit_rate_after": 0.9801}) == "within"
    assert proof_texts.held(order, {"hit_rate_after": 0.9951}) == "within"
    assert proof_texts.held(order, {"hit_rate_after": 0.9799}) == "below"
