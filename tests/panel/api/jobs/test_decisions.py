"""Jobs that need attention, decided by a program."""

from __future__ import annotations

import pytest

from jobs.models import Job, Origin, State
from panel.models import ApiToken
from tests import make
from tests.panel.api.asking import Program, member, own, problem, staff
from tests.scene import job, scene

pytestmark = pytest.mark.django_db
VERBS = {"resume": None, "rollback": None, "resolve": {"why": "removed by hand"}}


@pytest.fixture
def asking() -> Program:
    return staff("operator")


def stuck(**fields: object) -> Job:
    there = scene()
    wish = {"size_bytes": there.volume.size_bytes}
    error = {"code": "cmd_failed", "message": "lvconvert ended with 5", "correction": "Look."}
    return job(there, state=State.NEEDS_ATTENTION, error=error, fallback=wish, **fields)


@pytest.mark.parametrize("verb", VERBS)
def test_a_decision_hands_the_job_to_a_worker_once(asking: Program, verb: str) -> None:
    made = stuck()
    path, body = f"/jobs/{made.key}/{verb}", VERBS[verb]
    problem(asking.send("post", path, body), 400, "idempotency_key_required")
    response = asking.send("post", path, body, **{"Idempotency-Key": "once"})
    assert (response.status_code, response.json()["state"]) == (202, "queued")
    again = asking.send("post", path, body, **{"Idempotency-Key": "once"})
    assert (again.status_code, again["Idempotency-Replayed"]) == (202, "true")
    problem(asking.send("post", path, body, **{"Idempotency-Key": "twice"}), 409, "not_now")


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", ["destroy-volume", "prepare-ssd"])
def test_what_only_an_admin_may_begin_no_operator_finishes(verb: str, kind: str) -> None:
    made = stuck(kind=kind, **({"volume": None} if kind == "prepare-ssd" else {}))
    path, body = f"/jobs/{made.key}/{verb}", VERBS[verb]
    refused = staff("operator").send("post", path, body, **{"Idempotency-Key": "a"})
    problem(refused, 403, "forbidden")
    allowed = staff("admin").send("post", path, body, **{"Idempotency-Key": "b"})
    assert allowed.status_code == 202, allowed.content


def test_there_is_no_way_back_past_the_point_of_no_return(asking: Program) -> None:
    path = f"/jobs/{stuck(is_irrevocable=True).key}/rollback"
    problem(asking.send("post", path, **{"Idempotency-Key": "back"}), 409, "turned")


def test_nor_where_the_job_began_with_nothing(asking: Program) -> None:
    made = stuck()
    Job.objects.filter(pk=made.pk).update(fallback=None)
    path = f"/jobs/{made.key}/rollback"
    problem(asking.send("post", path, **{"Idempotency-Key": "back"}), 409, "no_fallback")


@pytest.mark.parametrize("body", [None, {}, {"why": ""}, {"why": "x" * 201}, {"reason": "x"}])
def test_a_resolution_says_why(asking: Program, body: object) -> None:
    path = f"/jobs/{stuck().key}/resolve"
    problem(asking.send("post", path, body, **{"Idempotency-Key": "done"}), 422, "invalid")


def test_a_job_past_the_point_of_no_return_is_not_cancelled(asking: Program) -> None:
    made = job(scene(), state=State.WAITING, is_irrevocable=True)
    path = f"/jobs/{made.key}/cancel"
    problem(asking.send("post", path, **{"Idempotency-Key": "stop"}), 409, "turned")
    made.refresh_from_db()
    assert (made.state, made.cancel_requested) == (State.WAITING, False)


def test_a_cancelled_job_that_goes_back_has_no_error(asking: Program) -> None:
    there, customer = scene(), make.customer()
    own(there, customer)
    made = job(there, state=State.WAITING, origin=Origin.PORTAL, is_rolling_back=True)
    Job.objects.filter(pk=made.pk).update(actor=None, error={"after_step": 1})
    for program in (asking, member(customer)):
        for path in (f"/jobs/{made.key}", "/jobs/"):
            response = program.get(path)
            assert response.status_code == 200, response.content
        assert response.json()["items"][0]["error"] is None


def test_a_decision_is_that_of_the_token_it_came_by(asking: Program) -> None:
    made = stuck()
    asking.send("post", f"/jobs/{made.key}/resume", **{"Idempotency-Key": "on"})
    made.refresh_from_db()
    token = ApiToken.objects.get(user=asking.user).key
    assert (made.last_actor, made.last_origin, made.last_token) == (asking.user, Origin.API, token)
    assert made.last_address == "127.0.0.1"
