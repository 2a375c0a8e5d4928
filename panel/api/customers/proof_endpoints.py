"""Proofs: the measured effects of orders on their volumes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework.api_lists import Listing
from panel.api.framework.api_operations import operation
from panel.api.framework.fields import Boolean, Choice, DateTime, Float, Text
from panel.api.framework.parameters import Parameter, SomeOf
from panel.api.framework.refs import Ref
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Json, Shape, names_of
from panel.models import Proof, ProofState, Scope
from panel.proofs import proof_texts
from storage.analysis.before_after import Verdict

VERDICTS = [verdict.value for verdict in Verdict]


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


def _figures(proof: Proof) -> Json | None:
    """All of them, also those that an earlier version did not measure."""
    names = names_of(ProofFigures)
    return {name: proof.result.get(name) for name in names} if proof.result else None


def _of_result(name: str) -> Callable[[Proof], Any]:
    return lambda proof: proof.result.get(name)


class ProofShape(Shape):
    """What an order brought: the time after it beside as long a time before."""

    order = Ref("The order.")
    url = Text(
        "Where the API shows it.",
        of=lambda proof: reverse("api-order-proof", args=[proof.order.key]),
    )
    volume = Ref("The volume.", of="order.volume")
    cache_plan = Ref("The cache plan.", of="order.to_plan", null=True)
    state = Choice("Where it stands now.", ProofState.values)
    sentence = Text(
        "The result, in a sentence for people.",
        of=lambda proof: f"{proof_texts.headline(proof)}. {proof_texts.verdict(proof)}",
    )
    verdict = Choice(
        "Of reads and writes together; null: not ready.",
        VERDICTS,
        of=lambda proof: proof.verdict or None,
        null=True,
    )
    confidence = Float(
        "How sure the verdict is, 0 to 1; null: not ready.", of=_of_result("confidence"), null=True
    )
    before = ProofTimes(
        "The time that was measured before the change.",
        of=lambda proof: {"start": proof.before_start, "end": proof.before_end},
    )
    after = ProofTimes(
        "The time that was measured after it.",
        of=lambda proof: {"start": proof.after_start, "end": proof.after_end},
    )
    was_warm = Boolean(
        "False: the wait for a warm cache was cut off; null: not known yet.", null=True
    )
    reads_verdict = Choice(
        "Of reads alone; null: there were too few.",
        VERDICTS,
        of=lambda proof: proof_texts.reads_verdict(proof.result),
        null=True,
    )
    figures = ProofFigures("What was measured; null: not ready.", of=_figures, null=True)
    writes = ProofWrites(
        "Of writes alone; null: they were not judged.", of=_of_result("writes"), null=True
    )
    is_weighed = Boolean(
        "Reads and writes went different ways; each counts by the time waited for it before.",
        of=lambda proof: proof.result.get("is_weighed", False),
    )
    held = Choice(
        "Where the hit rate lies in the range that was forecast; null: none was.",
        ["within", "below", "above"],
        of=lambda proof: proof_texts.held(proof.order, proof.result) or None,
        null=True,
    )
    reason_code = Text("Why nothing can be told, for programs; empty: it can.")
    reason = Text("The same in a sentence for people.")
    created_at = DateTime("When it was made.")
    ended_at = DateTime("When it was over; null: it is not yet.", null=True)


class ProofResource(Resource):
    """Of proofs."""

    read_scope = Scope.BILLING_READ

    def proofs(self) -> QuerySet[Proof]:
        """Those that the person may see."""
        proofs = Proof.objects.visible_to(self.user).defer("before")
        return proofs.select_related("order__volume", "order__to_plan")


class Proofs(ProofResource):
    """The proofs that the person may see."""

    listing: ClassVar = Listing(
        "proofs",
        ProofShape,
        order=("created_at", "id"),
        newest_first=True,
        filters=(
            Parameter("volume", "Key of a volume.", "order__volume__key"),
            SomeOf("verdict", "With this verdict.", "verdict__in", values=VERDICTS),
        ),
    )

    @operation("proofs_list", "List what orders brought", listing)
    def get(self, request: Request) -> Response:
        """Newest first."""
        return self.page(self.proofs())


class OrderProof(ProofResource):
    """What one order brought."""

    @operation("order_proof", "Show what an order brought", ProofShape)
    def get(self, request: Request, key: str) -> Response:
        """There is one soon after the order is completed, and it is ready when the cache was warm
        and as long a time was measured as before."""
        return self.shown(get_object_or_404(self.proofs(), order__key=key))
