"""Kernel gates of a host and bisects: ordered, planned, watched, and what was lost accepted."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from jobs.benchmarks.gate_figures import gate_progress_of
from jobs.benchmarks.gate_order import (
    accept_regression,
    choose_plan,
    order_bisect,
    order_gate,
    revoke_regression,
    skip_kernel,
)
from jobs.benchmarks.gate_steps import bisect_of
from panel.staff.benchmarks.benchmark_list import chip_of
from panel.staff.benchmarks.gate_forms import AcceptRegressionForm, BisectForm, GateForm
from panel.staff.hosts.pages import find_host
from panel.staff.job_requests import actor_of, requester_of, show_refusal
from storage.access import Right, staff_view
from storage.benchmarks.gate import GatePlan, GateTarget
from storage.benchmarks.matrix import label_of
from storage.database_clock import database_now
from storage.models import Gate, GateKind
from storage.planner import Refused

TONES = {
    "slower": ("error", "error"),
    "faster": ("ok", "ok"),
    "no difference": ("ok", "ok"),
    "cannot tell": ("warning", "warning"),
}


def _gates(request: HttpRequest) -> QuerySet[Gate]:
    rows = Gate.objects.visible_to(request.user)
    return rows.select_related("benchmark__host", "benchmark__actor", "baseline__benchmark")


def find_gate(request: HttpRequest, key: str) -> Gate:
    """The gate or bisect of the benchmark of that key; 404 where the person sees none."""
    return get_object_or_404(_gates(request), benchmark__key=key)


@staff_view()
@require_safe
def host_kernels(request: HttpRequest, key: str) -> HttpResponse:
    """What gates and bisects said of kernels on a host, newest first."""
    host = find_host(request, key)
    gates = _gates(request).filter(benchmark__host=host).order_by("-pk")[:50]
    context = {
        "host": host,
        "rows": [(gate, chip_of(gate.benchmark), gate_headline(gate)) for gate in gates],
    }
    return render(request, "staff/benchmarks/host_kernels.html", context)


def gate_headline(gate: Gate) -> str:
    """Its progress, or what it found, in a sentence."""
    if gate.kind == GateKind.BISECT:
        return f"Slow-down {bisect_of(gate).sentence}."
    if not gate.benchmark.is_over:
        return gate.benchmark.message
    alarms = [target["lost"] for target in gate.targets if target["is_alarm"]]
    if alarms:
        return f"{gate.kernel_b} is slower: {'; '.join(alarms)}."
    if gate.effect:
        return f"{gate.kernel_b} is not slower."
    return gate.benchmark.message or "Cannot tell."


@staff_view(Right.OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def new_gate(request: HttpRequest) -> HttpResponse:
    """Before an upgrade, and after it: the kernel that runs now against another one."""
    is_post = request.method == "POST"
    form = GateForm(request.user, request.POST) if is_post else GateForm(request.user)
    refusal = None
    if is_post and form.is_valid() and form.spec is not None and form.chosen is not None:
        try:
            gate = order_gate(
                form.chosen.host,
                form.spec,
                requester_of(request),
                kernel_b=form.cleaned_data["kernel_b"],
                boots_a_side=form.cleaned_data["boots_a_side"],
                title=form.cleaned_data["title"],
                window=form.window,
            )
        except Refused as refused:
            refusal = refused
        else:
            messages.success(request, "The gate is ordered.")
            return redirect("gate", gate.benchmark.key)
    elif not is_post:
        host = request.GET.get("host", "")
        named = [key for key in form.groups if key.startswith(f"{host}/")] if host else []
        form.initial["group"] = next(iter(named or form.groups), "")
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_post else HTTPStatus.OK
    context = {"form": form, "refusal": refusal}
    return render(request, "staff/benchmarks/gate_new.html", context, status=status)


@staff_view()
@require_safe
def gate_page(request: HttpRequest, key: str) -> HttpResponse:
    """All of it."""
    return _page(request, find_gate(request, key))


def _page(
    request: HttpRequest, gate: Gate, wrong: AcceptRegressionForm | BisectForm | None = None
) -> HttpResponse:
    targets = [GateTarget.from_json(target) for target in gate.targets]
    is_gate = gate.kind == GateKind.GATE
    labels = [label_of(cell) for cell in gate.benchmark.matrix.cells]
    kernels = "\n".join(filter(None, gate.kernels))
    context: dict[str, Any] = {
        "gate": gate,
        "benchmark": gate.benchmark,
        "chip": chip_of(gate.benchmark),
        "headline": gate_headline(gate),
        "is_gate": is_gate,
        "boots": gate.boots.all(),
        "boots_left": gate_progress_of(gate).boots_left if is_gate else None,
        "plans": [GatePlan.from_json(plan) for plan in gate.plans] if is_choosing(gate) else [],
        "targets": [(target, TONES[target.word]) for target in targets],
        "next_kernel": None if is_gate or gate.benchmark.is_over else bisect_of(gate).next_kernel,
        "answers": [(kernel, gate.answers.get(kernel, "")) for kernel in gate.kernels],
        "accept_form": wrong if isinstance(wrong, AcceptRegressionForm) else AcceptRegressionForm(),
        "bisect_form": wrong
        if isinstance(wrong, BisectForm)
        else BisectForm(labels, initial={"kernels": kernels}),
    }
    status = HTTPStatus.OK if wrong is None else HTTPStatus.UNPROCESSABLE_ENTITY
    return render(request, "staff/benchmarks/gate.html", context, status=status)


def is_choosing(gate: Gate) -> bool:
    """Whether a person has to choose a plan."""
    return bool(gate.plans) and gate.boots_a_side is None and not gate.benchmark.is_over


@staff_view(Right.OPERATE)
@require_POST
def choose_gate_plan(request: HttpRequest, key: str) -> HttpResponse:
    """Start with one of the plans: `slower` is the share to detect."""
    gate = find_gate(request, key)
    text = request.POST.get("slower", "")
    slower = float(text) if text.replace(".", "", 1).isdecimal() and len(text) < 9 else 0.0
    return _done(request, gate, lambda: choose_plan(gate, slower), "The gate goes on.")


@staff_view(Right.OPERATE)
@require_POST
def skip_gate_kernel(request: HttpRequest, key: str) -> HttpResponse:
    """Skip a kernel that cannot be measured."""
    gate = find_gate(request, key)
    kernel = request.POST.get("kernel", "")
    return _done(request, gate, lambda: skip_kernel(gate, kernel), "The kernel is skipped.")


@staff_view(Right.OPERATE)
@require_POST
def accept_gate(request: HttpRequest, key: str) -> HttpResponse:
    """Accept the regression; it is no longer a problem."""
    gate, form = find_gate(request, key), AcceptRegressionForm(request.POST)
    if not form.is_valid():
        return _page(request, gate, form)
    who, reason = str(actor_of(request)), form.cleaned_data["reason"]
    return _done(
        request,
        gate,
        lambda: accept_regression(gate, who, reason, database_now()),
        "The loss is accepted.",
    )


@staff_view(Right.OPERATE)
@require_POST
def revoke_gate(request: HttpRequest, key: str) -> HttpResponse:
    """The regression is a problem again."""
    gate = find_gate(request, key)
    return _done(request, gate, lambda: revoke_regression(gate), "The loss is a problem again.")


@staff_view(Right.OPERATE)
@require_POST
def bisect_gate(request: HttpRequest, key: str) -> HttpResponse:
    """Find the kernel that brought the loss of one target."""
    gate = find_gate(request, key)
    labels = [label_of(cell) for cell in gate.benchmark.matrix.cells]
    form = BisectForm(labels, request.POST)
    if not form.is_valid():
        return _page(request, gate, form)
    data = form.cleaned_data
    try:
        made = order_bisect(gate, data["label"], data["kernels"], requester_of(request))
    except Refused as refused:
        return show_refusal(request, refused)
    messages.success(request, "The bisect is ordered.")
    return redirect("gate", made.benchmark.key)


def _done(request: HttpRequest, gate: Gate, act: Callable[[], None], text: str) -> HttpResponse:
    try:
        act()
    except Refused as refused:
        return show_refusal(request, refused)
    messages.success(request, text)
    return redirect("gate", gate.benchmark.key)
