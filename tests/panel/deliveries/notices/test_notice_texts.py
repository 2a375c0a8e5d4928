"""What the e-mails say."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from panel.deliveries.notices.notice_texts import Letter, MailLinks, letter
from panel.models import Intent, Notice, NoticeKind, OrderState
from storage.models import Volume
from tests.panel.deliveries.notices.case import Case, case
from tests.panel.portal.shop import clean

pytestmark = pytest.mark.django_db

PLACES = MailLinks("https://p/my/orders/k/", "https://p/report", "https://p/account/notices/")


def of(there: Case, kind: NoticeKind) -> Letter:
    found = letter(Notice(order=there.order, user=there.viewer, kind=kind), PLACES)
    clean(found.subject + found.text)
    return found


def written(kind: NoticeKind, **fields: Any) -> Letter:
    return of(case(**fields), kind)


def test_a_finished_order_says_what_it_did_and_what_it_costs() -> None:
    assert written(NoticeKind.DONE) == Letter(
        "Done: Acme mail now has the plan Fast",
        "Hello Vera,\n\n"
        "Your order for Acme mail is done.\n\n"
        "Before: no cache\n"
        "Now: the plan Fast, 4.90 EUR a month\n"
        "Charged: 1.57 EUR\n"
        "Next invoice, 1 December 2026: 4.90 EUR\n\n"
        "You can undo this order until 5 December 2026, 09:30 UTC.\n\n"
        "https://p/my/orders/k/\n\n"
        "You receive this mail as a user of Acme. Choose your notices:\n"
        "https://p/account/notices/\n",
    )


def test_a_credit_is_named_and_a_volume_may_end_without_a_plan() -> None:
    there = case(to_plan=None, price_minor=0, charge_minor=0, credit_minor=120)
    found = of(there, NoticeKind.DONE)
    assert found.subject == "Done: Acme mail now has no cache"
    assert "Credit on your next invoice: 1.20 EUR" in found.text
    assert "Charged: 0.00 EUR" in found.text


def test_a_trial_says_when_it_ends() -> None:
    end = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
    text = written(NoticeKind.DONE, intent=Intent.TRIAL, trial_until=end).text
    assert "It ends automatically on 28 November 2026, 12:00 UTC" in text
    assert "undo this order" not in text


@pytest.mark.parametrize(
    ("state", "what"),
    [(OrderState.FAILED, "could not be carried out"), (OrderState.REFUSED, "was refused")],
)
def test_a_failed_order_says_why_and_that_nothing_was_charged(state: str, what: str) -> None:
    found = written(NoticeKind.FAILED, state=state, reason="Your card has expired.")
    assert found.subject == f"Your order for Acme mail {what}"
    assert "Your card has expired." in found.text
    assert "Nothing was charged. Your volume keeps no cache." in found.text


def test_a_reason_that_was_not_given_is_not_made_up() -> None:
    text = written(NoticeKind.FAILED, state=OrderState.FAILED).text
    assert "The reason is unknown. Ask your provider." in text


def test_a_report_leads_to_its_page() -> None:
    found = written(NoticeKind.PROOF)
    assert found.subject == "Before and after: the report for Acme mail is ready"
    assert "https://p/report" in found.text


def test_a_label_breaks_no_header() -> None:
    there = case()
    Volume.objects.filter(pk=there.order.volume_id).update(label="a\r\nBcc: eve@example.org")
    there.order.refresh_from_db()
    there.order.volume.refresh_from_db()
    assert "\n" not in of(there, NoticeKind.DONE).subject
