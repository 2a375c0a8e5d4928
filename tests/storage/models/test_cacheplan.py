"""What may be sold: a cache of a size, or a share of the volume, and never neither."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from storage.byte_sizes import GIB
from storage.models import CachePlan

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
