"""Natural order of names, as the database computes it."""

from __future__ import annotations

import pytest

from storage.models import Customer, Host, Volume

pytestmark = pytest.mark.django_db
NAMES = ["app10", "App2", "app1", "zeta", "Beta", "app2b", "Ärzte", "stor-ams-13", "stor-ams-2"]
SORTED = ["app1", "App2", "app2b", "app10", "Ärzte", "Beta", "stor-ams-2", "stor-ams-13", "zeta"]


def test_numbers_sort_by_value_and_capitals_and_accents_beside_plain_letters() -> None:
    for name in NAMES:
        Volume.objects.create(label=name, size_bytes=1)
        Customer.objects.create(name=name)
        Host.objects.create(name=name, address="198.51.100.7")
    assert list(Volume.objects.values_list("label", flat=True)) == SORTED
    assert list(Customer.objects.values_list("name", flat=True)) == SORTED
    assert list(Host.objects.values_list("name", flat=True)) == SORTED


def test_a_name_of_nothing_but_numbers_fits_the_index() -> None:
    Volume.objects.create(label="1a" * 100, size_bytes=1)
    Volume.objects.create(label="9" * 200, size_bytes=1)
    assert Volume.objects.count() == 2
