"""The audit trail over the API."""

from __future__ import annotations

import pytest

from jobs import audit_trail
from jobs.models import Job
from tests.panel.api.asking import Program, problem, staff
from tests.scene import job, scene, step

pytestmark = pytest.mark.django_db


@pytest.fixture
def asking() -> Program:
    return staff("read_only")


def deed(number: int) -> Job:
    """A job with one operation that went well."""
    there = job(scene())
    op_id = f"6a7c1e4e-1b57-4c0e-8a53-{number:012d}"
    done = step(there, op_id=op_id, state="done", args={"vg": "vg0"})
    audit_trail.intent(there, done)
    audit_trail.outcome(there, done)
    return there


def test_an_entry_says_who_where_what_and_the_result(asking: Program) -> None:
    there = deed(1)
    outcome, intent = asking.get("/audit/").json()["items"]
    assert (intent["phase"], intent["commands"], intent["result"]) == ("intent", [], {})
    assert (outcome["phase"], outcome["result"]) == ("outcome", {"state": "done"})
    assert outcome["commands"] == [{"argv": ["lvconvert"], "rc": None}]
    assert (outcome["job"], outcome["volume"]) == (there.key, there.volume.key)
    assert (outcome["host"], outcome["vg"]) == (there.host.name, "vg0")


def test_it_is_read_in_pages_newest_first(asking: Program) -> None:
    jobs = [deed(number).key for number in range(3)]
    seen, cursor = [], ""
    while cursor is not None:
        query = {"limit": 2, **({"cursor": cursor} if cursor else {})}
        page = asking.get("/audit/", **query).json()
        seen += [item["job"] for item in page["items"]]
        cursor = page["next_cursor"]
    assert seen == [key for key in reversed(jobs) for _ in range(2)]


def test_each_filter_narrows_it(asking: Program) -> None:
    there, _ = deed(1), deed(2)
    for name, value in {
        "job": there.key,
        "host": there.host.name,
        "volume": there.volume.key,
    }.items():
        items = asking.get("/audit/", **{name: value}).json()["items"]
        assert {item["job"] for item in items} == {there.key}, name
        assert len(items) == 2
    assert asking.get("/audit/", since="2999-01-01").json()["items"] == []
    problem(asking.get("/audit/", since="soon"), 400, "invalid_parameter")
    problem(asking.get("/audit/", verb="x"), 400, "invalid_parameter")
