"""Which size of cache is chosen, and the sentence that says why."""

from __future__ import annotations

from storage.analysis.curve.bands import Bounds
from storage.analysis.curve.prospects import Prospect, Range
from storage.analysis.size_choice import (
    RISK,
    by_curve,
    by_traffic,
    enough_of,
    technology_reason,
    writeback_gain,
)
from storage.byte_sizes import GIB, MIB
from tests.storage.analysis.forecast.test_owntraffic import prospect

HOUR = 3600.0


def saving(size_gib: int, hours: float, **fields: object) -> Prospect:
    return prospect(
        size_gib, saved_seconds_per_day=Range(hours * HOUR - 60, hours * HOUR + 60), **fields
    )


def useless(size_gib: int, high: float = 0.04) -> Prospect:
    return prospect(
        size_gib,
        "no_help",
        hit_rate=Bounds(0.0, high / 2, high),
        saved_seconds_per_day=Range(0.0, 30.0),
    )


def test_the_smallest_size_that_is_enough_is_chosen_with_its_figures() -> None:
    chosen = by_curve([saving(1, 1.0), saving(2, 1.9), saving(4, 2.0)])
    assert chosen.size_bytes == 2 * GIB
    assert chosen.reason == (
        "2 GiB serves 92 to 97 % of reads from SSD. 4 GiB would save little more."
    )


def test_a_size_that_is_not_certain_to_help_is_chosen_and_says_so() -> None:
    wide = prospect(2, "unknown", saved_seconds_per_day=Range(60.0, 7200.0))
    chosen = by_curve([useless(1), wide])
    assert chosen.size_bytes == 2 * GIB
    assert chosen.reason.endswith("Whether that saves time is not certain yet.")


def test_a_size_that_may_save_nothing_is_not_chosen() -> None:
    chosen = by_curve(
        [useless(1), prospect(2, "unknown", saved_seconds_per_day=Range(0.0, 7200.0))]
    )
    assert chosen.size_bytes is None
    assert chosen.reason == (
        "It is not certain yet that a cache would help: it may save up to 2 h of waiting a day, "
        "or nothing. More days of counting will show."
    )


def test_what_is_certain_goes_before_what_may_be() -> None:
    wide = prospect(1, "unknown", saved_seconds_per_day=Range(-60.0, 72_000.0))
    assert enough_of([wide, saving(2, 1.0)]) == saving(2, 1.0)


def test_where_no_size_helps_none_is_chosen_and_the_reason_has_the_figure() -> None:
    chosen = by_curve([useless(1), useless(8)])
    assert chosen.size_bytes is None
    assert chosen.reason == (
        "A cache would not help: with 8 GiB, at most 4 % of reads would come from SSD, because "
        "the same data are not read again soon enough."
    )
    assert by_curve([useless(8, 0.9)]).reason == (
        "A cache would not help: even 8 GiB would save no more than 30 s of waiting a day."
    )


def test_of_a_volume_with_a_cache_no_other_size_is_said_not_to_help() -> None:
    assert by_curve([useless(1), useless(8, 0.9)], has_cache=True).reason == (
        "No other size would help: none would save more than 30 s of waiting a day."
    )
    wide = prospect(2, "unknown", saved_seconds_per_day=Range(-60.0, 7200.0))
    assert by_curve([wide], has_cache=True).reason.startswith(
        "It is not certain yet that another size would help"
    )


def test_without_a_curve_a_size_holds_what_a_day_reads_and_writes() -> None:
    sizes = [GIB, 4 * GIB, 16 * GIB]
    assert by_traffic(sizes, 3.5 * GIB).size_bytes == 4 * GIB
    assert by_traffic(sizes, 3.5 * GIB).reason == (
        "4 GiB holds what it reads and writes on a usual day (3.5 GiB)."
    )


def test_a_day_that_is_more_than_any_size_gives_way_to_an_hour() -> None:
    chosen = by_traffic([GIB, 4 * GIB, 16 * GIB], 48 * GIB)
    assert chosen.size_bytes == 4 * GIB
    assert "in a usual hour (2 GiB)" in chosen.reason


def test_of_what_nothing_is_known_the_smallest_size_is_tried() -> None:
    assert by_traffic([256 * MIB, GIB], 0.0).size_bytes == 256 * MIB
    assert by_traffic([256 * MIB, GIB], 1000 * GIB).reason == (
        "It reads and writes more in an hour than any size holds: begin with 256 MiB."
    )


def test_writeback_is_named_with_what_it_risks_where_writes_wait() -> None:
    gain = writeback_gain(saving(4, 1.0), saving(4, 3.0), "")
    assert gain == f"Writes wait too: writeback would save about 2 h more a day. {RISK}"
    assert writeback_gain(saving(4, 1.0), saving(4, 1.02), "") == ""
    assert writeback_gain(saving(4, 1.0), saving(4, 3.0), "The SSD is not redundant.").endswith(
        "The SSD is not redundant."
    )


def test_the_technology_that_fits_is_named_with_the_reason() -> None:
    alike = {"lvmcache": saving(4, 2.0), "bcache": saving(4, 2.05)}
    writes = {"lvmcache": saving(4, 2.5), "bcache": saving(4, 5.0)}
    runs = {"lvmcache": saving(4, 3.0), "bcache": saving(4, 2.0)}
    assert technology_reason("lvmcache", alike, alike) == (
        "lvmcache fits: bcache would save about as much."
    )
    assert technology_reason("bcache", alike, writes).startswith(
        "bcache fits: it takes all small writes on SSD"
    )
    assert technology_reason("lvmcache", alike, writes).startswith(
        "bcache would save about 2 h 30 min more a day: it takes all small writes"
    )
    assert technology_reason("lvmcache", runs, runs).startswith(
        "lvmcache fits: it keeps long sequential reads too"
    )
