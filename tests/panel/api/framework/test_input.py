"""What a program sends is taken as it stands, or refused with the place where it is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from panel.api.framework import bodies
from storage.models import Customer, Host, Volume
from tests import make
from tests.panel.api.asking import Program, problem, staff
from tests.panel.cast import scene

pytestmark = pytest.mark.django_db

PLAN = {"name": "Boost", "size_bytes": 1 << 30, "price_minor": 490, "currency": "EUR"}


@pytest.fixture
def asking() -> Program:
    return staff("admin")


def faults(answer: Any) -> list[tuple[str, str]]:
    """Pointer and code of each fault of a refused body."""
    return [(each["pointer"], each["code"]) for each in problem(answer, 422, "invalid")["errors"]]


@pytest.mark.parametrize(
    "name", ["a\u0007b", "two\nlines", "\u001b[31mred", "\u202eexe.test", "a\u2028b"]
)
def test_a_name_that_a_terminal_would_obey_is_refused(asking: Program, name: str) -> None:
    sent = {"name": name}
    assert faults(asking.send("post", "/customers/", sent)) == [("/name", "control_character")]
    sent = {"name": "Acme", "external_id": name}
    assert faults(asking.send("post", "/customers/", sent)) == [
        ("/external_id", "control_character")
    ]
    volume = scene().volume
    answer = asking.send("patch", f"/volumes/{volume.key}", {"label": name})
    assert faults(answer) == [("/label", "control_character")]
    answer = asking.send("post", "/cache-plans/", {**PLAN, "name": name})
    assert faults(answer) == [("/name", "control_character")]


def test_a_name_that_shows_nothing_is_refused(asking: Program) -> None:
    assert faults(asking.send("post", "/customers/", {"name": "\u3164"})) == [
        ("/name", "invisible")
    ]


def test_what_is_text_is_sent_as_text_and_a_number_as_a_number(asking: Program) -> None:
    assert faults(asking.send("post", "/customers/", {"name": 42})) == [("/name", "not_a_string")]
    for price in ("490", 490.0, True):
        answer = asking.send("post", "/cache-plans/", {**PLAN, "price_minor": price})
        assert faults(answer) == [("/price_minor", "not_an_integer")], price
    volume = scene().volume
    answer = asking.send(
        "put", f"/volumes/{volume.key}/wish", {"cache": {"size_bytes": "268435456"}},
        **{"Idempotency-Key": "k"},
    )  # fmt: skip
    assert faults(answer) == [("/cache/size_bytes", "not_an_integer")]


def test_a_time_names_its_zone_before_money_depends_on_it(asking: Program) -> None:
    customer = make.customer("Acme")
    mandate = {"currency": "EUR", "cap_charge_minor": 490, "cap_period_minor": 490}
    path = f"/customers/{customer.key}/mandate"
    for text, code in (
        ("2026-11-01T00:00:00", "no_zone"),
        ("2026-11-01", "no_zone"),
    ):
        answer = asking.send("put", path, {**mandate, "earliest_next_at": text})
        assert faults(answer) == [("/earliest_next_at", code)]
    answer = asking.send("put", path, {**mandate, "earliest_next_at": "2026-11-01T00:00:00+01:00"})
    assert answer.json()["earliest_next_at"] == "2026-10-31T23:00:00Z"


def test_no_answer_names_a_constraint_of_the_database(asking: Program) -> None:
    answer = asking.send("post", "/cache-plans/", {**PLAN, "currency": "eur"})
    assert "/currency" in [pointer for pointer, _ in faults(answer)]
    assert "onstraint" not in answer.content.decode()


def test_an_external_id_that_is_taken_is_a_conflict_that_names_who_has_it(asking: Program) -> None:
    first = make.customer("Acme")
    Customer.objects.filter(pk=first.pk).update(external_id="crm-1")
    answer = asking.send("post", "/customers/", {"name": "Second", "external_id": "crm-1"})
    body = problem(answer, 409, "external_id_taken")
    assert first.key in body["detail"]
    assert body["existing"] == {
        "key": first.key,
        "url": f"/api/v1/customers/{first.key}",
        "name": first.name,
    }
    assert body["errors"][0]["pointer"] == "/external_id"
    here = scene().volume
    Volume.objects.filter(pk=here.pk).update(external_id="vps-1")
    other = make.volume(label="other")
    answer = asking.send("patch", f"/volumes/{other.key}", {"external_id": "vps-1"})
    existing = problem(answer, 409, "external_id_taken")["existing"]
    url = f"/api/v1/volumes/{here.key}"
    assert existing == {"key": here.key, "url": url, "name": here.label}


def test_of_two_requests_at_once_the_second_gets_the_first_one(
    asking: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one is stored between the check and the storing."""
    check = bodies.check_instance

    def checked_too_early(instance: Customer) -> None:
        check(instance)
        Customer.objects.create(name="First", external_id="crm-1")

    monkeypatch.setattr(bodies, "check_instance", checked_too_early)
    answer = asking.send("post", "/customers/", {"name": "Second", "external_id": "crm-1"})
    first = Customer.objects.get()
    assert first.name == "First"
    assert first.key in problem(answer, 409, "external_id_taken")["detail"]


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/volumes/", "limit=1&limit=2"),
        ("/jobs/", "volume=a&volume=b"),
        ("/hosts/", "site=a&site=b"),
        ("/alerts/", "state=open&state=resolved"),
    ],
)
def test_a_parameter_is_given_once(asking: Program, path: str, query: str) -> None:
    (fault,) = problem(asking.get(f"{path}?{query}"), 400, "invalid_parameter")["errors"]
    assert (fault["parameter"], fault["code"]) == (query.split("=")[0], "repeated")


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/volumes/", "external_id="),
        ("/customers/", "external_id=%20"),
        ("/volumes/", "customer"),
        ("/jobs/", "host="),
        ("/people/", "search="),
        ("/events/", "type=job.failed&type="),
    ],
)
def test_a_parameter_that_is_empty_is_refused_and_finds_no_row_without_a_name(
    asking: Program, path: str, query: str
) -> None:
    scene()
    make.customer()
    (fault,) = problem(asking.get(f"{path}?{query}"), 400, "invalid_parameter")["errors"]
    assert (fault["parameter"], fault["code"]) == (query.partition("=")[0], "empty")


