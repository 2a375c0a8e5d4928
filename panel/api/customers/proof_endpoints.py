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
    """Fields on reads alone are null if there were too few reads to compare. The 95 % intervals
    contain the true value with that probability."""

    hit_rate_before = Float(
        "Share of reads that the cache served before, 0 to 1; 0 without a cache.", null=True
    )
    hit_rate_after = Float("The same after the change.", null=True)
    hit_rate_change = Float("By how much the hit rate rose; below 0: it fell.", null=True)
    hit_rate_change_low = Float("Lower end of its 95 % interval.", null=True)
    hit_rate_change_high = Float("Upper end of its 95 % interval.", null=True)
    read_ms_before = Float("Average read time before, in milliseconds.", null=True)
    read_ms_after = Float("Average read time after, in milliseconds.", null=True)
    read_times = Float("Read time after, relative to before; below 1: faster.", null=True)
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
    """Writes alone, by their average time. They are `counted` if the cache takes writes, or took
    them before."""

    verdict = Choice("Verdict on writes alone, by their average time.", VERDICTS)
    confidence = Float("How sure the verdict is, 0 to 1.")
    counted = Boolean("Whether the overall verdict includes writes.")
    ms_before = Float("Average write time before, in milliseconds; null: no writes.", null=True)
    ms_after = Float("Average write time after, in milliseconds; null: no writes.", null=True)
    times = Float("Write time after, relative to before; below 1: faster.")
    times_low = Float("Lower end of its 95 % interval.")
    times_high = Float("Upper end of its 95 % interval.")
    iops_before = Float("Writes a second before.")
    iops_after = Float("Writes a second after.")


class ProofTimes(Shape):
    """Null before it begins."""

    start = DateTime("When it begins; null: it has not yet.", null=True)
    end = DateTime("When it ends; null: it has not begun.", null=True)


def _figures(proof: Proof) -> Json | None:
    """All of them, also those that an earlier version did not measure."""
    names = names_of(ProofFigures)
    return {name: proof.result.get(name) for name in names} if proof.result else None


def _of_result(name: str) -> Callable[[Proof], Any]:
    return lambda proof: proof.result.get(name)


class ProofShape(Shape):
    """The measured effect of an order: the time after it, compared with an equal time before."""

    order = Ref("The order.")
    url = Text(
        "Where the API shows it.",
        of=lambda proof: reverse("api-order-proof", args=[proof.order.key]),
    )
    volume = Ref("The volume.", of="order.volume")
    cache_plan = Ref("The cache plan.", of="order.to_plan", null=True)
    state = Choice("Its current state.", ProofState.values)
    sentence = Text(
        "The result, in a sentence for people.",
        of=lambda proof: f"{proof_texts.headline(proof)}. {proof_texts.verdict(proof)}",
    )
    verdict = Choice(
        "Verdict on reads and writes together; null: not ready.",
        VERDICTS,
        of=lambda proof: proof.verdict or None,
        null=True,
    )
    confidence = Float(
        "How sure the verdict is, 0 to 1; null: not ready.", of=_of_result("confidence"), null=True
    )
    before = ProofTimes(
        "The measured time before the change.",
        of=lambda proof: {"start": proof.before_start, "end": proof.before_end},
    )
    after = ProofTimes(
        "The measured time after the change.",
        of=lambda proof: {"start": proof.after_start, "end": proof.after_end},
    )
    was_warm = Boolean(
        "False: the wait for a warm cache was cut off; null: not known yet.", null=True
    )
    reads_verdict = Choice(
        "Verdict on reads alone; null: too few reads.",
        VERDICTS,
        of=lambda proof: proof_texts.reads_verdict(proof.result),
        null=True,
    )
    figures = ProofFigures("What was measured; null: not ready.", of=_figures, null=True)
    writes = ProofWrites(
        "Verdict on writes alone; null: not assessed.", of=_of_result("writes"), null=True
    )
    is_weighed = Boolean(
        "Whether reads and writes changed in opposite directions; each is weighted by its waiting "
        "time before.",
        of=lambda proof: proof.result.get("is_weighed", False),
    )
    held = Choice(
        "Position of the hit rate relative to the forecast range; null: no forecast.",
        ["within", "below", "above"],
        of=lambda proof: proof_texts.held(proof.order, proof.result) or None,
        null=True,
    )
    reason_code = Text("Code of the reason that there is no result; empty if there is one.")
    reason = Text("The same reason as a sentence for people.")
    created_at = DateTime("When it was created.")
    ended_at = DateTime("When it ended; null: it has not yet.", null=True)


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

    @operation("proofs_list", "List the measured effects of orders", listing)
    def get(self, request: Request) -> Response:
        """Newest first."""
        return self.page(self.proofs())


class OrderProof(ProofResource):
    """What one order brought."""

    @operation("order_proof", "Show the measured effect of an order", ProofShape)
    def get(self, request: Request, key: str) -> Response:
        """It exists soon after the order is completed. It is ready once the cache is warm and the
        time after the order is as long as the time before."""
        return self.shown(get_object_or_404(self.proofs(), order__key=key))
