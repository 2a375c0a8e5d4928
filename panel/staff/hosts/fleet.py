"""All hosts at once, from their summary rows and never from an inventory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from jobs.problems import ProblemTally, tallies
from panel.charts.sparkline import Spark, spark
from storage.access import Person
from storage.discovery.host_summary import FIELDS as OUTLINE_FIELDS
from storage.formatting import percent
from storage.health.host_problems import is_silent
from storage.health.shortage import is_short
from storage.metrics.rates import Figures, Sums, figures, read_hit_rate
from storage.metrics.samples.host_load import (
    bucket_of,
    courses,
)
from storage.models import Host, HostActivity, HostOutline
from storage.models.host import HostState, silent_seconds

FIELDS: Final = (
    "key",
    "name",
    "name_order",
    "site",
    "tags",
    "address",
    "state",
    "error",
    "last_seen_at",
    "created_at",
    "maintenance_since",
    "maintenance_until",
    "slow_read_ms",
    "busy_percent",
    "activity__at",
    "activity__read_iops",
    "activity__write_iops",
    "activity__busy",
    "activity__busiest_id",
    "activity__dirty_bytes",
    "activity__top_read_ms",
    *(f"outline__{name}" for name in OUTLINE_FIELDS),
)
"""What the pages over all hosts look at: never the inventory."""
NO_PROBLEMS: Final = ProblemTally()
COURSE_BUCKETS: Final = 24
"""Two hours of a sparkline."""
HOUR: Final = timedelta(hours=1)
BACK: Final = ((timedelta(days=7), "a week ago"), (timedelta(days=1), "yesterday"))
"""What the last hour is compared with: the first of them with enough accesses."""


@dataclass(frozen=True, slots=True)
class HostSummaryRow:
    """One host: what its last inventory came to and what its volumes do now; None before either.
    `tally` counts its problems (`jobs.problems`)."""

    host: Host
    outline: HostOutline | None
    now: HostActivity | None
    tally: ProblemTally
    is_silent: bool
    is_stale: bool

    @property
    def is_up(self) -> bool:
        return self.host.state == HostState.ACTIVE and not self.is_silent and not self.host.error

    @property
    def is_short_of_ssd(self) -> bool:
        return is_short(self.outline, "ssd")

    @property
    def is_short_of_hdd(self) -> bool:
        return is_short(self.outline, "hdd")


def lines_of(user: Person, at: datetime) -> tuple[HostSummaryRow, ...]:
    """Every host by name. Two queries, whatever their number."""
    hosts = Host.objects.visible_to(user).select_related("outline", "activity").only(*FIELDS)
    counted = tallies(at)
    return tuple(line_of(host, counted.get(host.pk, NO_PROBLEMS), at) for host in hosts)


def line_of(host: Host, tally: ProblemTally, at: datetime) -> HostSummaryRow:
    """Of a host with its outline and activity."""
    activity: HostActivity | None = getattr(host, "activity", None)
    return HostSummaryRow(
        host=host,
        outline=getattr(host, "outline", None),
        now=activity,
        tally=tally,
        is_silent=is_silent(host, at),
        is_stale=activity is not None and (at - activity.at).total_seconds() > silent_seconds(),
    )


@dataclass(frozen=True, slots=True)
class HitRateTrend:
    """A host's hit rate: of the last quarter of an hour, and its line over two hours."""

    recent: Figures
    line: Spark


def hit_rate_trends(lines: Sequence[HostSummaryRow], at: datetime) -> Mapping[int, HitRateTrend]:
    """By primary key of the host. One query."""
    buckets_by_host = courses([line.host.pk for line in lines], bucket_of(at), COURSE_BUCKETS)
    return {host_id: _hit_rate_trend(buckets) for host_id, buckets in buckets_by_host.items()}


def _hit_rate_trend(buckets: Sequence[Sums | None]) -> HitRateTrend:
    rates = [read_hit_rate(sums) if sums is not None else None for sums in buckets]
    recent = sum((sums for sums in buckets[-3:] if sums is not None), Sums())
    return HitRateTrend(figures(recent), spark(rates, top=1.0, say=percent))
