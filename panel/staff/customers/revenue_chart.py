"""The chart of revenue: a bar for each month, stacked by plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from panel.staff.customers.revenue import InvoicedMonth
from storage.analysis.sales.revenue_months import RevenueMonth

COLOURS: Final = 6
"""Plans with a colour of their own; the others share the last one."""
ROUND_TENTHS: Final = (10, 12, 16, 20, 24, 30, 40, 50, 60, 80, 100)
"""Upper ends of an axis, in tenths of a power of ten. Half of each is round too."""


@dataclass(frozen=True, slots=True)
class ChartPlan:
    """A plan of the chart, with the number of its colour."""

    name: str
    colour: int


@dataclass(frozen=True, slots=True)
class BarPart:
    """What a plan is of a bar: `top` and `share` in percent of the axis, from its upper end."""

    plan: ChartPlan
    minor: int
    top: float
    share: float


@dataclass(frozen=True, slots=True)
class MonthBar:
    """A month with its segments, the first plan lowest. `cells` are the amounts of all plans of the
    chart; `invoiced` is None where no line was written for it."""

    begin: datetime
    minor: int
    segments: list[BarPart]
    cells: list[int]
    invoiced: InvoicedMonth | None


@dataclass(frozen=True, slots=True)
class RevenueChart:
    """The revenue of one currency; `most` is the upper end of its axis."""

    currency: str
    most: int
    plans: list[ChartPlan]
    bars: list[MonthBar]

    @property
    def middle(self) -> int:
        return self.most // 2


def revenue_charts(
    months: Mapping[str, Sequence[RevenueMonth]],
    names: Mapping[int, str],
    invoiced: Mapping[str, Sequence[InvoicedMonth]],
) -> list[RevenueChart]:
    """One for each currency in which something was sold or invoiced."""
    return [
        _chart(currency, months.get(currency, ()), names, invoiced.get(currency, ()))
        for currency in sorted({*months, *invoiced})
    ]


def _chart(
    currency: str,
    months: Sequence[RevenueMonth],
    names: Mapping[int, str],
    invoiced: Sequence[InvoicedMonth],
) -> RevenueChart:
    totals = Counter[int]()
    for month in months:
        totals.update(month.minor)
    ordered = [plan_id for plan_id, _ in totals.most_common()]
    own = ordered if len(ordered) <= COLOURS else ordered[: COLOURS - 1]
    plans = [ChartPlan(names.get(pk, "Deleted plan"), n) for n, pk in enumerate(own, start=1)]
    rest = ordered[len(own) :]
    if rest:
        plans.append(ChartPlan("Other plans", COLOURS))
    by_month = {each.begin: each for each in months}
    lines = {each.begin: each for each in invoiced}
    most = _round_up(max((month.total for month in months), default=1) or 1)
    bars = []
    for begin in sorted({*by_month, *lines}):
        of = by_month[begin].minor if begin in by_month else {}
        cells = [of.get(plan_id, 0) for plan_id in own]
        if rest:
            cells.append(sum(of.get(plan_id, 0) for plan_id in rest))
        segments = list(_segments(plans, cells, most))
        bars.append(MonthBar(begin, sum(cells), segments, cells, lines.get(begin)))
    return RevenueChart(currency, most, plans, bars)


def _segments(plans: Sequence[ChartPlan], cells: Sequence[int], most: int) -> Iterator[BarPart]:
    below = 0
    for plan, minor in zip(plans, cells, strict=True):
        below += minor
        if minor:
            yield BarPart(plan, minor, 100 - 100 * below / most, 100 * minor / most)


def _round_up(minor: int) -> int:
    """To a round figure of which at least three quarters are filled."""
    power: int = 10 ** (len(str(minor)) - 1)
    return next(top for tenths in ROUND_TENTHS if (top := tenths * power // 10) >= minor)
