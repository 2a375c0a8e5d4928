"""What customers read about an order: its state, the next step, its cost.

An order, the steps of its job and its proof in, words out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from jobs.models import Job, Kind, State, Step
from panel.languages.local_times import time_tag
from panel.models import Intent, Order, OrderState, Proof, ProofState
from panel.orders import order_texts
from panel.orders.order_texts import ChangePhase, StateChip, phases, sentence

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
        before.name if before is not None else _capital(order_texts.unplanned(order)),
        _after(order),
    )


def title(order: Order) -> str:
    """The heading of the order's page."""
    if order.intent == Intent.TRIAL:
        return gettext("Trial of {plan}").format(plan=_after(order))
    if order.restores_free_cache:
        return gettext("Back to your provider's cache")
    if order.to_plan is None:
        return gettext("Remove the cache")
    if order.intent == Intent.REVERT:
        return gettext("Back to {plan}").format(plan=order.to_plan.name)
    return gettext("Change to {plan}").format(plan=order.to_plan.name)


def _after(order: Order) -> str:
    if order.to_plan is not None:
        return order.to_plan.name
    return _capital(order_texts.unplanned_after(order))


def phases_of(order: Order, steps: Sequence[Step], proof: Proof | None) -> tuple[ChangePhase, ...]:
    """The phases of an order with their progress: the payment where one has to be confirmed, the
    work, and for a plan the time until its report."""
    if order.state == OrderState.SCHEDULED:
        return (
            ChangePhase(gettext("Planned"), "done"),
            ChangePhase(gettext("Changing your plan"), "next"),
        )
    if order.job is None:
        # The cache exists already and stays: no work for a host.
        is_done = order.state == OrderState.COMPLETED
        return (ChangePhase(gettext("Done"), "done" if is_done else "failed"),)
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
    return [ChangePhase(gettext("Confirming the payment"), state)]


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
    return [ChangePhase(gettext("Warming up"), warm), ChangePhase(gettext("Report"), report)]


def sentence_of(order: Order, steps: Sequence[Step], proof: Proof | None) -> str:
    """The state of the order, in a few sentences."""
    match order.state:
        case OrderState.SCHEDULED:
            return _scheduled(order)
        case OrderState.AUTHORISING:
            return gettext(
                "Your payment is being confirmed. Nothing is charged or changed before that."
            )
        case OrderState.PENDING:
            return gettext(
                "Your payment has not been confirmed yet. This may take a while. Nothing is "
                "charged or changed before that. You can leave this page."
            )
        case OrderState.REFUSED:
            return f"{_because(order)} {gettext('Nothing was charged or changed.')}"
        case OrderState.CANCELLED:
            return gettext(
                "This was cancelled. Nothing was charged. Your plan stays as it was: {plan}."
            ).format(plan=plans_of(order).before)
        case OrderState.FAILED:
            return _failed(order, steps)
        case OrderState.COMPLETED:
            return _done(order, proof)
    if order.job is None:
        return gettext("Your plan is being changed.")
    if order.job.state == State.SUCCEEDED:
        return gettext("The change is complete; your order is being closed.")
    if order.job.is_over:
        return f"{sentence(order.job, steps)} {_nothing_charged()}"
    return sentence(order.job, steps)


def _scheduled(order: Order) -> SafeString:
    names, at = plans_of(order), time_tag(order.due_at) if order.due_at is not None else ""
    if order.to_plan is None:
        text = gettext(
            "Your cache is removed on {time}. Until then you keep {plan}, and you can cancel this."
        )
        return format_html(text, time=at, plan=names.before)
    text = gettext(
        "Your volume changes to {new} on {time}. Until then you keep {plan}, and you can cancel "
        "this."
    )
    return format_html(text, new=names.after, time=at, plan=names.before)


def _nothing_charged() -> str:
    return gettext("Nothing was charged.")


def _because(order: Order) -> str:
    return gettext(order.reason) if order.reason else gettext("Your payment was not confirmed.")


