"""Search: what staff find, what customers find, and never more than is theirs."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from panel.accounts.name_search import cleaned, find_names
from panel.staff.volumes.filters import VolumeFilter
from storage.models import Customer, Member
from tests import make
from tests.scene import HOSTILE, Scene, job, scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def there() -> Scene:
    found = scene(make.lv("v-lv42"), label="Shop database", host={"name": "stor-ams-01"})
    found.volume.customer = Customer.objects.create(name="Acme Ltd", external_id="A-17")
    found.volume.guest, found.volume.external_id = "web12 · vdb", "disk-9"
    found.volume.save()
    return found


def titles(user: Any, text: str) -> dict[str, list[str]]:
    return {group.name: [hit.title for hit in group.hits] for group in find_names(user, text, 5)}


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ams-01", "Hosts"),
        ("SHOP", "Volumes"),
        ("base shop", "Volumes"),
        ("disk-9", "Volumes"),
        ("lv42", "Volumes"),
        ("web12", "Guests"),
        ("acme", "Customers"),
        ("a-17", "Customers"),
    ],
)
def test_staff_find_each_thing_by_a_part_of_its_names(there: Scene, text: str, kind: str) -> None:
    assert kind in titles(make.staff_user(), text)


def test_a_job_is_found_by_its_key_and_by_its_volume(there: Scene) -> None:
    asked = job(there)
    assert list(titles(make.staff_user(), asked.key)) == ["Jobs"]
    assert titles(make.staff_user(), "shop cache")["Jobs"] == ["Add cache: Shop database"]


def test_every_word_must_be_in_a_name(there: Scene) -> None:
    assert titles(make.staff_user(), "shop nothing") == {}


def test_signs_of_the_database_are_only_letters(there: Scene) -> None:
    assert titles(make.staff_user(), "%") == {}
    assert titles(make.staff_user(), "_") == {}


def test_a_volume_named_so_comes_before_one_whose_customer_is(there: Scene) -> None:
    make.volume(label="zz acme")
    assert titles(make.staff_user(), "acme")["Volumes"] == ["zz acme", "Shop database"]


def test_a_customer_finds_own_volumes_only(there: Scene) -> None:
    other = Customer.objects.create(name="Other Ltd")
    make.volume(label="Shop of others", customer=other)
    person = make.user()
    Member.objects.create(customer=there.volume.customer, user=person)
    assert titles(person, "shop") == {"Volumes": ["Shop database"]}
    for text in ("stor-ams", "web12", "lv42", "others"):
        assert titles(person, text) == {}, text


def test_nothing_is_found_for_no_words(there: Scene) -> None:
    assert find_names(make.staff_user(), "", 5) == ()


def test_what_was_typed_is_made_fit_for_the_database() -> None:
    assert cleaned("  a\0b \n c ") == "ab c"
    assert len(cleaned("x" * 1000)) == 100


def test_the_only_thing_found_is_opened(staff: Client, there: Scene) -> None:
    response = staff.get(reverse("search"), {"q": "ams-01"})
    assert response["Location"] == reverse("host", args=[there.host.key])


def test_the_page_shows_what_was_found_and_what_was_typed(staff: Client, there: Scene) -> None:
    job(there)
    text = staff.get(reverse("search"), {"q": "shop"}).content.decode()
    assert "Shop database" in text
    assert "2 found" in text
    empty = staff.get(reverse("search"), {"q": HOSTILE}).content.decode()
    assert "No results" in empty
    assert HOSTILE not in empty


def test_more_than_fits_is_said(staff: Client) -> None:
    for n in range(30):
        make.volume(label=f"box {n}")
    text = staff.get(reverse("search"), {"q": "box"}).content.decode()
    assert f'href="{reverse("volumes")}?q=box"' in text


def test_the_list_of_the_top_bar_links_to_what_it_names(staff: Client, there: Scene) -> None:
    text = staff.get(reverse("search-found"), {"q": "shop"}).content.decode()
    assert reverse("volume", args=[there.volume.key]) in text
    assert "1 found" in text
    assert "<html" not in text


def test_search_asks_the_same_of_the_database_for_one_and_for_many(
    django_assert_num_queries: DjangoAssertNumQueries, there: Scene
) -> None:
    person = make.staff_user()
    for count in (1, 10):
        for n in range(count):
            make.volume(label=f"Shop {count} {n}")
        with django_assert_num_queries(6):
            find_names(person, "shop", 5)


def test_a_word_is_not_looked_for_inside_keys() -> None:
    make.volume(label="reports", key="aauxbbccddeeffgg")
    acme = make.customer("Northwind Web")
    acme.key = "dbdbdbdbdbdbdbdb"
    acme.save()
    staff = make.staff_user()
    assert find_names(staff, "ux", 5) == () and find_names(staff, "db", 5) == ()
    (group,) = find_names(staff, "aauxbb", 5)
    assert [hit.title for hit in group.hits] == ["reports"]
    assert find_names(staff, "uxbbcc", 5) == ()


def test_a_word_is_not_looked_for_inside_names_made_of_keys() -> None:
    scene(make.lv("v-aadbccddeeffgghh"), label="web203 data")
    staff = make.staff_user()
    assert find_names(staff, "db", 5) == ()
    assert titles(staff, "v-aadb") == {"Volumes": ["web203 data"]}
    assert not VolumeFilter({"q": "db"}, staff).found(timezone.now()).exists()


def test_a_name_that_is_shown_nowhere_else_is_shown_where_it_was_found(there: Scene) -> None:
    staff = make.staff_user()
    for text, name in (("disk-9", "disk-9"), ("LV42", "v-lv42")):
        (group,) = find_names(staff, text, 5)
        assert group.hits[0].detail.endswith(f" · {name}"), text
    (group,) = find_names(staff, "shop", 5)
    assert "disk-9" not in group.hits[0].detail
