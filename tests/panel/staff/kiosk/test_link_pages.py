"""The page on which admins make links to screens."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from panel.models import KioskLink
from tests import make
from tests.panel.staff.kiosk.screens import address
from tests.proven import is_asked, sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> Client:
    return sign_in(Client(), make.staff_user("ann@example.org"))


def test_the_address_of_a_new_link_is_shown_once(admin: Client) -> None:
    make.host(site="Helsinki 1")
    url = reverse("kiosk-links")
    sent = {"name": "Office", "site": "Helsinki 1", "days": "30", "shows_names": "on"}
    text = admin.post(url, sent).content.decode()
    found = re.search(r"/kiosk/[\w-]{43}/", text)
    assert found is not None
    assert Client().get(found[0]).status_code == 200
    link = KioskLink.objects.get()
    assert (link.site, link.shows_names, str(link.created_by)) == (
        "Helsinki 1",
        True,
        "ann@example.org",
    )
    again = admin.get(url).content.decode()
    assert "the hosts of Helsinki 1, names of volumes" in again and "ann@example.org" in again
    assert found[0] not in again


def test_a_site_that_no_host_has_is_refused(admin: Client) -> None:
    answer = admin.post(reverse("kiosk-links"), {"name": "Office", "site": "Nowhere"})
    assert answer.status_code == 422
    assert not KioskLink.objects.exists()


def test_a_new_link_takes_a_fresh_proof(client: Client) -> None:
    client.force_login(make.staff_user())
    assert is_asked(client.post(reverse("kiosk-links"), {"name": "Office"}))
    assert not KioskLink.objects.exists()


def test_an_operator_can_neither_make_nor_revoke_a_link() -> None:
    address()
    client = sign_in(Client(), make.staff_user(staff_role="operator"))
    assert client.get(reverse("kiosk-links")).status_code == 403
    assert client.post(reverse("kiosk-links"), {"name": "Office"}).status_code == 403
    key = KioskLink.objects.get().key
    assert client.post(reverse("kiosk-link-revoke", args=[key])).status_code == 403
    assert KioskLink.objects.count() == 1


def test_a_revoked_link_shows_nothing_at_once(admin: Client) -> None:
    path = address()
    assert Client().get(path).status_code == 200
    admin.post(reverse("kiosk-link-revoke", args=[KioskLink.objects.get().key]))
    assert Client().get(path).status_code == 404
    assert "No screens" in admin.get(reverse("kiosk-links")).content.decode()


def test_when_a_screen_was_last_there_is_shown(admin: Client) -> None:
    path = address()
    assert "never" in admin.get(reverse("kiosk-links")).content.decode()
    Client().get(path)
    assert "never" not in admin.get(reverse("kiosk-links")).content.decode()
