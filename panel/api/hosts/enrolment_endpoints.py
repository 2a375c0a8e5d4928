"""Endpoints that a host calls while it enrols: for the script, the agent and its own report. The
token in the path is the only credential.
"""

from __future__ import annotations

import functools
import logging
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from jobs.hosts import enrolment
from jobs.hosts.trust import key_fingerprint
from storage import row_security
from storage.agent_zipapp import build
from storage.planner import Refused

log = logging.getLogger(__name__)

REPORT_LIMIT = 8 * 1024
LOOPBACK = {"localhost", "127.0.0.1", "::1"}
GONE = (
    "This enrolment command is used up or older than an hour. Get a new one on the host's page.\n"
)


@login_not_required
@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@row_security.beyond()
def enrol(request: HttpRequest, token: str) -> HttpResponse:
    """GET: the script. POST: the host's report, which uses the token up."""
    host = enrolment.enrolling_host(token)
    if host is None:
        return _text(GONE, 404)
    if request.method == "POST":
        return _report(request, token)
    return _text(enrolment.script(host, token, _reached_at(request), _agent()))


@login_not_required
@never_cache
@require_safe
@row_security.beyond()
def agent(request: HttpRequest, token: str) -> HttpResponse:
    """The agent, for hosts that are enrolling."""
    if enrolment.enrolling_host(token) is None:
        return _text(GONE, 404)
    return HttpResponse(_agent(), content_type="application/octet-stream")


def _reached_at(request: HttpRequest) -> str:
    """Where this host reaches the panel: the public URL, unless it came by another name (which
    ALLOWED_HOSTS admits), as from a network of its own. A proxy that does not pass the name on
    asks by loopback, which no host can."""
    public: str = settings.TIERCEL_PUBLIC_URL
    came_by = urlsplit(f"//{request.get_host()}")
    if came_by.netloc == urlsplit(public).netloc or came_by.hostname in LOOPBACK:
        return public
    return f"{request.scheme}://{request.get_host()}"


@functools.cache
def _agent() -> bytes:
    """The agent of this release, zipped once per process."""
    return build()


def _report(request: HttpRequest, token: str) -> HttpResponse:
    length = request.headers.get("Content-Length", "")
    if not length.isdecimal() or int(length) > REPORT_LIMIT:
        return _text("A report is small.\n", 413)
    form = request.POST
    port = form.get("port", "")
    try:
        host = enrolment.report_host(
            token,
            form.get("machine_id", ""),
            form.get("host_key", ""),
            int(port) if port.isdecimal() and len(port) <= 5 else 0,
        )
    except Refused as refused:
        log.warning("enrolment refused: %s %s", refused.message, refused.correction)
        status = 404 if refused.code == "not_found" else 409
        return _text(f"{refused.message} {refused.correction}\n", status)
    seen = host.host_key_seen or host.host_key
    return _text(f"{host.name}: {host.get_state_display()}, {key_fingerprint(seen)}\n")


def _text(text: str, status: int = 200) -> HttpResponse:
    return HttpResponse(text, status=status, content_type="text/plain; charset=utf-8")
