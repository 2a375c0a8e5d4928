"""Advice for a host: which volume to cache first, and the figures behind it. Nothing is changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.problems import Problem, problems_of
from panel.staff.hosts.problem_rows import problem_rows
from storage.access import staff_view
from storage.analysis.advice import Outlook, outlook
from storage.health.host_problems import HealthFinding
from storage.models import Host, Placement, Volume
from storage.stored_inventory import inventory_of
from storage.volumes.snapshot import snapshots_of

ADVICE_SHOWN: Final = 10


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
    problems = [
        each for each in problems_of([host.pk], timezone.now())[host.pk] if not each.job_key
    ]
    top = next((each for each in analysis.suggestions if each.commands is not None), None)
    # Else the table of guests repeats that of volumes.
    has_several = any(each.volume_count > 1 for each in analysis.guests)
    context = {
        "host": host,
        "outlook": analysis,
        "recent": analysis.recent[:ADVICE_SHOWN],
        "uses": analysis.uses[:ADVICE_SHOWN],
        "guests": analysis.guests[:ADVICE_SHOWN] if has_several else (),
        "suggestions": analysis.suggestions[:ADVICE_SHOWN],
        "top": top,
        "problems": problem_rows(problems),
        "risks": _others(host, analysis.risks, problems),
    }
    return render(request, "staff/hosts/advice.html", context)


def _others(
    host: Host, risks: Iterable[HealthFinding], problems: Sequence[Problem]
) -> list[tuple[HealthFinding, Volume | None]]:
    """Risks that are no problem of the host yet, each with the volume that it names."""
    codes = {each.code for each in problems}
    beginnings = {each.message.partition(":")[0] for each in problems}
    others = [
        risk
        for risk in risks
        if (risk.code not in codes) and risk.message.partition(":")[0] not in beginnings
    ]
    placements = Placement.objects.filter(host=host, until=None).select_related("volume")
    by_name = {each.lv_name: each.volume for each in placements} if others else {}
    return [(risk, _named(risk.message, by_name)) for risk in others]


def _named(message: str, by_name: Mapping[str, Volume]) -> Volume | None:
    """The volume of which the message has the name on the host (`group/name`)."""
    names = {word.strip(".,:").partition("/")[2] for word in message.split() if "/" in word}
    return next((by_name[name] for name in sorted(names) if name in by_name), None)


def _outlook(request: HttpRequest, key: str) -> tuple[Host, Outlook]:
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    facts = inventory_of(host)
    volumes = Volume.objects.visible_to(request.user).placed_on(host).in_service()
    rows = snapshots_of(volumes.select_related("customer"), {host.pk: facts})
    return host, outlook(host, facts, rows, timezone.now())
