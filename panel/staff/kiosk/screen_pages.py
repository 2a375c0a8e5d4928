"""The page that a screen shows by a link: no session, no forms, nothing that leads further. It
refreshes its part automatically (`static/js/kiosk.js`)."""

from __future__ import annotations

from typing import Final

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils import timezone, translation
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from panel.staff.dashboard.heat_map import LAST_3H, LAST_DAY, LATENCY, SCALES
from panel.staff.kiosk.kiosk_links import link_of, note_seen
from panel.staff.kiosk.screen import screen_of
from storage.row_security import beyond

HEADERS: Final = {"X-Robots-Tag": "noindex, nofollow", "Referrer-Policy": "no-referrer"}
TIMES: Final = {"24h": LAST_DAY, "3h": LAST_3H}


@login_not_required
@never_cache
@require_safe
@beyond()
@translation.override("en")
def kiosk(request: HttpRequest, token: str) -> HttpResponse:
    """The page of a link; `by` is the measure that colours the map, `range` its time range."""
    return _shown(request, token, "staff/kiosk/screen.html")


@login_not_required
@never_cache
@require_safe
@beyond()
@translation.override("en")
def kiosk_now(request: HttpRequest, token: str) -> HttpResponse:
    """The part of it that refreshes."""
    return _shown(request, token, "staff/kiosk/_screen.html")


def _shown(request: HttpRequest, token: str, template: str) -> HttpResponse:
    """Without the request, whose person would be looked up: a link shows everybody the same."""
    link, at = link_of(token), timezone.now()
    if link is None:
        raise Http404
    note_seen(link, at)
    scale = SCALES.get(request.GET.get("by", ""), LATENCY)
    time = TIMES.get(request.GET.get("range", ""), LAST_DAY)
    context = {
        "screen": screen_of(link, scale, time, at),
        "token": token,
        "query": request.GET.urlencode(),
    }
    return HttpResponse(render_to_string(template, context), headers=HEADERS)
