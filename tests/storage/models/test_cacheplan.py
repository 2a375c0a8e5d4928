"""What may be sold: a cache of a size, or a share of the volume, and never neither."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import psycopg
import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction

from storage.byte_sizes import GIB
from storage.models import CachePlan
from storage.planner.wish import LVMCACHE_MIN_BYTES
from tests.conftest import url_of

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "sizes",
    [
        {},
        {"size_bytes": 0},
        {"ratio_percent": 0},
        {"ratio_percent": 101},
        {"size_bytes": GIB, "ratio_percent": 10},
        {"size_bytes": 0, "ratio_percent": 10},
    ],
)
def test_a_plan_has_a_size_or_a_ratio(sizes: dict[str, Any]) -> None:
    plan = CachePlan(name="neither", price_minor=1, currency="EUR", **sizes)
    with pytest.raises(ValidationError):
        plan.full_clean()
    with pytest.raises(IntegrityError, match="cache_plan_size_or_ratio"), transaction.atomic():
        plan.save()


@pytest.mark.parametrize("sizes", [{"size_bytes": GIB}, {"ratio_percent": 100}])
def test_a_plan_with_one_of_them_is_kept(sizes: dict[str, Any]) -> None:
    plan = CachePlan(name="one", price_minor=1, currency="EUR", **sizes)
    plan.full_clean()
    plan.save()


def test_plans_without_a_size_are_taken_off_sale_before_the_check_holds() -> None:
    mend = import_module("storage.migrations.0014_cache_plan_of_a_size").MEND
    with psycopg.connect(url_of("owner", connection.settings_dict["NAME"])) as owner:
        owner.execute("ALTER TABLE storage_cacheplan DROP CONSTRAINT cache_plan_size_or_ratio")
        for name, ratio in (("neither", None), ("ratio", 10)):
            owner.execute(
                "INSERT INTO storage_cacheplan (key, name, description, descriptions,"
                " ratio_percent, mode, tier, price_minor, currency, on_offer, created_at) VALUES"
                " (%s, %s, '', '{}', %s, 'writethrough', 'hdd', 1, 'EUR', true, now())",
                [name, name, ratio],
            )
        owner.execute(mend)
        rows = owner.execute(
            "SELECT name, size_bytes, ratio_percent, on_offer FROM storage_cacheplan ORDER BY name"
        ).fetchall()
        owner.rollback()
    assert rows == [("neither", LVMCACHE_MIN_BYTES, None, False), ("ratio", None, 10, True)]
