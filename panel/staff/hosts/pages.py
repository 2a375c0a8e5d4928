"""Pages that show hosts, and their fragments. They only read; `panel.staff.hosts.host_actions`
changes hosts."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.models import Job
from jobs.queue.reservations import reserved
from panel.http.fragments import fragment_or_page
from panel.staff.change_log import edits
from panel.staff.hosts.host_volumes import Resident, figures_of, residents_of, untagged
from panel.staff.hosts.storage_stack import DRAWN, fold, stack_of
from storage.access import staff_view
from storage.analysis.advice import Outlook, outlook
from storage.health.drift import differences_of, drift_of
from storage.health.host_problems import (
    ORDER,
    HostProblem,
    is_silent,
    problems_of,
    reported_problems,
    unsampled_since,
)
from storage.health.inventory_findings import MADE_FROM_INVENTORY, InventoryFinding
from storage.health.missing_volumes import missing_volumes_of
from storage.health.restart_checks import after_restart, before_restart
from storage.inventory.disk_list import devices_of
from storage.inventory.facts import HostFacts, VolumeGroup
from storage.inventory.stored import inventory_of
from storage.metrics.samples.host_load import due_since
from storage.models import Host, HostOutline, Placement, Volume
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of

VOLUMES_SHOWN = 12
"""Volumes on the host's page itself; the list of volumes has them all."""
DRIFTS_SHOWN = 12
"""Volumes that differ from their records, on the host's page."""
ADVICE_SHOWN = 20
LAST_JOBS = 6
READ = json.dumps({"hostread": {"target": "body"}})
"""The event after which the parts of a page that came later ask for themselves anew."""
PATIENCE_SECONDS: Final = 60


@staff_view()
@require_safe
def host(request: HttpRequest, key: str) -> HttpResponse:
    """One host: trust, problems, policy, and everything the last inventory said. `stack=all` draws
    every volume."""
    visible = Host.objects.visible_to(request.user).select_related("outline")
    shown = get_object_or_404(visible, key=key)
    now, facts = timezone.now(), inventory_of(shown)
    missing = Placement.objects.filter(host=shown, until=None, missing_since__isnull=False)
    reported, figures = reported_problems(shown), figures_of(shown)
    placements = list(missing.select_related("volume").order_by("missing_since", "pk"))
    context: dict[str, object] = {
        "host": shown,
        "facts": facts,
        "silent": is_silent(shown, now),
        "figures": figures,
        "stale": figures.is_stale(now),
        "problems": _problems(shown, now, figures.at),
        "hints": [each for each in reported if each.severity == "info"],
        "preflight_count": _serious(reported),
        "missing": placements,
        "missing_advice": _missing_advice(len(placements)),
        "reading": pending_refresh(request.GET.get("asked", ""), shown.facts_at, now),
        "edits": edits(shown),
    }
    if facts is not None:
        limit = None if request.GET.get("stack") == "all" else DRAWN
        context |= _inventory(shown, facts, residents_of(shown), limit)
    response = render(request, "staff/hosts/host.html", context)
    if "asked" in request.GET and context["reading"] is None:
        response["HX-Trigger"] = READ
    return response


def _problems(host: Host, now: datetime, sampled_at: datetime | None) -> list[HostProblem]:
    """What its state, its contacts and its inventory show to be wrong, each once, the worst first.
    What only informs stands with the preflight, and drift has a card of its own."""
    outline: HostOutline | None = getattr(host, "outline", None)
    findings = [InventoryFinding.from_json(each) for each in outline.findings] if outline else []
    unsampled = unsampled_since(host, now, due_since([host]).get(host.pk), sampled_at)
    problems = [
        problem
        for problem in problems_of(host, now, missing_volumes_of([host]).get(host.pk), unsampled)
        if problem.severity != "info" and not (outline and problem.code in MADE_FROM_INVENTORY)
    ]
    problems += [
        HostProblem(each.severity, each.message, each.correction, each.code, each.began)
        for each in findings
        if each.code not in ("drift", "unfinished")
    ]
    return sorted(problems, key=lambda problem: ORDER[problem.severity])


def _missing_advice(count: int) -> str:
    what, them = ("this volume", "it") if count == 1 else (f"all {count} volumes", "them")
    return (
        f"If you removed {what} on purpose, remove {them} from this list. Records and data points "
        "are kept. A volume that reappears later gets a new record."
    )


def _serious(problems: list[HostProblem]) -> int:
    return sum(problem.severity != "info" for problem in problems)


def _inventory(
    host: Host, facts: HostFacts, residents: tuple[Resident, ...], limit: int | None
) -> dict[str, object]:
    stack = stack_of(facts)
    waits = {each.lv_uuid: each.waits for each in residents if each.lv_uuid and each.waits}
    return {
        "stack": stack,
        "groups": [(group, fold(group.pillars, waits, limit)) for group in stack.groups],
        "known": {each.lv_uuid: each for each in residents if each.lv_uuid},
        "devices": devices_of(facts),
        "listed": _listed(host, facts, residents),
        "most_waits": max(waits.values(), default=0.0),
        "volume_count": len(residents),
        "untagged_count": untagged(facts, residents),
        "observed": _observed(facts),
    }


