"""What customers read about an order: its state, the next step, its cost.

An order, the steps of its job and its proof in, words out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from jobs.models import Job, State, Step
from panel.models import Intent, Order, OrderState, Proof, ProofState
from panel.orders import order_texts
from panel.orders.order_texts import ChangePhase, StateChip, phases, sentence

NOTHING_CHARGED: Final = "Nothing was charged."
Mark = Literal["done", "now", "next", "failed"]


@dataclass(frozen=True, slots=True)
class Plans:
    """Names of the plans before and after an order."""

    before: str
    after: str


def plans_of(order: Order) -> Plans:
    """What the order leads from and to."""
    before = order.from_plan
    return Plans(
        before.name if before is not None else order_texts.unplanned(order).capitalize(),
        _after(order),
    )


def title(order: Order) -> str:
    """The heading of the order's page."""
    after = _after(order)
    if order.intent == Intent.TRIAL:
        return f"Trial of {after}"
    back = "Back to" if order.intent == Intent.REVERT or order.to_plan is None else "Change to"
    return f"{back} {after if order.to_plan is not None else 'no cache'}"


def _after(order: Order) -> str:
    return order.to_plan.name if order.to_plan is not None else "No cache"


def phases_of(order: Order, steps: Sequence[Step], proof: Proof | None) -> tuple[ChangePhase, ...]:
    """The order's way, each part with how far it is: payment where somebody is asked for it, the
    work, and for a plan the time until its report."""
    if order.state == OrderState.SCHEDULED:
        return (ChangePhase("Planned", "done"), ChangePhase("Changing your plan", "next"))
    if order.job is None:
        # What was there already and only goes on: no work for a host.
        return (ChangePhase("Done", "done" if order.state == OrderState.COMPLETED else "failed"),)
    parts = [*_payment(order), *_work(order, order.job, steps)]
    if order.to_plan is not None and order.intent != Intent.REVERT:
        parts += _report(order, proof)
    return tuple(parts)


def _payment(order: Order) -> list[ChangePhase]:
    if order.authorise_by is None:
        return []
    state: Mark = "done"
    if order.state in (OrderState.AUTHORISING, OrderState.PENDING):
        state = "now"
    elif order.state in (OrderState.REFUSED, OrderState.CANCELLED):
        state = "failed"
    return [ChangePhase("Confirming the payment", state)]


def _work(order: Order, job: Job, steps: Sequence[Step]) -> list[ChangePhase]:
    parts = phases(job, steps)[:-1]
    if order.state in (OrderState.RUNNING, OrderState.COMPLETED, OrderState.FAILED):
        return list(parts)
    return [ChangePhase(part.text, "next") for part in parts]


def _report(order: Order, proof: Proof | None) -> list[ChangePhase]:
    warm: Mark = "next"
    report: Mark = "next"
    if order.state == OrderState.COMPLETED:
        warm = "now"
        if proof is not None and proof.state != ProofState.WAITING:
            warm, report = "done", "now"
            if proof.is_over:
                report = "done" if proof.state == ProofState.READY else "failed"
    return [ChangePhase("Warming up", warm), ChangePhase("Report", report)]


def sentence_of(order: Order, steps: Sequence[Step], proof: Proof | None) -> str:
    """Where the order stands, in a few sentences."""
    match order.state:
        case OrderState.SCHEDULED:
            names = plans_of(order)
            goes = f"changes to {names.after}" if order.to_plan else "goes back to no cache"
            return (
                f"Your volume {goes} on {day(order.due_at)}. Until then you keep {names.before}, "
                "and you can cancel this."
            )
        case OrderState.AUTHORISING:
            return "Your payment is being confirmed. Nothing is charged or changed before that."
        case OrderState.PENDING:
            return (
                "Your payment has not been confirmed yet. This may take a while. Nothing is "
                "charged or changed before that. You can leave this page."
            )
        case OrderState.REFUSED:
            return f"{_because(order)} Nothing was charged or changed."
        case OrderState.CANCELLED:
            return (
                f"This was cancelled. {NOTHING_CHARGED} Your plan stays {plans_of(order).before}."
            )
        case OrderState.FAILED:
            return _failed(order, steps)
        case OrderState.COMPLETED:
            return _done(order, proof)
    if order.job is None:
        return "Your plan is being changed."
    if order.job.state == State.SUCCEEDED:
        return "The change is complete; your order is being closed."
    if order.job.is_over:
        return f"{sentence(order.job, steps)} {NOTHING_CHARGED}"
    return sentence(order.job, steps)


