"""Staff decide what is sold, and see what is left to sell."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from storage.byte_sizes import GIB, MIB
from storage.models import CachePlan
from tests import make
from tests.panel.portal.shop import plan
from tests.proven import sign_in
from tests.scene import end, job, scene

pytestmark = pytest.mark.django_db
TYPED = {
    "name": "Fast",
    "description": "For busy servers",
    "size": "2",
    "unit": "GiB",
    "mode": "writethrough",
    "price": "4.90",
    "currency": "EUR",
    "on_offer": "on",
}


@pytest.fixture
def admin(client: Client) -> Client:
    return sign_in(client, make.staff_user())


def save(client: Client, *args: str, **changes: Any) -> int:
    """Send the form; the answer's status."""
    name = "cache-plan" if args else "cache-plan-new"
    typed = {key: value for key, value in {**TYPED, **changes}.items() if value is not None}
    return client.post(reverse(name, args=args), typed).status_code


def listed(client: Client) -> str:
    response = client.get(reverse("cache-plans"), follow=True)
    assert response.status_code == 200
    return response.content.decode()


def test_a_plan_is_stored_as_it_was_typed(admin: Client) -> None:
    host = make.host()
    assert save(admin, hosts=[host.pk]) == 302
    made = CachePlan.objects.get()
    assert (made.size_bytes, made.ratio_percent, made.mode) == (2 * GIB, None, "writethrough")
    assert (made.price_minor, made.currency, made.on_offer) == (490, "EUR", True)
    assert list(made.hosts.all()) == [host]
    text = listed(admin)
    for text_part in (
        "Fast",
        "For busy servers",
        "2\xa0GiB",
        "4.90\xa0EUR",
        host.name,
        "available",
    ):
        assert text_part in text


def test_a_plan_may_be_a_share_of_the_volume(admin: Client) -> None:
    assert save(admin, size="", ratio_percent="25", price="0") == 302
    made = CachePlan.objects.get()
    assert (made.size_bytes, made.ratio_percent, made.price_minor) == (None, 25, 0)
    assert "25\xa0% of the volume" in listed(admin)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": ""},
        {"size": "", "ratio_percent": ""},
        {"ratio_percent": "25"},
        {"size": "", "ratio_percent": "101"},
        {"size": "63", "unit": "MiB"},
        {"size": "9999999999999"},
        {"price": "4.905"},
        {"price": "-1"},
        {"price": "x"},
        {"currency": "eur"},
        {"currency": "EURO"},
        {"currency": "ABC"},
        {"mode": "writearound"},
        {"hosts": ["999999"]},
    ],
)
def test_what_makes_no_plan_is_refused_beside_its_field(
    admin: Client, changes: dict[str, Any]
) -> None:
    assert save(admin, **changes) == 422
    assert not CachePlan.objects.exists()


def test_two_plans_of_one_name_would_be_confused(admin: Client) -> None:
    plan("fast")
    assert save(admin) == 422


def test_a_plan_shows_in_its_form_what_it_is(admin: Client) -> None:
    made = plan(size_bytes=512 * MIB)
    text = admin.get(reverse("cache-plan", args=[made.key])).content.decode()
    assert 'value="512"' in text
    assert 'value="4.90"' in text
    assert '<option value="MiB" selected>' in text


def test_a_description_has_a_field_for_each_language(admin: Client) -> None:
    assert save(admin, description_de="Für Server mit viel Betrieb") == 302
    made = CachePlan.objects.get()
    assert made.descriptions == {"de": "Für Server mit viel Betrieb"}
    assert made.description_in("de") == "Für Server mit viel Betrieb"
    assert made.description_in("en") == made.description_in("fr") == "For busy servers"
    text = admin.get(reverse("cache-plan", args=[made.key])).content.decode()
    assert 'value="Für Server mit viel Betrieb"' in text
    assert save(admin, made.key) == 302
    made.refresh_from_db()
    assert (made.descriptions, made.description_in("de")) == ({}, "For busy servers")


def test_size_and_mode_stay_as_they_were_sold_but_the_price_may_change(admin: Client) -> None:
    made = plan()
    make.volume(cache_plan=made)
    assert save(admin, made.key, size="9", mode="writeback", price="5.50") == 302
    made.refresh_from_db()
    assert (made.size_bytes, made.mode, made.price_minor) == (2 * GIB, "writethrough", 550)


def test_a_plan_that_no_volume_had_is_deleted(admin: Client) -> None:
    made = plan()
    admin.post(reverse("cache-plan-delete", args=[made.key]))
    assert not CachePlan.objects.exists()


def test_a_plan_in_use_is_kept_with_the_reason(admin: Client) -> None:
    carried, bought = plan("Carried"), plan("Bought once")
    make.volume(cache_plan=carried)
    end(job(scene(), cache_plan=bought))
    for made, reason in ((carried, "1 volume uses it"), (bought, "the history refers to it")):
        path = reverse("cache-plan", args=[made.key])
        assert reason in admin.get(path).content.decode()
        answer = admin.post(reverse("cache-plan-delete", args=[made.key]), follow=True)
        assert reason in answer.content.decode()
    assert CachePlan.objects.count() == 2


def test_a_plan_is_retired_and_offered_again(admin: Client) -> None:
    made = plan()
    path = reverse("cache-plan-offer", args=[made.key])
    for value, is_offered, state in (("0", False, "retired"), ("1", True, "available")):
        admin.post(path, {"on_offer": value})
        made.refresh_from_db()
        assert made.on_offer is is_offered
        assert state in listed(admin)


def test_an_empty_shop_says_what_a_plan_is(admin: Client) -> None:
    text = listed(admin)
    assert "No plans yet" in text


@pytest.mark.parametrize(
    ("role", "sees", "changes"), [("read_only", 200, 403), ("operator", 200, 403), ("", 404, 404)]
)
def test_only_an_admin_decides_what_is_sold(
    client: Client, role: str, sees: int, changes: int
) -> None:
    made = plan()
    sign_in(client, make.user(staff_role=role))
    assert client.get(reverse("cache-plans")).status_code == sees
    assert client.get(reverse("cache-plan-new")).status_code == changes
    assert save(client, made.key) == changes
    for name in ("cache-plan-offer", "cache-plan-delete"):
        assert client.post(reverse(name, args=[made.key])).status_code == changes
    made.refresh_from_db()
    assert (made.name, made.on_offer) == ("Fast", True)
