"""From when until when each volume paid for which plan: completed orders, laid end to end. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOrder:
    """A completed order, by the primary keys of order, volume and plan: from `at` on the volume has
    the plan (None: none) for `minor` of `currency` a month. `trial_until` is when its trial ends,
    None for what is no trial; `undoes` is the order that it takes back, None for none."""

    order_id: int
    volume_id: int
    at: datetime
    plan_id: int | None
    currency: str
    minor: int
    trial_until: datetime | None = None
    undoes: int | None = None


class PlanPeriod(NamedTuple):
    """A volume paid `minor` a month for a plan from `since` to before `until` (None: it still
    does)."""

    volume_id: int
    plan_id: int
    currency: str
    minor: int
    since: datetime
    until: datetime | None = None

    def covers(self, moment: datetime) -> bool:
        """Whether it was paid at that moment."""
        return self.since <= moment and (self.until is None or moment < self.until)


def standing(orders: Iterable[PlanOrder]) -> list[PlanOrder]:
    """Without those that were undone, and what undid them: they count as if they had never been.
    The oldest first."""
    every = sorted(orders, key=lambda each: (each.at, each.order_id))
    known = {each.order_id for each in every}
    undone = {each.undoes for each in every}
    return [each for each in every if each.order_id not in undone and each.undoes not in known]


def plan_periods(
    orders: Iterable[PlanOrder], ends: Mapping[int, datetime] | None = None
) -> list[PlanPeriod]:
    """The periods in which something was paid. `ends` is, by volume, when one lost its plan without
    an order, say because it was retired.

    A plan for 4.90 from March 1 on and one for 7.90 from May 1 on are two periods, of which the
    first ends on May 1. If the second order is undone on May 3, the first one goes on.
    """
    by_volume = defaultdict[int, list[PlanOrder]](list)
    for order in standing(orders):
        by_volume[order.volume_id].append(order)
    return [
        period
        for volume_id, theirs in by_volume.items()
        for period in _laid(theirs, (ends or {}).get(volume_id))
    ]


def _laid(orders: Sequence[PlanOrder], end: datetime | None) -> Iterator[PlanPeriod]:
    """Those of one volume, the oldest first."""
    untils = [*(each.at for each in orders[1:]), end]
    for each, until in zip(orders, untils, strict=True):
        is_over_before = until is not None and until <= each.at
        if each.plan_id is None or not each.minor or each.trial_until or is_over_before:
            continue
        yield PlanPeriod(each.volume_id, each.plan_id, each.currency, each.minor, each.at, until)
