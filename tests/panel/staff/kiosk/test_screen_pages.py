"""The page that a screen shows by its link."""

from __future__ import annotations

import logging

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse

from jobs.models import Kind
from panel.configuration.log_redaction import TokenFilter
from panel.models import KioskLink
from tests import make
from tests.panel.staff.kiosk.screens import address, ago, loaded_host, part_of
from tests.scene import job, scene

pytestmark = pytest.mark.django_db


def test_the_link_shows_the_hosts_without_a_session(client: Client) -> None:
    loaded_host(name="stor-1")
    path = address()
    for url in (path, part_of(path)):
        answer = client.get(url)
        text = answer.content.decode()
        assert answer.status_code == 200
        assert "stor-1" in text and "4.00\xa0ms" in text
        assert not answer.cookies
        assert answer["X-Robots-Tag"] == "noindex, nofollow"
        assert answer["Referrer-Policy"] == "no-referrer"
        assert "no-store" in answer["Cache-Control"]
        assert "default-src" in answer["Content-Security-Policy"]
        assert "style=" not in text and "<form" not in text and "<a " not in text
    assert not Session.objects.exists()


def test_a_person_who_is_signed_in_sees_what_the_link_shows_and_no_more(client: Client) -> None:
    there = scene(label="secret disk")
    client.force_login(make.staff_user())
    answer = client.get(address())
    assert there.host.name in answer.content.decode()
    assert "secret disk" not in answer.content.decode()


def test_a_link_that_is_over_is_not_found_at_once_and_on_the_next_renewal(client: Client) -> None:
    path = address()
    assert client.get(part_of(path)).status_code == 200
    KioskLink.objects.all().delete()
    for url in (path, part_of(path), "/kiosk/guessed/", "/kiosk/guessed/now"):
        assert client.get(url).status_code == 404


def test_no_other_page_opens_with_a_link(client: Client) -> None:
    loaded_host()
    path = address()
    client.get(path)
    for name in ("home", "hosts", "volumes", "kiosk-links", "overview", "fleet-series"):
        answer = client.get(reverse(name))
        assert answer.status_code == 302 and "login" in answer["Location"]
    assert client.get("/api/v1/hosts").status_code == 401
    for method in (client.post, client.put, client.delete):
        assert method(path).status_code == 405


def test_the_secret_is_masked_in_the_log(caplog: pytest.LogCaptureFixture, client: Client) -> None:
    secret = address().rstrip("/").rpartition("/")[2]
    KioskLink.objects.all().delete()
    caplog.handler.addFilter(TokenFilter())
    with caplog.at_level(logging.WARNING):
        client.get(reverse("kiosk", args=[secret]))
        client.get(reverse("kiosk-now", args=[secret]))
    assert caplog.text.count("/kiosk/***/") == 2
    assert secret not in caplog.text


def test_volumes_are_named_only_where_the_link_says_so(client: Client) -> None:
    there = scene(label="acme mail")
    make.activity(there.host, top_read_ms=[[there.volume.pk, 31.0]])
    make.slow(there.volume, there.host)
    job(there, kind=Kind.REMOVE_CACHE, started_at=ago(minutes=5))
    silent = client.get(address()).content.decode()
    assert "acme mail" not in silent
    assert f"{there.host}: Remove cache" in silent and "31.0\xa0ms" in silent
    named = client.get(address(shows_names=True)).content.decode()
    assert f"acme mail on {there.host}; 1 slow volume" in named
    assert f"{there.host}: Remove cache acme mail" in named


def test_a_link_of_a_site_shows_its_hosts_alone(client: Client) -> None:
    loaded_host(name="stor-hel", site="Helsinki 1")
    loaded_host(name="stor-ams", site="Amsterdam")
    text = client.get(address(site="Helsinki 1")).content.decode()
    assert "stor-hel" in text and "stor-ams" not in text
    empty = client.get(address(site="Nowhere")).content.decode()
    assert "No host has the site “Nowhere”." in empty


def test_the_address_says_what_colours_are_of_and_how_far_back(client: Client) -> None:
    loaded_host()
    path = address()
    assert "Read latency, last 24\xa0h" in client.get(path).content.decode()
    text = client.get(path, {"by": "busy", "range": "3h"}).content.decode()
    assert "Busiest volume, last 3\xa0h" in text
    assert "now?by=busy&amp;range=3h" in text
