"""Which volumes are slow now: what the one judge (`storage.analysis.disk_condition.judge_volumes`)
found last. Lists, maps, the overview and customers' pages ask here, so that they and the alert say
the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Q

from storage import row_security
from storage.models import CacheCondition
from storage.models.key_sets import any_of

VOLUME_SLOW: Final = "volume_slow"
"""The code of the finding."""
NOTED_AS: Final = "slow_time"
FOUND: Final = [{"code": VOLUME_SLOW}]
IS_SLOW: Final = Q(cache_condition__findings__contains=FOUND)
"""The condition of a volume, in SQL."""


@dataclass(frozen=True, slots=True)
class SlowTime:
    """Of a volume that is slow: since when, the end of the last minute in which it was, and what a
    read took between the two; from `limit_ms` on it counts as slow. `is_now`: that was the last
    minute; else it may be over soon."""

    begun: datetime
    last: datetime
    average_ms: float | None
    limit_ms: int
    is_now: bool

    @property
    def seconds(self) -> float:
        return (self.last - self.begun).total_seconds()

    def to_json(self) -> list[Any]:
        span = self.begun.isoformat(), self.last.isoformat()
        return [*span, self.average_ms, self.limit_ms, self.is_now]

    @classmethod
    def from_json(cls, kept: list[Any]) -> SlowTime:
        begun, last, *figures = kept
        return cls(datetime.fromisoformat(begun), datetime.fromisoformat(last), *figures)


@row_security.beyond()
def slow_times(volume_ids: Iterable[int]) -> dict[int, SlowTime]:
    """Of those that are slow, by primary key, in one query. Findings name neighbours, so that
    customers see no row of them; these times name nothing."""
    rows = CacheCondition.objects.filter(volume__in=any_of(volume_ids), findings__contains=FOUND)
    times = rows.filter(**{f"noted__{NOTED_AS}__isnull": False})
    return {
        pk: SlowTime.from_json(kept)
        for pk, kept in times.values_list("volume_id", f"noted__{NOTED_AS}")
    }


def slow_counts(host_ids: Iterable[int]) -> Counter[int]:
    """How many volumes of each host are slow, by its primary key, in one query."""
    rows = CacheCondition.objects.filter(host__in=any_of(host_ids), findings__contains=FOUND)
    return Counter(rows.exclude(findings=[]).values_list("host_id", flat=True))
