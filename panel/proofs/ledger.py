"""Forecasts and results of all orders side by side, so that the provider can check its
forecasts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db.models import F

from panel.models import Order, Proof, ProofState
from panel.models.proof import ProofQuerySet
from panel.orders.order_texts import StateChip
from panel.proofs import proof_texts
from storage.access import Person
from storage.analysis.before_after import Verdict


@dataclass(slots=True)
class Tally:
    """How many orders had which outcome. `held` counts those whose measured hit rate can be
    compared with an expected range; of them `within` lay in it."""

    name: str
    verdicts: Counter[str] = field(default_factory=Counter)
    held: Counter[str] = field(default_factory=Counter)
    points: list[float] = field(default_factory=list)

    @property
    def count(self) -> int:
        return self.verdicts.total()

    @property
    def gains(self) -> int:
        return self.verdicts[Verdict.GAIN]

    @property
    def losses(self) -> int:
        return self.verdicts[Verdict.LOSS]

    @property
    def without(self) -> int:
        """Where a notable gain is ruled out."""
        return self.verdicts[Verdict.NONE]

    @property
    def unknown(self) -> int:
        """Unclear, or impossible to tell."""
        return self.verdicts[Verdict.UNCLEAR] + self.verdicts[ProofState.IMPOSSIBLE]

    @property
    def unfinished(self) -> int:
        return self.verdicts[ProofState.WAITING] + self.verdicts[ProofState.MEASURING]

    @property
    def undecided(self) -> int:
        return self.unknown + self.unfinished

    @property
    def decided(self) -> int:
        return self.count - self.undecided

    @property
    def until_loss(self) -> int:
        """Gains and no gains: where losses begin in a bar."""
        return self.gains + self.without

    @property
    def compared(self) -> int:
        return self.held.total()

    @property
    def within(self) -> int:
        return self.held["within"]

    @property
    def mean_points(self) -> float | None:
        """The mean change of the hit rate over all whose reads were compared, in points of 100."""
        return 100 * sum(self.points) / len(self.points) if self.points else None

    def add(self, order: Order, proof: Proof) -> None:
        """Count one more."""
        is_ready = proof.state == ProofState.READY
        self.verdicts[proof.verdict if is_ready else proof.state] += 1
        if is_ready:
            if (change := proof.result["hit_rate_change"]) is not None:
                self.points.append(change)
            if held := proof_texts.held(order, proof.result):
                self.held[held] += 1


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One order. Hit rates are 0 to 1, None where nothing was expected or measured; `held` is
    "within", "below", "above" or ""."""

    order: Order
    proof: Proof
    chip: StateChip
    expected_low: float | None
    expected_high: float | None
    before: float | None
    after: float | None
    read_ms_before: float | None
    read_ms_after: float | None
    held: str


def proofs(user: Person) -> ProofQuerySet:
    """All that the person may see, newest first, without what only comparing needs."""
    proofs = Proof.objects.visible_to(user).defer("before")
    newest = F("order__ended_at").desc(nulls_last=True)
    proofs = proofs.order_by(newest, "-pk")
    return proofs.select_related("order__volume", "order__customer", "order__to_plan")


def entry(proof: Proof) -> LedgerEntry:
    """The proof as a row."""
    order, result = proof.order, proof.result
    return LedgerEntry(
        order,
        proof,
        proof_texts.chip(proof),
        order.expected.get("hit_rate_low"),
        order.expected.get("hit_rate_high"),
        result.get("hit_rate_before"),
        result.get("hit_rate_after"),
        result.get("read_ms_before"),
        result.get("read_ms_after"),
        proof_texts.held(order, result),
    )


def tallies(proofs: Iterable[Proof]) -> tuple[Tally, list[Tally]]:
    """Of all, and by the plan that was bought, by name."""
    everything, plans = Tally("All orders"), dict[str, Tally]()
    for proof in proofs:
        order = proof.order
        name = order.to_plan.name if order.to_plan is not None else "No cache"
        for tally in (everything, plans.setdefault(name, Tally(name))):
            tally.add(order, proof)
    return everything, [plans[name] for name in sorted(plans)]


COLUMNS = (
    "order",
    "ordered_at",
    "customer",
    "volume",
    "plan",
    "intent",
    "state",
    "verdict",
    "confidence",
    "expected_kind",
    "expected_hit_rate_low",
    "expected_hit_rate",
    "expected_hit_rate_high",
    "expected_read_ms_low",
    "expected_read_ms_high",
    "expected_saved_seconds_per_day_low",
    "expected_saved_seconds_per_day_high",
    "expected_technology",
    "expected_promotion_share",
    "expected_hdd_iops",
    "expected_ssd_read_ms",
    "expected_widened",
    "hit_rate_before",
    "hit_rate_after",
    "held",
    "read_ms_before",
    "read_ms_after",
    "read_ms_p95_before",
    "read_ms_p95_after",
    "slow_reads_spared_per_second",
    "reason",
    "reads_verdict",
    "writes_verdict",
    "write_ms_before",
    "write_ms_after",
    "read_ms_p99_before",
    "read_ms_p99_after",
)


RATES = ("promotion_share", "hdd_iops", "ssd_read_ms")
"""What a forecast from a volume's own traffic rests on, of its host."""


def cells(proof: Proof) -> list[Any]:
    """The proof as a line of the CSV, in the order of `COLUMNS`; None is not known."""
    order, result, row = proof.order, proof.result, entry(proof)
    writes = result.get("writes") or {}
    expected = order.expected
    inputs = expected.get("inputs") or {}
    return [
        order.key,
        f"{order.created_at:%Y-%m-%dT%H:%M:%SZ}",
        order.customer.name,
        order.volume.label,
        order.to_plan.name if order.to_plan is not None else "",
        order.intent,
        proof.state,
        proof.verdict,
        result.get("confidence"),
        expected.get("kind"),
        row.expected_low,
        expected.get("hit_rate"),
        row.expected_high,
        expected.get("read_ms_low"),
        expected.get("read_ms_high"),
        expected.get("saved_seconds_per_day_low"),
        expected.get("saved_seconds_per_day_high"),
        expected.get("technology"),
        *(inputs.get(name, {}).get("rate") for name in RATES),
        inputs.get("past", {}).get("widened"),
        row.before,
        row.after,
        row.held,
        row.read_ms_before,
        row.read_ms_after,
        result.get("read_ms_p95_before"),
        result.get("read_ms_p95_after"),
        result.get("slow_reads_spared_per_second"),
        proof.reason_code,
        proof_texts.reads_verdict(result),
        writes.get("verdict"),
        writes.get("ms_before"),
        writes.get("ms_after"),
        result.get("read_ms_p99_before"),
        result.get("read_ms_p99_after"),
    ]
