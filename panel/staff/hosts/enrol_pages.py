"""Adding a host, and the jobs of one: what the pages of hosts take from here."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from jobs.hosts import enrolment
from panel.staff.hosts.enrol_form import HostForm
from panel.staff.hosts.enrolment_progress import arrival
from panel.staff.hosts.storage_stack import stack_of
from panel.staff.job_requests import UNPROCESSABLE
from storage.access import Right, is_proven, staff_view
from storage.health.host_problems import HostProblem, reported_problems
from storage.inventory.facts import HostFacts
from storage.inventory.stored import inventory_of
from storage.models import Host
from storage.volumes.cache import cache_of


@staff_view(Right.ADMINISTER)
@require_http_methods(["GET", "HEAD", "POST"])
def new_host(request: HttpRequest) -> HttpResponse:
    """Name and address; then on to the line that enrols the host."""
    form = HostForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        host, _ = enrolment.begin(**form.cleaned_data)
        return redirect("host-enrol", host.key)
    code = UNPROCESSABLE if request.method == "POST" else 200
    return render(request, "staff/hosts/host_new.html", {"form": form}, status=code)


@staff_view(Right.ADMINISTER)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def enrol_host(request: HttpRequest, key: str) -> HttpResponse:
    """GET: the line to paste (after a fresh proof: it makes a host one of ours) and how far the
    host has come; the page renews itself until all is known. POST: a new line, also for a host
    that is to be upgraded."""
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    if request.method == "POST":
        enrolment.begin(host.name, host.address)
        return redirect("host-enrol", host.key)
    token = enrolment.waiting_token(host)
    public_url: str = settings.TIERCEL_PUBLIC_URL
    context = {
        "host": host,
        "arrival": arrival(host, has_line=token is not None),
        "line": enrolment.line(token, public_url) if token and is_proven(request) else "",
        "is_line_hidden": token is not None and not is_proven(request),
        "is_plain_http": public_url.startswith("http:"),
        "failure": HostProblem(
            "error", host.error.get("message", ""), host.error.get("correction", "")
        ),
        "preflight": reported_problems(host),
        **_found(inventory_of(host)),
    }
    return render(request, "staff/hosts/host_enrol.html", context)


def _found(facts: HostFacts | None) -> dict[str, object]:
    """What an inventory comes to, in numbers."""
    if facts is None:
        return {}
    volumes = facts.public_lvs()
    return {
        "facts": facts,
        "stack": stack_of(facts),
        "ssd_count": sum(not disk.rotational for disk in facts.disks),
        "volume_count": len(volumes),
        "cached_count": sum(cache_of(facts, lv) is not None for lv in volumes),
        "used_count": sum(bool(lv.users) for lv in volumes),
    }
