"""Sums of many volumes over several windows that end together: one query for a whole host."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from django.db import connection

from storage.metrics.rates import Sums
from storage.metrics.samples.window import EXPRESSIONS, NAMES
from storage.models import Volume

# Whole intervals only, as in a window.
QUERY: Final = (
    "SELECT volume_id, span.n, "  # noqa: S608 (constants)
    + ", ".join(f"coalesce({total}, 0)::bigint" for total in EXPRESSIONS)
    + " FROM storage_sample"
    " JOIN unnest(%s::timestamptz[]) WITH ORDINALITY AS span(start, n)"
    " ON ts - dt_ms * interval '1 millisecond' >= span.start"
    " WHERE volume_id = ANY(%s) AND ts > %s AND ts <= %s GROUP BY volume_id, span.n"
)


def loads(
    volumes: Iterable[Volume], starts: Sequence[datetime], end: datetime
) -> dict[int, tuple[Sums, ...]]:
    """By primary key of the volume: its sums from each of `starts` to `end`, in that order.
    Volumes without any sample in the longest window are missing."""
    keys = [volume.pk for volume in volumes]
    found: dict[int, list[Sums]] = {}
    with connection.cursor() as cursor:
        cursor.execute(QUERY, [list(starts), keys, min(starts), end])
        for volume_id, n, *values in cursor.fetchall():
            counts = tuple(values[len(NAMES) :])
            sums = Sums(**dict(zip(NAMES, values, strict=False)), latency_counts=counts)
            found.setdefault(volume_id, [Sums()] * len(starts))[n - 1] = sums
    return {volume_id: tuple(each) for volume_id, each in found.items()}
