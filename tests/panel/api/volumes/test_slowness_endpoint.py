"""Why a volume is slow, for programs of staff and of its customer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta

import pytest
import time_machine

from storage.models import Customer, Host, HostChange, Volume
from tests import make
from tests.panel.api.asking import member, problem, staff
from tests.scene import HOSTILE
from tests.storage.analysis.test_disk_condition import NOON, Neighbours, at

pytestmark = pytest.mark.django_db
AFTER = NOON + timedelta(minutes=26, seconds=5)


@pytest.fixture
def acme() -> Iterator[Customer]:
    there = Neighbours(make.host(last_seen_at=NOON))
    there.minutes(20, 5)
    there.minutes(6, 24, noisy=6000)
    HostChange.objects.create(host=there.host, kind="kernel", at=at(10), before="6.1", after="6.12")
    Host.objects.update(last_seen_at=AFTER)
    customer = make.customer("Acme")
    Volume.objects.filter(label="calm").update(customer=customer)
    Volume.objects.filter(label="noisy").update(label=HOSTILE)
    with time_machine.travel(AFTER, tick=False):
        yield customer


def path() -> str:
    return f"/volumes/{Volume.objects.get(label='calm').key}/slowness"


def test_staff_read_disk_users_changes_and_what_helps(acme: Customer) -> None:
    shown = staff("read_only").get(path()).json()
    assert (shown["state"], shown["cause"], shown["disk"]) == ("slow", "neighbour", "sdc")
    assert (shown["read_ms"], shown["limit_ms"], shown["busy"]) == (24.0, 20, 0.95)
    assert shown["since"] == f"{at(20):%Y-%m-%dT%H:%M:%SZ}" and shown["until"] is None
    assert [each["volume"]["name"] for each in shown["users"]] == [HOSTILE, "calm"]
    assert [round(each["share"], 3) for each in shown["users"]] == [0.912, 0.088]
    assert {"limit"} <= {each["help"] for each in shown["remedies"]}
    assert [each["text"] for each in shown["changes"]] == ["Kernel: 6.1 → 6.12"]
    assert shown["lacks"] == []


def test_a_customer_reads_shares_and_no_name(acme: Customer) -> None:
    answer = member(acme).get(path())
    shown = answer.json()
    assert (shown["state"], shown["cause"], shown["busy"]) == ("slow", "neighbour", 0.95)
    assert round(shown["others_share"], 3) == 0.912
    assert shown["why"].startswith("Other volumes use 91.2 %")
    assert not shown.keys() & {"disk", "users", "remedies", "no_remedy"}
    assert shown["changes"] == []
    said = json.dumps(shown, ensure_ascii=False)
    assert HOSTILE not in said and "sdc" not in said and "6.12" not in said


def test_an_earlier_moment_is_asked_for(acme: Customer) -> None:
    shown = staff().get(path(), at=f"{at(15):%Y-%m-%dT%H:%M:%SZ}").json()
    assert (shown["state"], shown["read_ms"]) == ("well", 5.0)
    problem(staff().get(path(), at="yesterday"), 400, "invalid_parameter")


def test_strangers_find_nothing(acme: Customer) -> None:
    problem(member(make.customer("Zebra")).get(path()), 404, "not_found")
