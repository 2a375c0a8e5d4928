"""How a page requests a job, and how it answers.

Every answer to a POST is a redirect to the page that shows the job, or the form again with its
errors (422), or the obstacle (409 another job, 422 refused).
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from jobs.models import Job
from jobs.queue.submit import Busy, ChangeRequest, submit
from jobs.requester import Requester
from panel.accounts.client_address import address_of
from panel.http.fragments import form_again, is_in_place, to_job
from storage.models import Volume
from storage.planner import Refused
from storage.planner.wish import Wish
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of


class WishForm(Form):
    """A form that ends in a wish; None until its input is valid."""

    wish: Wish | None = None


def row_of(request: HttpRequest, key: str) -> VolumeSnapshot:
    """The volume with that key as pages show it; 404 for a stranger's."""
    visible = Volume.objects.visible_to(request.user).select_related("customer")
    return snapshots_of([get_object_or_404(visible, key=key)])[0]


def requester_of(request: HttpRequest) -> Requester:
    """The person who asks on a page."""
    return Requester(actor_of(request), address_of(request))


def actor_of(request: HttpRequest) -> AbstractBaseUser | None:
    return request.user if isinstance(request.user, AbstractBaseUser) else None


def preview_of(
    request: HttpRequest, key: str, kind: str, wish_of: Callable[[VolumeSnapshot], Wish]
) -> HttpResponse:
    """What a button does: ask for a preview of the wish and go there, or say why there is none.
    `wish_of` raises `Refused`."""
    row = row_of(request, key)
    return answer_with_job(request, row.volume, lambda: _preview(request, row, kind, wish_of(row)))


def form_action(
    request: HttpRequest, row: VolumeSnapshot, form: WishForm, kind: str, *shown: str, **more: Any
) -> HttpResponse:
    """What a form does: it is shown (`show_form`), then a preview of its wish."""
    is_asked = request.method == "POST" and more.get("refusal") is None
    if is_asked and form.is_valid() and (wish := form.wish) is not None:
        return answer_with_job(request, row.volume, lambda: _preview(request, row, kind, wish))
    return show_form(request, row, form, *shown, **more)


def _preview(request: HttpRequest, row: VolumeSnapshot, kind: str, wish: Wish) -> Job:
    return submit(ChangeRequest(kind, row.volume, wish, dry_run=True), requester_of(request))


def answer_with_job(
    request: HttpRequest, volume: Volume | None, ask: Callable[[], Job]
) -> HttpResponse:
    """Redirect to the requested job, or show what blocks it."""
    try:
        job = ask()
    except Refused as refused:
        return show_refusal(request, refused, volume)
    except Busy as busy:
        return show_holder(request, busy.job, volume)
    return to_job(request, job)


def show_holder(request: HttpRequest, job: Job, volume: Volume | None) -> HttpResponse:
    """The page that names the blocking job."""
    context = {
        "volume": volume,
        "holder": job,
        "held": volume.label if volume is not None else job.host.name,
    }
    name = "staff/volumes/_work_busy.html" if is_in_place(request) else "staff/volumes/busy.html"
    return render(request, name, context, status=HTTPStatus.CONFLICT)


def show_form(
    request: HttpRequest,
    row: VolumeSnapshot,
    form: Form,
    title: str,
    template: str,
    *,
    refusal: Refused | None = None,
    **more: object,
) -> HttpResponse:
    """The form of one action on a volume, after a POST with its errors, or why there is none: where
    the volume's page shows its work, or as a page of its own."""
    if refusal is not None and is_in_place(request):
        return show_refusal(request, refusal, row.volume)
    context = {"row": row, "volume": row.volume, "form": form, "refusal": refusal, "title": title}
    context |= {"form_template": template, **more}
    if is_in_place(request):
        return form_again(request, "staff/volumes/_action.html", context, "#work")
    is_asked_here = request.headers.get("HX-Request") == "true"
    name = "staff/volumes/_action.html" if is_asked_here else "staff/volumes/action.html"
    is_post = request.method == "POST"
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_post else HTTPStatus.OK
    return render(request, name, context, status=status)


def show_refusal(
    request: HttpRequest,
    refusal: Refused | None,
    volume: Volume | None = None,
    status: int = HTTPStatus.UNPROCESSABLE_ENTITY,
) -> HttpResponse:
    """The page that says why not."""
    context = {"refusal": refusal, "volume": volume}
    name = (
        "staff/volumes/_work_refused.html" if is_in_place(request) else "staff/volumes/refused.html"
    )
    return render(request, name, context, status=status)
