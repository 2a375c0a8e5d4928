"""The billing simulator: signatures, rules, invoices, and a real way through HTTP."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from jobs import notify_workers
from panel.billing.message_delivery import send_due_messages
from panel.deliveries.http_post import post
from panel.deliveries.signature import sign
from panel.models import Message, Order, OrderState
from tests.billing_simulator import invoice_page
from tests.billing_simulator.ledger import BillingLedger
from tests.billing_simulator.server import Simulator, new_secret
from tests.panel.billing.test_message_delivery import again_at_once
from tests.panel.orders.till import buy
from tests.panel.portal.shop import plan, shop


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    made = Simulator()
    made.start()
    yield made
    made.stop()


def asked(price_minor: int = 490, **fields: Any) -> dict[str, Any]:
    data = {"order": "o1", "price_minor": price_minor, "charge_minor": 120, "currency": "EUR"}
    return {"type": "order.authorise", "data": {**data, "customer_external_id": "c-1", **fields}}


def line(kind: str, minor: int, name: str = "l1") -> dict[str, Any]:
    data = {"id": name, "kind": kind, "customer": "k", "customer_external_id": "c-1"}
    more = {"amount_minor": minor, "currency": "EUR", "description": "<b>", "period_start": "2026"}
    return {"type": "usage.line", "data": {**data, **more}}


def state_of(simulator: Simulator) -> dict[str, Any]:
    with urllib.request.urlopen(f"{simulator.url}state.json") as response:
        found: dict[str, Any] = json.loads(response.read())
    return found


@pytest.mark.parametrize(
    ("price", "word"), [(490, "approve"), (1066, "refuse"), (1077, "pending"), (1088, "slow")]
)
def test_the_price_decides(price: int, word: str) -> None:
    assert BillingLedger().take("m1", asked(price))["decision"] == word


def test_a_file_of_rules_decides_first_and_is_read_each_time(tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text('[{"customer_external_id": "c-1", "plan": "Fast", "decision": "refuse"}]')
    ledger = BillingLedger("approve", rules)
    fast = {"to_plan": {"name": "Fast"}}
    assert ledger.take("m1", asked(**fast))["decision"] == "refuse"
    assert ledger.take("m2", asked(**fast, customer_external_id="c-2"))["decision"] == "approve"
    rules.write_text("[]")
    assert ledger.take("m1", asked(**fast))["decision"] == "refuse"
    assert ledger.take("m3", asked(**fast))["decision"] == "approve"


def test_an_invoice_has_each_line_once_and_credits_count_against_it() -> None:
    ledger = BillingLedger()
    for name, said in (("a", line("charge", 300)), ("b", line("credit", 100, "l2"))):
        ledger.take(name, said)
        ledger.take(name, said)
    invoice = ledger.state()["invoices"]["c-1"]
    assert [each["id"] for each in invoice["lines"]] == ["l1", "l2"]
    assert invoice["sum_minor"] == {"EUR": 200}
    text = invoice_page.page(ledger.state())
    assert "EUR 2.00" in text
    assert "<b>" not in text


def test_what_is_not_signed_is_not_taken(simulator: Simulator) -> None:
    body = json.dumps(asked()).encode()
    hook = simulator.settings["TIERCEL_BILLING_URL"]
    headers = sign("m1", body, [new_secret()], datetime.now(UTC))
    assert post(hook, body, headers, seconds=5).status == 401
    assert state_of(simulator)["messages"] == []


@pytest.mark.django_db(transaction=True)
def test_an_order_goes_the_whole_way_through_http(
    simulator: Simulator,
    settings: Settings,
    live_server: LiveServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(notify_workers, "send", lambda *args: True)
    settings.TIERCEL_CUSTOMERS_MAY_ORDER, settings.TIERCEL_MANDATE_REQUIRED = True, False
    given = simulator.settings
    settings.TIERCEL_BILLING_URL = given["TIERCEL_BILLING_URL"]
    settings.TIERCEL_BILLING_SECRETS = [new_secret(), given["TIERCEL_BILLING_SECRETS"]]
    settings.TIERCEL_BILLING_IN_SECRETS = [given["TIERCEL_BILLING_IN_SECRETS"]]
    simulator.panel_url = live_server.url
    order = buy(shop(), plan(price_minor=1077))
    simulator.stop()
    send_due_messages()
    assert "refused" in Message.objects.get().last_error
    simulator.start()
    again_at_once()
    send_due_messages()
    order.refresh_from_db()
    assert order.state == OrderState.PENDING
    [waiting] = state_of(simulator)["pending"]
    decide = f"order={waiting['data']['order']}&decision=approve".encode()
    urllib.request.urlopen(f"{simulator.url}decide", decide).close()
    assert Order.objects.get().state == OrderState.RUNNING
    assert state_of(simulator)["pending"] == []
    answer = simulator.call("suspend", {"customer_external_id": "none"})
    assert (answer.status, json.loads(answer.body)["code"]) == (404, "not_found")
