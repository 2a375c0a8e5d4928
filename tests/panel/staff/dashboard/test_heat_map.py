"""Hosts by time as a map."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from panel.charts.heat_bands import latency_heat, latency_legend
from panel.staff.dashboard.heat_map import (
    BUSY,
    JUDGED,
    LAST_3H,
    LAST_DAY,
    LATENCY,
    OWN_LIMIT,
    HeatMap,
    HeatScale,
    heat_map,
    painted,
    time_ticks,
)
from storage.metrics.samples.host_load import HostStretch
from storage.models import Host, TagLimit
from tests import make
from tests.panel.staff.kiosk.screens import ago, load, loaded_host

HALF_PAST = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)


def stretch(reads: int, each_ms: int, busy: float = 0.0) -> HostStretch:
    return HostStretch(900_000, int(900_000 * busy), reads, reads * each_ms)


def band(scale: HeatScale, of: HostStretch, limit: float) -> str:
    return scale.heat(scale.value(of), limit).band


@pytest.mark.parametrize("each_ms", [1, 4, 5, 19, 20, 60])
def test_colours_and_steps_are_those_of_the_map_of_hosts(each_ms: int) -> None:
    assert band(LATENCY, stretch(9000, each_ms), 20) == latency_heat(each_ms, 20).band
    of_maps = {heat.words: heat.band for heat in latency_legend(20, differs=OWN_LIMIT)[:4]}
    assert of_maps == {heat.words: heat.band for heat in LATENCY.legend[:4]}


def test_busy_hosts_have_the_colours_of_the_map_of_hosts() -> None:
    shares = (0.1, 0.3, 0.6, 0.9)
    assert [band(BUSY, stretch(0, 0, busy), 90) for busy in shares] == list("1234")


def test_less_than_a_read_a_second_has_no_latency() -> None:
    assert band(LATENCY, stretch(899, 40), 20) == "none"
    assert band(LATENCY, stretch(900, 40), 20) == "4"


@pytest.mark.django_db
def test_the_limit_of_the_host_decides_and_costs_no_query_a_host(
    django_assert_num_queries: Any,
) -> None:
    strict, tagged = loaded_host(1, slow_read_ms=3), loaded_host(1, tags=["nvme"])
    loaded_host(1)
    TagLimit.objects.create(tag="nvme", slow_read_ms=4)
    known = list(Host.objects.only("key", "name", "name_order", *JUDGED).order_by("pk"))
    with django_assert_num_queries(2):
        rows = shown(*known).rows
    assert {strict.name, tagged.name} == {row.name for row in rows if row.is_over}


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
def test_a_row_says_what_was_last_and_what_was_highest() -> None:
    # It is an average since the last full quarter of an hour, so that it is not called "now".
    quarter = timezone.now().timestamp() // 900 * 900 - 900
    with time_machine.travel(quarter + 600, tick=False):
        host = loaded_host(hours=1)
        load(host, ago(hours=5), reads=3000, read_ms=3000 * 60)
        load(host, ago(hours=5, minutes=5), reads=3000, read_ms=3000 * 60)
        found = shown(host)
    (row,) = found.rows
    assert found.latest_words == f"since {datetime.fromtimestamp(quarter, UTC):%H:%M}"
    assert row.latest == "4.00 ms" and not row.is_over
    assert row.words.startswith("highest 60.0 ms, unknown for ")
    assert [name for name, _ in row.paths] == ["2", "4"]


@pytest.mark.django_db
def test_a_stretch_that_is_known_for_less_than_half_of_it_is_unknown() -> None:
    host = make.host()
    load(host, ago(hours=5), dt_ms=300_000, reads=3000, read_ms=3000)
    (row,) = shown(host).rows
    assert row.paths == () and row.latest == "-"
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
