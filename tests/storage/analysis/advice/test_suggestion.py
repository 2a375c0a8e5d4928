"""Advice by the curves of a host's volumes, which a worker has worked out."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from storage.analysis.advice import Outlook, outlook
from storage.analysis.advice.demand import UncachedVolume, demand_by_host
from storage.analysis.heat_store import forget_heat
from storage.analysis.size_forecasts import known_forecasts, renew_forecasts
from storage.byte_sizes import GIB
from storage.metrics.counters import LATENCY_BOUNDS_NS
from storage.models import HeatDay, Host, SizeForecast, Volume
from storage.stored_inventory import inventory_of
from storage.volumes.snapshot import snapshots_of
from tests import make
from tests.heat_scene import count_heat
from tests.one_line import on_one_line
from tests.storage.analysis.advice.load import known, sampled_days
from tests.storage.metrics.samples.rounds import noon_gone

pytestmark = pytest.mark.django_db
READS = 90_000
SLOW = next(n for n, ns in enumerate(LATENCY_BOUNDS_NS) if ns > 10_000_000)
LATENCIES = [READS if n == SLOW else 0 for n in range(len(LATENCY_BOUNDS_NS) + 1)]


def waiting(volume: Volume, *, is_hot: bool) -> None:
    """All reads of four days are slow; what most of them read again was counted."""
    end = noon_gone()
    sampled_days(
        volume, 4, lambda _ts: 1, end=end, latency_counts=LATENCIES, read_sectors=8 * READS
    )
    count_heat(volume, 60, end, is_hot=is_hot)


def looked(host: Host) -> Outlook:
    rows = snapshots_of(Volume.objects.placed_on(host))
    return outlook(host, inventory_of(host), rows, noon_gone())


@pytest.fixture
def here() -> tuple[Host, dict[str, Volume]]:
    """A host with little SSD, a volume that reads the same again and one that does not."""
    host, _facts, volumes = known(
        make.lv("hot", size_bytes=8 * GIB),
        make.lv("scan", size_bytes=8 * GIB),
        pvs=(make.pv(), make.fast_pv(free_bytes=GIB)),
    )
    waiting(volumes["hot"], is_hot=True)
    waiting(volumes["scan"], is_hot=False)
    return host, volumes


def test_a_size_comes_from_the_curve_and_what_no_cache_helps_is_listed(
    here: tuple[Host, dict[str, Volume]], client: Client
) -> None:
    host, volumes = here
    assert all("not known yet" in each.advised.reasons[0] for each in looked(host).suggestions)
    assert renew_forecasts(noon_gone()) == 2
    found = looked(host)
    (suggestion,) = found.suggestions
    (unhelped,) = found.unhelped
    assert (suggestion.use.row.volume, unhelped.use.row.volume) == (
        volumes["hot"],
        volumes["scan"],
    )
    assert suggestion.advised.prospect is not None
    assert suggestion.size_bytes == suggestion.advised.prospect.size_bytes < 2 * GIB
    assert "of waiting a day: about" in suggestion.arithmetic
    assert any("fits" in each or "more a day" in each for each in suggestion.advised.reasons)
    assert "data are not read again soon enough" in unhelped.reason
    assert unhelped.instead.startswith("Only SSD for the whole volume helps: it needs 8 GiB")
    client.force_login(make.staff_user())
    text = on_one_line(client.get(reverse("host-advice", args=[host.key])).content.decode())
    assert "No cache advised" in text
    card = client.get(reverse("host-advice-card", args=[host.key])).content.decode()
    assert suggestion.arithmetic in on_one_line(card).replace("\xa0", " ")


def test_demand_wants_the_size_of_the_curve_and_nothing_for_what_no_cache_helps(
    here: tuple[Host, dict[str, Volume]],
) -> None:
    host, volumes = here
    renew_forecasts(noon_gone())
    (suggestion,) = looked(host).suggestions
    uncached = [UncachedVolume(each.pk, host.pk, each.size_bytes) for each in volumes.values()]
    demand = demand_by_host(uncached, noon_gone())[host.pk]
    assert demand.volumes == 2
    assert 0 < demand.wanted_bytes <= max(suggestion.size_bytes, 8 * GIB)


def test_a_curve_is_worked_out_once_a_day_and_forgotten_with_the_heat(
    here: tuple[Host, dict[str, Volume]],
) -> None:
    _host, volumes = here
    assert renew_forecasts(noon_gone()) == 2
    assert renew_forecasts(noon_gone() + timedelta(hours=2)) == 0
    assert renew_forecasts(noon_gone() + timedelta(hours=25)) == 2
    forget_heat(volumes["hot"])
    assert not HeatDay.objects.filter(volume=volumes["hot"]).exists()
    assert set(known_forecasts([each.pk for each in volumes.values()])) == {volumes["scan"].pk}


def test_advice_asks_no_more_of_the_database_with_curves(
    here: tuple[Host, dict[str, Volume]],
) -> None:
    host, _volumes = here
    facts, rows = inventory_of(host), snapshots_of(Volume.objects.placed_on(host))
    with CaptureQueriesContext(connection) as without:
        outlook(host, facts, rows, noon_gone())
    renew_forecasts(noon_gone())
    with CaptureQueriesContext(connection) as with_curves:
        outlook(host, facts, rows, noon_gone())
    assert len(with_curves) == len(without) <= 3


def test_what_was_forecast_beside_a_cache_says_nothing_once_it_is_gone(
    here: tuple[Host, dict[str, Volume]],
) -> None:
    host, volumes = here
    renew_forecasts(noon_gone())
    SizeForecast.objects.filter(volume=volumes["hot"]).update(cache_bytes=GIB)
    listed = {each.use.row.volume: each.advised for each in looked(host).suggestions}
    assert "not known yet" in listed[volumes["hot"]].reasons[0]
