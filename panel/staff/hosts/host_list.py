"""The list of hosts: what they do, their space and what is wrong with them, without inventories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from http import HTTPStatus
from typing import Final

from django import forms
from django.contrib import messages
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from jobs.problems import Problem, problems_of
from panel.lists.listing import (
    RIGHT,
    ListColumn,
    ListDefinition,
    csv_of,
    list_page,
    order_of,
    wants_csv,
)
from panel.staff.hosts import fleet
from panel.staff.hosts.fleet import HitRateTrend, HostSummaryRow
from storage.access import Right, staff_view
from storage.models import Host, Placement
from storage.models.host import MOST_TAGS, SITE_LIMIT, HostState, tags_of
from storage.name_validators import demand_plain

Test = Callable[[HostSummaryRow], bool]


@dataclass(frozen=True, slots=True)
class HostListRow:
    """One host with how many volumes lie on it, how its hit rate ran and what is wrong with it;
    None and () for a host that is not shown."""

    line: HostSummaryRow
    volume_count: int
    hit_rate_trend: HitRateTrend | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def hit_rate(self) -> float | None:
        return self.hit_rate_trend.recent.hit_rate if self.hit_rate_trend is not None else None

    @property
    def iops(self) -> float | None:
        now = self.line.now
        if now is None or now.read_iops is None or now.write_iops is None:
            return None
        return now.read_iops + now.write_iops

    @property
    def ssd_free_bytes(self) -> int | None:
        return self.line.outline.fast_free_bytes if self.line.outline else None

    @property
    def hdd_free_bytes(self) -> int | None:
        return self.line.outline.slow_free_bytes if self.line.outline else None


LISTING: Final = ListDefinition(
    name="hosts",
    first="host",
    columns=(
        ListColumn("host", "Host", lambda row: row.line.host.name_order),
        ListColumn("site", "Site", lambda row: row.line.host.site.casefold() or None),
        ListColumn(
            "state", "State", lambda row: (not row.problems, row.line.is_up), help="Problems first"
        ),
        ListColumn("ssd", "SSD", lambda row: row.ssd_free_bytes, help="Free space on SSD"),
        ListColumn("hdd", "HDD", lambda row: row.hdd_free_bytes, help="Free space on HDD"),
        ListColumn(
            "hits", "Hit rate", lambda row: row.hit_rate, help="Reads served by caches, 15 min"
        ),
        ListColumn("iops", "IOPS", lambda row: row.iops, True, RIGHT),
        ListColumn("volumes", "Volumes", lambda row: row.volume_count, True, RIGHT),
        ListColumn("seen", "Last answer", lambda row: row.line.host.last_seen_at, True, RIGHT),
    ),
    cells=(
        ("key", lambda row: row.line.host.key),
        ("host", lambda row: row.line.host.name),
        ("address", lambda row: row.line.host.address),
        ("site", lambda row: row.line.host.site),
        ("tags", lambda row: " ".join(row.line.host.tags)),
        ("state", lambda row: row.line.host.state),
        ("is_up", lambda row: row.line.is_up),
        ("in_maintenance", lambda row: row.line.host.in_maintenance),
        ("problems", lambda row: "; ".join(each.message for each in row.problems)),
        ("ssd_free_bytes", lambda row: row.ssd_free_bytes),
        ("ssd_bytes", lambda row: row.line.outline.fast_total_bytes if row.line.outline else None),
        ("hdd_free_bytes", lambda row: row.hdd_free_bytes),
        ("hdd_bytes", lambda row: row.line.outline.slow_total_bytes if row.line.outline else None),
        ("hit_rate", lambda row: row.hit_rate),
        ("iops", lambda row: row.iops),
        ("volumes", lambda row: row.volume_count),
        ("last_seen_at", lambda row: row.line.host.last_seen_at),
    ),
)


@staff_view()
@require_safe
def hosts(request: HttpRequest) -> HttpResponse:
    """Hosts with what they do, their space and what is wrong with them; `q` is part of a name or
    address, `state` one of STATES, `site` and `tag` the words that they carry. No inventory is
    read."""
    now = timezone.now()
    asked = {name: request.GET.get(name, "")[:100] for name in ("q", "state", "site", "tag")}
    every = fleet.lines_of(request.user, now)
    matching = labelled(hosts_named(every, asked["q"]), asked["site"], asked["tag"])
    chosen = in_state(matching, asked["state"])
    if wants_csv(request):
        return csv_of(request, LISTING, _rows(chosen), lambda rows: _filled(rows, now))
    rows = _rows(chosen)
    column, _ = order_of(LISTING, request.GET)
    if column is not None and column.name == "hits":
        # Only this order needs the trends of hosts that are not shown.
        rows = _with_trends(rows, now)
    sites = sorted({line.host.site for line in every if line.host.site}, key=str.casefold)
    columns = tuple(each for each in LISTING.columns if sites or each.name != "site")
    shown = list_page(request, replace(LISTING, columns=columns), rows)
    context = {
        **asked,
        "list": shown,
        "page": shown.page,
        "rows": _filled(shown.page.object_list, now),
        "filters": state_filters(matching),
        "found_count": len(matching),
        "sites": sites,
        "tags": sorted({tag for line in every for tag in line.host.tags}),
        "is_narrow": any(asked.values()),
        "is_empty": not every,
    }
    return render(request, "staff/hosts/hosts.html", context)


def _rows(lines: Sequence[HostSummaryRow]) -> list[HostListRow]:
    counts = volume_counts([line.host.pk for line in lines])
    return [HostListRow(line, counts.get(line.host.pk, 0)) for line in lines]


def _with_trends(rows: Iterable[HostListRow], now: datetime) -> list[HostListRow]:
    rows = list(rows)
    trends = fleet.hit_rate_trends([row.line for row in rows], now)
    return [replace(row, hit_rate_trend=trends.get(row.line.host.pk)) for row in rows]


def _filled(rows: Iterable[HostListRow], now: datetime) -> list[HostListRow]:
    """The rows with their trends and problems. Six queries at most."""
    rows = _with_trends(rows, now)
    problems = problems_of([row.line.host.pk for row in rows], now)
    return [replace(row, problems=problems.get(row.line.host.pk, ())) for row in rows]


class LabelsForm(forms.Form):
    """A site, and tags with spaces or commas between them."""

    site = forms.CharField(
        max_length=SITE_LIMIT,
        required=False,
        validators=[demand_plain],
        help_text="Location: data centre, city or room.",
    )
    tags = forms.CharField(
        max_length=400,
        required=False,
        validators=[demand_plain],
        help_text=f"Up to {MOST_TAGS} words with spaces or commas between them: nvme, rack-7.",
    )

    def clean_tags(self) -> list[str]:
        """In small letters, each once."""
        return tags_of(self.cleaned_data["tags"])


@staff_view(Right.OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def host_labels(request: HttpRequest, key: str) -> HttpResponse:
    """Site and tags of a host: words to group and find hosts by."""
    host = get_object_or_404(Host.objects.visible_to(request.user).without_inventory(), key=key)
    kept = {"site": host.site, "tags": " ".join(host.tags)}
    form = LabelsForm(request.POST or None, initial=kept)
    if request.method == "POST" and form.is_valid():
        host.site, host.tags = form.cleaned_data["site"], form.cleaned_data["tags"]
        host.save(update_fields=["site", "tags"])
        messages.success(request, f"Site and tags of {host.name} saved.")
        return redirect("host", host.key)
    others = Host.objects.visible_to(request.user).exclude(site="").order_by("site")
    context = {
        "host": host,
        "form": form,
        "sites": list(others.values_list("site", flat=True).distinct()),
    }
    code = HTTPStatus.UNPROCESSABLE_ENTITY if request.method == "POST" else 200
    return render(request, "staff/hosts/host_labels.html", context, status=code)


STATES: Final[Mapping[str, tuple[str, Test]]] = {
    "up": ("Up", lambda line: line.is_up),
    "trouble": ("Not answering", lambda line: not line.is_up and not _is_new(line)),
    "problems": ("With problems", lambda line: line.tally.total > 0),
    "ssd-short": ("Short of SSD", lambda line: line.is_short_of_ssd),
    "hdd-short": ("Short of HDD", lambda line: line.is_short_of_hdd),
    "new": ("Enrolling", lambda line: _is_new(line)),
    "maintenance": ("In maintenance", lambda line: line.host.in_maintenance),
}
"""Words of the address, with those for people."""


@dataclass(frozen=True, slots=True)
class StateFilter:
    """A filter by state, and how many hosts it would show."""

    name: str
    title: str
    count: int


def hosts_named(lines: Iterable[HostSummaryRow], text: str) -> list[HostSummaryRow]:
    """Those with the text in their name or address."""
    part = text.strip().casefold()
    return [
        line
        for line in lines
        if part in line.host.name.casefold() or part in line.host.address.casefold()
    ]


def labelled(lines: Iterable[HostSummaryRow], site: str, tag: str) -> list[HostSummaryRow]:
    """Those of the site and with the tag; "" stands for any."""
    return [
        line
        for line in lines
        if (not site or line.host.site == site) and (not tag or tag in line.host.tags)
    ]


def in_state(lines: Iterable[HostSummaryRow], state: str) -> list[HostSummaryRow]:
    """Those in one of STATES; all for any other word."""
    chosen = STATES.get(state)
    return [line for line in lines if chosen is None or chosen[1](line)]


def state_filters(lines: Collection[HostSummaryRow]) -> tuple[StateFilter, ...]:
    """The filters that would show any host."""
    counts = Counter(name for line in lines for name, (_, test) in STATES.items() if test(line))
    return tuple(
        StateFilter(name, title, counts[name])
        for name, (title, _) in STATES.items()
        if counts[name]
    )


def volume_counts(host_ids: Collection[int]) -> dict[int, int]:
    """How many volumes lie on each host, by its primary key. One query."""
    placed = Placement.objects.filter(host__in=host_ids, until=None, volume__previewed_at=None)
    return dict(placed.values_list("host_id").annotate(count=Count("pk")))


def _is_new(line: HostSummaryRow) -> bool:
    return line.host.state in (HostState.PENDING, HostState.UNVERIFIED)
