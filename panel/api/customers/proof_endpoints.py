"""Proofs: the measured effects of orders on their volumes."""

from __future__ import annotations

from typing import ClassVar

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework import described
from panel.api.framework.api_lists import Listing
from panel.api.framework.fields import Boolean, Choice, DateTime, Float, Text
from panel.api.framework.resource import Resource, chosen_values
from panel.api.framework.shape import Shape, show
from panel.api.resource_json import order_ref, plan_ref, volume_ref
from panel.api.response_shapes import Json, Ref
from panel.models import Proof, ProofState, Scope
from panel.proofs import proof_texts
from storage.analysis.before_after import Verdict

VERDICTS = [verdict.value for verdict in Verdict]
FIGURES = (
    "hit_rate_before",
    "hit_rate_after",
    "hit_rate_change",
    "hit_rate_change_low",
    "hit_rate_change_high",
    "read_ms_before",
    "read_ms_after",
    "read_times",
    "read_times_low",
    "read_times_high",
    "read_ms_p50_before",
    "read_ms_p50_after",
    "read_ms_p95_before",
    "read_ms_p95_after",
    "read_ms_p99_before",
    "read_ms_p99_after",
    "read_iops_before",
    "read_iops_after",
    "slow_reads_spared_per_second",
)


class ProofFigures(Shape):
    """Where there were too few reads to compare, what is said of reads alone is null. The 95 %
    intervals enclose the truth with that probability."""

    hit_rate_before = Float(
        "Share of reads that the cache served before, 0 to 1; 0: there was none.", null=True
    )
    hit_rate_after = Float("The same after the change.", null=True)
    hit_rate_change = Float("By how much the hit rate rose; below 0: it fell.", null=True)
    hit_rate_change_low = Float("Lower end of its 95 % interval.", null=True)
    hit_rate_change_high = Float("Upper end of its 95 % interval.", null=True)
    read_ms_before = Float("Milliseconds of an average read before.", null=True)
    read_ms_after = Float("Milliseconds of an average read after.", null=True)
    read_times = Float("How many times as long a read takes; below 1: it is faster.", null=True)
    read_times_low = Float("Lower end of its 95 % interval.", null=True)
    read_times_high = Float("Upper end of its 95 % interval.", null=True)
    read_ms_p50_before = Float(
        "Median of reads and writes before, in milliseconds; null: only averages are kept.",
        null=True,
    )
    read_ms_p50_after = Float("Median of reads and writes after, in milliseconds.", null=True)
    read_ms_p95_before = Float(
        "95th percentile of reads and writes before, in milliseconds; null: only "
        "averages are kept.",
        null=True,
    )
    read_ms_p95_after = Float(
        "95th percentile of reads and writes after, in milliseconds.", null=True
    )
    read_ms_p99_before = Float(
        "99th percentile of reads and writes before, in milliseconds; null: only "
        "averages are kept, or an earlier version measured.",
        null=True,
    )
    read_ms_p99_after = Float(
        "99th percentile of reads and writes after, in milliseconds.", null=True
    )
    read_iops_before = Float("Reads a second before.", null=True)
    read_iops_after = Float("Reads a second after.", null=True)
    slow_reads_spared_per_second = Float(
        "Reads a second that the slow disk no longer answers; below 0: it answers more.", null=True
    )


class ProofWrites(Shape):
    """Writes alone, by their average time. They are `counted` where the cache takes writes, or did
    before."""

    verdict = Choice("Of writes alone, by their average time.", VERDICTS)
    confidence = Float("How sure the verdict is, 0 to 1.")
    counted = Boolean("Whether the proof's own verdict is on writes, too.")
    ms_before = Float("Milliseconds of an average write before; null: there was none.", null=True)
    ms_after = Float("Milliseconds of an average write after; null: there was none.", null=True)
    times = Float("How many times as long a write takes; below 1: it is faster.")
    times_low = Float("Lower end of its 95 % interval.")
    times_high = Float("Upper end of its 95 % interval.")
    iops_before = Float("Writes a second before.")
    iops_after = Float("Writes a second after.")


class ProofTimes(Shape):
    """Null where it has not begun."""

    start = DateTime("When it begins; null: it has not yet.", null=True)
    end = DateTime("When it ends; null: it has not begun.", null=True)


