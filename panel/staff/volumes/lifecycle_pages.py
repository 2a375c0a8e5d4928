"""Pages that create a volume, put a found one under management, retire, restore and destroy it.
Each change makes a preview first."""

from __future__ import annotations

from http import HTTPStatus

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from jobs.models import Job, Kind
from jobs.queue.submit import create_volume, discard_record
from panel.staff.job_requests import (
    preview_of,
    requester_of,
    row_of,
    show_refusal,
)
from panel.staff.volumes.volume_forms import DestroyForm, VolumeForm
from storage.access import Right, staff_view
from storage.models import Customer, Volume
from storage.planner import Refused
from storage.planner.wish import Wish
from storage.volumes.lifecycle import Life, allowed_life, life_refusal


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
    code = HTTPStatus.UNPROCESSABLE_ENTITY if request.method == "POST" else 200
    return render(request, "staff/volumes/volume_new.html", {"form": form}, status=code)


def _create(request: HttpRequest, form: VolumeForm, wish: Wish) -> Job:
    data = form.cleaned_data
    with transaction.atomic():
        customer = data["customer"]
        if data["new_customer"]:
            customer = Customer.objects.create(name=data["new_customer"])
        volume = Volume(customer=customer, label=data["label"])
        return create_volume(volume, form.chosen, wish, requester_of(request), dry_run=True)


@staff_view(Right.OPERATE)
@require_POST
def discard_volume(request: HttpRequest, key: str) -> HttpResponse:
    """Discard a volume that was only ever previewed."""
    volume = get_object_or_404(Volume.objects.visible_to(request.user), key=key)
    try:
        discard_record(volume)
    except Refused as refused:
        return show_refusal(request, refused, volume)
    messages.success(request, f"{volume.label} is discarded. Nothing was changed on the host.")
    return redirect("volumes")


@staff_view(Right.OPERATE)
@require_POST
def tag_volume(request: HttpRequest, key: str) -> HttpResponse:
    """Preview tagging a found volume: nothing about it changes but that Tiercel manages it."""
    return preview_of(request, key, Kind.TAG_VOLUME, lambda row: row.allowed(row.wish))


@staff_view(Right.OPERATE)
@require_POST
def retire_volume(request: HttpRequest, key: str) -> HttpResponse:
    """Preview switching a volume off; its data stays."""
    return _preview(request, key, Kind.RETIRE_VOLUME, "retired")


@staff_view(Right.OPERATE)
@require_POST
def restore_volume(request: HttpRequest, key: str) -> HttpResponse:
    """Preview switching a retired volume on again under its old name."""
    return _preview(request, key, Kind.RESTORE_VOLUME, "live")


@staff_view(Right.ADMINISTER)
@require_http_methods(["GET", "HEAD", "POST"])
def destroy_volume(request: HttpRequest, key: str) -> HttpResponse:
    """What would be lost, and the label to be typed; then the preview."""
    row = row_of(request, key)
    form = DestroyForm(row, request.POST or None)
    refusal = life_refusal(row, "gone", timezone.now())
    if request.method == "POST" and refusal is None and form.is_valid():
        return _preview(request, key, Kind.DESTROY_VOLUME, "gone")
    context = {"row": row, "volume": row.volume, "form": form, "refusal": refusal}
    code = HTTPStatus.UNPROCESSABLE_ENTITY if request.method == "POST" else 200
    return render(request, "staff/volumes/destroy.html", context, status=code)


def _preview(request: HttpRequest, key: str, kind: Kind, life: Life) -> HttpResponse:
    return preview_of(request, key, kind, lambda row: allowed_life(row, life, timezone.now()))
