"""One host's page in tabs (summary, volumes, map and disks, jobs, settings) and its fragments.
They only read; `panel.staff.hosts.host_actions` changes hosts."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.models import Job
from jobs.problems import problems_of
from jobs.queue.bulk import blocking_jobs
from jobs.queue.reservations import reserved
from panel.charts.chart_context import host_chart_context
from panel.deliveries.alerts.alert_routing import hosts_without_other_recipient
from panel.http.fragments import fragment_or_page
from panel.staff.alerts.alert_list import marks_of
from panel.staff.change_log import edits
from panel.staff.hosts.busy_disks import who_context
from panel.staff.hosts.disk_health_card import arrays_of, disk_health, failing_disks
from panel.staff.hosts.host_volumes import (
    Resident,
    figures_of,
    residents_of,
    untagged,
)
from panel.staff.hosts.map_pages import host_map_context
from panel.staff.hosts.problem_rows import problem_rows
from panel.staff.hosts.storage_stack import stack_of
from panel.staff.tabs import Tab
from storage.access import staff_view
from storage.formatting import counted
from storage.health.drift import differences_of, drift_of
from storage.health.host_problems import (
    is_silent,
    reported_problems,
)
from storage.health.restart_checks import after_restart, before_restart
from storage.inventory.device_tree import fast_disks
from storage.inventory.facts import HostFacts
from storage.models import Host, Placement, Volume
from storage.stored_inventory import inventory_of
from storage.volumes.slow_limit import SlowLimits
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of

VOLUMES_SHOWN: Final = 12
"""Volumes on the host's own page; the list of volumes has them all."""
BUSIEST_SHOWN, FEW = 5, 3
"""Of a host with many problems, these come first: its page stays one that can be read."""
MANY_PROBLEMS: Final = 3
PROBLEMS_SHOWN: Final = 3
"""The others unfold; data at risk comes first, and is always shown."""
CHARTS_SHOWN: Final = 4
DRIFTS_SHOWN: Final = 12
MISSING_SHOWN: Final = 20
LAST_JOBS: Final = 20
PATIENCE_SECONDS: Final = 60
PROPOSED: Final = timedelta(hours=2)
"""The default length of a maintenance."""
READ: Final = json.dumps({"hostread": {"target": "body"}})
"""The event after which the parts of a page that were loaded later refresh."""


def frame(request: HttpRequest, host: Host, tab: str) -> dict[str, Any]:
    """What the head of each tab shows."""
    unfinished = Job.objects.visible_to(request.user).unfinished().filter(host=host, dry_run=False)
    volumes = Placement.objects.filter(host=host, until=None, volume__previewed_at=None)
    counts = {"host-volumes": volumes.count(), "host-jobs": unfinished.count() or None}
    names = (
        ("host", "Summary"),
        ("host-volumes", "Volumes"),
        ("host-disks", "Map and disks"),
        ("host-allocation", "SSD"),
        ("host-jobs", "Jobs"),
        ("host-history", "History"),
        ("host-settings", "Settings"),
    )
    tabs = [
        Tab(name, title, reverse(name, args=[host.key]), counts.get(name)) for name, title in names
    ]
    return {
        "host": host,
        "tab": tab,
        "tabs": tabs,
        "silent": is_silent(host, timezone.now()),
        "no_recipient": _no_recipient_text(host) if tab == "host" else "",
        **_problems(host),
    }


def _no_recipient_text(host: Host) -> str:
    """A warning where no recipient is notified at once of problems of the host."""
    gaps = {each.host.pk: each.unnotified_of for each in hosts_without_other_recipient()}
    words = {"errors": "no recipient of errors", "anything": "no recipient"}
    return words[gaps[host.pk]] if host.pk in gaps else ""


def _problems(host: Host) -> dict[str, Any]:
    """In rows, and how many there are."""
    problems = problems_of([host.pk], timezone.now())[host.pk]
    rows = problem_rows(problems, marks_of(problems))
    count = sum(row.count for row in rows)
    shown = max(PROBLEMS_SHOWN, sum(row.at_risk for row in rows))
    return {
        "problems": rows,
        "shown_problems": rows[:shown],
        "more_problems": rows[shown:],
        "problem_count": count,
        "problem_words": counted(count, "problem"),
        "problem_tone": "error" if any(row.severity == "error" for row in rows) else "warning",
    }


def find_host(request: HttpRequest, key: str) -> Host:
    """The host with its outline; raises `Http404`."""
    return get_object_or_404(
        Host.objects.visible_to(request.user).select_related("outline"), key=key
    )


