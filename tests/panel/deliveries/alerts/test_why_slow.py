"""Where an alert leads that something is slow."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.urls import reverse

from panel.deliveries.alerts.alert_mail import AlertStory, letter_of
from panel.deliveries.alerts.why_slow import why_slow_path
from storage.problems.all_kinds import KINDS
from tests import make
from tests.panel.deliveries.alerts.alert_messages import alert, event

AT = datetime(2026, 11, 23, 3, 4, 5, tzinfo=UTC)


def test_a_slow_volume_leads_to_its_card_and_a_busy_disk_to_its_own() -> None:
    volume = reverse("volume-slowness", args=["v1"])
    assert why_slow_path("volume_slow", "v1", "h1", "vg0/lv") == volume
    assert why_slow_path("hit_rate_fell", "v1", "h1", "vg0/lv") == volume
    disk = reverse("host-busy", args=["h1", "sdc"])
    assert why_slow_path("hdd_saturated", "", "h1", "sdc") == disk
    assert (
        why_slow_path("volume_slow", "v1", "h1", "", AT) == f"{volume}?at=2026-11-23T03%3A04%3A05Z"
    )


@pytest.mark.parametrize(
    ("code", "volume", "subject"),
    [("array_degraded", "", "md0"), ("volume_slow", "", "vg0/lv"), ("hdd_saturated", "", "")],
)
def test_what_is_not_slow_or_gone_leads_nowhere(code: str, volume: str, subject: str) -> None:
    assert why_slow_path(code, volume, "h1", subject) == ""


def test_the_kinds_about_speed_are_those_that_a_person_calls_slow() -> None:
    assert {code for code, kind in KINDS.items() if kind.is_about_speed} == {
        "volume_slow",
        "hdd_saturated",
        "ssd_saturated",
        "cache_thrash",
        "cache_bypassed",
        "hit_rate_fell",
        "hit_rate_below_usual",
        "cache_slower",
    }


@pytest.mark.django_db
def test_a_message_has_the_cards_address_while_it_is_slow() -> None:
    volume = make.volume()
    slow = alert(make.host(), code="volume_slow", volume=volume, subject="vg0/lv")
    path = reverse("volume-slowness", args=[volume.key])
    opened = letter_of([AlertStory(slow, (event(slow),))])
    assert "Why is it slow: http" in opened.text and path in opened.text
    over = letter_of([AlertStory(slow, (event(slow, "resolved"),))])
    assert path not in over.text
