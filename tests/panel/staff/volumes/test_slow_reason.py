"""Why a volume is slow, on its own page."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.urls import reverse

from panel.staff.volumes.slow_reason import SlowReason, slow_reason
from storage.models import Host, Volume
from storage.volumes.snapshot import snapshots_of
from tests import make
from tests.storage.analysis.test_disk_condition import Neighbours
from tests.storage.metrics.samples.rounds import NOON

pytestmark = pytest.mark.django_db
AFTER = NOON + timedelta(minutes=6)


@pytest.fixture
def neighbours() -> Neighbours:
    there = Neighbours(make.host(last_seen_at=NOON))
    there.minutes(6, 24, noisy=6000)
    return there


def asked(read_ms: float | None, *, is_stale: bool = False) -> SlowReason | None:
    volume = Volume.objects.get(label="calm")
    row: Any = SimpleNamespace(
        volume=volume,
        slow_limit=snapshots_of([volume])[0].slow_limit,
        host=Host.objects.get(),
        latest=SimpleNamespace(read_ms=read_ms),
        is_stale=is_stale,
    )
    return slow_reason(row, AFTER)


def test_the_disk_and_its_first_users_are_named_with_links(neighbours: Neighbours) -> None:
    reason = asked(24.2)
    assert reason is not None and reason.disk.name == "sdc"
    assert [str(user) for user, _ in reason.users] == ["noisy", "calm"]
    calm, noisy = Volume.objects.order_by("label")
    page = render_to_string("staff/volumes/_slow.html", {"slow": reason, "volume": calm})
    assert "Why is it slow?" in page and "Reads take 24.2 ms on average" in page
    assert "95 %</span> busy" in page and "this volume" in page
    assert reverse("volume", args=[noisy.key]) in page
    assert f"{reverse('host', args=[neighbours.host.key])}?at=" in page


@pytest.mark.parametrize(("read_ms", "is_stale"), [(19.9, False), (None, False), (24.2, True)])
def test_what_is_not_slow_now_needs_no_reason(
    neighbours: Neighbours, read_ms: float | None, is_stale: bool
) -> None:
    assert asked(read_ms, is_stale=is_stale) is None
