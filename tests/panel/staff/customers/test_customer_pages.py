"""Pages of customers: unreadable and ambiguous names, and deleting customers."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.test import Client
from django.urls import reverse

from storage.models import Customer, Volume
from tests import make
from tests.panel.staff.volumes.test_filters import sampled
from tests.scene import scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator(client: Client) -> Client:
    client.force_login(make.staff_user(staff_role="operator"))
    return client


def test_the_slow_volume_of_who_calls_comes_first_and_leads_to_the_reason(
    operator: Client,
) -> None:
    acme = make.customer("Acme")
    quick, slow = scene(make.lv(), label="alpha"), scene(make.lv(), label="beta")
    for there, read_ms in ((quick, 6_000), (slow, 6_000 * 25)):
        Volume.objects.filter(pk=there.volume.pk).update(customer=acme)
        sampled(there, read_ms=read_ms)
    make.slow(slow.volume, slow.host)
    page = operator.get(reverse("customer", args=[acme.key])).content.decode()
    assert page.index("beta") < page.index("alpha")
    assert "25.0\xa0ms" in page and "1.00\xa0ms" in page
    assert page.count("Why is it slow?") == 1
    assert reverse("volume-slowness", args=[slow.volume.key]) in page


def create(client: Client, **fields: str) -> int:
    return client.post(reverse("customer-new"), fields).status_code


@pytest.mark.parametrize("name", ["\u200b\u2060", "\u3164", "\u2800 \u00ad"])
def test_a_name_that_shows_nothing_is_refused(operator: Client, name: str) -> None:
    assert create(operator, name=name) == 422
    assert not Customer.objects.exists()


def test_a_name_that_exists_is_taken_only_when_confirmed(operator: Client) -> None:
    Customer.objects.create(name="Bluewater Data", external_id="c-1")
    answer = operator.post(reverse("customer-new"), {"name": " bluewater  data"})
    assert answer.status_code == 422
    text = answer.content.decode()
    assert "c-1" in text and 'name="is_namesake"' in text
    assert create(operator, name="Bluewater Data", is_namesake="on") == 302
    assert Customer.objects.filter(name__iexact="Bluewater Data").count() == 2


def test_a_customer_is_renamed_without_a_question_of_itself(operator: Client) -> None:
    customer = make.customer("Bluewater Data")
    address = reverse("customer-edit", args=[customer.key])
    fields = {"name": "Bluewater Data", "external_id": "c-9"}
    assert operator.post(address, fields).status_code == 302


def delete(client: Client, customer: Customer) -> str:
    answer = client.post(reverse("customer-delete", args=[customer.key]), follow=True)
    return answer.content.decode()


def test_a_customer_who_has_nothing_is_deleted_and_its_history_stays(operator: Client) -> None:
    customer = make.customer("Mistyped")
    assert "Mistyped was deleted." in delete(operator, customer)
    events = apps.get_model("storage", "CustomerEvent")._default_manager
    assert events.get(pgh_label="delete").name == "Mistyped"


def test_a_customer_with_volumes_or_users_stays_and_its_page_says_why(operator: Client) -> None:
    owner, member = make.customer("Owner"), make.customer("Member")
    make.volume(customer=owner)
    member.members.create(user=make.user())
    for customer, why in (
        (owner, "The customer has 1 volume."),
        (member, "The customer has 1 user."),
    ):
        page = operator.get(reverse("customer", args=[customer.key])).content.decode()
        assert f'id="why-kept">{why}' in page
        assert f"{customer.name} was not deleted. {why}" in delete(operator, customer)
    assert Customer.objects.count() == 2


def test_what_is_in_the_books_stays_in_the_books(operator: Client) -> None:
    customer = make.customer("Gone")
    volume = make.volume(customer=customer)
    volume.destroyed_at = volume.created_at
    volume.save()
    assert "kept for accounting" in delete(operator, customer)
    assert Customer.objects.count() == 1


def test_a_customer_is_deleted_by_a_second_click_that_names_them(operator: Client) -> None:
    customer = make.customer("Mistyped")
    page = operator.get(reverse("customer", args=[customer.key])).content.decode()
    folded = page.partition("<summary")[2].partition("Delete customer …</summary>")[2]
    asked = page[page.index("Delete customer …") :]
    assert folded and "cannot be undone" in asked and ">Delete <span" in asked
