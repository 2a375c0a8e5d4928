"""Columns of an interval, name -> PostgreSQL type, in the order of COPY.

The model says which there are and of what type; the dataclasses say which part fills each.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

from django.contrib.postgres.fields import ArrayField
from django.db import models

from storage.metrics.rates import CacheDelta, Delta, Gauges
from storage.models.sample import Interval

TYPES: Final[dict[type[models.Field[Any, Any]], str]] = {
    models.SmallIntegerField: "int2",
    models.IntegerField: "int4",
    models.BigIntegerField: "int8",
    ArrayField: "int8[]",
}
INTERVAL: Final = {column.name: TYPES[type(column)] for column in Interval._meta.local_fields}


def _columns_of(part: type) -> dict[str, str]:
    return {field.name: INTERVAL[field.name] for field in fields(part) if field.name in INTERVAL}


CACHE: Final = _columns_of(CacheDelta)
GAUGES: Final = _columns_of(Gauges)
DISK: Final = {name: INTERVAL[name] for name in _columns_of(Delta) if name != "latency_counts"}
