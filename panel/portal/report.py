"""The report of an order: the customer's page, and the same for staff."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe
from django_htmx.http import HttpResponseClientRefresh

from panel.accounts.member_scope import member_view, orders_of
from panel.charts.chart_context import chart_context
from panel.languages.local_times import time_tag
from panel.models import Intent, Order, OrderState, Proof, ProofState
from panel.orders import reversal, rights
from panel.portal import order_progress
from panel.proofs import proof_texts
from panel.proofs.measure import has_proof
from storage.access import staff_view
from storage.analysis.before_after import Verdict
from storage.database_clock import database_now
from storage.metrics.samples.window import kept

POLLS: tuple[int, int] = (5, 60)
"""A report that is not ready is looked at again after so many seconds: short ones, long ones."""


@require_safe
@member_view
def my_report(request: HttpRequest, key: str) -> HttpResponse:
    """The result of an order; `print` shows the report alone."""
    order = get_object_or_404(orders_of(request.user), key=key, state=OrderState.COMPLETED)
    proof = Proof.objects.visible_to(request.user).defer("before").filter(order=order).first()
    return _report(request, order, proof, plain=True)


@require_safe
@staff_view()
def report(request: HttpRequest, key: str) -> HttpResponse:
    """The same as the customer sees it, linked from the ledger."""
    proofs = (
        Proof.objects.visible_to(request.user)
        .defer("before")
        .select_related(
            "order__volume__customer", "order__from_plan", "order__to_plan", "order__job"
        )
    )
    proof = get_object_or_404(proofs, order__key=key)
    return _report(request, proof.order, proof, plain=False)


def _report(
    request: HttpRequest, order: Order, proof: Proof | None, *, plain: bool
) -> HttpResponse:
    volume = order.volume
    context = {
        "order": order,
        "volume": volume,
        "title": order_progress.title(order),
        "plans": order_progress.plans_of(order),
        "proof": proof,
        "plain": plain,
        "is_print": "print" in request.GET,
        "poll_seconds": _poll_seconds(proof) if proof is not None or has_proof(order) else None,
        "may_revert": plain
        and reversal.reversal_refusal(order, volume, database_now()) is None
        and rights.barred(request.user, volume) is None,
        **_chart(request, order, proof, plain=plain),
    }
    if proof is not None:
        context |= _context(order, proof)
    if request.headers.get("HX-Request") and context["poll_seconds"] is None:
        # The report was finished while its page was open: figures and charts are there now.
        return HttpResponseClientRefresh()
    return render(request, "portal/report.html", context)


def _context(order: Order, proof: Proof) -> dict[str, object]:
    is_ready = proof.state == ProofState.READY
    return {
        "headline": proof_texts.headline(proof),
        "verdict": proof_texts.verdict(proof, time_tag),
        "confidence": proof_texts.confidence(proof),
        "chip": proof_texts.chip(proof),
        "notes": proof_texts.notes(proof),
        "rows": proof_texts.rows(proof.result) if is_ready else [],
        "measured": proof.result,
        "expected": proof_texts.expected(order),
        "held": proof_texts.held(order, proof.result),
        "suggests_revert": order.intent != Intent.DOWNGRADE
        and (proof_texts.are_writes_judged(proof) or not proof_texts.takes_writes(proof))
        and (proof.verdict in (Verdict.NONE, Verdict.LOSS) or proof_texts.gain_costs_speed(proof)),
        "reads_verdict": proof_texts.reads_verdict(proof.result),
        "is_conclusive": proof_texts.reads_verdict(proof.result) in (Verdict.GAIN, Verdict.LOSS),
        "window_seconds": (proof.before_end - proof.before_start).total_seconds(),
    }


def _chart(
    request: HttpRequest, order: Order, proof: Proof | None, *, plain: bool
) -> dict[str, object]:
    """The chart around the order, unless the request names another period."""
    if proof is None or "print" in request.GET:
        return {}
    if not {"range", "from"} & set(request.GET):
        start, end = _around(proof)
        query = request.GET.copy()
        query["from"], query["to"] = start.isoformat(), end.isoformat()
        request.GET = query  # type: ignore[assignment]
    return chart_context(order.volume, request, plain=plain)


def _around(proof: Proof) -> tuple[datetime, datetime]:
    """From the time before to the one after, at most as much as a chart shows, the order in its
    middle."""
    middle = proof.before_end
    end = proof.after_end or proof.warm_by
    reach = min(kept() / 2, max(end - middle, timedelta(minutes=1)))
    return max(proof.before_start, middle - reach), middle + reach


def _poll_seconds(proof: Proof | None) -> int | None:
    """The seconds until the page of an unfinished report refreshes; None for a finished one."""
    if proof is not None and proof.is_over:
        return None
    short, long = POLLS
    return short if settings.TIERCEL_PROOF_SECONDS < 3600 else long
