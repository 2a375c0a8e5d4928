"""Every column of an interval has a number of its own, under which chunks hold it for years."""

from __future__ import annotations

from storage.metrics.samples.columns import (
    BAND,
    DEVICE,
    DEVICE_LAYOUT,
    INTERVAL,
    KEYS,
    LOAD,
    LOAD_LAYOUT,
    NUMBERS,
    VOLUME_LAYOUT,
    ColumnLayout,
)


def names(layout: ColumnLayout) -> list[str]:
    return [*layout.counters, *layout.histograms, *layout.gauges, *layout.keys]


def test_every_column_has_a_number_that_no_other_has() -> None:
    assert set(INTERVAL) | set(DEVICE) | set(LOAD) <= set(NUMBERS)
    numbers = [*NUMBERS.values(), *BAND.values()]
    assert len(set(numbers)) == len(numbers)
    assert min(numbers) > 0 and max(numbers) < 256


def test_the_numbers_of_chunks_that_are_stored_never_change() -> None:
    """Of the first and the last column of each release that has added some."""
    assert {
        "dt_ms": 1,
        "dirty_bytes": 24,
        "discards": 25,
        "in_flight": 56,
    }.items() <= NUMBERS.items()


def test_every_column_is_added_up_in_one_way() -> None:
    assert sorted(names(VOLUME_LAYOUT)) == sorted(INTERVAL)
    assert sorted(names(DEVICE_LAYOUT)) == sorted(DEVICE)
    assert sorted(names(LOAD_LAYOUT)) == sorted(LOAD)
    assert set(KEYS) <= set(VOLUME_LAYOUT.keys)
