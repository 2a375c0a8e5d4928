"""The two files for WHMCS, run by PHP: their calls at a live panel, and its messages to them."""

from __future__ import annotations

import base64
import hmac
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from django.db.models.functions import Now
from django.utils import timezone
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from jobs import notify_workers
from jobs.models import Job, State
from panel.billing import outbox
from panel.billing.message_delivery import send_due_messages
from panel.deliveries.http_post import post
from panel.deliveries.signature import ID, SIGNATURE, TIMESTAMP, sign
from panel.models import Message, MessageType, Order, OrderState, UsageLine
from panel.operations.local_services import CHECKOUT
from storage.models import Customer, Volume
from tests import make
from tests.lab.vm import free_port
from tests.panel.billing.desk import OTHER, SECRET
from tests.panel.orders.till import buy
from tests.panel.portal.shop import plan, shop
from tests.scene import Scene, end, scene

PHP = shutil.which("php")
STUBS = Path(__file__).with_name("whmcs")
SECONDS = 120
START_SECONDS = 60


def has_curl() -> bool:
    """PHP is here, with its curl."""
    if PHP is None:
        return False
    done = subprocess.run([PHP, "-m"], capture_output=True, text=True, check=False)
    return "curl" in done.stdout.split()


pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not has_curl(), reason="needs php-cli and php-curl: make debian as root"),
]


