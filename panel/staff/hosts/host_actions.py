"""A person's actions on a host: trust it, refresh it, hold its jobs, add an SSD."""

from __future__ import annotations

from http import HTTPStatus

from django.contrib import messages
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from jobs import notify_workers
from jobs.engine import holds
from jobs.hosts import enrolment
from jobs.hosts.trust import accept_fingerprint
from jobs.models import Job
from jobs.queue import job_windows
from jobs.queue.removal import removal_of, remove
from jobs.queue.submit import submit_for_host
from panel.staff.hosts.disk_form import DiskForm
from panel.staff.job_requests import actor_of, requester_of, show_refusal
from panel.staff.jobs.forms import (
    AcceptKeyForm,
    DailyWindowForm,
    HostAddressForm,
    LimitsForm,
    MaintenanceForm,
    RemoveHostForm,
    WindowForm,
)
from storage.access import Right, staff_view
from storage.database_clock import database_now
from storage.health.missing_volumes import settle_missing_volumes
from storage.models import Host
from storage.models.host import HostState
from storage.planner import Refused
from storage.stored_inventory import inventory_of
from storage.templatetags.units import stamp
from storage.volumes.disk_offers import DiskOffer, preparations, replacements
from storage.volumes.slow_limit import SlowLimits

VOLUMES_NAMED = 20
UNREAD = Refused(
    "not_read",
    "The host has not been read yet.",
    "Refresh the host, and come back when its disks are known.",
)


@staff_view(Right.ADMINISTER)
@require_POST
def accept_host(request: HttpRequest, key: str) -> HttpResponse:
    """Accept the waiting fingerprint of a host."""
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    form = AcceptKeyForm(request.POST)
    typed = form.cleaned_data["fingerprint"] if form.is_valid() else ""
    try:
        accept_fingerprint(host, typed, actor_of(request))
    except Refused as refused:
        return show_refusal(request, refused)
    messages.success(request, f"The key of {host.name} is accepted. Tiercel is reading the host.")
    return redirect("host-enrol" if "arriving" in request.POST else "host", host.key)


@staff_view(Right.OPERATE)
@require_POST
def refresh_host(request: HttpRequest, key: str) -> HttpResponse:
    """Ask for a fresh inventory; the host's page refreshes until it is there."""
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    asked_at = database_now().timestamp()
    notify_workers.host(host.pk)
    return redirect(f"{reverse('host', args=[host.key])}?asked={asked_at:.3f}")


@staff_view(Right.ADMINISTER)
@require_http_methods(["GET", "HEAD", "POST"])
def remove_host(request: HttpRequest, key: str) -> HttpResponse:
    """What is deleted and what is kept; then, with the host's name typed, the removal. A host that
    never enrolled is discarded without typing."""
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    now = database_now()
    removal = removal_of(host, now)
    is_new = host.state == HostState.PENDING and not removal.placements
    form = RemoveHostForm(host, request.POST or None, asks_name=not is_new)
    refusal = removal.refusal
    if refusal is None and request.method == "POST" and form.is_valid():
        try:
            remove(host, form.cleaned_data["shown"], now)
        except Refused as refused:
            refusal, removal = refused, removal_of(host, now)
        else:
            messages.success(request, f"{host.name} was removed.")
            return redirect("hosts")
    code = HTTPStatus.UNPROCESSABLE_ENTITY if request.method == "POST" else 200
    context = {
        "host": host,
        "form": form,
        "removal": removal,
        "refusal": refusal,
        "is_new": is_new,
        "shown_volumes": removal.placements[:VOLUMES_NAMED],
    }
    return render(request, "staff/hosts/host_remove.html", context, status=code)


@staff_view(Right.ADMINISTER)
@require_POST
def set_address(request: HttpRequest, key: str) -> HttpResponse:
    """Where the host is reached. Its accepted key stays: another machine there is quarantined."""
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    form = HostAddressForm(request.POST)
    if not form.is_valid():
        return _back_with_errors(request, host, form)
    try:
        enrolment.readdress(host, form.cleaned_data["address"], form.cleaned_data["port"])
    except Refused as refused:
        messages.error(request, f"{refused.message} {refused.correction}")
    else:
        where = f"{form.cleaned_data['address']}:{form.cleaned_data['port']}"
        messages.success(request, f"{host.name} is now reached at {where}.")
    return redirect("host-settings", host.key)


def _back_with_errors(request: HttpRequest, host: Host, form: Form) -> HttpResponse:
    """To the settings of the host, which say what was wrong."""
    for errors in form.errors.values():
        messages.error(request, " ".join(str(error) for error in errors))
    return redirect("host-settings", host.key)


@staff_view(Right.ADMINISTER)
@require_POST
def begin_maintenance(request: HttpRequest, key: str) -> HttpResponse:
    """From now on no step begins on the host, until the time that is given."""
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    form = MaintenanceForm(request.POST)
    if not form.is_valid():
        return _back_with_errors(request, host, form)
    until = form.cleaned_data["until"]
    holds.begin_maintenance(host, form.cleaned_data["reason"], until)
    messages.success(
        request,
        f"{host.name} is in maintenance until {stamp(until)}. Its jobs are on hold.",
    )
    return redirect("host", host.key)


