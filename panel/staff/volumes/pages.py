"""The page of one volume, and its fragments that refresh. They only read; forms and buttons on the
page name the URLs that change a host."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.models import Job, State
from jobs.problems import problems_of
from jobs.queue.cost_estimate import estimate
from panel.charts.chart_context import chart_context
from panel.http.fragments import page_url
from panel.staff.alerts.alert_list import marks_of
from panel.staff.change_log import edits
from panel.staff.hosts.problem_rows import ProblemRow, problem_rows
from panel.staff.hosts.storage_stack import kind_of
from panel.staff.job_requests import row_of
from panel.staff.jobs.headline import cost_sentence
from panel.staff.jobs.pages import wait_of
from panel.staff.volumes import raw_counters, trends
from panel.staff.volumes.action_menu import menu_of
from panel.staff.volumes.list_pages import chips_of
from panel.staff.volumes.slowness_pages import slow_card
from panel.staff.volumes.watch_pages import live_context, watch_context
from panel.templatetags.chips import Chip
from storage.access import staff_view
from storage.metrics import cache_warmth
from storage.metrics.samples import window
from storage.metrics.samples.aggregate import nearest
from storage.metrics.series import series
from storage.models import LatestSample, Volume
from storage.models.host import silent_seconds
from storage.planner.technologies.lookup import PLAIN
from storage.planner.wish import Wish
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of
from storage.volumes.wish_diff import changes

# What the page's URL may say beside the time of the charts, and which part of the page is asked.
WORK, COMPARISON = ("job",), ("compare", "length", "after")
CHANGED = json.dumps({"volumechanged": {"target": "body"}})
"""The event that makes the parts of the page that show the volume ask for themselves anew."""
FOLDER: Final = "/dev/tiercel"
SHOWN_ELSEWHERE: Final = frozenset({"job_undecided", "drift", "unfinished", "ssd_lost"})
"""Codes of problems that have a part of their own on the page."""


@staff_view()
@require_safe
def volume(request: HttpRequest, key: str) -> HttpResponse:
    """One volume: figures, charts, users, its cache and what can be done, with the reason where
    not."""
    row = row_of(request, key)
    context = _context(request, row)
    of_charts: dict[str, Any] = chart_context(row.volume, request)
    context |= of_charts
    context |= _latest(row)
    until = row.undo_until
    if row.is_planned:
        previews = Job.objects.visible_to(request.user).filter(volume=row.volume, dry_run=True)
        context["preview"] = previews.order_by("-pk").first()
        jobs = Job.objects.visible_to(request.user).filter(volume=row.volume, dry_run=False)
        context["creation"] = jobs.with_names().order_by("-pk").first()
    charts = of_charts["charts"]
    context |= {
        # Without a figure, and without one to come, a chart says nothing.
        "has_charts": not row.is_planned
        and (row.is_live or not charts["is_empty"] or charts["nearest"] is not None),
        "problems": _problems(row),
        "slow": slow_card(row, request.user, timezone.now()),
        "layout": _layout(row),
        "chips": _chips(row),
        "is_in_undo_window": until is not None and timezone.now() < until,
        "edits": edits(row.volume),
        "counters": _counters(row.volume),
        "lines": guest_lines(row.volume.key),
        "path": stable_path(row.volume.key),
        **watch_context(row.volume, timezone.now()),
        **live_context(row.volume),
        "work_query": _asked(request, WORK),
        "comparison_query": _asked(request, COMPARISON),
    }
    return render(request, "staff/volumes/volume.html", context)


@staff_view()
@require_safe
def cache(request: HttpRequest, key: str) -> HttpResponse:
    """The card of the cache, and with it the menu of the page's head: they are asked for anew when
    a job has changed the volume."""
    context = {**_context(request, row_of(request, key)), "is_renewed": True}
    return render(request, "staff/volumes/_cache.html", context)


@staff_view()
@require_safe
def cache_state(request: HttpRequest, key: str) -> HttpResponse:
    """How the cache stands now: the element of its card that renews itself."""
    row = row_of(request, key)
    return render(request, "staff/volumes/_cache_state.html", _state(row))


@staff_view()
@require_safe
def figures(request: HttpRequest, key: str) -> HttpResponse:
    """The latest figures: the element of the volume's page that renews itself, and with it the
    chips of the page's head."""
    row = row_of(request, key)
    context = {
        **_latest(row),
        **watch_context(row.volume, timezone.now()),
        **live_context(row.volume),
        "chips": _chips(row),
        "is_renewed": True,
    }
    return render(request, "staff/volumes/_figures.html", context)


