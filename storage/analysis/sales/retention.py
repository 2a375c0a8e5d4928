"""How many stayed: of the trials, and of those who paid. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from storage.analysis.sales.plan_periods import PlanOrder, PlanPeriod, standing

LEAST_CASES: Final = 5
"""Of fewer cases no share is a percentage: one more or less would change it by 20 points."""


@dataclass(frozen=True, slots=True)
class Share:
    """`count` `of` all cases."""

    count: int
    of: int

    @property
    def percent(self) -> float | None:
        """None for too few cases."""
        return 100 * self.count / self.of if self.of >= LEAST_CASES else None


def churn(periods: Sequence[PlanPeriod], since: datetime, at: datetime) -> Share:
    """Of the volumes that paid for a plan at `since`, those that pay for none at `at`.

    Six volumes paid; one changed to a cheaper plan, one was cancelled, and a seventh came later:
    1 of 6, 17 %.
    """
    paid = {each.volume_id for each in periods if each.covers(since)}
    pay = {each.volume_id for each in periods if each.covers(at)}
    return Share(len(paid - pay), len(paid))


def trials_kept(orders: Iterable[PlanOrder], since: datetime, at: datetime) -> Share:
    """Of the trials that ended after `since` and until `at`, those whose volume paid for a plan
    afterwards. A trial ends when its time is over, or before, when it is undone or a plan is paid
    for. A paid order that was undone kept nothing.

    Three trials ended: one was kept, one was undone on its second day, one ran out: 1 of 3. A
    fourth one, which still runs, does not count.
    """
    known = [each for each in orders if each.at <= at]
    undone_at = {each.undoes: each.at for each in known if each.undoes is not None}
    paid = [each for each in standing(known) if each.trial_until is None and each.minor]
    kept = ended = 0
    for trial in known:
        if trial.trial_until is None:
            continue
        bought = [
            each.at for each in paid if each.volume_id == trial.volume_id and each.at >= trial.at
        ]
        ends = [trial.trial_until, *bought]
        if trial.order_id in undone_at:
            ends.append(undone_at[trial.order_id])
        if since < min(ends) <= at:
            ended += 1
            kept += bool(bought)
    return Share(kept, ended)
