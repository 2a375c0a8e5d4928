"""The new pages of the door in a real browser: small and dark, large and light."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Browser
from pytest_django.live_server_helper import LiveServer

from jobs.hosts import enrolment
from panel.models import SecurityEntry, SecurityKind
from tests import make
from tests.panel.browser.axe import violations
from tests.panel.browser.chromium import LOOKS, opened, too_wide
from tests.panel.browser.chromium import browser as browser

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_log_a_hidden_line_and_a_person_fit_and_can_be_read(
    browser: Browser, live_server: LiveServer
) -> None:
    boss = make.staff_user("boss@example.org")
    bob = make.user("person.with.a.long.name@department.example.org")
    for kind in SecurityKind:
        SecurityEntry.objects.create(
            kind=kind, person=bob.email, actor=boss.email, address="2001:db8::7", detail="owner of"
        )
    host, _ = enrolment.begin_enrolment("web9", "198.51.100.9")
    client = Client()
    client.force_login(boss)
    places = (reverse("security-log"), reverse("host-enrol", args=[host.key]))
    for width, scheme in LOOKS:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page, complaints = opened(context, live_server.url, client)
        for place in (*places, reverse("person", args=[bob.pk])):
            page.goto(live_server.url + place)
            assert too_wide(page) == [], place
            assert violations(page, width, scheme) == [], place
            if folder := os.environ.get("SCREENSHOT_FOLDER"):
                name = f"{place.strip('/').replace('/', '-')}-{width}.png"
                page.screenshot(path=Path(folder) / name, full_page=True)
        assert complaints == []