def test_states_are_given_several_times_and_mean_any_of_them(asking: Program) -> None:
    there = scene()
    found = make.volume(label="found", managed=False)
    make.placement(found, there.host)

    def keys(query: str) -> set[str]:
        return {each["key"] for each in asking.get(f"/volumes/?{query}").json()["items"]}

    assert keys("state=found") == {found.key}
    assert {found.key, there.volume.key} <= keys("state=found&state=managed")
    problem(asking.get("/volumes/?state=found&state=nonsense"), 400, "invalid_parameter")
    pending = make.host(name="later")
    Host.objects.filter(pk=pending.pk).update(state="pending")
    hosts = asking.get("/hosts/?state=active&state=pending").json()["items"]
    assert {there.host.key, pending.key} <= {each["key"] for each in hosts}


@pytest.mark.parametrize("query", ["points=0", "from=yesterday", "from=2026-11-21T08:00:00"])
def test_a_bad_range_is_a_bad_parameter(asking: Program, query: str) -> None:
    answer = asking.get(f"/volumes/{scene().volume.key}/series?{query}")
    (fault,) = problem(answer, 400, "invalid_parameter")["errors"]
    assert fault["parameter"] == query.split("=")[0]


def test_a_size_that_is_too_small_is_named_with_what_it_must_be(asking: Program) -> None:
    volume = scene().volume
    answer = asking.send(
        "put", f"/volumes/{volume.key}/wish", {"cache": {"size_bytes": 1}},
        **{"Idempotency-Key": "k"},
    )  # fmt: skip
    assert faults(answer) == [("/cache/size_bytes", "too_small")]
