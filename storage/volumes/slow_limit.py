"""From which average read time on a volume is slow: one figure for lists, filters, pages, alerts,
customers, the API and metrics.

The nearest limit holds: that of the volume's cache plan, that of its host, the strictest of those
that the host's tags have, else `SLOW_READ_MS`. `slow_limit` decides in Python and `slow_limit_ms`
in SQL, by the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from django.contrib.postgres.fields import ArrayField
from django.db.models import (
    CharField,
    Expression,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    Subquery,
    Value,
)
from django.db.models.functions import Coalesce

from storage.models import CachePlan, Host, TagLimit, Volume
from storage.models.host import SLOW_READ_MS


class LimitOf(StrEnum):
    """What a limit belongs to, the nearest first."""

    PLAN = "plan"
    HOST = "host"
    TAG = "tag"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class SlowLimit:
    """`name` is that of the plan or the tag, "" for the others."""

    ms: int
    of: LimitOf
    name: str = ""

    @property
    def source(self) -> str:
        """Where it comes from: "plan Gold", "tag nvme", "host", "default"."""
        return f"{self.of} {self.name}".strip()


def slow_limit(
    plan: tuple[str, int] | None, host_ms: int | None, tags: Mapping[str, int]
) -> SlowLimit:
    """`plan` is the name and the limit of the volume's plan, `host_ms` the limit of its host, and
    `tags` has the limits of its host's tags; each only where there is one."""
    if plan is not None:
        return SlowLimit(plan[1], LimitOf.PLAN, plan[0])
    if host_ms is not None:
        return SlowLimit(host_ms, LimitOf.HOST)
    if tags:
        tag = min(tags, key=lambda each: (tags[each], each))
        return SlowLimit(tags[tag], LimitOf.TAG, tag)
    return SlowLimit(SLOW_READ_MS, LimitOf.DEFAULT)


def slow_limit_ms(plan: str, host: str) -> Expression:
    """The limit in milliseconds, in SQL; `plan` and `host` are the paths to both."""
    tags = ExpressionWrapper(OuterRef(f"{host}__tags"), ArrayField(CharField()))
    is_carried = Q(("host_tags__contains", [F("tag")]))
    of_tags = TagLimit.objects.annotate(host_tags=tags).filter(is_carried)
    strictest = Subquery(of_tags.order_by("slow_read_ms").values("slow_read_ms")[:1])
    return Coalesce(
        f"{plan}__slow_read_ms", f"{host}__slow_read_ms", strictest, Value(SLOW_READ_MS)
    )


class SlowLimits:
    """The limits of plans and tags, for many volumes; each kind is read once, when it is first
    asked for."""

    @cached_property
    def _plans(self) -> dict[int, tuple[str, int]]:
        rows = CachePlan.objects.values_list("pk", "name", "slow_read_ms")
        return {pk: (name, ms) for pk, name, ms in rows if ms is not None}

    @cached_property
    def _tags(self) -> dict[str, int]:
        return dict(TagLimit.objects.values_list("tag", "slow_read_ms"))

    def of(self, plan_id: int | None, host_ms: int | None, tags: Iterable[str]) -> SlowLimit:
        """That of a volume with this plan, on a host with this limit and these tags."""
        plan = self._plans.get(plan_id) if plan_id is not None else None
        return slow_limit(
            plan, host_ms, {tag: self._tags[tag] for tag in tags if tag in self._tags}
        )

    def of_volume(self, volume: Volume, host: Host | None) -> SlowLimit:
        """That of a volume, which lies on the host or on none."""
        if host is None:
            return self.of(volume.cache_plan_id, None, ())
        return self.of(volume.cache_plan_id, host.slow_read_ms, host.tags)
