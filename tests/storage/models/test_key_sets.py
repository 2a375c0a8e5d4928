"""Conditions on many primary keys."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from storage.models import Volume
from storage.models.key_sets import any_of
from tests import make

pytestmark = pytest.mark.django_db


def test_only_the_rows_of_the_keys_are_found() -> None:
    first, second = make.volume(), make.volume()
    assert set(Volume.objects.filter(pk__in=any_of([first.pk]))) == {first}
    assert set(Volume.objects.filter(pk__in=any_of([first.pk, second.pk]))) == {first, second}
    assert set(Volume.objects.exclude(pk__in=any_of([second.pk]))) == {first}


def test_no_key_finds_no_row() -> None:
    make.volume()
    assert not Volume.objects.filter(pk__in=any_of([])).exists()
    assert not Volume.objects.filter(pk__in=any_of(iter(()))).exists()


def test_the_statement_has_the_same_length_for_one_key_and_for_many() -> None:
    with CaptureQueriesContext(connection) as statements:
        for count in (1, 100):
            list(Volume.objects.filter(pk__in=any_of(range(count))))
    one, many = (each["sql"].partition("unnest")[0] for each in statements)
    assert one == many