@staff_view()
@require_safe
def host(request: HttpRequest, key: str) -> HttpResponse:
    """The summary: what is wrong, what the host does now, its charts and its space. Of a removed
    host, when that was: jobs and the audit trail lead here."""
    removed = Host.objects.removed_for(request.user).filter(key=key).first()
    if removed is not None:
        gone = {"host": removed, "edits": edits(removed)}
        return render(request, "staff/hosts/host_removed.html", gone)
    shown = find_host(request, key)
    now, facts, figures = timezone.now(), inventory_of(shown), figures_of(shown)
    context: dict[str, Any] = {
        **frame(request, shown, "host"),
        "facts": facts,
        "figures": figures,
        "stale": figures.is_stale(now),
        "reading": pending_refresh(request.GET.get("asked", ""), shown.facts_at, now),
    }
    if facts is not None:
        residents, is_troubled = residents_of(shown), len(context["problems"]) >= MANY_PROBLEMS
        context |= _charts(request, shown)
        context |= who_context(request, shown)
        context |= {
            "stack": stack_of(facts),
            "busiest": _listed(shown, facts, residents, FEW if is_troubled else BUSIEST_SHOWN),
            "volume_count": len(residents),
            "observed": [vg for vg in facts.vgs if not vg.allowed],
            "has_ssd": bool(fast_disks(facts)),
        }
    response = render(request, "staff/hosts/host.html", context)
    if "asked" in request.GET and context["reading"] is None:
        response["HX-Trigger"] = READ
    return response


def _charts(request: HttpRequest, host: Host) -> dict[str, Any]:
    """The first charts alone, so that the page stays short, with those of a disk that was chosen;
    all with `charts=all`."""
    context: dict[str, Any] = host_chart_context(host, request)
    panels, is_whole = context["charts"]["panels"], request.GET.get("charts") == "all"
    of_disk = [panel for panel in panels if panel.name.startswith("disk_")]
    first = [panel for panel in panels if panel not in of_disk][:CHARTS_SHOWN]
    chosen = [*first, *(of_disk if "disk" in request.GET else ())]
    shown = tuple(panel for panel in panels if is_whole or panel in chosen)
    context["charts"]["panels"] = shown
    others = request.GET.copy()
    others.pop("asked", None)
    if is_whole:
        del others["charts"]
    else:
        others["charts"] = "all"
    return {
        **context,
        "other_charts": others.urlencode(),
        "disk_choices": _disk_choices(
            request, context["charts"]["disks"], context["charts"]["disk"]
        ),
        "has_all_charts": is_whole,
    }


def _disk_choices(
    request: HttpRequest, disks: Sequence[str], shown: str
) -> list[tuple[str, str, bool]]:
    """The disks of which charts can be shown, each with the parameters that ask for it."""
    return [
        (name, urlencode({**request.GET.dict(), "disk": name}), name == shown) for name in disks
    ]


def _locked_volumes(host: Host) -> frozenset[str]:
    """Keys of the volumes that a job holds."""
    holding = Job.objects.unfinished().filter(host=host, dry_run=False, volume__isnull=False)
    return frozenset(holding.values_list("volume__key", flat=True))


@staff_view()
@require_safe
def host_volumes(request: HttpRequest, key: str) -> HttpResponse:
    """Its volumes by wait time, those that are missing, and those that are not as recorded."""
    shown = find_host(request, key)
    facts = inventory_of(shown)
    missing = Placement.objects.filter(host=shown, until=None, missing_since__isnull=False)
    placements = list(missing.select_related("volume").order_by("missing_since", "pk"))
    context: dict[str, Any] = {
        **frame(request, shown, "host-volumes"),
        "facts": facts,
        "missing": placements[:MISSING_SHOWN],
        "missing_count": len(placements),
        "missing_advice": _missing_advice(len(placements)),
    }
    if facts is not None:
        residents = residents_of(shown)
        context |= {
            "listed": _listed(shown, facts, residents, VOLUMES_SHOWN),
            "volume_count": len(residents),
            "untagged_count": untagged(facts, residents),
            "latency_full_ms": 2 * SlowLimits().of(None, shown.slow_read_ms, shown.tags).ms,
        }
        context |= _drifts(request, shown, facts)
    return render(request, "staff/hosts/host_volumes.html", context)


def _missing_advice(count: int) -> str:
    what, them = ("this volume", "it") if count == 1 else (f"all {count} volumes", "them")
    return (
        f"If you removed {what} on purpose, remove {them} from this list. Records and data points "
        "are kept, and customers stop paying for caches. A volume that reappears later gets a new "
        "record."
    )


def _listed(
    host: Host, facts: HostFacts, residents: tuple[Resident, ...], limit: int
) -> list[tuple[VolumeSnapshot, float | None]]:
    """The volumes with the deepest queues, and how deep they are."""
    ordered = sorted(residents, key=lambda each: (-(each.waits or 0.0), each.volume_id))[:limit]
    volumes = Volume.objects.filter(pk__in=[each.volume_id for each in ordered])
    rows = snapshots_of(volumes.select_related("customer"), {host.pk: facts})
    by_id = {row.volume.pk: row for row in rows}
    return [(by_id[each.volume_id], each.waits) for each in ordered if each.volume_id in by_id]


