"""No door to a volume's charts fails of times at the ends of the calendar."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from tests.panel.cast import Cast
from tests.panel.cast import people as people

DOORS = ("volume", "volume-series", "volume-csv", "volume-marks", "my-charts")
TIMES = (
    ("0001-01-01T00:00:00Z", "0001-01-01T00:00:30Z"),
    ("0001-01-01T00:00:00+14:00", "0001-01-02T00:00:00+14:00"),
    ("1969-12-31T23:59:59Z", "2026-11-21T03:00:00Z"),
    ("2026-11-21T03:00:00Z", "9999-12-31T23:59:59-12:00"),
)


@pytest.mark.parametrize("name", DOORS)
@pytest.mark.parametrize(("start", "end"), TIMES)
def test_a_time_that_is_far_away_is_none(people: Cast, name: str, start: str, end: str) -> None:
    client = people.clients["owner" if name == "my-charts" else "admin"]
    path = reverse(name, args=[people.acme.there.volume.key])
    assert client.get(path, {"from": start, "to": end}).status_code == 200


@pytest.mark.parametrize("asked", [dict(zip(("from", "to"), pair, strict=True)) for pair in TIMES])
def test_the_api_says_which_time_it_does_not_take(people: Cast, asked: dict[str, str]) -> None:
    path = reverse("api-volume-series", args=[people.acme.there.volume.key])
    caller = Client(headers=people.bearers["admin"])
    for sent in (asked, {"to": asked["from"]}, {"from": asked["to"]}):
        assert caller.get(path, sent).status_code in (200, 400)
