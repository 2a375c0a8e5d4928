"""Adoption in three steps: choose volumes, see a preview, store and tag. Undoing it, and tagging
later."""

from __future__ import annotations

from collections import Counter
from typing import cast

from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.core.signing import BadSignature
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from jobs.queue.adoption import TAGS_AT_ONCE, adopt_and_tag, tag, undo, untagged
from panel.http.client_address import address_of
from panel.staff.adoption.forms import CsvForm, PatternForm, seal, unseal
from panel.staff.job_requests import requester_of
from storage.access import Right, staff_view
from storage.adoption import AdoptionVerdict, Judgement, buyers_of, candidates_of, judge, last_batch
from storage.adoption.adopt import taken_ids
from storage.models import Volume

UNPROCESSABLE = 422
WORDS = {
    AdoptionVerdict.ADOPT: "will be adopted",
    AdoptionVerdict.ALREADY: "already adopted",
    AdoptionVerdict.UNKNOWN: "unknown",
    AdoptionVerdict.AMBIGUOUS: "ambiguous",
    AdoptionVerdict.ID_TAKEN: "external id taken",
    AdoptionVerdict.CUSTOMER_UNKNOWN: "customer unknown",
    AdoptionVerdict.HOSTS_OWN: "skipped",
}


@staff_view(Right.OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def adopt(request: HttpRequest) -> HttpResponse:
    """The two forms; posting one shows the preview. Nothing is stored here."""
    is_csv = request.method == "POST" and request.POST.get("way") == "csv"
    is_pattern = request.method == "POST" and not is_csv
    prefilled = {name: request.GET[name] for name in ("pattern", "host") if name in request.GET}
    pattern = PatternForm(
        request.user, request.POST if is_pattern else None, initial={"pattern": "*", **prefilled}
    )
    sheet = CsvForm(request.POST, request.FILES) if is_csv else CsvForm()
    submitted: PatternForm | CsvForm | None = sheet if is_csv else pattern if is_pattern else None
    if submitted is not None and submitted.is_valid():
        return _preview(request, submitted)
    candidates = candidates_of(request.user)
    context = {
        "pattern": pattern,
        "sheet": sheet,
        "batch": last_batch(request.user),
        "found_count": sum(not each.owner and not each.is_missing for each in candidates),
        "taggable_count": sum(
            each.is_adopted and each.is_allowed and not each.is_managed for each in candidates
        ),
    }
    code = UNPROCESSABLE if request.method == "POST" else 200
    return render(request, "staff/adoption/adopt.html", context, status=code)


def _preview(request: HttpRequest, form: PatternForm | CsvForm) -> HttpResponse:
    asks, make_customers = form.asks, form.make_customers
    judged = judge(
        asks,
        candidates_of(request.user),
        buyers_of(request.user),
        taken_ids(),
        make_customers=make_customers,
    )
    context = {
        "rows": [(each, WORDS[each.verdict]) for each in judged],
        "summary": _summary(judged),
        "good_count": sum(each.is_good for each in judged),
        "sealed": seal(asks, make_customers=make_customers),
    }
    return render(request, "staff/adoption/adopt_preview.html", context)


def _summary(judged: tuple[Judgement, ...]) -> str:
    """How many rows end how, in the order of `AdoptionVerdict`."""
    by_verdict = Counter(each.verdict for each in judged)
    counts = [f"{by_verdict[each]} {WORDS[each]}" for each in AdoptionVerdict if by_verdict[each]]
    return f"{', '.join(counts)}. Nothing is stored yet." if counts else "No volume matches."


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
    remaining = len(list(rows))
    rest = f" {remaining} are left: press Tag them on the Adopt page again." if remaining else ""
    messages.info(request, f"{count} tag job{'s' if count != 1 else ''} started.{rest}")
    for reason in refused[:3]:
        messages.warning(request, reason)
    return redirect("jobs" if count else "adopt")


def _person(request: HttpRequest) -> AbstractBaseUser:
    """The signed-in person; `staff_view` admits nobody else."""
    return cast("AbstractBaseUser", request.user)
