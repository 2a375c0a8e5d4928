"""The page that orders a benchmark, and shows before what that takes."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from jobs.benchmarks.benchmark_order import order, order_refusal
from panel.benchmarks.estimates import estimated, wear_words
from panel.staff.benchmarks.order_form import BenchmarkForm
from panel.staff.job_requests import requester_of
from storage.access import Right, staff_view
from storage.benchmarks.matrix import Profile, label_of, runs_of
from storage.planner import Refused


@staff_view(Right.OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def new_benchmark(request: HttpRequest) -> HttpResponse:
    """The form; with `preview` what it would do, else the order."""
    is_post = request.method == "POST"
    form = BenchmarkForm(request.user, request.POST if is_post else _usual(request))
    context = _context(form)
    is_order = is_post and "preview" not in request.POST
    if is_order and form.spec is not None and form.chosen is not None:
        try:
            made = order(
                form.chosen.host,
                form.spec,
                requester_of(request),
                title=form.cleaned_data["title"],
                window=form.window,
            )
        except Refused as refused:
            context["refusal"] = refused
        else:
            messages.success(request, "The benchmark is ordered.")
            return redirect("benchmark", made.key)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_order else HTTPStatus.OK
    return render(request, "staff/benchmarks/benchmark_new.html", context, status=status)


def _usual(request: HttpRequest) -> dict[str, Any]:
    """What the form has at first: the published evening, on the host that the address names, or
    the replay of a volume that it names."""
    blank = BenchmarkForm(request.user)
    usual = {
        name: field.initial for name, field in blank.fields.items() if field.initial is not None
    }
    host = request.GET.get("host", "")
    named = [key for key in blank.groups if key.startswith(f"{host}/")] if host else []
    usual["group"] = next(iter(named or blank.groups), "")
    if volume := request.GET.get("heat_of", ""):
        usual |= {"heat_of": volume, "profiles": [Profile.HEAT]}
    return usual


def _context(form: BenchmarkForm) -> dict[str, Any]:
    context: dict[str, Any] = {"form": form, "refusal": None, "estimate": None}
    if not form.is_valid() or form.spec is None or form.chosen is None:
        return context
    try:
        estimate = estimated(form.chosen.host, form.spec)
    except Refused as refused:
        return context | {"refusal": refused}
    return context | {
        "refusal": order_refusal(form.chosen.host, form.spec),
        "estimate": estimate,
        "wear": wear_words(estimate),
        "free": form.chosen.free_bytes,
        "limits": form.limits,
        "runs": [label_of(run.cell) for run in runs_of(form.spec)],
    }
