"""One volume's page in tabs (summary, jobs, details), and its fragments that refresh. They only
read; forms and buttons on the page name the URLs that change a host."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.models import Job
from jobs.problems import Problem, problems_of
from panel.charts.chart_context import chart_context
from panel.staff.alerts.alert_list import marks_of
from panel.staff.change_log import edits
from panel.staff.hosts.problem_rows import ProblemRow, own_text, problem_rows
from panel.staff.hosts.storage_stack import kind_of
from panel.staff.job_requests import row_of
from panel.staff.slowness.slowness_pages import slow_card
from panel.staff.slowness.speed_answer import speed_answer
from panel.staff.volumes import raw_counters, trends
from panel.staff.volumes.action_menu import menu_of
from panel.staff.volumes.volume_frame import asked, frame, row_chips
from panel.staff.volumes.watch_pages import live_context, watch_context
from storage.access import staff_view
from storage.metrics import cache_warmth
from storage.metrics.samples import window
from storage.metrics.samples.aggregate import nearest
from storage.metrics.series import series
from storage.models import LatestSample, Volume
from storage.models.host import silent_seconds
from storage.planner.technologies.lookup import PLAIN
from storage.volumes.slow_volumes import VOLUME_SLOW
from storage.volumes.snapshot import VolumeSnapshot

# What the page's URL may say of a comparison.
COMPARISON = ("compare", "length", "after")
FEW_JOBS, MOST_JOBS = 5, 50
FOLDER: Final = "/dev/tiercel"
SHOWN_ELSEWHERE: Final = frozenset({"job_undecided", "drift", "unfinished", "ssd_lost"})
"""Codes of problems that have a part of their own on the page."""


@staff_view()
@require_safe
def volume(request: HttpRequest, key: str) -> HttpResponse:
    """The summary of one volume, by three questions: is it fast, does its cache earn its SSD, what
    happened."""
    row = row_of(request, key)
    now = timezone.now()
    of_charts: dict[str, Any] = chart_context(row.volume, request)
    charts, until = of_charts["charts"], row.undo_until
    context = {
        **frame(request, row, "volume"),
        **_state(row),
        **_latest(row),
        **of_charts,
        # Without a figure, and without one to come, a chart says nothing.
        "has_charts": not row.is_planned
        and (row.is_live or not charts["is_empty"] or charts["nearest"] is not None),
        "problems": _problems(row),
        "slow": slow_card(row, request.user, now),
        "is_in_undo_window": until is not None and now < until,
        **watch_context(row.volume, now),
        **live_context(row.volume),
        "comparison_query": asked(request, COMPARISON),
    }
    if row.is_planned:
        previews = Job.objects.visible_to(request.user).filter(volume=row.volume, dry_run=True)
        context["preview"] = previews.order_by("-pk").first()
        jobs = Job.objects.visible_to(request.user).filter(volume=row.volume, dry_run=False)
        context["creation"] = jobs.with_names().order_by("-pk").first()
    return render(request, "staff/volumes/volume.html", context)


@staff_view()
@require_safe
def details(request: HttpRequest, key: str) -> HttpResponse:
    """Where the volume lies, how a guest gets it, its raw counters, and the history of its
    record."""
    row = row_of(request, key)
    context = {
        **frame(request, row, "volume-details"),
        "layout": _layout(row),
        "edits": edits(row.volume),
        "counters": _counters(row.volume),
        "lines": guest_lines(row.volume.key),
        "path": stable_path(row.volume.key),
    }
    return render(request, "staff/volumes/volume_details.html", context)


@staff_view()
@require_safe
def volume_jobs(request: HttpRequest, key: str) -> HttpResponse:
    """The last jobs: a few for the summary that loads them, more as a tab of their own."""
    row = row_of(request, key)
    all_jobs = Job.objects.visible_to(request.user).with_names().filter(volume=row.volume)
    jobs = all_jobs.filter(dry_run=False)
    if request.headers.get("HX-Request") == "true":
        return render(request, "staff/volumes/_volume_jobs.html", {"jobs": jobs[:FEW_JOBS]})
    context = {**frame(request, row, "volume-jobs"), "jobs": jobs[:MOST_JOBS]}
    return render(request, "staff/volumes/volume_jobs.html", context)


@staff_view()
@require_safe
def cache(request: HttpRequest, key: str) -> HttpResponse:
    """The card of the cache, and with it the menu of the page's head: they refresh when a job has
    changed the volume."""
    row = row_of(request, key)
    now = timezone.now()
    context = {
        **_state(row),
        **_latest(row),
        "menu": menu_of(row, request.user, now),
        "slow": slow_card(row, request.user, now),
        "is_renewed": True,
    }
    return render(request, "staff/volumes/_cache.html", context)


@staff_view()
@require_safe
def cache_state(request: HttpRequest, key: str) -> HttpResponse:
    """How the cache does now: the element of its card that refreshes."""
    row = row_of(request, key)
    return render(request, "staff/volumes/_cache_state.html", {**_state(row), **_latest(row)})


@staff_view()
@require_safe
def figures(request: HttpRequest, key: str) -> HttpResponse:
    """The latest figures: the element of the volume's page that refreshes, and with it the chips of
    the page's head."""
    row = row_of(request, key)
    context = {
        **_latest(row),
        **watch_context(row.volume, timezone.now()),
        **live_context(row.volume),
        "chips": row_chips(row, is_summary=True),
        "is_renewed": True,
    }
    return render(request, "staff/volumes/_figures.html", context)


