"""What a screen in an office shows of the fleet: four figures, a map of its hosts by time, and what
happened to them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Min, Q

from jobs.models import Alert
from jobs.problems import ProblemTally, problems_of_all_hosts, tallies, total
from panel.models import KioskLink
from panel.staff.dashboard.event_lane import MAINTAINED, EventLane, event_lane
from panel.staff.dashboard.heat_map import JUDGED, MEASURED, HeatMap, HeatScale, HeatTime, heat_map
from storage.formatting import counted, iops, ms, percent
from storage.metrics.rates import Sums, figures
from storage.metrics.samples.host_load import bucket_of, courses
from storage.models import Host, HostActivity, Volume
from storage.models.host import silent_seconds
from storage.volumes.slow_volumes import slow_counts

MOST_HOSTS: Final = 30
HOUR_BUCKETS: Final = 12


@dataclass(frozen=True, slots=True)
class ScreenFigure:
    """A large figure with its unit, "-" where it is not known; `tone` is "error" or "warning" where
    it needs a look, else ""."""

    title: str
    value: str
    note: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Screen:
    """All of it. `site` is "" for all hosts; `sampled_at` is the last sample of any, None before
    the first one. `slow_keys` are the hosts with a volume that is slow now."""

    site: str
    at: datetime
    sampled_at: datetime | None
    figures: tuple[ScreenFigure, ...]
    slow_keys: frozenset[str]
    heat: HeatMap | None
    lane: EventLane | None

    @property
    def title(self) -> str:
        return self.site or "All hosts"

    @property
    def empty_words(self) -> str:
        """Where there is no host to show."""
        if self.site:
            return (
                f"No host has the site “{self.site}”. Create another link, or assign hosts to it."
            )
        return "No host is measured yet. A host appears here once it is enrolled and accepted."


def screen_of(link: KioskLink, scale: HeatScale, time: HeatTime, at: datetime) -> Screen:
    """Of the hosts of the link. The number of queries does not depend on theirs."""
    chosen = Host.objects.filter(state__in=MEASURED).only(
        "key", "name", "name_order", *MAINTAINED, *JUDGED
    )
    hosts = list(chosen.filter(site=link.site) if link.site else chosen)
    ids = [host.pk for host in hosts]
    activities = list(HostActivity.objects.filter(host__in=ids))
    fresh = [each for each in activities if (at - each.at).total_seconds() <= silent_seconds()]
    slow = slow_counts(each.host_id for each in fresh)
    heat = heat_map(hosts, scale, time, at, MOST_HOSTS) if hosts else None
    lane = None
    if heat is not None:
        lane = event_lane(
            heat.start,
            heat.end,
            hosts,
            with_general=not link.site,
            names_volumes=link.shows_names,
        )
    return Screen(
        site=link.site,
        at=at,
        sampled_at=max((each.at for each in activities), default=None),
        figures=(
            _operations(fresh, len(hosts)),
            _hits(ids, at),
            _slowest(fresh, hosts, slow.total(), shows_names=link.shows_names),
            _problems(hosts, at, with_general=not link.site),
        ),
        slow_keys=frozenset(host.key for host in hosts if host.pk in slow),
        heat=heat,
        lane=lane,
    )


def _operations(fresh: Sequence[HostActivity], host_count: int) -> ScreenFigure:
    known = [each for each in fresh if each.read_iops is not None and each.write_iops is not None]
    reads = sum(each.read_iops or 0.0 for each in known)
    writes = sum(each.write_iops or 0.0 for each in known)
    if not known:
        return ScreenFigure("IOPS", "-", f"no recent sample of {counted(host_count, 'host')}")
    note = f"{iops(reads)} read, {iops(writes)} write"
    if len(known) < host_count:
        missing = f"{len(known)} of {counted(host_count, 'host')} report"
        return ScreenFigure("IOPS", iops(reads + writes), f"{note}; {missing}", "warning")
    return ScreenFigure("IOPS", iops(reads + writes), note)


def _hits(ids: Collection[int], at: datetime) -> ScreenFigure:
    by_host = courses(ids, bucket_of(at), HOUR_BUCKETS) if ids else {}
    known = (each for row in by_host.values() for each in row if each is not None)
    rate = figures(sum(known, Sums())).hit_rate
    note = "of reads on cached volumes, last hour"
    if rate is None:
        return ScreenFigure("From SSD", "-", "too few reads on cached volumes in the last hour")
    return ScreenFigure("From SSD", percent(rate), note)


def _slowest(
    fresh: Sequence[HostActivity], hosts: Sequence[Host], slow_count: int, *, shows_names: bool
) -> ScreenFigure:
    """The slowest volume of the last samples, and how many are slow."""
    title = "Slowest reads"
    reads = [(figure, each.host_id, pk) for each in fresh for pk, figure in each.top_read_ms]
    if not reads:
        note = "no volume was read in the last sample" if fresh else "no recent sample"
        return ScreenFigure(title, "-", note)
    worst, host_id, volume_id = max(reads)
    place = next((host.name for host in hosts if host.pk == host_id), "")
    if shows_names and (volume := Volume.objects.only("label").filter(pk=volume_id).first()):
        place = f"{volume} on {place}"
    waiting = counted(slow_count, "slow volume") if slow_count else "no slow volumes"
    if len(fresh) < len(hosts):
        verb = "reports" if len(hosts) == 1 else "report"
        waiting += f" ({len(fresh)} of {counted(len(hosts), 'host')} {verb})"
    return ScreenFigure(title, ms(worst), f"{place}; {waiting}", "warning" if slow_count else "")


def _problems(hosts: Sequence[Host], at: datetime, *, with_general: bool) -> ScreenFigure:
    by_host = tallies(at)
    of_them = {host: by_host[host.pk] for host in hosts if host.pk in by_host}
    general = len(list(problems_of_all_hosts())) if with_general else 0
    tally = total(of_them.values())
    count = tally.total + general
    if not count:
        return ScreenFigure("Open problems", "0", "nothing needs attention")
    words = [counted(tally.errors, "error")] if tally.errors else []
    words += [counted(tally.warnings, "warning")] if tally.warnings else []
    words += [f"{general} of all hosts"] if general else []
    words += [f"first look: {_first_look(of_them)}"] if tally.total else []
    tone = "error" if tally.errors or general else "warning"
    return ScreenFigure("Open problems", f"{count:,}", ", ".join(words), tone)


def _first_look(tallies: Mapping[Host, ProblemTally]) -> Host:
    """The host in the worst state; after all others one of whose alerts each is acknowledged or
    muted. One query."""
    open_alerts = Alert.objects.open().filter(host__in=[host.pk for host in tallies])
    gravest = Min("rank", filter=Q(pk__in=Alert.objects.waiting()))
    ranks = dict(
        open_alerts.values("host").annotate(gravest=gravest).values_list("host", "gravest")
    )

    def place(host: Host) -> tuple[bool, int]:
        rank = ranks.get(host.pk, tallies[host].rank)
        return rank is None, tallies[host].rank if rank is None else rank

    return min(tallies, key=place)