@staff_view(Right.ADMINISTER)
@require_POST
def end_maintenance(request: HttpRequest, key: str) -> HttpResponse:
    """Resume the host's jobs."""
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    holds.end_maintenance(host)
    messages.success(request, f"Maintenance of {host.name} has ended. Its jobs resume.")
    return redirect("host", host.key)


@staff_view(Right.ADMINISTER)
@require_POST
def set_window(request: HttpRequest, key: str) -> HttpResponse:
    """When steps may begin on the host, every day."""
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    form = WindowForm(request.POST)
    if not form.is_valid():
        return _back_with_errors(request, host, form)
    start, end = form.cleaned_data["window_start"], form.cleaned_data["window_end"]
    holds.set_window(host, start, end)
    when = f"from {start:%H:%M} to {end:%H:%M} UTC" if start is not None else "at any time"
    messages.success(request, f"Jobs on {host.name} may start {when}.")
    return redirect("host-settings", host.key)


@staff_view(Right.ADMINISTER)
@require_POST
def set_cache_window(request: HttpRequest, key: str) -> HttpResponse:
    """When jobs begin on the host that write much to its slow disks, unless one says otherwise."""
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    form = DailyWindowForm(request.POST)
    if not form.is_valid():
        return _back_with_errors(request, host, form)
    try:
        job_windows.set_cache_window(host, form.window)
    except Refused as refused:
        messages.error(request, f"{refused.message} {refused.correction}")
        return redirect("host-settings", host.key)
    when = f"in the window {form.window}" if form.window is not None else "at once"
    messages.success(
        request, f"New jobs on {host.name} that flush, remove or replace a cache start {when}."
    )
    return redirect("host-settings", host.key)


@staff_view(Right.ADMINISTER)
@require_POST
def set_limits(request: HttpRequest, key: str) -> HttpResponse:
    """From when on something is a problem, and whether Tiercel leaves writeback automatically."""
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    form = LimitsForm(request.POST)
    if not form.is_valid():
        return _back_with_errors(request, host, form)
    Host.objects.filter(pk=host.pk).update(**form.cleaned_data)
    limit = SlowLimits().of(None, form.cleaned_data["slow_read_ms"], host.tags)
    does = "leaves" if form.cleaned_data["leaves_writeback"] else "does not leave"
    messages.success(
        request,
        f"On {host.name} a cache may be {form.cleaned_data['dirty_limit_percent']} % dirty, a read "
        f"is slow from {limit.ms} ms ({limit.source}), and an HDD is overloaded from "
        f"{form.cleaned_data['busy_percent']} %. "
        f"Tiercel {does} writeback by itself when an SSD mirror loses a disk.",
    )
    return redirect("host-settings", host.key)


@staff_view(Right.OPERATE)
@require_POST
def settle_missing(request: HttpRequest, key: str) -> HttpResponse:
    """The missing volumes of a host are gone for good, but for those that a job still holds."""
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    unfinished = Job.objects.unfinished().filter(host=host)
    count = settle_missing_volumes(
        host, database_now(), unfinished.values_list("volume_id", flat=True)
    )
    messages.success(
        request, f"{count} volume{'s' if count != 1 else ''} removed from {host.name}."
    )
    return redirect("host", host.key)


@staff_view(Right.ADMINISTER)
@require_http_methods(["GET", "HEAD", "POST"])
def add_ssd(request: HttpRequest, key: str) -> HttpResponse:
    """Which one, to which group, and its serial number, typed to guard against mix-ups."""
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    facts = inventory_of(host)
    offer = preparations(facts) if facts is not None else None
    return _give_disk(request, host, offer, "staff/hosts/ssd.html")


@staff_view(Right.ADMINISTER)
@require_http_methods(["GET", "HEAD", "POST"])
def replace_member(request: HttpRequest, key: str, array: str) -> HttpResponse:
    """Which disk takes which place, and its serial number, typed to guard against mix-ups."""
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    facts = inventory_of(host)
    named = [each for each in facts.arrays if each.name == array] if facts is not None else []
    if facts is None or not named:
        raise Http404
    offer = replacements(facts, named[0], allowed=host.replaces_members)
    return _give_disk(request, host, offer, "staff/hosts/member.html", array=named[0])


def _give_disk(
    request: HttpRequest, host: Host, offer: DiskOffer | None, template: str, **more: object
) -> HttpResponse:
    """The form, then a preview of its wish. Without an inventory there is no offer."""
    form = DiskForm(offer, request.POST or None) if offer is not None else None
    refusal = offer.refusal if offer is not None else UNREAD
    is_asked = request.method == "POST" and refusal is None
    if form is not None and is_asked and form.is_valid() and form.wanted is not None:
        try:
            job = submit_for_host(host, form.wanted, requester_of(request), dry_run=True)
            return redirect("job", job.key)
        except Refused as refused:
            refusal = refused
    context = {"host": host, "form": form, "refusal": refusal, **more}
    code = HTTPStatus.UNPROCESSABLE_ENTITY if request.method == "POST" else 200
    return render(request, template, context, status=code)