class ProofShape(Shape):
    """What an order brought: the time after it beside as long a time before."""

    order = Ref("The order.")
    url = Text("Where the API shows it.")
    volume = Ref("The volume.")
    cache_plan = Ref("The cache plan.", null=True)
    state = Choice("Where it stands now.", ProofState.values)
    sentence = Text("The result, in a sentence for people.")
    verdict = Choice("Of reads and writes together; null: not ready.", VERDICTS, null=True)
    confidence = Float("How sure the verdict is, 0 to 1; null: not ready.", null=True)
    before = ProofTimes("The time that was measured before the change.")
    after = ProofTimes("The time that was measured after it.")
    was_warm = Boolean(
        "False: the wait for a warm cache was cut off; null: not known yet.", null=True
    )
    reads_verdict = Choice("Of reads alone; null: there were too few.", VERDICTS, null=True)
    figures = ProofFigures("What was measured; null: not ready.", null=True)
    writes = ProofWrites("Of writes alone; null: they were not judged.", null=True)
    is_weighed = Boolean(
        "Reads and writes went different ways; each counts by the time waited for it before."
    )
    held = Choice(
        "Where the hit rate lies in the range that was forecast; null: none was.",
        ["within", "below", "above"],
        null=True,
    )
    reason_code = Text("Why nothing can be told, for programs; empty: it can.")
    reason = Text("The same in a sentence for people.")
    created_at = DateTime("When it was made.")
    ended_at = DateTime("When it was over; null: it is not yet.", null=True)


class Proofs(Resource):
    """The proofs that the person may see."""

    read_scope = Scope.BILLING_READ
    listing: ClassVar = Listing("proofs", ProofShape, order=("created_at", "id"), newest_first=True)
    parameters: ClassVar = {"GET": (*listing.parameters, "volume", "verdict")}
    repeatable: ClassVar = ("verdict",)

    @extend_schema(
        operation_id="proofs_list",
        summary="List what orders brought",
        parameters=[
            *listing.described,
            described.query("volume", "Key of a volume."),
            described.choice("verdict", "With this verdict.", list(Verdict)),
        ],
        responses={200: listing.page_shape("ProofPage"), **described.problems(400, 403)},
    )
    def get(self, request: Request) -> Response:
        """Newest first."""
        rows = _proofs(self)
        if (volume := request.query_params.get("volume")) is not None:
            rows = rows.filter(order__volume__key=volume)
        if verdicts := chosen_values(request, "verdict", list(Verdict)):
            rows = rows.filter(verdict__in=verdicts)
        return self.listing.answer(request, rows, lambda page: map(proof_json, page))


class OrderProof(Resource):
    """What one order brought."""

    read_scope = Scope.BILLING_READ

    @extend_schema(
        operation_id="order_proof",
        summary="Show what an order brought",
        responses={200: ProofShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """There is one soon after the order is completed, and it is ready when the cache was warm
        and as long a time was measured as before."""
        return Response(proof_json(get_object_or_404(_proofs(self), order__key=key)))


def proof_json(proof: Proof) -> Json:
    """As the API says it."""
    order, result = proof.order, proof.result
    data = {
        "order": order_ref(order),
        "url": reverse("api-order-proof", args=[order.key]),
        "volume": volume_ref(order.volume),
        "cache_plan": plan_ref(order.to_plan),
        "state": proof.state,
        "sentence": f"{proof_texts.headline(proof)}. {proof_texts.verdict(proof)}",
        "verdict": proof.verdict or None,
        "confidence": result.get("confidence"),
        "before": {"start": proof.before_start, "end": proof.before_end},
        "after": {"start": proof.after_start, "end": proof.after_end},
        "was_warm": proof.was_warm,
        "reads_verdict": proof_texts.reads_verdict(result),
        "figures": {name: result.get(name) for name in FIGURES} if result else None,
        "writes": result.get("writes"),
        "is_weighed": result.get("is_weighed", False),
        "held": proof_texts.held(order, result) or None,
        "reason_code": proof.reason_code,
        "reason": proof.reason,
        "created_at": proof.created_at,
        "ended_at": proof.ended_at,
    }
    return dict(show(ProofShape, data))


def _proofs(view: Resource) -> QuerySet[Proof]:
    proofs = Proof.objects.visible_to(view.user).defer("before")
    return proofs.select_related("order__volume", "order__to_plan")