def _drifts(request: HttpRequest, host: Host, facts: HostFacts) -> dict[str, object]:
    """Volumes that differ from their records; what a job is changing is left out."""
    locked_volumes = _locked_volumes(host)
    rows = snapshots_of(Volume.objects.visible_to(request.user).placed_on(host), {host.pk: facts})
    drifted = [row for row in rows if row.volume.key not in locked_volumes and differences_of(row)]
    return {
        "drifts": [(row.volume, drift_of(row)) for row in drifted[:DRIFTS_SHOWN]],
        "drift_count": len(drifted),
    }


@staff_view()
@require_safe
def host_disks(request: HttpRequest, key: str) -> HttpResponse:
    """What the host's storage is built of, as a map and in tables."""
    shown = find_host(request, key)
    facts = inventory_of(shown)
    context: dict[str, Any] = {**frame(request, shown, "host-disks"), "facts": facts}
    if facts is not None:
        disks = disk_health(shown, facts, timezone.now())
        arrays = arrays_of(shown, facts, failing_disks(disks))
        context |= {
            **host_map_context(request.user, shown, facts),
            "arrays": arrays,
            "has_array_work": any(row.commands or row.progress for row in arrays),
            "disks": disks,
        }
    return render(request, "staff/hosts/host_disks.html", context)


@staff_view()
@require_safe
def host_jobs(request: HttpRequest, key: str) -> HttpResponse:
    """The jobs of a host that have not ended, the last ones that have, and the SSD space that
    accepted ones will take. The list refreshes."""
    shown = find_host(request, key)
    all_jobs = Job.objects.visible_to(request.user).with_names().filter(host=shown, dry_run=False)
    unfinished = list(all_jobs.unfinished()[:LAST_JOBS])
    facts = inventory_of(shown) if unfinished else None
    reserved_bytes = reserved(shown, facts) if facts is not None else {}
    ended = all_jobs.exclude(pk__in=[job.pk for job in unfinished])
    context = {
        **frame(request, shown, "host-jobs"),
        "jobs": [*unfinished, *ended[: max(0, LAST_JOBS - len(unfinished))]],
        "reserved_bytes": sum(reserved_bytes.values()),
    }
    return render(request, "staff/hosts/host_jobs.html", context)


@staff_view()
@require_safe
def host_settings(request: HttpRequest, key: str) -> HttpResponse:
    """Maintenance, policy, keys, preflight, and the history of the record."""
    shown = find_host(request, key)
    facts, reported = inventory_of(shown), reported_problems(shown)
    context = {
        **frame(request, shown, "host-settings"),
        "facts": facts,
        "stack": stack_of(facts) if facts is not None else None,
        "maintenance_until": _maintenance_end(shown, timezone.now()),
        "without_own": SlowLimits().of(None, None, shown.tags),
        "hints": [each for each in reported if each.severity == "info"],
        "preflight_count": sum(each.severity != "info" for each in reported),
        "edits": edits(shown),
    }
    return render(request, "staff/hosts/host_settings.html", context)


def _maintenance_end(host: Host, now: datetime) -> datetime:
    """What the form proposes: the end that was given, else two hours from now."""
    given = host.maintenance_until if host.is_in_maintenance(now) else None
    return given or now + PROPOSED


@staff_view()
@require_safe
def host_now(request: HttpRequest, key: str) -> HttpResponse:
    """What the host does now: the element of its page that refreshes."""
    shown = get_object_or_404(Host.objects.visible_to(request.user).without_inventory(), key=key)
    now, figures = timezone.now(), figures_of(shown)
    context = {
        "host": shown,
        "silent": is_silent(shown, now),
        "figures": figures,
        "stale": figures.is_stale(now),
    }
    return render(request, "staff/hosts/_host_now.html", context)


@staff_view()
@require_safe
def host_checks(request: HttpRequest, key: str) -> HttpResponse:
    """The checks before and after a restart: the fragment that the settings load."""
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    facts = inventory_of(host)
    part, title = "staff/hosts/_host_checks.html", "Checks"
    if facts is None:
        return fragment_or_page(request, part, {"host": host}, title=title, of=host, is_quiet=True)
    rows = snapshots_of(Volume.objects.visible_to(request.user).placed_on(host), {host.pk: facts})
    context: dict[str, object] = {
        "host": host,
        "before": before_restart(
            host.hello, facts, rows, len(_locked_volumes(host)), blocking_jobs(rows)
        ),
        "after": after_restart(host.hello, facts, rows),
    }
    return fragment_or_page(request, part, context, title=title, of=host, is_quiet=False)


@dataclass(frozen=True, slots=True)
class PendingRefresh:
    """No newer inventory has arrived since `asked` (seconds since 1970, as the address has it).
    `is_late` once waiting longer makes no sense."""

    asked: str
    is_late: bool


def pending_refresh(
    asked_at: str, facts_at: datetime | None, now: datetime
) -> PendingRefresh | None:
    """What the page still waits for; None without a request, and once the inventory is there."""
    try:
        since = float(asked_at)
    except ValueError:
        return None
    if not math.isfinite(since) or (facts_at is not None and facts_at.timestamp() >= since):
        return None
    return PendingRefresh(f"{since:.3f}", now.timestamp() - since > PATIENCE_SECONDS)