def _failed(order: Order, steps: Sequence[Step]) -> str:
    # A worker recorded it in English: the job's sentence is made again in the customer's language.
    if order.job is not None and order.job.is_over and order.job.state != State.SUCCEEDED:
        text = sentence(order.job, steps)
    elif order.reason:
        text = gettext(order.reason)
    else:
        text = gettext("We could not change the plan.")
    return f"{text} {_nothing_charged()}"


def _done(order: Order, proof: Proof | None) -> str:
    if order.restores_free_cache:
        return gettext(
            "Done: this volume has the cache of your provider again, free of charge. The cache "
            "starts empty."
        )
    if order.to_plan is None:
        return gettext("Done: this volume no longer has a cache.")
    has = gettext("Done: this volume now has the plan {plan}.")
    text = SafeString(format_html(has, plan=order.to_plan.name))
    if order.intent == Intent.TRIAL and order.trial_until is not None:
        until = format_html(
            gettext(
                "The trial is free and ends automatically on {time}. Your volume then returns to "
                "no cache, unless you keep the plan."
            ),
            time=time_tag(order.trial_until),
        )
        text = format_html("{} {}", text, until)
    if order.intent == Intent.REVERT or order.job is None:
        return text
    return format_html("{} {}", text, _proof(proof))


def _proof(proof: Proof | None) -> str:
    if proof is None or proof.state == ProofState.WAITING:
        return gettext(
            "Reads get faster while the cache fills. Once it is warm, we measure the result, and "
            "the report appears here."
        )
    if proof.state == ProofState.MEASURING:
        if proof.after_end is None:
            return gettext("We are measuring the result. The report appears soon.")
        text = gettext("We are measuring the result. The report appears at about {time}.")
        return format_html(text, time=time_tag(proof.after_end, "short"))
    if proof.state == ProofState.IMPOSSIBLE:
        reason = gettext(proof.reason) if proof.reason else gettext("There was not enough data.")
        return gettext("The effect could not be measured. {reason}").format(reason=reason)
    return gettext("The effect has been measured: see the report.")


def order_outcome(order: Order) -> StateChip:
    """The outcome of the order, in a word or two, for the history."""
    match order.state:
        case OrderState.COMPLETED:
            return StateChip("ok", "ok", gettext("done"))
        case OrderState.SCHEDULED:
            return StateChip("quiet", "wait", gettext("planned"))
        case OrderState.AUTHORISING | OrderState.PENDING:
            return StateChip("busy", "wait", gettext("payment being confirmed"))
        case OrderState.RUNNING:
            stuck = order.job is not None and order.job.state == State.NEEDS_ATTENTION
            if stuck:
                return StateChip("warning", "warning", gettext("support is checking"))
            return StateChip("busy", "run", gettext("running"))
        case OrderState.REFUSED:
            return StateChip("quiet", "cut", gettext("payment refused"))
        case OrderState.CANCELLED:
            return StateChip("quiet", "cut", gettext("cancelled"))
    return StateChip("quiet", "cut", gettext("not changed"))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def poll_seconds(order: Order, proof: Proof | None) -> int:
    """How often the order's page refreshes; 0 where no change is expected soon."""
    if order.is_open:
        return 2
    if order.state == OrderState.COMPLETED and proof is not None and not proof.is_over:
        return 15
    return 0


def running_change(job: Job | None) -> dict[str, object]:
    """The context of `portal/_running.html`: the change that runs, None for none."""
    if job is None:
        return {"running": None}
    order: Order | None = getattr(job, "order", None)
    heading = (
        gettext("Changing to {plan}").format(plan=job.cache_plan.name)
        if job.cache_plan is not None
        else gettext("Removing the cache")
        if job.kind == Kind.REMOVE_CACHE
        else gettext("Restoring your former cache")
    )
    if job.state == State.NEEDS_ATTENTION:
        heading = gettext("Support is looking at your last change")
    context = {"running": job, "heading": heading, **order_texts.change_context(job)}
    if order is not None:
        steps = list(job.step_set.all())
        context |= {
            "phases": phases_of(order, steps, None),
            "sentence": sentence_of(order, steps, None),
        }
    return context
