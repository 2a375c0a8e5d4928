"""What customers read about an order, from its records alone."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.utils import timezone, translation
from django.utils.html import strip_tags

from jobs.models import Job, Kind, State, Step
from jobs.models.step import StepState
from jobs.queue.job_windows import window_fields
from panel.models import Intent, Order, OrderState, Proof, ProofState
from panel.portal.order_progress import (
    order_outcome,
    phases_of,
    plans_of,
    poll_seconds,
    sentence_of,
    title,
)
from storage.byte_sizes import GIB
from storage.models import CachePlan
from storage.planner.wish import LvmCache, Wish
from tests.jobs.windows import closed_window

SMALL, BIG = CachePlan(name="Small"), CachePlan(name="Big")
AT = datetime(2026, 12, 1, tzinfo=UTC)


def order(state: OrderState, **fields: Any) -> Order:
    """An upgrade from Small to Big that needed leave to charge; no record."""
    given = {
        "intent": Intent.UPGRADE,
        "from_plan": SMALL,
        "to_plan": BIG,
        "authorise_by": AT,
        "job": Job(kind=Kind.REPLACE_CACHE),
        **fields,
    }
    return Order(state=state, **given)


def way(of: Order, *steps: Step, proof: Proof | None = None) -> list[tuple[str, str]]:
    return [(phase.text, phase.state) for phase in phases_of(of, steps, proof)]


def test_the_payment_comes_first_and_the_work_waits_for_it() -> None:
    assert way(order(OrderState.AUTHORISING)) == [
        ("Confirming the payment", "now"),
        ("Preparing your new cache", "next"),
        ("Replacing the cache", "next"),
        ("Warming up", "next"),
        ("Report", "next"),
    ]
    assert "Nothing is charged or changed before" in sentence_of(
        order(OrderState.AUTHORISING), [], None
    )
    assert "can leave this page" in sentence_of(order(OrderState.PENDING), [], None)


def test_a_cache_that_staff_made_without_a_plan_is_not_called_none() -> None:
    wish = Wish(GIB, cache=LvmCache("c-aaaaaaaa", GIB))
    for before, name in ((wish, "A cache set up by your provider"), (Wish(GIB), "No cache")):
        made = order(OrderState.CANCELLED, from_plan=None, from_cache=before.to_json()["cache"])
        assert (plans_of(made).before, plans_of(made).after) == (name, "Big")
        assert f"Your plan stays as it was: {name}." in sentence_of(made, [], None)
    assert plans_of(order(OrderState.SCHEDULED, from_plan=None, job=None)).before == "No cache"


def test_without_a_billing_system_no_payment_is_spoken_of() -> None:
    assert way(order(OrderState.RUNNING, authorise_by=None))[0][0] == "Preparing your new cache"


def test_the_work_goes_on_as_its_job_does() -> None:
    exchanging = Step(verb="cache.attach", state=StepState.RUNNING)
    found = way(order(OrderState.RUNNING), exchanging)
    assert [state for _, state in found] == ["done", "done", "now", "next", "next"]


@pytest.mark.parametrize(
    ("state", "says", "marks"),
    [
        (None, "Once it is warm", ("now", "next")),
        (ProofState.WAITING, "Once it is warm", ("now", "next")),
        (ProofState.MEASURING, "1 Dec 2026, 00:00 UTC", ("done", "now")),
        (ProofState.READY, "see the report", ("done", "done")),
        (ProofState.IMPOSSIBLE, "could not be measured. Too little was read.", ("done", "failed")),
    ],
)
def test_after_the_work_the_report_is_on_its_way(
    state: ProofState | None, says: str, marks: tuple[str, str]
) -> None:
    proof = Proof(state=state, after_end=AT, reason="Too little was read.") if state else None
    done = order(OrderState.COMPLETED, job=Job(kind=Kind.REPLACE_CACHE, state=State.SUCCEEDED))
    assert tuple(mark for _, mark in way(done, proof=proof)[-2:]) == marks
    assert says in sentence_of(done, [], proof)


@pytest.mark.parametrize(
    ("state", "reason", "says"),
    [
        (OrderState.REFUSED, "Your card has expired.", "Your card has expired."),
        (OrderState.REFUSED, "", "Your payment was not confirmed."),
        (OrderState.CANCELLED, "", "Your plan stays as it was: Small."),
        (OrderState.FAILED, "We could not change the plan.", "We could not change the plan."),
    ],
)
def test_what_came_to_nothing_charged_nothing(state: OrderState, reason: str, says: str) -> None:
    text = sentence_of(order(state, reason=reason), [], None)
    assert says in text
    assert "Nothing was charged" in text


def test_a_job_that_failed_is_shown_before_its_order_is_closed() -> None:
    failed = order(OrderState.RUNNING, job=Job(kind=Kind.SET_CACHE, state=State.FAILED))
    assert sentence_of(failed, [], None).endswith(
        "The failure is listed for support. Nothing was charged."
    )


def test_a_planned_change_says_when_and_what_stays_until_then() -> None:
    planned = order(OrderState.SCHEDULED, to_plan=None, job=None, due_at=AT)
    text = strip_tags(sentence_of(planned, [], None))
    assert text == (
        "Your cache is removed on 1 December 2026, 00:00 UTC. Until then you keep Small, and you "
        "can cancel this."
    )
    assert poll_seconds(planned, None) == 0


def test_a_trial_says_that_it_ends_by_itself() -> None:
    tried = order(OrderState.COMPLETED, intent=Intent.TRIAL, from_plan=None, trial_until=AT)
    assert title(tried) == "Trial of Big"
    assert "ends automatically on 1 December 2026" in strip_tags(sentence_of(tried, [], None))


def test_the_way_back_has_no_report_of_its_own() -> None:
    back = order(OrderState.RUNNING, intent=Intent.REVERT, from_plan=BIG, to_plan=SMALL)
    assert title(back) == "Back to Small"
    assert "Report" not in dict(way(back))


def test_the_page_looks_again_only_while_something_comes() -> None:
    done = order(OrderState.COMPLETED)
    assert poll_seconds(order(OrderState.RUNNING), None) == 2
    assert poll_seconds(done, Proof(state=ProofState.WAITING)) == 15
    assert poll_seconds(done, Proof(state=ProofState.READY)) == 0


@pytest.mark.parametrize("state", list(OrderState))
def test_every_state_has_a_word_for_the_history(state: OrderState) -> None:
    assert order_outcome(order(state)).text
    assert sentence_of(order(state, due_at=AT), [], None)


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "The change starts t"),
        ("de", "Ihr Anbieter nimmt solche Änderungen in einem Zeitfenster vor"),
    ],
)
def test_a_change_that_waits_for_its_window_says_when_it_starts(language: str, said: str) -> None:
    window = closed_window(zone="Europe/Berlin")
    begins = window.next_opening(timezone.now())
    waits = Job(kind=Kind.REPLACE_CACHE, not_before=begins, **window_fields(window))
    with translation.override(language):
        sentence = sentence_of(order(OrderState.RUNNING, job=waits), [], None)
    assert said in sentence and "(Europe/Berlin)" in sentence
