"""One change for many volumes: what would come of each, then a result for each."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.core.signing import BadSignature
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from jobs.queue.bulk import carry_out, reserved_by_group, seal, unseal, volumes_with_jobs
from panel.http.client_address import address_of
from storage.access import Right, staff_view
from storage.bulk_changes import MOST, Action, BulkForm, drafts
from storage.models import Customer, Volume
from storage.volumes.snapshot import snapshots_of

UNPROCESSABLE = 422


@staff_view(Right.OPERATE)
@require_POST
def bulk(request: HttpRequest) -> HttpResponse:
    """The chosen volumes (`volume`, repeated) and what would be done to each; nothing is stored."""
    keys = list(dict.fromkeys(request.POST.getlist("volume")))
    if not keys or len(keys) > MOST:
        text = f"Choose at most {MOST} volumes." if keys else "Choose volumes first."
        messages.warning(request, text)
        return redirect(_back(request))
    form = BulkForm(request.user, request.POST)
    rows = snapshots_of(_volumes(request, keys))
    found = []
    if form.is_valid():
        now = timezone.now()
        found = drafts(
            rows, form.cleaned_data, reserved_by_group(rows), now, volumes_with_jobs(rows)
        )
    good = [each for each in found if each.refused is None]
    context = {
        "form": form,
        "option": form[form.option] if form.option else None,
        "title": dict(form.fields[("action")].choices).get(request.POST.get("action"), ""),  # type: ignore[attr-defined]
        "rows": rows,
        "drafts": found,
        "good_count": len(good),
        "list": request.POST.get("list", ""),
    }
    if good:
        option = form.cleaned_data.get(form.option)
        key = getattr(option, "key", option) or ""
        context["sealed"] = seal(Action(form.cleaned_data["action"]), key, good)
    asks_option = form.has_error("__all__", "no_option")
    status = 200 if found or asks_option else UNPROCESSABLE
    return render(request, "staff/volumes/bulk.html", context, status=status)


@staff_view(Right.OPERATE)
@require_POST
def bulk_confirm(request: HttpRequest) -> HttpResponse:
    """Do what was shown; every volume is judged again, so that a repeated click does no harm."""
    try:
        deal = unseal(request.POST.get("sealed", ""))
    except BadSignature:
        messages.error(
            request, ("The preview is too old. Create a new preview. Nothing was changed.")
        )
        return redirect("volumes")
    volumes = {each.key: each for each in _volumes(request, [item.key for item in deal.items])}
    customer = Customer.objects.visible_to(request.user).filter(key=deal.option).first()
    actor = request.user if isinstance(request.user, AbstractBaseUser) else None
    results = carry_out(deal, volumes, customer, actor, address_of(request))
    context = {
        "results": results,
        "done_count": sum(each.is_done for each in results),
        "job_count": sum(each.is_done and each.job is not None for each in results),
        "list": request.POST.get("list", ""),
    }
    return render(request, "staff/volumes/bulk_done.html", context)


def _back(request: HttpRequest) -> str:
    """The list as it was when the volumes were chosen."""
    query = request.POST.get("list", "")
    return reverse("volumes") + (f"?{query}" if query else "")


def _volumes(request: HttpRequest, keys: list[str]) -> list[Volume]:
    whole = [key for key in keys if "\0" not in key]
    found = Volume.objects.visible_to(request.user).filter(key__in=whole)
    return list(found.select_related("customer", "cache_plan"))
