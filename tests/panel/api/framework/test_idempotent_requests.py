"""One key, one change; whatever happens between."""

from __future__ import annotations

import json
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from jsonschema import Draft202012Validator

from jobs.models import Job
from panel.accounts import api_tokens, invitations, people
from panel.models import AlertRoute, IdempotentRequest
from storage.access import StaffRole
from storage.byte_sizes import GIB
from storage.models import CachePlan, Customer
from tests import make
from tests.panel.api.asking import V1, Program, problem, staff
from tests.panel.api.test_every_operation import body_of
from tests.panel.api.test_openapi import described, patterns
from tests.panel.deliveries.alerts.alert_messages import mail_route
from tests.panel.deliveries.webhooks.addresses import webhook
from tests.scene import end, scene

TWO_GIB = {"size_bytes": 2 * GIB, "mode": "writethrough"}
THREADS = 50


@pytest.fixture
def asking(db: None) -> Program:
    return staff("operator")


def view_of(path: str) -> Any:
    """The class that answers at an address of the description."""
    return getattr(patterns()[path].callback, "view_class", None)


def test_what_is_shown_once_is_in_an_answer_of_its_address() -> None:
    for path, operations in described()["paths"].items():
        names = vars(view_of(path) or object).get("once_only", ())
        changing = {method: each for method, each in operations.items() if method != "get"}
        shapes = re.findall(
            r"schemas/(\w+)", str([each["responses"] for each in changing.values()])
        )
        fields = {
            field
            for name in shapes
            for field in described()["components"]["schemas"][name].get("properties", ())
        }
        assert set(names) <= fields, path


def at_once(*calls: Any) -> list[Any]:
    """Make the calls in threads of their own that begin together."""
    barrier = Barrier(len(calls))

    def run(call: Any) -> Any:
        try:
            barrier.wait(30)
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def test_what_touches_a_host_needs_a_key(asking: Program) -> None:
    path = f"/volumes/{scene().volume.key}/wish"
    response = asking.send("put", path, {"cache": TWO_GIB})
    problem(response, 400, "idempotency_key_required")
    assert not Job.objects.exists()


@pytest.mark.parametrize("key", ["x" * 256, "a\tb"])
def test_a_key_is_short_and_printable(asking: Program, key: str) -> None:
    problem(asking.put_wish(scene(), TWO_GIB, key), 400, "idempotency_key_invalid")


def test_the_same_request_gets_the_same_answer_and_says_so(asking: Program) -> None:
    there = scene()
    first, again = (asking.put_wish(there, TWO_GIB, "k") for _ in range(2))
    assert "Idempotency-Replayed" not in first
    assert again["Idempotency-Replayed"] == "true"
    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert again["Location"] == first["Location"]
    assert Job.objects.count() == 1


def test_the_answer_is_the_same_after_the_job_has_ended(asking: Program) -> None:
    there = scene()
    first = asking.put_wish(there, TWO_GIB, "k")
    end(Job.objects.get())
    assert asking.put_wish(there, TWO_GIB, "k").json() == first.json()
    assert Job.objects.count() == 1


def test_a_repeated_request_may_wait_for_the_same_job(asking: Program) -> None:
    there = scene()
    asking.put_wish(there, TWO_GIB, "k")
    end(Job.objects.get())
    again = asking.put_wish(there, TWO_GIB, "k", query="?wait=1")
    assert (again.status_code, again.json()["state"]) == (200, "succeeded")
    assert again["Idempotency-Replayed"] == "true"


def test_another_request_under_an_old_key_is_refused(asking: Program) -> None:
    there = scene()
    asking.put_wish(there, TWO_GIB, "k")
    problem(asking.put_wish(there, None, "k"), 422, "idempotency_key_reused")


def test_a_key_is_of_one_person_and_one_route(asking: Program) -> None:
    there, elsewhere = scene(), scene()
    asking.put_wish(there, TWO_GIB, "k")
    other = staff("operator").put_wish(there, TWO_GIB, "k")
    assert "Idempotency-Replayed" not in other
    assert asking.put_wish(elsewhere, TWO_GIB, "k").status_code == 202
    assert Job.objects.count() == 2


def test_a_request_at_work_is_not_answered_twice(asking: Program) -> None:
    there = scene()
    asking.put_wish(there, TWO_GIB, "k")
    IdempotentRequest.objects.update(status=None)
    Job.objects.all().delete()
    response = asking.put_wish(there, TWO_GIB, "k")
    problem(response, 409, "idempotency_key_in_use")
    assert response["Retry-After"] == "1"
    assert not Job.objects.exists()


def test_a_request_whose_process_died_is_done_after_a_minute(asking: Program) -> None:
    there = scene()
    asking.put_wish(there, TWO_GIB, "k")
    Job.objects.all().delete()
    IdempotentRequest.objects.update(status=None, created_at=timezone.now() - timedelta(seconds=61))
    response = asking.put_wish(there, TWO_GIB, "k")
    assert (response.status_code, Job.objects.count()) == (202, 1)
    assert asking.put_wish(there, TWO_GIB, "k")["Idempotency-Replayed"] == "true"


