"""Watching a volume closely, from its page and through the API."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.test import Client, RequestFactory
from django.urls import reverse
from pytest_django import Settings

from jobs import notify_workers
from panel.charts.subject import of_volume
from panel.charts.time_range import span_of
from storage.database_clock import database_now
from storage.models import Volume
from tests import make
from tests.panel.api.asking import problem
from tests.panel.api.asking import staff as program
from tests.panel.staff.test_job_requests import page, send, staff
from tests.scene import scene
from tests.storage import wire
from tests.storage.metrics.samples.rounds import take

__all__ = ["staff"]
pytestmark = pytest.mark.django_db


def until() -> timedelta | None:
    at = Volume.objects.get().watched_until
    return at and at - database_now()


def test_an_hour_begins_with_one_button_ends_with_another_and_is_on_record(staff: Client) -> None:
    there = scene(make.lv())
    assert "Watch closely for an hour" in page(staff, "volume", there.volume.key)
    assert send(staff, "volume-watch", there.volume.key).status_code == 302
    left = until()
    assert left is not None and timedelta(minutes=59) < left <= timedelta(hours=1)
    text = page(staff, "volume", there.volume.key)
    assert "Watched closely until" in text and "End close watch" in text
    assert send(staff, "volume-watch", there.volume.key, end="1").status_code == 302
    assert until() is None
    assert "Watch closely for an hour" in page(staff, "volume", there.volume.key)
    assert "watched until" in page(staff, "volume-details", there.volume.key)


def test_where_all_are_sampled_as_often_no_watch_is_offered(
    staff: Client, settings: Settings
) -> None:
    there = scene(make.lv())
    settings.TIERCEL_SAMPLE_SECONDS = 10
    assert "Watch closely" not in page(staff, "volume", there.volume.key)


def test_a_watch_that_is_over_says_nothing_any_more(staff: Client) -> None:
    there = scene(make.lv())
    Volume.objects.update(watched_until=database_now())
    assert "Watched closely until" not in page(staff, "volume", there.volume.key)


def test_a_volume_that_is_not_there_is_not_watched(staff: Client) -> None:
    there = scene(make.lv())
    Volume.objects.update(retired_at=database_now())
    assert send(staff, "volume-watch", there.volume.key).status_code == 422
    assert until() is None


def test_the_api_watches_for_as_many_minutes() -> None:
    there, asking = scene(make.lv()), program("operator")
    path = f"/volumes/{there.volume.key}/watch"
    answer = asking.send("put", path, {"minutes": 30})
    assert answer.status_code == 200
    left = until()
    assert left is not None and timedelta(minutes=29) < left <= timedelta(minutes=30)
    problem(asking.send("put", path, {"minutes": 0}), 422, "invalid")
    problem(asking.send("put", path, {"minutes": 1441}), 422, "invalid")
    assert asking.send("delete", path).status_code == 204
    assert until() is None
    Volume.objects.update(retired_at=database_now())
    problem(asking.send("put", path, {}), 422, "absent")


def test_the_live_view_begins_with_a_button_and_renews_itself(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = scene(make.lv())
    key = there.volume.key
    monkeypatch.setattr(notify_workers, "send", lambda task, pk, queue="": True)
    assert "Show live figures" in page(staff, "volume", key) and "every 1s" not in page(
        staff, "volume-live", key
    )
    begun = staff.post(reverse("volume-live", args=[key]), headers={"HX-Request": "true"})
    assert "Starting live figures" in begun.text and "every 1s" in begun.text
    seconds = [
        {"at": 0.0, "read_iops": 40.0 * n, "write_iops": 2.0, "read_ms": 7.5} for n in (1, 3)
    ]
    cache.set(f"live:{there.volume.pk}:view", {"seconds": seconds}, 10)
    text = page(staff, "volume-live", key)
    assert "122" in text and "7.5" in text and "every 1s" in text
    cache.set(f"live:{there.volume.pk}:view", {"trouble": "It rains."}, 10)
    cache.delete(f"live:{there.volume.pk}:lease")
    text = page(staff, "volume-live", key)
    assert "It rains." in text and "every 1s" not in text
    assert send(staff, "volume-live", key).status_code == 302


def test_a_retired_volume_has_no_live_view(staff: Client) -> None:
    there = scene(make.lv())
    Volume.objects.update(retired_at=database_now())
    text = send(staff, "volume-live", there.volume.key)
    assert text.status_code == 302 and "every 1s" not in page(
        staff, "volume-live", there.volume.key
    )


def test_what_was_watched_closely_is_drawn_and_answered_every_ten_seconds(staff: Client) -> None:
    there = scene(make.lv())
    start = database_now() - timedelta(minutes=8)
    for seconds in (0, 60, *range(70, 130, 10), 180, 240):
        disk = wire.disk(reads=10 * seconds, read_sectors=80 * seconds, read_ms=seconds)
        take(there.host, seconds, wire.volume(there.lv.uuid, disk=disk), start=start)
    drawn = staff.get(reverse("volume-series", args=[there.volume.key]), {"range": "1h"}).json()
    answered = program().get(f"/volumes/{there.volume.key}/series").json()
    for found in (drawn, answered):
        assert found["step_seconds"] == 10
        known = [each for each in found["series"]["read_iops"] if each is not None]
        # Four minutes are 24 steps, and touch 25 where they do not begin with one.
        assert known == [10] * len(known) and 22 <= len(known) <= 25
    listed = staff.get(reverse("volume-csv", args=[there.volume.key]), {"range": "1h"})
    assert len(listed.text.splitlines()) > 350


def test_charts_of_a_volume_that_is_watched_closely_renew_themselves_as_often() -> None:
    there, person = scene(make.lv()), make.staff_user()
    span = span_of(RequestFactory().get("/"), database_now(), known_since=database_now)
    assert of_volume(there.volume, person).point_seconds(span) == 60
    there.volume.watched_until = database_now() + timedelta(minutes=1)
    assert of_volume(there.volume, person).point_seconds(span) == 10


def test_live_figures_stand_in_the_card_of_the_latest_ones(staff: Client) -> None:
    there = scene(make.lv())
    for name in ("volume", "volume-figures"):
        card = page(staff, name, there.volume.key)
        card = card[card.index('id="figures"') :].partition("</section>")[0]
        assert card.count('id="live"') == 1, name
