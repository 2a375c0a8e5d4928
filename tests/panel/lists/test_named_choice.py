"""Choosing one of thousands by its name."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError

from panel.lists.named_choice import MOST_SUGGESTED, NamedChoiceField, by_id, suggested
from storage.models import Customer, Host
from tests import make

pytestmark = pytest.mark.django_db


def field() -> NamedChoiceField:
    chosen = NamedChoiceField("customers", required=False)
    chosen.queryset = Customer.objects.all()
    return chosen


def test_a_customer_is_meant_by_name_in_any_case_by_external_id_and_by_key() -> None:
    acme = Customer.objects.create(name="Acme Ltd", external_id="c-17")
    make.customer("Acme Ltd West")
    for text in ("Acme Ltd", " acme ltd ", "c-17", acme.key, "Acme Ltd · c-17"):
        assert field().clean(text) == acme, text
    assert field().clean("") is None


def test_what_is_suggested_means_the_row_that_it_names() -> None:
    for external_id in ("c-1", "c-2", "", ""):
        Customer.objects.create(name="Bluewater Data", external_id=external_id)
    texts = suggested(Customer.objects.all(), "bluew")
    assert len(set(texts)) == 4
    assert {field().clean(text) for text in texts} == set(Customer.objects.all())


def test_a_name_that_several_have_is_refused_with_what_to_do() -> None:
    for external_id in ("c-1", "c-2"):
        Customer.objects.create(name="Bluewater Data", external_id=external_id)
    with pytest.raises(ValidationError, match="Several customers are named “Bluewater Data”"):
        field().clean("Bluewater Data")


def test_a_text_that_is_one_customers_external_id_and_another_ones_name_is_refused() -> None:
    Customer.objects.create(name="Acme Ltd", external_id="26")
    twin = make.customer("26")
    with pytest.raises(ValidationError, match="Several customers are named “26”"):
        field().clean("26")
    assert field().clean("Acme Ltd · 26") != twin == field().clean(twin.key)


def test_a_key_is_stronger_than_an_external_id_of_the_same_text() -> None:
    acme = make.customer("Acme Ltd")
    for n in range(3):
        Customer.objects.create(name=acme.key, external_id=acme.key if n == 1 else "")
    assert field().clean(acme.key) == acme


def test_a_row_is_itself_whatever_others_are_called() -> None:
    acme = make.customer("Acme Ltd")
    Customer.objects.create(name=str(acme.pk), external_id=str(acme.pk + 1))
    Customer.objects.create(name=str(acme), external_id=str(acme.pk))
    assert field().clean(acme) == acme


def test_an_unknown_name_is_refused() -> None:
    make.customer("Acme Ltd")
    with pytest.raises(ValidationError, match="There is no customer “Bluewater”"):
        field().clean("Bluewater")


def test_what_begins_with_the_text_is_suggested_first_and_not_too_much() -> None:
    for n in range(1, 31):
        make.host(name=f"stor-{n}")
    make.host(name="db-stor-1")
    texts = suggested(Host.objects.all(), "stor-1")
    assert len(texts) == MOST_SUGGESTED
    assert texts[:3] == ["stor-1", "stor-10", "stor-11"] and texts[-1] == "db-stor-1"


def test_a_field_shows_a_key_by_its_name() -> None:
    acme = Customer.objects.create(name="Acme Ltd", external_id="c-17")
    assert field().prepare_value(acme.key) == "Acme Ltd · c-17"
    assert field().prepare_value("Acme") == "Acme"


def test_no_text_means_no_row() -> None:
    Customer.objects.create(name="Acme Ltd")
    assert by_id(Customer.objects.all(), "") is None
    assert by_id(Customer.objects.all(), "Acme Ltd · ") is None


def test_a_part_means_the_one_name_that_has_it() -> None:
    north = make.customer("Northwind Web")
    make.customer("Bluewater Data")
    assert field().clean("north") == north
    make.customer("Northern Light")
    with pytest.raises(ValidationError, match="Several customers are named “north”, or so in part"):
        field().clean("north")
    make.customer("North")
    assert field().clean("north").name == "North", "a whole name is stronger"
