"""The measured effect of an order on its volume. Only `Proof.transition` writes `Proof.state`."""

from __future__ import annotations

from typing import Any, Final, Self

from django.db import models
from django.db.models.functions import Now

from panel.models.order import Order
from storage.access import Person
from storage.state_machine import transition


class ProofState(models.TextChoices):
    """waiting -> measuring -> ready; impossible from either, with its reason.

    waiting: the cache still warms up. measuring: the time after the change is not over.
    """

    WAITING = "waiting", "cache is warming up"
    MEASURING = "measuring", "measuring"
    READY = "ready", "ready"
    IMPOSSIBLE = "impossible", "not measurable"


TRANSITIONS: Final = {
    ProofState.WAITING: (ProofState.MEASURING, ProofState.IMPOSSIBLE),
    ProofState.MEASURING: (ProofState.READY, ProofState.IMPOSSIBLE),
}
"""By the state they come from. The other states are final."""


class ProofQuerySet(models.QuerySet["Proof"]):
    def visible_to(self, user: Person) -> Self:
        """The only way from a request to proofs: those of the orders the person sees."""
        return self.filter(order__in=Order.objects.visible_to(user))


class Proof(models.Model):
    """The same length of time before and after an order. `before_start` to `before_end` is the
    time before its job began, and `before` are its blocks (`storage.analysis.before_after.Block`),
    kept because samples are dropped; `after_start` (null while the cache warms up) to `after_end`
    the time after it. `warm_by` is when the wait for a warm cache ends whatever it does, `was_warm`
    whether it need not have (null while it lasts).

    `result` is `{}` until the proof is ready, then `panel.proofs.result`'s JSON; `verdict` is that
    of it, for lists. `reason_code` and `reason` say, in the customer's words, why there is no
    result.
    """

    order = models.OneToOneField(Order, on_delete=models.PROTECT, related_name="proof")
    state = models.CharField(max_length=10, choices=ProofState.choices, default=ProofState.WAITING)
    before_start = models.DateTimeField()
    before_end = models.DateTimeField()
    before = models.JSONField(default=list, blank=True)
    block_seconds = models.PositiveIntegerField()
    warm_by = models.DateTimeField()
    was_warm = models.BooleanField(null=True, blank=True)
    after_start = models.DateTimeField(null=True, blank=True)
    after_end = models.DateTimeField(null=True, blank=True)
    result = models.JSONField(default=dict, blank=True)
    verdict = models.CharField(max_length=8, blank=True)
    reason_code = models.CharField(max_length=32, blank=True)
    reason = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    ended_at = models.DateTimeField(null=True, blank=True)

    objects = ProofQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(state__in=ProofState.values), name="proof_state_known"
            ),
            models.CheckConstraint(
                condition=models.Q(before_end__gte=models.F("before_start")),
                name="proof_before_in_order",
            ),
            models.CheckConstraint(
                condition=~models.Q(state__in=("measuring", "ready"))
                | models.Q(after_start__isnull=False, after_end__isnull=False),
                name="proof_measured_has_time",
            ),
            models.CheckConstraint(
                condition=models.Q(state="ready") ^ models.Q(verdict=""),
                name="proof_ready_has_verdict",
            ),
        )
        indexes = (
            models.Index(
                fields=("id",),
                condition=models.Q(state__in=("waiting", "measuring")),
                name="proof_unfinished",
            ),
        )

    def __str__(self) -> str:
        return f"proof of {self.order}"

    def transition(self, from_: ProofState, to: ProofState, **fields: Any) -> bool:
        """Bring the proof from one state to another and set `fields`: `storage.state_machine`."""
        return transition(self, from_, to, TRANSITIONS, **fields)

    @property
    def is_over(self) -> bool:
        return self.state in (ProofState.READY, ProofState.IMPOSSIBLE)
