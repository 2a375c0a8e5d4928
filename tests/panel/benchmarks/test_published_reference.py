"""The published comparison, in the product."""

from __future__ import annotations

from panel.benchmarks.published_reference import published_reference, published_source
from panel.benchmarks.shown_results import results_of


def test_the_six_published_runs_stand_in_their_order_and_are_marked() -> None:
    [result] = results_of(published_reference())
    assert [place.entrant.name for place in result.outcome.places] == [
        "lvmcache, new",
        "bcache, no cutoff",
        "bcache, cutoff 4 MiB",
        "lvmcache, full of junk",
        "SSD alone",
        "HDD alone",
    ]
    assert published_source().origin == "published"
    assert "SM863" in published_source().place


def test_what_was_published_of_a_run_is_shown_and_the_rest_is_unknown() -> None:
    runs = {run.setup.target: run for run in published_reference() if run.setup.state != "junk"}
    lvmcache = runs["lvmcache"]
    assert lvmcache.summary.iops == 47_478 + 44_642
    assert (lvmcache.summary.hit_rate, lvmcache.percentile_ms(99.0)) == (0.9974, 0.37)
    assert lvmcache.percentile_ms(99.9) is None
    assert lvmcache.setup.data_to_cache == 1.0


def test_one_run_of_each_claims_nothing() -> None:
    [result] = results_of(published_reference())
    assert result.outcome.sureness[2] == "too few runs to be sure"