@dataclass(frozen=True, slots=True)
class Whmcs:
    """A folder with the two files and what stands in for the rest of WHMCS."""

    root: Path
    panel: str
    hook: str

    def call(self, function: str, **more: Any) -> Any:
        """What WHMCS gets from a function of the module."""
        host, port = self.panel.removeprefix("http://").split(":")
        parameters = {
            **{"serverhostname": host, "serverport": port, "serverhttpprefix": "http"},
            **{"serverpassword": SECRET, "serverid": 1, "userid": 42, "serviceid": 1012},
            "clientsdetails": {
                "email": "ann@example.org",
                "companyname": "",
                "fullname": "Ann Smith",
            },
            "customfields": {"volume": ""},
            "configoption1": "Fast",
            **more,
        }
        assert PHP is not None
        done = subprocess.run(
            [PHP, "call.php", function],
            input=json.dumps(parameters),
            cwd=self.root,
            env={"PATH": os.environ["PATH"], "no_proxy": "localhost"},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    @property
    def state(self) -> Any:
        return json.loads((self.root / "state.json").read_text())

    def let(self, **changes: Any) -> None:
        (self.root / "state.json").write_text(json.dumps({**self.state, **changes}))


@pytest.fixture
def whmcs(
    tmp_path: Path,
    live_server: LiveServer,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Whmcs]:
    shutil.copytree(CHECKOUT / "docs" / "whmcs", tmp_path, dirs_exist_ok=True)
    shutil.copytree(STUBS, tmp_path, dirs_exist_ok=True)
    servers = {"tblhosting": [{"server": 1, "userid": 42}, {"server": 1, "userid": 42}]}
    state = {"tables": servers, "invoices": {"42": 0}, "items": [], "fails": 0}
    (tmp_path / "state.json").write_text(json.dumps(state))
    port = free_port()
    settings.TIERCEL_BILLING_URL = f"http://localhost:{port}/tiercel-hook.php"
    settings.TIERCEL_BILLING_SECRETS = [SECRET]
    settings.TIERCEL_BILLING_IN_SECRETS = [SECRET]
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = True
    settings.TIERCEL_MANDATE_REQUIRED = False
    settings.TIERCEL_PUBLIC_URL = live_server.url
    monkeypatch.setattr(notify_workers, "send", lambda *arguments: True)
    try:
        with serving(tmp_path, port, TIERCEL_SECRET=SECRET):
            yield Whmcs(tmp_path, live_server.url, settings.TIERCEL_BILLING_URL)
    finally:
        connections.close_all()


@contextmanager
def serving(root: Path, port: int, **variables: str) -> Iterator[None]:
    """PHP's server, whose files see these variables."""
    assert PHP is not None
    server = subprocess.Popen(
        [PHP, "-S", f"localhost:{port}", "-t", root],
        env={"PATH": os.environ["PATH"], **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until_it_listens(port)
        yield
    finally:
        server.terminate()
        server.wait()


def until_it_listens(port: int) -> None:
    end_at = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("localhost", port), timeout=1).close()
        except OSError:
            assert time.monotonic() < end_at, "PHP does not listen"
            time.sleep(0.05)
        else:
            return


@pytest.fixture
def there(whmcs: Whmcs) -> Scene:
    plan()
    return scene()


def created(whmcs: Whmcs, there: Scene) -> Order:
    """An account whose cache is ordered; its job is over."""
    assert whmcs.call("tiercel_CreateAccount", customfields=named(there)) == "success"
    order = Order.objects.get()
    assert order.job is not None
    end(order.job, State.FAILED, error={"code": "x", "message": "x", "correction": ""})
    Order.objects.update(state=OrderState.FAILED, ended_at=Now())
    return order


def named(there: Scene) -> dict[str, str]:
    return {"volume": there.volume.key}


# --- Calls ----------------------------------------------------------------------------------------


def test_an_account_has_its_customer_its_volume_and_its_plan(whmcs: Whmcs, there: Scene) -> None:
    assert whmcs.call("tiercel_CreateAccount", customfields=named(there)) == "success"
    customer = Customer.objects.get()
    assert (customer.external_id, customer.name) == ("42", "Ann Smith")
    assert customer.members.get().user.email == "ann@example.org"
    volume = Volume.objects.get()
    assert (volume.customer, volume.external_id) == (customer, "1012")
    order = Order.objects.get()
    assert order.to_plan is not None and order.to_plan.name == "Fast"
    assert (order.state, order.actor) == (OrderState.RUNNING, None)


def test_what_the_panel_refuses_is_what_whmcs_shows(whmcs: Whmcs, there: Scene) -> None:
    unknown = whmcs.call("tiercel_CreateAccount", customfields=named(there), configoption1="Turbo")
    assert unknown != "success" and "plan" in unknown
    nothing = whmcs.call("tiercel_CreateAccount", customfields={"volume": "aaaaaaaaaaaaaaaa"})
    assert nothing != "success"
    assert Order.objects.count() == 0


def test_an_account_that_is_created_again_stays_one(whmcs: Whmcs, there: Scene) -> None:
    order = created(whmcs, there)
    Volume.objects.update(cache_plan=order.to_plan)
    cached = replace(there.lv, cache=make.dm_cache("c-aaaaaaaaaaaaaaaa"))
    there.host.facts = make.inventory(make.facts(cached))
    there.host.save(update_fields=["facts"])
    assert whmcs.call("tiercel_CreateAccount", customfields=named(there)) == "success"
    assert (Customer.objects.count(), Order.objects.count()) == (1, 1)


def test_another_package_is_another_plan_and_none_is_no_cache(whmcs: Whmcs, there: Scene) -> None:
    order = created(whmcs, there)
    Volume.objects.update(cache_plan=order.to_plan)
    plan("Faster", price_minor=990)
    assert whmcs.call("tiercel_ChangePackage", configoption1="Faster") == "success"
    newest = Order.objects.latest("created_at")
    assert newest.to_plan is not None and newest.to_plan.name == "Faster"


def test_a_customer_is_suspended_and_let_in_again(whmcs: Whmcs, there: Scene) -> None:
    created(whmcs, there)
    assert whmcs.call("tiercel_SuspendAccount") == "success"
    assert Customer.objects.get().suspended_at is not None
    assert whmcs.call("tiercel_UnsuspendAccount") == "success"
    assert Customer.objects.get().suspended_at is None


def test_an_account_that_ends_keeps_its_data(whmcs: Whmcs, there: Scene) -> None:
    created(whmcs, there)
    for _ in range(2):
        assert whmcs.call("tiercel_TerminateAccount") == "success"
    (retiring,) = Job.objects.filter(kind="retire-volume")
    assert retiring.volume == there.volume
    assert Volume.objects.get().destroyed_at is None


def test_a_customer_enters_the_panel_from_whmcs(whmcs: Whmcs, there: Scene) -> None:
    created(whmcs, there)
    answer = whmcs.call("tiercel_ServiceSingleSignOn")
    assert answer["success"] is True
    assert answer["redirectTo"].startswith(whmcs.panel)
    stranger = whmcs.call("tiercel_ServiceSingleSignOn", userid=43)
    assert stranger["success"] is False and stranger["errorMsg"]


def test_the_connection_is_tried_with_the_secret(whmcs: Whmcs) -> None:
    assert whmcs.call("tiercel_TestConnection") == {"success": True, "error": ""}
    wrong = whmcs.call("tiercel_TestConnection", serverpassword=OTHER)
    assert wrong["success"] is False and "sign" in wrong["error"].lower()


# --- Messages -------------------------------------------------------------------------------------


def asked(whmcs: Whmcs) -> Order:
    """An order of customer 42 that waits for the billing system's word."""
    there = shop()
    Customer.objects.update(external_id="42")
    order = buy(there, plan())
    assert order.state == OrderState.AUTHORISING
    return order


@pytest.mark.parametrize(
    ("overdue", "state", "reason"),
    [(0, OrderState.RUNNING, ""), (1, OrderState.REFUSED, "An invoice is overdue.")],
)
def test_who_owes_nothing_may_order(
    whmcs: Whmcs, overdue: int, state: OrderState, reason: str
) -> None:
    order = asked(whmcs)
    whmcs.let(invoices={"42": overdue})
    send_due_messages()
    order.refresh_from_db()
    assert order.state == state
    assert order.reason.startswith(reason)


def test_a_customer_that_whmcs_does_not_know_may_not_order(whmcs: Whmcs) -> None:
    order = asked(whmcs)
    Customer.objects.update(external_id="43")
    Message.objects.update(payload=payload_for(Message.objects.get(), "43"))
    send_due_messages()
    order.refresh_from_db()
    assert (order.state, "not known" in order.reason) == (OrderState.REFUSED, True)


def payload_for(message: Message, client: str) -> Any:
    return {**message.payload, "data": {**message.payload["data"], "customer_external_id": client}}


LINE = {
    "id": "k3-charge",
    "kind": "charge",
    "customer_external_id": "42",
    "description": "Fast for web12",
    "amount_minor": 123,
    "currency": "EUR",
}


def test_a_line_is_billed_once_however_often_it_comes(whmcs: Whmcs) -> None:
    for about in ("first", "second"):
        outbox.write(MessageType.USAGE, about, LINE)
    whmcs.let(fails=1)
    assert send_due_messages() == 2
    assert [each["amount"] for each in whmcs.state["items"]] == [1.23]
    Message.objects.unsent().update(next_at=Now() - timedelta(seconds=1))
    send_due_messages()
    assert len(whmcs.state["items"]) == 1
    assert not Message.objects.unsent().exists()
    assert whmcs.state["items"][0]["invoiceaction"] == "nextcron"


def test_a_credit_is_negative_and_comes_with_the_next_invoice(whmcs: Whmcs) -> None:
    outbox.write(MessageType.USAGE, "one", {**LINE, "id": "k3-credit", "kind": "credit"})
    send_due_messages()
    (item,) = whmcs.state["items"]
    assert (item["amount"], item["invoiceaction"]) == (-1.23, "nextinvoice")


def test_lines_that_were_lost_are_added_once_a_day(whmcs: Whmcs) -> None:
    order = asked(whmcs)
    UsageLine.objects.create(
        name=f"{order.key}-charge",
        kind="charge",
        order=order,
        customer=order.customer,
        volume=order.volume,
        amount_minor=123,
        currency="EUR",
        description="Fast for web12",
        period_start=timezone.now(),
        period_end=timezone.now(),
    )
    for _ in range(2):
        assert whmcs.call("tiercel_UsageUpdate") is None
    assert [each["amount"] for each in whmcs.state["items"]] == [1.23]


@pytest.mark.parametrize("fault", ["secret", "time", "body"])
def test_what_tiercel_did_not_sign_is_refused(whmcs: Whmcs, fault: str) -> None:
    body = json.dumps({"type": "usage.line", "timestamp": "", "data": LINE}).encode()
    at = timezone.now() - timedelta(minutes=6 if fault == "time" else 0)
    headers = sign("message-1", body, [OTHER if fault == "secret" else SECRET], at)
    sent = body + b" " if fault == "body" else body
    answer = post(whmcs.hook, sent, headers, seconds=10, private_hosts=["localhost"])
    assert (answer.status, whmcs.state["items"]) == (401, [])


@pytest.mark.parametrize(
    ("variables", "key"),
    [
        ({}, b""),
        ({"TIERCEL_SECRET": ""}, b""),
        ({"TIERCEL_SECRET": "whsec_"}, b""),
        ({"TIERCEL_SECRET": "whsec_c2hvcnQ="}, b"short"),
    ],
)
def test_without_a_secret_of_its_own_the_hook_takes_nothing(
    whmcs: Whmcs, variables: dict[str, str], key: bytes
) -> None:
    body, at = json.dumps({"type": "usage.line", "data": LINE}).encode(), str(int(time.time()))
    signed = hmac.digest(key, b".".join([b"m1", at.encode(), body]), "sha256")
    signature = f"v1,{base64.b64encode(signed).decode()}"
    headers = {ID: "m1", TIMESTAMP: at, SIGNATURE: signature}
    port = free_port()
    with serving(whmcs.root, port, **variables):
        answer = post(f"http://localhost:{port}/tiercel-hook.php", body, headers, seconds=10)
    assert (answer.status, whmcs.state["items"]) == (500, [])
    assert b"TIERCEL_SECRET" in answer.body


@pytest.mark.parametrize("secret", ["", "whsec_", "hunter2"])
def test_without_a_secret_the_module_calls_nothing(whmcs: Whmcs, there: Scene, secret: str) -> None:
    answer = whmcs.call("tiercel_CreateAccount", customfields=named(there), serverpassword=secret)
    assert "TIERCEL_BILLING_IN_SECRETS" in answer
    assert not Customer.objects.exists()


def test_while_a_secret_is_changed_both_are_good(whmcs: Whmcs, settings: Settings) -> None:
    settings.TIERCEL_BILLING_SECRETS = [OTHER, SECRET]
    outbox.write(MessageType.USAGE, "one", LINE)
    send_due_messages()
    assert len(whmcs.state["items"]) == 1
