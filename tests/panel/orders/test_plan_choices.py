"""What may be chosen, with its money and what is in the way."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from panel.models import Intent
from panel.orders.plan_choices import PlanChoice, choices
from storage.volumes.snapshot import snapshots_of
from tests.panel.orders.till import buy, finish, has_cache, mandate
from tests.panel.portal.shop import Shop, plan, shop

pytestmark = pytest.mark.django_db


def seen(acme: Shop) -> dict[str, PlanChoice]:
    return {each.offer.name: each for each in choices(snapshots_of([acme.volume])[0])}


def test_an_upgrade_begins_now_and_a_downgrade_with_the_next_period_or_now() -> None:
    acme = shop()
    finish(buy(acme, plan()))
    has_cache(acme)
    plan("Big", price_minor=990, size_bytes=4 * 2**30)
    found = seen(acme)
    big, none = found["Big"], found["No cache"]
    assert (big.intent, big.when, big.other, big.refusal) == (Intent.UPGRADE, "now", None, None)
    assert (none.intent, none.when) == (Intent.DOWNGRADE, "period_end")
    assert none.quote is not None
    assert none.other is not None
    assert none.quote.credit_minor == 0
    assert none.other.next_invoice_minor == -none.other.credit_minor
    own = found["Fast"]
    assert own.offer.is_current
    assert own.refusal is not None
    assert own.refusal.code == "same_plan"


def test_what_the_mandate_forbids_says_so_with_its_price(settings: Settings) -> None:
    settings.TIERCEL_MANDATE_REQUIRED = True
    acme = shop()
    plan()
    assert _code(seen(acme)["Fast"]) == "cap_unknown"
    mandate(acme.customer, cap_charge_minor=0)
    fast = seen(acme)["Fast"]
    assert fast.quote is not None
    assert fast.quote.price_minor == 490


def test_a_trial_is_offered_where_there_is_one(settings: Settings) -> None:
    acme = shop()
    plan()
    assert seen(acme)["Fast"].trial is None
    settings.TIERCEL_TRIAL_DAYS = 7.0
    found = seen(acme)
    assert found["Fast"].trial is not None
    assert found["No cache"].trial is None


def test_during_a_trial_its_plan_may_be_ordered(settings: Settings) -> None:
    settings.TIERCEL_TRIAL_DAYS = 7.0
    acme = shop()
    finish(buy(acme, plan(), trial=True))
    has_cache(acme)
    fast = seen(acme)["Fast"]
    assert (fast.intent, fast.refusal, fast.trial) == (Intent.UPGRADE, None, None)


def _code(choice: PlanChoice) -> str:
    return choice.refusal.code if choice.refusal is not None else ""


def test_six_offers_are_weighed_with_as_many_queries_as_one() -> None:
    acme = shop()
    mandate(acme.customer)

    def queries() -> int:
        row, now = snapshots_of([acme.volume])[0], timezone.now()
        with CaptureQueriesContext(connection) as asked:
            found = choices(row, now)
        assert all(choice.refusal is None for choice in found[1:])
        return len(asked)

    plan("First")
    of_one = queries()
    for number in range(5):
        plan(f"Other {number}")
    assert queries() == of_one
