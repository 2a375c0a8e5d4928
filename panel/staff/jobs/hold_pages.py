"""What an administrator does to hold jobs back: maintenance, change windows, the global stop."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from jobs.engine import holds
from panel.staff.jobs.forms import REASON_LIMIT, MaintenanceForm, StopForm, WindowForm
from storage.access import Right, staff_view
from storage.models import Host


@staff_view(Right.ADMINISTER)
@require_POST
def begin_maintenance(request: HttpRequest, key: str) -> HttpResponse:
    """From now on no step begins on the host."""
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    form = MaintenanceForm(request.POST)
    if not form.is_valid():
        messages.error(request, f"A reason can have at most {REASON_LIMIT} characters.")
    else:
        holds.begin_maintenance(host, form.cleaned_data["reason"])
        messages.success(request, f"{host.name} is in maintenance. Its jobs are on hold.")
    return redirect("host", host.key)


@staff_view(Right.ADMINISTER)
@require_POST
def end_maintenance(request: HttpRequest, key: str) -> HttpResponse:
    """The host's jobs go on."""
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
        for errors in form.errors.values():
            messages.error(request, " ".join(str(error) for error in errors))
        return redirect("host", host.key)
    start, end = form.cleaned_data["window_start"], form.cleaned_data["window_end"]
    holds.set_window(host, start, end)
    when = f"from {start:%H:%M} to {end:%H:%M} UTC" if start is not None else "at any time"
    messages.success(request, f"Jobs on {host.name} may start {when}.")
    return redirect("host", host.key)


@staff_view(Right.ADMINISTER)
@require_POST
def stop_all(request: HttpRequest) -> HttpResponse:
    """The global stop: no step begins on any host."""
    form = StopForm(request.POST)
    holds.stop_all(request.user.pk, form.kept)
    messages.success(request, "All jobs are paused. Running steps finish; no new step starts.")
    if form.is_cut:
        said = f"The reason was shortened to {REASON_LIMIT} characters of text."
        messages.warning(request, said)
    return redirect("jobs")


@staff_view(Right.ADMINISTER)
@require_POST
def resume_all(request: HttpRequest) -> HttpResponse:
    """The end of the global stop."""
    holds.resume_all()
    messages.success(request, "All jobs resume.")
    return redirect("jobs")
