"""Adoption, first and second step: what to adopt, and what would come of it. The third, which
stores it, is in `panel.staff.adoption.apply_pages`."""

from __future__ import annotations

from collections import Counter

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from panel.staff.adoption.forms import CsvForm, PatternForm, seal
from storage.access import Right, staff_view
from storage.adoption import AdoptionVerdict, Judgement, buyers_of, candidates_of, judge, last_batch
from storage.adoption.record import taken_ids

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
    wanted = {name: request.GET[name] for name in ("pattern", "host") if name in request.GET}
    pattern = PatternForm(
        request.user, request.POST if is_pattern else None, initial={"pattern": "*", **wanted}
    )
    sheet = CsvForm(request.POST, request.FILES) if is_csv else CsvForm()
    sent: PatternForm | CsvForm | None = sheet if is_csv else pattern if is_pattern else None
    if sent is not None and sent.is_valid():
        return _preview(request, sent)
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
        "counts": counts(judged),
        "good_count": sum(each.is_good for each in judged),
        "sealed": seal(asks, make_customers=make_customers),
    }
    return render(request, "staff/adoption/adopt_preview.html", context)


def counts(judged: tuple[Judgement, ...]) -> list[tuple[str, int]]:
    """How many rows end how, in the order of `AdoptionVerdict`."""
    found = Counter(each.verdict for each in judged)
    return [(WORDS[verdict], found[verdict]) for verdict in AdoptionVerdict if found[verdict]]