def _listed(
    host: Host, facts: HostFacts, residents: tuple[Resident, ...]
) -> list[tuple[VolumeSnapshot, float | None]]:
    """The volumes whose I/O waits longest, with how long it does."""
    ordered = sorted(residents, key=lambda each: (-(each.waits or 0.0), each.volume_id))[
        :VOLUMES_SHOWN
    ]
    volumes = Volume.objects.filter(pk__in=[each.volume_id for each in ordered])
    rows = snapshots_of(volumes.select_related("customer"), {host.pk: facts})
    by_id = {row.volume.pk: row for row in rows}
    return [(by_id[each.volume_id], each.waits) for each in ordered if each.volume_id in by_id]


def _observed(facts: HostFacts) -> list[VolumeGroup]:
    """Groups that root does not let Tiercel change."""
    return [vg for vg in facts.vgs if not vg.allowed]


@staff_view()
@require_safe
def host_now(request: HttpRequest, key: str) -> HttpResponse:
    """What the host does now: the element of its page that renews itself."""
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
    """What a host's page loads: volumes that differ from their records, and the checks before and
    after a restart."""
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    facts = inventory_of(host)
    part, title = "staff/hosts/_host_checks.html", "Checks"
    if facts is None:
        return fragment_or_page(request, part, {"host": host}, title=title, of=host, is_quiet=True)
    jobs = Job.objects.unfinished().filter(host=host, dry_run=False)
    locked_volumes = set(jobs.values_list("volume_id", flat=True))
    rows = snapshots_of(Volume.objects.visible_to(request.user).placed_on(host), {host.pk: facts})
    drifted = [row for row in rows if row.volume.pk not in locked_volumes and differences_of(row)]
    context: dict[str, object] = {
        "host": host,
        "drifts": [(row.volume, drift_of(row)) for row in drifted[:DRIFTS_SHOWN]],
        "drift_count": len(drifted),
        "before": before_restart(host.hello, facts, rows, len(locked_volumes)),
        "after": after_restart(host.hello, facts, rows),
    }
    return fragment_or_page(request, part, context, title=title, of=host, is_quiet=False)


@staff_view()
@require_safe
def host_jobs(request: HttpRequest, key: str) -> HttpResponse:
    """The jobs of a host that have not ended, the last ones that have, and the SSD space that
    accepted ones will take: the fragment its page loads."""
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    host_all_jobs = (
        Job.objects.visible_to(request.user).with_names().filter(host=host, dry_run=False)
    )
    unfinished = list(host_all_jobs.unfinished()[: LAST_JOBS * 2])
    facts = inventory_of(host) if unfinished else None
    reserved_bytes = reserved(host, facts) if facts is not None else {}
    context = {
        "host": host,
        "jobs": [
            *unfinished,
            *host_all_jobs.exclude(pk__in=[job.pk for job in unfinished])[:LAST_JOBS],
        ],
        "reserved_bytes": sum(reserved_bytes.values()),
    }
    return render(request, "staff/hosts/_host_jobs.html", context)


@staff_view()
@require_safe
def advice_card(request: HttpRequest, key: str) -> HttpResponse:
    """The short form: the fragment that the host's page loads."""
    host, analysis = _outlook(request, key)
    return render(request, "staff/hosts/_host_advice.html", {"host": host, "outlook": analysis})


@staff_view()
@require_safe
def advice(request: HttpRequest, key: str) -> HttpResponse:
    """Who uses the slow disks, hit rates, what to cache first, risks, and commands to copy."""
    host, analysis = _outlook(request, key)
    top = next((each for each in analysis.suggestions if each.commands is not None), None)
    context = {
        "host": host,
        "outlook": analysis,
        "recent": analysis.recent[:ADVICE_SHOWN],
        "uses": analysis.uses[:ADVICE_SHOWN],
        "guests": analysis.guests[:ADVICE_SHOWN],
        "suggestions": analysis.suggestions[:ADVICE_SHOWN],
        "top": top,
    }
    return render(request, "staff/hosts/advice.html", context)


def _outlook(request: HttpRequest, key: str) -> tuple[Host, Outlook]:
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    facts = inventory_of(host)
    volumes = Volume.objects.visible_to(request.user).placed_on(host).in_service()
    rows = snapshots_of(volumes.select_related("customer"), {host.pk: facts})
    return host, outlook(host, facts, rows, timezone.now())


@dataclass(frozen=True, slots=True)
class PendingRefresh:
    """No newer inventory has come since `asked` (seconds since 1970, as the address has it).
    `is_late` once waiting longer makes no sense."""

    asked: str
    is_late: bool


def pending_refresh(
    asked_at: str, facts_at: datetime | None, now: datetime
) -> PendingRefresh | None:
    """What the page still waits for; None where nobody asked or the inventory is there."""
    try:
        since = float(asked_at)
    except ValueError:
        return None
    if not math.isfinite(since) or (facts_at is not None and facts_at.timestamp() >= since):
        return None
    return PendingRefresh(f"{since:.3f}", now.timestamp() - since > PATIENCE_SECONDS)
