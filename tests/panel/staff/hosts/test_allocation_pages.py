"""The page of a host's SSD: who gets how much, and the button that previews the change."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from storage.models import Host
from tests import make
from tests.allocation_scene import OVERSIZED, WAITING, Part, allocation_scene, also
from tests.one_line import on_one_line
from tests.scene import scene

pytestmark = pytest.mark.django_db


def page(client: Client, host: Host, role: str = "operator") -> str:
    client.force_login(make.staff_user(staff_role=role))
    return on_one_line(client.get(reverse("host-allocation", args=[host.key])).content.decode())


def test_the_page_says_who_gets_how_much_and_why(client: Client) -> None:
    host, _ = allocation_scene(WAITING, OVERSIZED, Part(label="new"))
    text = page(client, host)
    assert "Divided anew, the same SSD would save 6.3\xa0h to 7.7\xa0h of waiting a day." in text
    assert "Preview the change of 2 volumes" in text
    assert "40\xa0% of its reads would come from SSD." in text
    assert "It hardly needs more: the rest is free for other volumes." in text
    assert "volume without a forecast keeps what it has." in text
    assert "480\xa0GB" in text
    assert "the rated endurance of an SSD is unknown" in text


def test_where_nothing_is_to_be_gained_the_page_says_so(client: Client) -> None:
    host, _ = allocation_scene(also(WAITING, hours={0: 0, 4: 0.01}), free_gib=20)
    text = page(client, host)
    assert "The SSD is divided well" in text and "Preview the change" not in text


def test_where_nothing_is_proposed_the_next_ssd_is_not_beyond_a_proposal(client: Client) -> None:
    nothing_free, _ = allocation_scene(WAITING)
    assert "of waiting a day, most on" in page(client, nothing_free)
    proposing, _ = allocation_scene(WAITING, OVERSIZED)
    assert "of waiting a day beyond the proposal, most on" in page(client, proposing)


def test_without_any_forecast_nothing_is_said_of_what_is_written(client: Client) -> None:
    host, _ = allocation_scene(Part(label="new", cache_gib=4))
    text = page(client, host)
    assert "No volume of this group has a forecast yet." in text
    assert "Written to SSD" not in text and "0 B a day" not in text


def test_the_writes_of_a_cache_without_a_forecast_are_unknown_and_not_0_b(client: Client) -> None:
    host, _ = allocation_scene(
        Part(label="new", cache_gib=4), also(WAITING, hours={0: 0, 4: 0.01}), free_gib=20
    )
    text = " ".join(page(client, host).split())
    assert 'Written to SSD: <span class="num">-</span> a day' in text
    assert "That leaves out 1 cache without a forecast." in text


def test_who_may_only_look_sees_the_proposal_and_no_button_to_press(client: Client) -> None:
    host, _ = allocation_scene(WAITING, free_gib=20)
    text = page(client, host, "read_only")
    assert 'disabled aria-describedby="look-only">Preview the change of 1 volume</button>' in text


def test_a_host_without_ssd_says_what_the_page_is_for(client: Client) -> None:
    there = scene(pvs=(make.pv(),))
    assert "No SSD for caches" in page(client, there.host)


def test_many_volumes_cost_no_more_queries_than_few(client: Client) -> None:
    client.force_login(make.staff_user())
    few, _ = allocation_scene(WAITING, OVERSIZED)
    many, _ = allocation_scene(*(also(WAITING, label=f"v{n}") for n in range(20)), OVERSIZED)
    counts = []
    for host in (few, few, many):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            client.get(reverse("host-allocation", args=[host.key]))
        counts.append(len(queries))
    assert counts[1] == counts[2]
