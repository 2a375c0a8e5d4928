"""The days before and after a restart into another kernel."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from storage.analysis.restart_comparison import compare_restart
from storage.metrics.rates.figures import NO_LATENCY
from storage.metrics.samples.load_rollup import SUMS
from storage.models import Host, HostChange, HostLoad
from tests import make

pytestmark = pytest.mark.django_db
NOW = dt.datetime(2026, 11, 21, 4, 0, tzinfo=dt.UTC)
HOUR = dt.timedelta(hours=1)


def restart(host: Host, days_ago: float = 4) -> HostChange:
    at = NOW - dt.timedelta(days=days_ago) + dt.timedelta(minutes=20)
    Host.objects.filter(pk=host.pk).update(created_at=NOW - dt.timedelta(days=30))
    made = HostChange.objects.create(host=host, at=at, kind="kernel", before="6.1", after="6.12")
    made.host.refresh_from_db()
    return made


def load(host: Host, start: dt.datetime, hours: int, *, ms: float, reads: int = 3600) -> None:
    """One bucket an hour; a little noise, so that nothing is alike by construction."""
    rows = []
    for n in range(hours):
        slower = 1 + (n % 5) / 100
        counts = list(NO_LATENCY)
        counts[7 if ms < 5 else 9] = reads
        fields = dict.fromkeys(SUMS, 0) | {
            "dt_ms": 3_600_000, "reads": reads, "read_ms": int(reads * ms * slower),
        }  # fmt: skip
        rows.append(HostLoad(host=host, bucket=start + n * HOUR, latency_counts=counts, **fields))
    HostLoad.objects.bulk_create(rows)


def around(change: HostChange) -> tuple[dt.datetime, dt.datetime]:
    hour = change.at.replace(minute=0)
    return hour - dt.timedelta(days=8), hour + HOUR


@pytest.mark.parametrize(
    ("ms", "words", "verdict"),
    [(2.0, "No difference", ""), (8.0, "slower", "worse"), (0.5, "faster", "better")],
)
def test_like_hours_of_both_sides_are_compared(ms: float, words: str, verdict: str) -> None:
    change = restart(make.host())
    before, after = around(change)
    load(change.host, before, 8 * 24, ms=2.0)
    load(change.host, after, 3 * 24, ms=ms)
    compared = compare_restart(change, NOW)
    assert (compared.days, compared.lacks) == (3, "")
    assert compared.hours >= 70 and words in compared.sentence
    figures = {row.what: row for row in compared.rows}
    assert figures["Average time of an I/O"].verdict == verdict
    assert figures["IOPS at like load"].before == figures["IOPS at like load"].after
    assert "ms" in figures["p95 latency"].before and "ms" in figures["p99 latency"].before


def test_a_week_before_is_compared_though_it_is_older_than_what_is_kept_as_measured(
    settings: Any,
) -> None:
    settings.TIERCEL_SAMPLES_KEPT_DAYS = 8
    change = restart(make.host(), days_ago=7.5)
    before, after = around(change)
    load(change.host, before, 8 * 24, ms=2.0)
    load(change.host, after, 7 * 24, ms=2.0)
    assert compare_restart(change, NOW).days == 7


def test_hours_of_another_load_are_no_like_hours() -> None:
    change = restart(make.host())
    before, after = around(change)
    load(change.host, before, 8 * 24, ms=2.0)
    load(change.host, after, 3 * 24, ms=4.0, reads=36_000)
    compared = compare_restart(change, NOW)
    assert compared.rows == () and compared.lacks.startswith("Not enough data: 0 hours")


def test_without_a_whole_day_on_each_side_nothing_is_claimed() -> None:
    change = restart(make.host(), days_ago=0.9)
    load(change.host, around(change)[0], 8 * 24, ms=2.0)
    assert "whole day" in compare_restart(change, NOW).lacks


def test_a_host_without_figures_has_not_enough_data() -> None:
    compared = compare_restart(restart(make.host()), NOW)
    assert compared.rows == () and "Not enough data" in compared.lacks


def test_no_side_reaches_over_another_kernel() -> None:
    change = restart(make.host())
    HostChange.objects.create(
        host=change.host, at=change.at + dt.timedelta(days=1, hours=3), kind="kernel"
    )
    assert compare_restart(change, NOW).days == 1
    HostChange.objects.create(host=change.host, at=change.at - dt.timedelta(hours=5), kind="kernel")
    assert compare_restart(change, NOW).days == 0
