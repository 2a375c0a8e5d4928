"""Where a request came from, behind a proxy and without one."""

from __future__ import annotations

import pytest
from django.test import Client, RequestFactory, override_settings
from django.urls import reverse

from jobs.models import Job
from panel.accounts.client_address import address_of, network_of
from tests import make
from tests.scene import scene


def address(**meta: str) -> str | None:
    return address_of(RequestFactory().get("/", **meta))


def test_it_is_the_peer_whatever_the_request_claims() -> None:
    forged = {"HTTP_X_FORWARDED_FOR": "198.51.100.1"}
    assert address(REMOTE_ADDR="203.0.113.9", **forged) == "203.0.113.9"


@override_settings(ALLAUTH_TRUSTED_PROXY_COUNT=1)
def test_behind_a_trusted_proxy_it_is_the_one_the_proxy_names() -> None:
    named = {"HTTP_X_FORWARDED_FOR": "198.51.100.1, 203.0.113.9"}
    assert address(REMOTE_ADDR="127.0.0.1", **named) == "203.0.113.9"


@pytest.mark.parametrize("text", ["", "unix:", "a.b.c.d"])
def test_what_is_no_address_is_none(text: str) -> None:
    assert address(REMOTE_ADDR=text) is None


def test_the_zone_of_a_link_local_address_is_left_out() -> None:
    assert address(REMOTE_ADDR="fe80::1%eth0") == "fe80::1"


def test_ipv4_in_the_clothes_of_ipv6_is_ipv4() -> None:
    assert address(REMOTE_ADDR="::ffff:203.0.113.9") == "203.0.113.9"
    networks = {network_of(address(REMOTE_ADDR=f"::ffff:203.0.113.{n}")) for n in (5, 6)}
    assert networks == {"203.0.113.5", "203.0.113.6"}


@pytest.mark.django_db
def test_a_job_asked_for_on_a_page_says_where_from(client: Client) -> None:
    there = scene(managed=False)
    client.force_login(make.staff_user())
    client.post(reverse("volume-tag", args=[there.volume.key]), REMOTE_ADDR="203.0.113.9")
    assert Job.objects.get().address == "203.0.113.9"
