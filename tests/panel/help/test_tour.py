"""The tour: on the real pages, remembered, and over once it was skipped."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from panel.accounts import invitations
from panel.help import tour
from panel.models import User
from storage.access import MemberRole, StaffRole
from tests import make
from tests.panel.portal.shop import plan
from tests.scene import scene

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse 9"


def shown(client: Client, path: str) -> str:
    text = client.get(path).content.decode()
    return text[text.find("<aside") : text.find("</aside>")] if 'class="tour' in text else ""


def go(client: Client, step: int) -> str:
    return client.post(reverse("tour"), {"step": step})["Location"]


def test_who_accepts_an_invitation_begins_with_the_first_step(client: Client) -> None:
    _, token = invitations.to_staff("new@provider.org", StaffRole.ADMIN, None)
    person = invitations.accept_invitation(token, "New", PASSWORD)
    client.force_login(User.objects.get(pk=person.pk))
    assert "step 1 of 4" in shown(client, reverse("home"))


def test_who_chooses_a_new_password_sees_no_tour() -> None:
    person = make.staff_user()
    _, token = invitations.to_new_password(person, None)
    invitations.accept_invitation(token, "", PASSWORD)
    assert User.objects.get(pk=person.pk).tour_step == 0


def test_an_admin_is_led_over_four_real_pages(client: Client) -> None:
    there = scene()
    person = make.staff_user()
    tour.begin_tour(person)
    client.force_login(person)
    addresses = [reverse("home"), *(go(client, step) for step in (2, 3, 4))]
    assert addresses == [
        reverse("home"),
        reverse("host", args=[there.host.key]),
        reverse("volume", args=[there.volume.key]),
        reverse("cache-plans"),
    ]
    assert "Finish" in shown(client, addresses[3])
    # Another page says where the tour goes on, and no more.
    away = shown(client, reverse("jobs"))
    assert f'href="{addresses[3]}"' in away
    assert "measurably" not in away
    go(client, 0)
    assert shown(client, reverse("cache-plans")) == ""


def test_on_an_empty_panel_the_second_step_adds_a_host(client: Client) -> None:
    client.force_login(make.staff_user())
    assert go(client, 2) == reverse("host-new")
    assert go(client, 3) == reverse("volumes")
    client.force_login(make.staff_user(staff_role=StaffRole.READ_ONLY))
    assert go(client, 2) == reverse("hosts")


def test_a_customer_is_led_over_pages_of_their_own(client: Client) -> None:
    there = scene()
    plan()
    customer, person = make.customer(), make.user()
    customer.members.create(user=person, role=MemberRole.OWNER)
    there.volume.customer = customer
    there.volume.save()
    client.force_login(person)
    addresses = [go(client, step) for step in (1, 2, 3, 4)]
    assert addresses == [
        reverse("my-volumes"),
        reverse("my-volume", args=[there.volume.key]),
        reverse("my-plan", args=[there.volume.key]),
        reverse("notices"),
    ]
    assert client.get(addresses[3]).status_code == 200
    assert "step 4 of 4" in shown(client, addresses[3])


@pytest.mark.parametrize("step", ["", "5", "-1", "x", "²"])
def test_a_step_that_is_none_ends_the_tour(client: Client, step: str) -> None:
    person = make.staff_user()
    tour.begin_tour(person)
    client.force_login(person)
    client.post(reverse("tour"), {"step": step})
    assert User.objects.get(pk=person.pk).tour_step == 0