def _because(order: Order) -> str:
    return order.reason or "Your payment was not confirmed."


def _failed(order: Order, steps: Sequence[Step]) -> str:
    if order.reason:
        text = order.reason
    elif order.job is not None and order.job.is_over:
        text = sentence(order.job, steps)
    else:
        text = "We could not change the plan."
    return f"{text} {NOTHING_CHARGED}"


def _done(order: Order, proof: Proof | None) -> str:
    if order.to_plan is None:
        return "Done: this volume no longer has a cache."
    text = f"Done: this volume now has the plan {order.to_plan.name}."
    if order.intent == Intent.TRIAL and order.trial_until is not None:
        text += (
            f"The trial is free and ends automatically on {day(order.trial_until)}. Your volume "
            "then returns to no cache, unless you keep the plan."
        )
    if order.intent == Intent.REVERT or order.job is None:
        return text
    if proof is None or proof.state == ProofState.WAITING:
        return (
            f"{text} Your volume gets faster while the cache fills with the data you use. Once the "
            "cache is warm, we measure the result, and the report will appear here."
        )
    if proof.state == ProofState.MEASURING:
        when = f" at about {moment(proof.after_end)}" if proof.after_end is not None else " soon"
        warm = "The cache is warm; we" if proof.was_warm else "We"
        return f"{text} {warm} are measuring the result. The report appears{when}."
    if proof.state == ProofState.IMPOSSIBLE:
        return f"{text} The effect could not be measured: {_lowered(proof.reason)}"
    return f"{text} The effect has been measured: see the report."


def outcome(order: Order) -> StateChip:
    """What became of the order, in a word or two, for the history."""
    match order.state:
        case OrderState.COMPLETED:
            return StateChip("ok", "ok", "done")
        case OrderState.SCHEDULED:
            return StateChip("quiet", "wait", "planned")
        case OrderState.AUTHORISING | OrderState.PENDING:
            return StateChip("busy", "wait", "payment being confirmed")
        case OrderState.RUNNING:
            stuck = order.job is not None and order.job.state == State.NEEDS_ATTENTION
            if stuck:
                return StateChip("warning", "warning", "support is checking")
            return StateChip("busy", "run", "running")
        case OrderState.REFUSED:
            return StateChip("quiet", "cut", "payment refused")
        case OrderState.CANCELLED:
            return StateChip("quiet", "cut", "cancelled")
    return StateChip("quiet", "cut", "not changed")


def day(at: datetime | None) -> str:
    """A date and time of day for a customer: "1 December 2026, 00:00 UTC"."""
    return f"{at.day} {at:%B %Y, %H:%M} UTC" if at is not None else "a day not known yet"


def moment(at: datetime) -> str:
    """The same, short: "1 Dec, 00:00 UTC"."""
    return f"{at.day} {at:%b, %H:%M} UTC"


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:] if text else "there was not enough data."


def poll_seconds(order: Order, proof: Proof | None) -> int:
    """How often the order's page should look again; 0 where nothing changes by itself soon."""
    if order.is_open:
        return 2
    if order.state == OrderState.COMPLETED and proof is not None and not proof.is_over:
        return 15
    return 0


def running(job: Job | None) -> dict[str, object]:
    """The context of `portal/_running.html`: the change that runs, None for none."""
    if job is None:
        return {"running": None}
    order: Order | None = getattr(job, "order", None)
    context = {"running": job, **order_texts.change_context(job)}
    if order is not None:
        steps = list(job.step_set.all())
        context |= {
            "phases": phases_of(order, steps, None),
            "sentence": sentence_of(order, steps, None),
        }
    return context
