"""The map of the fleet: hosts by site, as large as their storage. Pure: from summary rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.urls import reverse

from jobs.problems import ProblemTally
from panel.charts.heat_bands import UNKNOWN, Heat, busy_heat, volume_heat
from panel.charts.tiles import Thing, TilePicture, tiled
from panel.staff.hosts.fleet import HostSummaryRow
from storage.formatting import counted, size
from storage.models import HostActivity

WIDE_PX: Final = 1200
PROBLEMS_LEGEND: Final = (
    Heat("1", "no problems"),
    Heat("3", "warnings"),
    Heat("4", "errors"),
    UNKNOWN,
)


@dataclass(frozen=True, slots=True)
class SiteMap:
    """`name` is "" for the hosts that have no site."""

    name: str
    words: str
    hosts: TilePicture


@dataclass(frozen=True, slots=True)
class FleetMap:
    """`unread` are the hosts of which no inventory has come: their size is not known."""

    sites: tuple[SiteMap, ...]
    unread: tuple[Thing, ...]


def fleet_map(lines: Iterable[HostSummaryRow], slow: Mapping[int, int]) -> FleetMap:
    """Sites by name; hosts without one come last. `slow` counts the slow volumes of a host by its
    primary key."""
    sites: dict[str, list[tuple[Thing, float]]] = {}
    unread = []
    for line in lines:
        thing = _thing(line, is_slow=bool(slow.get(line.host.pk)))
        if thing.size_bytes:
            sites.setdefault(line.host.site, []).append((thing, thing.size_bytes))
        else:
            unread.append(thing)
    names = sorted(sites, key=lambda name: (not name, name.casefold()))
    return FleetMap(tuple(_site(name, sites[name]) for name in names), tuple(unread))


def _site(name: str, weighed: Sequence[tuple[Thing, float]]) -> SiteMap:
    total = sum(weight for _, weight in weighed)
    words = f"{counted(len(weighed), 'host')}, {size(total)}"
    return SiteMap(name, words, tiled(weighed, WIDE_PX))


def _thing(line: HostSummaryRow, *, is_slow: bool) -> Thing:
    host, outline, now = line.host, line.outline, line.now
    is_known = line.is_up and not line.is_stale and now is not None
    read_heat = volume_heat(_worst_ms(now), is_slow=is_slow) if is_known and now else UNKNOWN
    return Thing(
        key=f"host-{host.key}",
        kind="host",
        name=host.name,
        size_bytes=outline.fast_total_bytes + outline.slow_total_bytes if outline else None,
        url=reverse("host", args=[host.key]),
        detail=_state(line),
        heats=(
            ("latency", read_heat),
            ("busy", busy_heat(now.busy, host.busy_percent) if is_known and now else UNKNOWN),
            ("problems", problems_heat(line.tally, is_known=is_known)),
        ),
    )


def _worst_ms(now: HostActivity) -> float | None:
    """The read latency of its slowest volume; None where none was read."""
    return max((read_ms for _, read_ms in now.top_read_ms), default=None)


def problems_heat(tally: ProblemTally, *, is_known: bool) -> Heat:
    """Of a host that does not answer, or of which figures are old, only problems are known: that it
    has none is not."""
    if tally.total:
        return Heat("4" if tally.tone == "error" else "3", counted(tally.total, "problem"))
    return Heat("1", "no problems") if is_known else UNKNOWN


def _state(line: HostSummaryRow) -> str:
    if line.is_silent:
        return "does not answer"
    if not line.is_up:
        return str(line.host.get_state_display())
    return "in maintenance" if line.host.in_maintenance else ""
