"""Watching a volume closely: an interval every ten seconds for a while, or second by second while
the page is open."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from jobs import live_view
from jobs.live_view import LiveView
from panel.charts.sparkline import spark
from panel.staff.job_requests import row_of, show_refusal
from storage import formatting
from storage.access import Right, staff_view
from storage.database_clock import database_now
from storage.metrics import close_watch
from storage.models import Volume
from storage.planner import Refused

LINE_WIDTH, LINE_HEIGHT = 240, 32


@staff_view(Right.OPERATE)
@require_POST
def watch_volume(request: HttpRequest, key: str) -> HttpResponse:
    """Watch the volume closely for an hour from now, or stop (`end`)."""
    volume = row_of(request, key).volume
    if "end" in request.POST:
        close_watch.end_close_watch(volume)
        messages.success(request, f"{volume.label} is no longer watched closely.")
        return redirect("volume", key)
    now = database_now()
    until = now + close_watch.USUAL
    try:
        close_watch.begin_close_watch(volume, until, now)
    except Refused as refused:
        return show_refusal(request, refused, volume)
    messages.success(request, f"{volume.label} is watched closely for an hour.")
    return redirect("volume", key)


@staff_view()
@require_http_methods(["GET", "HEAD", "POST"])
def live(request: HttpRequest, key: str) -> HttpResponse:
    """The volume second by second: a POST starts the live view, and each GET continues it."""
    row = row_of(request, key)
    volume = row.volume
    view = LiveView() if request.method == "POST" and live_view.begin_live_view(volume) else None
    if request.method == "POST" and request.headers.get("HX-Request") != "true":
        return redirect("volume", key)
    context = {"row": row, "volume": volume, **live_context(volume, view)}
    return render(request, "staff/volumes/_live.html", context)


def live_context(volume: Volume, view: LiveView | None = None) -> dict[str, object]:
    """What the live view shows; only its button while it is off."""
    view = live_view.look(volume) if view is None else view
    if view is None:
        return {"live": None}
    seconds = view.seconds
    iops = [_sum(each.read_iops, each.write_iops) for each in seconds]
    return {
        "live": view,
        "second": seconds[-1] if seconds else None,
        "live_iops": iops[-1] if iops else None,
        "iops_line": spark(iops, LINE_WIDTH, LINE_HEIGHT, say=formatting.iops),
        "read_line": spark(
            [each.read_ms for each in seconds], LINE_WIDTH, LINE_HEIGHT, say=formatting.ms
        ),
    }


def _sum(reads: float | None, writes: float | None) -> float | None:
    return None if reads is None or writes is None else reads + writes


def watch_context(volume: Volume, now: datetime) -> dict[str, object]:
    """How long the volume is watched closely, None where it is not; and whether that would show
    more than every volume's samples do."""
    until = volume.watched_until
    return {
        "watched_until": until if until is not None and until > now else None,
        "is_watch_closer": close_watch.EVERY.total_seconds() < settings.TIERCEL_SAMPLE_SECONDS,
    }
