"""What a person does: each verb makes a preview, and applying the preview makes the job.

Every answer to a POST is a redirect to the page that shows what came of it, or the form again
with its errors (422), or what is in the way (409 busy, 422 refused).
"""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from jobs import notify_workers
from jobs.hosts.contact import accept_fingerprint
from jobs.models import Job, Kind
from jobs.queue.confirm import PROVEN, confirm, right_to
from jobs.queue.create_volume import create, discard
from jobs.queue.submit import Busy, cancel, submit
from jobs.requester import Requester
from panel.http.client_address import address_of
from panel.http.fragments import form_again, is_in_place, to_job
from panel.staff.jobs.forms import AcceptKeyForm, ConfirmForm
from storage.access import Right, may, require_proof, staff_view
from storage.database_clock import database_now
from storage.models import Customer, Host, Volume
from storage.planner import Refused
from storage.planner.growth import uncached
from storage.planner.wish import Wish
from storage.volumes.cache_settings_form import TunedForm
from storage.volumes.forms import CacheForm, VolumeForm
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of

UNPROCESSABLE, CONFLICT = 422, 409


@staff_view(Right.OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def cache_form(request: HttpRequest, key: str) -> HttpResponse:
    """A new cache, or another mode and settings for the one that is there: form, then preview."""
    row = row_of(request, key)
    form_class = TunedForm if row.cache is not None else CacheForm
    form = form_class(row, request.POST or None)
    refusal = row.refusal(row.wish)
    if refusal is None and isinstance(form, CacheForm) and not form.has_room:
        refusal = form.no_room()
    if refusal is None and request.method == "POST" and form.is_valid() and form.wish is not None:
        kind = Kind.SET_CACHE if row.cache is not None else Kind.ADD_CACHE
        return preview_of(request, kind, row.volume, form.wish)
    context = {"row": row, "volume": row.volume, "form": form, "refusal": refusal}
    if refusal is None and is_in_place(request):
        return form_again(
            request, "staff/volumes/_cache_form.html", context, "#cache-form", UNPROCESSABLE
        )
    if refusal is not None and is_in_place(request):
        return show_refusal(request, refusal, row.volume)
    code = UNPROCESSABLE if request.method == "POST" else 200
    return render(request, "staff/volumes/cache_form.html", context, status=code)


@staff_view(Right.OPERATE)
@require_POST
def remove_cache(request: HttpRequest, key: str) -> HttpResponse:
    """Preview the removal of a cache."""
    row = row_of(request, key)
    now = row.wish
    if (refusal := row.refusal(now)) or now is None:
        return show_refusal(request, refusal, row.volume)
    wish = uncached(row.facts, row.lv, now)
    return preview_of(request, Kind.REMOVE_CACHE, row.volume, wish)


@staff_view(Right.OPERATE)
@require_POST
def tag_volume(request: HttpRequest, key: str) -> HttpResponse:
    """Preview tagging a found volume: nothing about it changes but that Tiercel manages it."""
    row = row_of(request, key)
    now = row.wish
    if (refusal := row.refusal(now)) or now is None:
        return show_refusal(request, refusal, row.volume)
    return preview_of(request, Kind.TAG_VOLUME, row.volume, now)


@staff_view(Right.OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def new_volume(request: HttpRequest) -> HttpResponse:
    """A new volume: form, then preview. The record exists from the preview on."""
    form = VolumeForm(request.user, request.POST or None)
    if request.method == "POST" and form.is_valid() and form.wish is not None:
        try:
            return redirect("job", _create(request, form, form.wish).key)
        except Refused as refused:
            form.add_error(None, f"{refused.message} {refused.correction}")
    code = UNPROCESSABLE if request.method == "POST" else 200
    return render(request, "staff/volumes/volume_new.html", {"form": form}, status=code)


def _create(request: HttpRequest, form: VolumeForm, wish: Wish) -> Job:
    data = form.cleaned_data
    with transaction.atomic():
        customer = data["customer"]
        if data["new_customer"]:
            customer = Customer.objects.create(name=data["new_customer"])
        volume = Volume(customer=customer, label=data["label"])
        return create(volume, form.chosen, wish, requester_of(request), dry_run=True)


@staff_view(Right.OPERATE)
@require_POST
def discard_volume(request: HttpRequest, key: str) -> HttpResponse:
    """Forget a volume that was only ever previewed."""
    volume = get_object_or_404(Volume.objects.visible_to(request.user), key=key)
    try:
        discard(volume)
    except Refused as refused:
        return show_refusal(request, refused, volume)
    messages.success(request, f"{volume.label} is discarded. Nothing was changed on the host.")
    return redirect("volumes")


@staff_view(Right.OPERATE)
@require_POST
def apply_preview(request: HttpRequest, key: str) -> HttpResponse:
    """Make a preview real: a job with the very same wish, for the very same steps, now or later."""
    preview = get_object_or_404(
        Job.objects.visible_to(request.user).select_related("volume"), key=key, dry_run=True
    )
    if not may(request.user, right := right_to(preview)):
        raise PermissionDenied(right)
    if preview.kind in PROVEN:
        require_proof(request, reverse("job", args=[preview.key]))
    form = ConfirmForm(request.POST)
    if not form.is_valid():
        refusal = Refused(
            "invalid", form.problem, ("Go back and enter another time, or leave the field empty.")
        )
        return show_refusal(request, refusal, preview.volume)
    not_before = form.cleaned_data["not_before"]
    return _answer(
        request,
        preview.volume,
        lambda: confirm(preview, requester_of(request), not_before=not_before),
    )


@staff_view(Right.OPERATE)
@require_POST
def cancel_job(request: HttpRequest, key: str) -> HttpResponse:
    """Cancel a job, at once or before its next step; 409 once there is only the way forward."""
    found = get_object_or_404(Job.objects.visible_to(request.user), key=key)
    try:
        cancel(found, requester_of(request))
    except Refused as refused:
        return show_refusal(request, refused, found.volume, CONFLICT)
    return to_job(request, found)


@staff_view(Right.ADMINISTER)
@require_POST
def accept_host(request: HttpRequest, key: str) -> HttpResponse:
    """Accept the waiting fingerprint of a host."""
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    form = AcceptKeyForm(request.POST)
    given = form.cleaned_data["fingerprint"] if form.is_valid() else ""
    try:
        accept_fingerprint(host, given, _actor(request))
    except Refused as refused:
        return show_refusal(request, refused)
    messages.success(request, f"The key of {host.name} is accepted. Tiercel is reading the host.")
    return redirect("host-enrol" if "arriving" in request.POST else "host", host.key)


@staff_view(Right.OPERATE)
@require_POST
def refresh_host(request: HttpRequest, key: str) -> HttpResponse:
    """Ask for a fresh inventory; the host's page renews itself until it is there."""
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    asked = database_now().timestamp()
    notify_workers.host(host.pk)
    return redirect(f"{reverse('host', args=[host.key])}?asked={asked:.3f}")


def row_of(request: HttpRequest, key: str) -> VolumeSnapshot:
    """The volume with that key as pages show it; 404 for a stranger's."""
    found = Volume.objects.visible_to(request.user).select_related("customer")
    return snapshots_of([get_object_or_404(found, key=key)])[0]


def _actor(request: HttpRequest) -> AbstractBaseUser | None:
    return request.user if isinstance(request.user, AbstractBaseUser) else None


def preview_of(request: HttpRequest, kind: str, volume: Volume, wish: Wish) -> HttpResponse:
    """Ask for a preview, and go there."""
    requester = requester_of(request)
    return _answer(
        request,
        volume,
        lambda: submit(
            kind=kind,
            volume=volume,
            wish=wish,
            actor=requester.actor,
            dry_run=True,
            address=requester.address,
        ),
    )


def requester_of(request: HttpRequest) -> Requester:
    """Whoever asks on a page."""
    return Requester(_actor(request), address_of(request))


def _answer(request: HttpRequest, volume: Volume | None, ask: Callable[[], Job]) -> HttpResponse:
    """Go to the job that was asked for, or say what is in its way."""
    try:
        job = ask()
    except Refused as refused:
        return show_refusal(request, refused, volume)
    except Busy as busy:
        context = {"volume": volume, "holder": busy.job}
        name = (
            "staff/volumes/_work_busy.html" if is_in_place(request) else "staff/volumes/busy.html"
        )
        return render(request, name, context, status=CONFLICT)
    return to_job(request, job)


def show_refusal(
    request: HttpRequest,
    refusal: Refused | None,
    volume: Volume | None = None,
    status: int = UNPROCESSABLE,
) -> HttpResponse:
    """The page that says why not."""
    context = {"refusal": refusal, "volume": volume}
    name = (
        "staff/volumes/_work_refused.html" if is_in_place(request) else "staff/volumes/refused.html"
    )
    return render(request, name, context, status=status)