def test_a_key_is_kept_for_a_week(asking: Program) -> None:
    there = scene()
    for days, replayed in ((6, "true"), (8, None)):
        asking.put_wish(there, TWO_GIB, "k")
        at = timezone.now() - timedelta(days=days)
        IdempotentRequest.objects.update(created_at=at)
        again = asking.put_wish(there, TWO_GIB, "k")
        assert again.get("Idempotency-Replayed") == replayed


@pytest.mark.parametrize("days", [-9, 9])
def test_a_web_machine_with_a_wrong_clock_forgets_no_answer(
    asking: Program, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    """Else the same request would be done twice."""
    there, elsewhere = scene(), scene()
    asking.put_wish(there, TWO_GIB, "right")
    wrong = timezone.now() + timedelta(days=days)
    with monkeypatch.context() as jump:
        jump.setattr("django.utils.timezone.now", lambda: wrong)
        assert asking.put_wish(there, TWO_GIB, "right")["Idempotency-Replayed"] == "true"
        asking.put_wish(elsewhere, TWO_GIB, "wrong")
    assert asking.put_wish(elsewhere, TWO_GIB, "wrong")["Idempotency-Replayed"] == "true"
    assert Job.objects.count() == 2


def test_a_web_machine_whose_clock_runs_ahead_takes_no_request_over(
    asking: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = scene()
    asking.put_wish(there, TWO_GIB, "k")
    IdempotentRequest.objects.update(status=None)
    Job.objects.all().delete()
    ahead = timezone.now() + timedelta(hours=1)
    monkeypatch.setattr("django.utils.timezone.now", lambda: ahead)
    problem(asking.put_wish(there, TWO_GIB, "k"), 409, "idempotency_key_in_use")


def test_a_refused_request_leaves_its_key_free(asking: Program) -> None:
    there = scene()
    problem(asking.put_wish(there, {"size_bytes": 90 * GIB}, "k"), 422, "no_space")
    assert asking.put_wish(there, TWO_GIB, "k").status_code == 202


def test_what_fails_after_the_job_was_made_leaves_neither_job_nor_key(
    asking: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = scene()

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("the process is short of memory")

    with monkeypatch.context() as broken:
        broken.setattr("panel.api.jobs.wait_for_job.accepted", fail)
        problem(asking.put_wish(there, TWO_GIB, "k"), 500, "internal")
    assert not Job.objects.exists()
    assert not IdempotentRequest.objects.exists()
    assert asking.put_wish(there, TWO_GIB, "k").status_code == 202


@pytest.mark.django_db(transaction=True)
def test_fifty_parallel_puts_with_one_key_make_one_job() -> None:
    asking, there = staff("operator"), scene()
    call = lambda: asking.put_wish(there, TWO_GIB, "k")  # noqa: E731
    answers = at_once(*[call] * THREADS)
    statuses = Counter(answer.status_code for answer in answers)
    assert Job.objects.count() == 1
    # One token has few places at a time: who finds none is refused before the key is looked at.
    assert set(statuses) <= {202, 409, 429}
    done = [answer for answer in answers if answer.status_code == 202]
    assert {answer.json()["key"] for answer in done} == {Job.objects.get().key}
    assert sum("Idempotency-Replayed" not in answer for answer in done) == 1
    for answer in answers:
        if answer.status_code == 409:
            problem(answer, 409, "idempotency_key_in_use")
    assert asking.put_wish(there, TWO_GIB, "k")["Idempotency-Replayed"] == "true"


@pytest.mark.django_db(transaction=True)
def test_of_two_different_wishes_at_once_one_gets_the_job_in_its_way() -> None:
    asking, there = staff("operator"), scene()
    answers = at_once(
        lambda: asking.put_wish(there, TWO_GIB),
        lambda: asking.put_wish(there, {"size_bytes": 4 * GIB}),
    )
    by_status = {answer.status_code: answer for answer in answers}
    assert set(by_status) == {202, 409}
    [conflict] = problem(by_status[409], 409, "busy")["conflicting_jobs"]
    assert conflict["key"] == by_status[202].json()["key"] == Job.objects.get().key


@pytest.mark.django_db
def test_a_key_is_honoured_whatever_a_request_changes() -> None:
    asking, there = staff("admin"), scene()
    plan = {"name": "Boost", "size_bytes": GIB, "price_minor": 490, "currency": "EUR"}
    customer = asking.send("post", "/customers/", {"name": "Acme"}).json()["url"]
    path = customer.removeprefix("/api/v1")
    mandate = {"currency": "EUR", "cap_charge_minor": 1, "cap_period_minor": 1}
    for n, (method, where, body) in enumerate(
        [
            ("post", "/customers/", {"name": "Acme"}),
            ("post", "/cache-plans/", plan),
            ("post", "/tokens/", {"name": "ci", "scopes": ["read"]}),
            ("patch", f"/volumes/{there.volume.key}", {"label": "other"}),
            ("patch", f"/hosts/{there.host.key}", {"site": "Graz"}),
            ("patch", path, {"name": "Acme Ltd"}),
            ("put", f"{path}/mandate", {**mandate, "earliest_next_at": None}),
            ("put", f"/volumes/{there.volume.key}/wish?dry_run=true", {"cache": TWO_GIB}),
            ("delete", path, None),
        ]
    ):
        headers = {"Idempotency-Key": f"k{n}"}
        first, again = (asking.send(method, where, body, **headers) for _ in range(2))
        assert first.status_code in (200, 201, 202, 204), (where, first.content)
        assert again.status_code == first.status_code, (where, again.content)
        assert "Idempotency-Replayed" not in first, where
        assert again["Idempotency-Replayed"] == "true", where
        other = asking.send(method, f"{where}?x=1" if "?" not in where else where, {"x": 1})
        assert "Idempotency-Replayed" not in other
    assert Customer.objects.count() == 1
    assert CachePlan.objects.count() == 1
    assert Job.objects.filter(dry_run=True).count() == 1


def with_a_secret() -> dict[str, tuple[str, str, set[str]]]:
    """Method, path and secret fields of each operation whose answer may tell a secret, once."""
    schemas, with_secret = described()["components"]["schemas"], {}
    for path, operations in described()["paths"].items():
        once_only = set(getattr(view_of(path), "once_only", ()))
        for method in set(operations) - {"get"}:
            operation = operations[method]
            for status, answer in operation["responses"].items():
                content = answer.get("content", {}).get("application/json", {})
                name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
                fields = once_only & set(schemas.get(name, {}).get("properties", ()))
                if fields and status[0] == "2":
                    with_secret[operation["operationId"]] = (method, path, fields)
    return with_secret


def asked_for(asking: Program) -> dict[str, tuple[str, Any]]:
    """A key and a body for each of them."""
    own = AlertRoute.objects.create(name="Me", kind="email", user=asking.user)
    person = make.staff_user("operator@provider.org", staff_role="operator")
    service = people.add_service("billing", StaffRole.READ_ONLY, person)
    served, _ = api_tokens.issue(service, name="ci", scopes=["read"], days=1)
    invitation, _ = invitations.to_staff("new@provider.org", StaffRole.ADMIN, None)
    hook = webhook("https://scripts.example.org/")
    to_hook = {"name": "CI", "address": "https://hooks.example.org/"}
    route = {"name": "Ops", "kind": "webhook", "address": "https://ops.example.org/"}
    whole = {
        path: body_of("put", f"{V1}{path}")
        for path in ("/alert-routes/{key}", "/alert-routes/own/{key}", "/webhooks/{key}")
    }
    whole["/webhooks/{key}"] |= {"customer": None}
    return {
        "alert_route_make": ("", route),
        "alert_route_change": (mail_route().key, {**route, "name": "Others"}),
        "alert_route_replace": (
            mail_route("ben@example.org").key,
            {**whole["/alert-routes/{key}"], **route, "name": "All", "person": None},
        ),
        "own_alert_route_replace": (own.key, whole["/alert-routes/own/{key}"]),
        "webhook_replace": (hook.key, whole["/webhooks/{key}"]),
        "host_make": ("", {"name": "web9", "address": "198.51.100.9"}),
        "host_enrol": (make.host().key, None),
        "invitation_make": ("", {"email": "third@provider.org", "staff_role": "read_only"}),
        "invitation_renew": (str(invitation.pk), None),
        "person_password_link": (str(person.pk), None),
        "own_alert_route_change": (own.key, {"zone": "Europe/Berlin"}),
        "token_make": ("", {"name": "ci", "scopes": ["read"]}),
        "token_rotate": (served.key, {}),
        "webhook_make": ("", to_hook),
        "webhook_change": (hook.key, to_hook),
        "webhook_secret_change": (hook.key, {}),
    }


@pytest.mark.django_db
def test_a_replay_tells_no_secret_and_is_as_described() -> None:
    asking = staff("admin")
    asked = asked_for(asking)
    components = json.loads(json.dumps(described()["components"]))
    assert set(asked) == set(with_a_secret())
    silent = set()
    for name, (method, path, fields) in with_a_secret().items():
        key, body = asked[name]
        where = path.removeprefix(V1).replace("{key}", key)
        headers = {"Idempotency-Key": f"k-{name}"}
        first, again = (asking.send(method, where, body, **headers) for _ in range(2))
        assert again.get("Idempotency-Replayed") == "true", (name, first.content)
        secrets = {field: first.json()[field] for field in fields if first.json().get(field)}
        if not secrets:
            silent.add(name)
        assert again.json() == {**first.json(), **dict.fromkeys(secrets)}, name
        kept = str(IdempotentRequest.objects.get(key=f"k-{name}").body)
        assert not any(secret in kept for secret in secrets.values()), name
        answers = described()["paths"][path][method]["responses"]
        schema = answers[str(again.status_code)]["content"]["application/json"]["schema"]
        Draft202012Validator({**schema, "components": components}).validate(again.json())
    # A change of a webhook leaves its secret as it is; mails to oneself have none.
    assert silent == {
        "webhook_change",
        "webhook_replace",
        "own_alert_route_change",
        "own_alert_route_replace",
    }
