"""Hosts by time as a map."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from panel.staff.dashboard.heat_map import (
    BUSY,
    LAST_3H,
    LAST_DAY,
    LATENCY,
    HeatMap,
    heat_map,
    painted,
    time_ticks,
)
from storage.metrics.samples.host_load import HostStretch
from storage.models import Host
from tests import make
from tests.panel.staff.kiosk.screens import ago, load, loaded_host

HALF_PAST = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)


def stretch(reads: int, each_ms: int, busy: float = 0.0) -> HostStretch:
    return HostStretch(900_000, int(900_000 * busy), reads, reads * each_ms)


def test_a_class_ends_with_its_bound_and_the_limit_is_one() -> None:
    found = [LATENCY.class_of(stretch(9000, each)) for each in (1, 2, 20, 21, 50, 51)]
    assert found == ["0", "1", "3", "4", "4", "5"]
    assert [BUSY.class_of(stretch(0, 0, busy)) for busy in (0.1, 0.9, 0.91, 1.0)] == list("0345")


def test_less_than_a_read_a_second_has_no_latency() -> None:
    assert LATENCY.class_of(stretch(899, 40)) == "quiet"
    assert LATENCY.class_of(stretch(900, 40)) == "4"


def test_equal_neighbours_are_one_piece_and_the_unknown_is_not_painted() -> None:
    assert painted(["1", "1", "", "4", "1"]) == (
        ("1", "M0 0h2v1h-2zM4 0h1v1h-1z"),
        ("4", "M3 0h1v1h-1z"),
    )
    assert painted(["", ""]) == ()


def test_labels_stand_at_full_times() -> None:
    start = LAST_3H.start(HALF_PAST)
    assert start == HALF_PAST - timedelta(hours=2, minutes=55)
    assert [tick.text for tick in time_ticks(start, LAST_3H)] == [
        "10:00",
        "10:30",
        "11:00",
        "11:30",
        "12:00",
    ]
    day = time_ticks(LAST_DAY.start(HALF_PAST), LAST_DAY)
    assert [tick.text for tick in day] == ["16:00", "20:00", "00:00", "04:00", "08:00", "12:00"]


def shown(*hosts: Host, most: int = 12) -> HeatMap:
    return heat_map(hosts, LATENCY, LAST_DAY, timezone.now(), most)


@pytest.mark.django_db
def test_a_row_says_what_is_now_and_what_was_highest() -> None:
    host = loaded_host(hours=1)
    load(host, ago(hours=5), reads=3000, read_ms=3000 * 60)
    load(host, ago(hours=5, minutes=5), reads=3000, read_ms=3000 * 60)
    (row,) = shown(host).rows
    assert row.now == "4.00 ms" and not row.is_over
    assert row.words.startswith("highest 60.0 ms, unknown for ")
    assert [name for name, _ in row.paths] == ["1", "5"]


@pytest.mark.django_db
def test_a_stretch_that_is_known_for_less_than_half_of_it_is_unknown() -> None:
    host = make.host()
    load(host, ago(hours=5), dt_ms=300_000, reads=3000, read_ms=3000)
    (row,) = shown(host).rows
    assert row.paths == () and row.now == "-"
    assert row.words == "no figures, unknown for 96 of 96 parts of the time"


@pytest.mark.django_db
def test_of_many_hosts_the_slowest_and_the_silent_are_shown_in_their_order() -> None:
    fast, slow, silent = loaded_host(1), loaded_host(1, read_ms=30), make.host()
    found = shown(fast, slow, silent, most=2)
    assert [row.name for row in found.rows] == [slow.name, silent.name]
    assert found.left_out_words == "1 more host with lower figures in this time."


@pytest.mark.django_db
def test_the_overview_has_the_map_and_renews_it_by_itself(client: Client) -> None:
    host = loaded_host()
    client.force_login(make.staff_user())
    page = client.get(reverse("home"), {"heat": "busy"}).content.decode()
    assert 'id="fleet-heat"' in page and "Busiest volume of hosts" in page
    part = client.get(reverse("overview"), {"part": "heat"}).content.decode()
    assert "Read latency of hosts" in part and reverse("host", args=[host.key]) in part


@pytest.mark.django_db
def test_an_overview_without_a_measured_host_has_no_map(client: Client) -> None:
    make.host(state="unverified", host_key="")
    client.force_login(make.staff_user())
    assert 'id="fleet-heat"' not in client.get(reverse("home")).content.decode()
