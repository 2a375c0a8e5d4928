"""Adoption, third step: it is stored, and tagged where that is allowed. And its undoing."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.core.signing import BadSignature
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from jobs.queue.adoption import TAGS_AT_ONCE, adopt_and_tag, tag, undo, untagged
from panel.http.client_address import address_of
from panel.staff.adoption.forms import unseal
from panel.staff.adoption.pages import WORDS
from panel.staff.job_requests import requester_of
from storage.access import Right, staff_view
from storage.adoption import last_batch
from storage.models import Volume


@staff_view(Right.OPERATE)
@require_POST
def confirm(request: HttpRequest) -> HttpResponse:
    """Adopt what the preview showed; every row is judged again, so that a repeated click or
    another person's adoption in between does no harm."""
    try:
        asks, make_customers = unseal(request.POST.get("sealed", ""))
    except BadSignature:
        messages.error(request, "The preview is too old. Create a new preview. Nothing was stored.")
        return redirect("adopt")
    results = adopt_and_tag(
        asks, _person(request), make_customers=make_customers, address=address_of(request)
    )
    context = {
        "results": [(each, WORDS[each.judgement.verdict]) for each in results],
        "adopted_count": sum(each.volume is not None for each in results),
        "job_count": sum(each.tagging is not None and bool(each.tagging.job) for each in results),
    }
    return render(request, "staff/adoption/adopt_done.html", context)


@staff_view(Right.OPERATE)
@require_POST
def undo_adoption(request: HttpRequest) -> HttpResponse:
    """Undo the adoption of one volume (`volume`), or of those adopted last, together."""
    key = request.POST.get("volume", "").replace("\0", "\ufffd")
    mine = Volume.objects.visible_to(request.user)
    volumes = [get_object_or_404(mine, key=key)] if key else last_batch(request.user)
    done = undo(volumes, requester_of(request))
    if done.released:
        count = len(done.released)
        messages.success(request, f"Undone for {count} volume{'s' if count != 1 else ''}.")
    for volume, reason in done.kept[:5]:
        messages.warning(request, f"{volume.label} stays adopted. {reason}")
    if len(done.kept) > 5:
        messages.warning(request, f"{len(done.kept) - 5} more stay adopted.")
    return redirect("volume", key) if key else redirect("adopt")


@staff_view(Right.OPERATE)
@require_POST
def tag_adopted(request: HttpRequest) -> HttpResponse:
    """Tag every adopted volume whose group has been allowed since."""
    person, rows = _person(request), iter(untagged(_person(request)))
    count, refused = 0, []
    while count < TAGS_AT_ONCE and (row := next(rows, None)) is not None:
        tagging = tag(row, person, address_of(request))
        count += tagging.job is not None
        if tagging.job is None:
            refused.append(f"{row.volume.label}: {tagging.note}")
    left = len(list(rows))
    rest = f" {left} are left: press Tag them on the Adopt page again." if left else ""
    messages.info(request, f"{count} tag job{'s' if count != 1 else ''} started.{rest}")
    for reason in refused[:3]:
        messages.warning(request, reason)
    return redirect("jobs" if count else "adopt")


def _person(request: HttpRequest) -> AbstractBaseUser:
    """The signed-in person; `staff_view` admits nobody else."""
    return cast("AbstractBaseUser", request.user)