def _state(row: VolumeSnapshot) -> dict[str, object]:
    context: dict[str, object] = {"row": row, "volume": row.volume, "host": row.host}
    if row.cache is not None:
        now = timezone.now()
        end = now.replace(second=0, microsecond=0) + timedelta(minutes=1)
        start = end - cache_warmth.looked_at(row.technology)
        recent = series(row.volume, start, end, cache_warmth.POINTS)
        silent = timedelta(seconds=silent_seconds())
        context["warmth"] = cache_warmth.warmth(recent, now, silent)
    return context


def _layout(row: VolumeSnapshot) -> str:
    """What LVM says it is, as the drawing of its host has it; bcache is known by its record."""
    if row.lv is None and row.volume.layout == PLAIN:
        return "linear"
    if row.lv is None or row.volume.layout != PLAIN:
        return row.volume.get_layout_display()
    return kind_of(row.lv)


def _problems(row: VolumeSnapshot) -> tuple[ProblemRow, ...]:
    """The host's problems that name the volume, but for those that another part shows."""
    if row.host is None:
        return ()
    shown = {*SHOWN_ELSEWHERE, *([row.cache.trouble_code] if row.cache is not None else ())}
    of_host = problems_of([row.host.pk], timezone.now())[row.host.pk]
    key = row.volume.key
    own = [
        _without_figures(each)
        for each in of_host
        if each.volume_key == key and each.code not in shown
    ]
    rows = problem_rows(own, marks_of(own))
    # What is mended on the volume's page needs no way to it.
    return tuple(replace(each, way="") if each.way == "volume" else each for each in rows)


def _without_figures(problem: Problem) -> Problem:
    """Those of a slow volume are on its card, and newer there."""
    if problem.code != VOLUME_SLOW:
        return problem
    return replace(problem, message=f"{own_text(problem).partition(': ')[0]}.")


def _latest(row: VolumeSnapshot) -> dict[str, object]:
    now = timezone.now()
    hour = window(row.volume, now - trends.LOOKED_AT, now)
    measured_at = nearest(row.volume.pk, now, now) if row.latest is None else None
    return {
        "row": row,
        "trends": trends.trends_of(row.latest, hour),
        "measured_at": measured_at,
        "speed": speed_answer(row),
    }


def _counters(volume: Volume) -> dict[str, object] | None:
    last = LatestSample.objects.filter(volume=volume).values("at", "counters").first()
    return last and {"at": last["at"], "groups": raw_counters.groups(last["counters"])}


@dataclass(frozen=True, slots=True)
class GuestLine:
    """`key` is fit for an id; `note` says where the line belongs and what to put in."""

    key: str
    title: str
    text: str
    note: str


def stable_path(volume_key: str) -> str:
    """The path that leads to the volume whatever its number is, cached or not."""
    return f"{FOLDER}/{volume_key}"


def guest_lines(volume_key: str) -> tuple[GuestLine, ...]:
    """For Xen, libvirt and Proxmox. The host's page cache stays out of the way everywhere: it would
    hide the SSD's gain and keep writes that the guest takes for safe."""
    path = stable_path(volume_key)
    return (
        GuestLine(
            "xl",
            "Xen (xl)",
            f"disk = [ 'format=raw, vdev=xvdb, access=rw, target={path}' ]",
            "Add to the guest's configuration file. Choose a free vdev.",
        ),
        GuestLine(
            "libvirt",
            "libvirt",
            "<disk type='block' device='disk'>\n"
            "  <driver name='qemu' type='raw' cache='none' io='native' discard='unmap'/>\n"
            f"  <source dev='{path}'/>\n"
            "  <target dev='vdb' bus='virtio'/>\n"
            "</disk>",
            "Add to <devices> with virsh edit. Choose a free target.",
        ),
        GuestLine(
            "proxmox",
            "Proxmox VE",
            f"qm set VMID --scsi1 {path},cache=none,aio=native,discard=on",
            "Replace VMID with the guest's number. Choose a free scsi number.",
        ),
    )
