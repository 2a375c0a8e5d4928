"""Proofs: the measured effects of orders on their volumes."""

from __future__ import annotations

from typing import ClassVar

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework import cursor, described
from panel.api.framework.resource import Resource, choices
from panel.api.framework.shape import Shape
from panel.api.resource_json import plan_ref, volume_ref
from panel.api.response_shapes import Json, Ref
from panel.models import Proof, ProofState
from panel.proofs import proof_texts
from storage.analysis.before_after import Verdict

VERDICTS = [verdict.value for verdict in Verdict]
FIGURES = (
    *("hit_rate_before", "hit_rate_after"),
    *("hit_rate_change", "hit_rate_change_low", "hit_rate_change_high"),
    *("read_ms_before", "read_ms_after", "read_times", "read_times_low", "read_times_high"),
    *("read_ms_p50_before", "read_ms_p50_after", "read_ms_p95_before", "read_ms_p95_after"),
    *("read_iops_before", "read_iops_after", "slow_reads_spared_per_second"),
)


class ProofFigures(Shape):
    """Hit rates are 0 to 1, of reads, 0 without a cache; times are milliseconds, averages of reads,
    percentiles of reads and writes together (null where only averages are kept). `…_low` and
    `…_high` enclose the truth with a probability of 95 %; `read_times` is how many times as long a
    read takes. `slow_reads_spared_per_second` is below zero where the slow disk has more to do.
    Where there were too few reads to compare, what is said of reads alone is null."""

    hit_rate_before = serializers.FloatField(allow_null=True)
    hit_rate_after = serializers.FloatField(allow_null=True)
    hit_rate_change = serializers.FloatField(allow_null=True)
    hit_rate_change_low = serializers.FloatField(allow_null=True)
    hit_rate_change_high = serializers.FloatField(allow_null=True)
    read_ms_before = serializers.FloatField(allow_null=True)
    read_ms_after = serializers.FloatField(allow_null=True)
    read_times = serializers.FloatField(allow_null=True)
    read_times_low = serializers.FloatField(allow_null=True)
    read_times_high = serializers.FloatField(allow_null=True)
    read_ms_p50_before = serializers.FloatField(allow_null=True)
    read_ms_p50_after = serializers.FloatField(allow_null=True)
    read_ms_p95_before = serializers.FloatField(allow_null=True)
    read_ms_p95_after = serializers.FloatField(allow_null=True)
    read_iops_before = serializers.FloatField(allow_null=True)
    read_iops_after = serializers.FloatField(allow_null=True)
    slow_reads_spared_per_second = serializers.FloatField(allow_null=True)


class ProofWrites(Shape):
    """`verdict` is on writes alone, by their average time in milliseconds; the proof's own is on
    them too where `counted`: where the cache takes writes, or did before. `times` is how many times
    as long a write takes; `times_low` and `times_high` enclose the truth with a probability of
    95 %."""

    verdict = serializers.ChoiceField(VERDICTS)
    confidence = serializers.FloatField()
    counted = serializers.BooleanField()
    ms_before = serializers.FloatField(allow_null=True)
    ms_after = serializers.FloatField(allow_null=True)
    times = serializers.FloatField()
    times_low = serializers.FloatField()
    times_high = serializers.FloatField()
    iops_before = serializers.FloatField()
    iops_after = serializers.FloatField()


class ProofTimes(Shape):
    """Null where it has not begun."""

    start = serializers.DateTimeField(allow_null=True)
    end = serializers.DateTimeField(allow_null=True)


class ProofShape(Shape):
    """`order` is the key of the order. `verdict` and `figures` are null until it is ready;
    `confidence` is how sure the verdict is, 0 to 1. `reads_verdict` is on reads alone, null where
    there were too few of them; `writes` is null where writes were not judged. `is_weighed`: reads
    and writes went different ways, and each counts by the time waited for it before. `was_warm` is
    false where the wait for a warm cache was cut off. `held` says where the measured hit rate lies
    in the range that the order's page gave, null where it gave none. `reason` says why nothing can
    be told."""

    order = serializers.CharField()
    url = serializers.CharField()
    volume = Ref()
    cache_plan = Ref(allow_null=True)
    state = serializers.ChoiceField(ProofState.values)
    sentence = serializers.CharField()
    verdict = serializers.ChoiceField(VERDICTS, allow_null=True)
    confidence = serializers.FloatField(allow_null=True)
    before = ProofTimes()
    after = ProofTimes()
    was_warm = serializers.BooleanField(allow_null=True)
    reads_verdict = serializers.ChoiceField(VERDICTS, allow_null=True)
    figures = ProofFigures(allow_null=True)
    writes = ProofWrites(allow_null=True)
    is_weighed = serializers.BooleanField()
    held = serializers.ChoiceField(["within", "below", "above"], allow_null=True)
    reason_code = serializers.CharField(allow_blank=True)
    reason = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


class Proofs(Resource):
    """The proofs that the person may see."""

    parameters: ClassVar = {"GET": (*cursor.PARAMETERS, "volume", "verdict")}
    repeatable: ClassVar = ("verdict",)

    @extend_schema(
        operation_id="proofs_list",
        summary="List what orders brought",
        parameters=[
            *described.PAGE,
            described.query("volume", "Key of a volume."),
            described.choice("verdict", "With this verdict.", list(Verdict)),
        ],
        responses={200: described.page_of(ProofShape, "ProofPage"), **described.problems(400, 403)},
    )
    def get(self, request: Request) -> Response:
        """Newest first."""
        rows = _proofs(self)
        if (volume := request.query_params.get("volume")) is not None:
            rows = rows.filter(order__volume__key=volume)
        if verdicts := choices(request, "verdict", list(Verdict)):
            rows = rows.filter(verdict__in=verdicts)
        order = ("created_at", "id")
        page, after = cursor.page(request, rows, "proofs", newest_first=True, order=order)
        return Response(cursor.body((proof_json(proof) for proof in page), after))


class OrderProof(Resource):
    """What one order brought."""

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
        "order": order.key,
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
        "figures": {name: result[name] for name in FIGURES} if result else None,
        "writes": result.get("writes"),
        "is_weighed": result.get("is_weighed", False),
        "held": proof_texts.held(order, result) or None,
        "reason_code": proof.reason_code,
        "reason": proof.reason,
        "created_at": proof.created_at,
        "ended_at": proof.ended_at,
    }
    return dict(ProofShape(data).data)


def _proofs(view: Resource) -> QuerySet[Proof]:
    proofs = Proof.objects.visible_to(view.user).defer("before")
    return proofs.select_related("order__volume", "order__to_plan")