def _context(request: HttpRequest, row: VolumeSnapshot) -> dict[str, object]:
    return {**_state(row), "menu": menu_of(row, request.user, timezone.now())}


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
    own = [each for each in of_host if each.volume_key == key and each.code not in shown]
    rows = problem_rows(own, marks_of(own))
    # What is mended on the volume's page needs no way to it.
    return tuple(replace(each, way="") if each.way == "volume" else each for each in rows)


def _latest(row: VolumeSnapshot) -> dict[str, object]:
    now = timezone.now()
    hour = window(row.volume, now - trends.LOOKED_AT, now)
    measured_at = nearest(row.volume.pk, now, now) if row.latest is None else None
    return {"row": row, "trends": trends.trends_of(row.latest, hour), "measured_at": measured_at}


def _chips(row: VolumeSnapshot) -> tuple[Chip, ...]:
    """What the list of volumes says of it too."""
    return chips_of(row.volume, row.placement, row.latest, row.slow_limit.ms)


def _counters(volume: Volume) -> dict[str, object] | None:
    last = LatestSample.objects.filter(volume=volume).values("at", "counters").first()
    return last and {"at": last["at"], "groups": raw_counters.groups(last["counters"])}


def _asked(request: HttpRequest, names: tuple[str, ...]) -> str:
    """These of the page's parameters, for the URL of the part that understands them."""
    return urlencode({name: request.GET[name] for name in names if name in request.GET})


@staff_view()
@require_safe
def current_job(request: HttpRequest, key: str) -> HttpResponse:
    """The job or preview named by `job` ("none": nothing), else the unfinished job of the volume.
    `running` says that it was unfinished when last seen: at its end the page is told."""
    volume = get_object_or_404(Volume.objects.visible_to(request.user), key=key)
    visible = Job.objects.visible_to(request.user).filter(volume=volume).with_names()
    job_key = request.GET.get("job", "")
    if job_key == "none":
        job: Job | None = None
    elif job_key:
        job = get_object_or_404(visible, key=job_key)
    else:
        job = visible.filter(dry_run=False).unfinished().first()
    response = render(request, "staff/volumes/_work.html", {"volume": volume, **_shown(job)})
    if job is not None and job.is_over and "running" in request.GET and not job.dry_run:
        response["HX-Trigger"] = CHANGED
    if "asked" in request.GET:
        response["HX-Replace-Url"] = page_url(request, key, job=job.key if job else "")
    return response


def _shown(job: Job | None) -> dict[str, object]:
    if job is None:
        return {"job": None}
    steps = list(job.step_set.all())
    done = sum(step.state == "done" for step in steps)
    context: dict[str, object] = {"job": job, "steps": steps, "done_count": done}
    if job.state == State.QUEUED and (wait := wait_of(job, None)) and wait.what == "worker":
        context["wait"] = wait
    if job.dry_run and job.state == State.SUCCEEDED:
        row = snapshots_of([job.its_volume])[0]
        context["changes"] = changes(row.wish, Wish.from_json(job.wish))
        context["cost"] = cost = estimate(row, steps)
        context["cost_sentence"] = cost_sentence(cost) if cost is not None else ""
    return context


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
