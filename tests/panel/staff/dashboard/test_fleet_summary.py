"""The fleet in figures."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from panel.staff.dashboard.fleet_summary import HitRate, hit_rate
from tests import make
from tests.scene import scene

pytestmark = pytest.mark.django_db


def part(client: Client, **asked: str) -> str:
    """The tables of the page, as they renew themselves."""
    return client.get(reverse("overview"), {"part": "tables", **asked}).content.decode()


def test_the_volumes_with_most_io_and_the_slowest_reads_are_named(client: Client) -> None:
    client.force_login(make.staff_user())
    quiet, busy, old = scene(label="quiet disk"), scene(label="busy disk"), scene(label="old disk")
    make.activity(quiet.host, top_iops=[[quiet.volume.pk, 10]], top_read_ms=[])
    make.activity(busy.host, top_iops=[[busy.volume.pk, 500]], top_read_ms=[[busy.volume.pk, 26.4]])
    long_ago = timezone.now() - timedelta(hours=2)
    make.activity(old.host, at=long_ago, top_iops=[[old.volume.pk, 9000]])
    most, slowest = part(client, show="io"), part(client, show="reads")
    assert most.index("busy disk") < most.index("quiet disk")
    assert "500\xa0IOPS" in most
    assert reverse("volume", args=[busy.volume.key]) in most
    assert "old disk" not in most
    assert "26.4\xa0ms" in slowest
    assert "quiet disk" not in slowest


def test_a_fleet_without_figures_is_not_said_to_read_too_little() -> None:
    unmeasured, measured = hit_rate(timezone.now()), HitRate(True, None, 9, None, "")
    assert (unmeasured.now, unmeasured.note) == (None, "no figures yet")
    assert measured.note == "too few reads of cached volumes"
