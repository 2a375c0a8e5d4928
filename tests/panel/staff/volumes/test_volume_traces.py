"""Traces on the page of a volume."""

from __future__ import annotations

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from storage.models import HeatTrace, Host, TraceState
from tests import make
from tests.heat_scene import counting_scene
from tests.one_line import on_one_line
from tests.scene import Scene
from tests.trace_scene import count_trace, trace

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_is_known() -> None:
    cache.clear()


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


@pytest.fixture
def here() -> Scene:
    return counting_scene()


def part(client: Client, there: Scene) -> str:
    url = reverse("volume-trace", args=[there.volume.key])
    response = client.get(url, headers={"HX-Request": "true"})
    assert response.status_code == 200
    return on_one_line(response.content.decode())


def test_a_trace_is_asked_for_where_the_curve_stands(staff: Client, here: Scene) -> None:
    url = reverse("volume-trace-new", args=[here.volume.key])
    curve = staff.get(reverse("volume-curve", args=[here.volume.key])).content.decode()
    assert url in curve
    assert 'value="15"' in curve
    staff.post(url, {"minutes": "20"})
    assert HeatTrace.objects.get().minutes == 20
    text = part(staff, here)
    assert "waits for" in text
    assert 'hx-trigger="every 10s"' in text


def test_minutes_that_are_too_many_are_refused(staff: Client, here: Scene) -> None:
    url = reverse("volume-trace-new", args=[here.volume.key])
    answer = staff.post(url, {"minutes": "31"}, follow=True)
    assert "A trace takes 1 to 30 minutes." in answer.content.decode()
    assert not HeatTrace.objects.exists()


def test_a_running_trace_shows_what_is_left_and_is_cancelled(staff: Client, here: Scene) -> None:
    made = trace(here)
    text = part(staff, here)
    assert (
        ">9\xa0min</strong> left of 15\xa0min." in text
        or ">10\xa0min</strong> left of 15\xa0min." in text
    )
    url = reverse("volume-trace-cancel", args=[here.volume.key, made.key])
    assert url in text
    staff.post(url)
    made.refresh_from_db()
    assert made.state == TraceState.CANCELLED
    text = part(staff, here)
    assert url not in text
    assert 'name="minutes"' in text
    assert "The trace has ended." in staff.post(url).content.decode()


def test_who_only_reads_sees_the_trace_and_no_button(client: Client, here: Scene) -> None:
    client.force_login(make.staff_user("reader@provider.org", staff_role="read_only"))
    trace(here)
    text = part(client, here)
    assert "left of 15\xa0min." in text
    assert "<form" not in text


def test_the_outcome_names_the_chunks_that_serve_most(staff: Client, here: Scene) -> None:
    count_trace(trace(here))
    text = part(staff, here)
    assert "serve most reads, of the sizes that a cache can have." in text
    assert text.count('<polyline class="size-chart-line size-chart-line-') == 3
    assert "Chunks of 4\xa0KiB" in text
    assert "Chunks of 1\xa0MiB" in text
    assert "hx-get" not in text


def test_a_trace_that_failed_says_why(staff: Client, here: Scene) -> None:
    made = trace(here, TraceState.FAILED)
    HeatTrace.objects.filter(pk=made.pk).update(message="The host counted nothing of it.")
    assert 'The last trace failed: <span class="text">The host counted nothing' in part(staff, here)


def test_where_no_trace_is_possible_the_reason_stands_instead_of_the_button(
    staff: Client, here: Scene
) -> None:
    Host.objects.update(hello={"policy": {"vgs": ["vg0"]}, "heat": {"state": "stopped"}})
    text = part(staff, here)
    assert "systemctl status tiercel-heat" in text
    assert 'name="minutes"' not in text
