"""The name of a request leads to a line of the log, a job and an entry of the audit trail."""

from __future__ import annotations

import json
import logging
from uuid import uuid4

import pytest
from django.test import Client
from pytest_django import Settings

from jobs import audit_trail
from jobs.models import AuditEntry, Job
from panel.api import root_endpoint
from storage.byte_sizes import GIB
from storage.request_id import RequestIdFilter, current_request_id
from tests.panel.api.asking import Program, staff
from tests.scene import job, scene, step

pytestmark = pytest.mark.django_db
NAMED = {"X-Request-Id": "crm-4711"}
CACHE = {"size_bytes": 2 * GIB, "mode": "writethrough"}


@pytest.fixture
def asking() -> Program:
    return staff("admin")


def test_each_line_of_the_log_names_the_request_it_came_of(
    asking: Program, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: object) -> list[str]:
        raise ZeroDivisionError

    caplog.handler.addFilter(RequestIdFilter())
    monkeypatch.setattr(root_endpoint.Root, "_names", broken)
    answer = asking.send("get", "/", **NAMED)
    assert answer.status_code == 500
    [record] = [each for each in caplog.records if each.name == "panel.api.framework.problem"]
    assert record.request_id == " [crm-4711]"


def test_outside_requests_a_line_names_none() -> None:
    record = logging.makeLogRecord({"msg": "swept"})
    assert RequestIdFilter().filter(record)
    assert record.request_id == ""


def test_a_page_answers_with_its_name_too(client: Client) -> None:
    assert client.get("/health", headers=NAMED)["X-Request-Id"] == "crm-4711"
    assert len(client.get("/health")["X-Request-Id"]) == 32
    assert current_request_id() == ""


def test_a_job_says_which_request_asked_for_it(asking: Program) -> None:
    there = scene()
    answer = asking.put_wish(there, CACHE, **NAMED)
    assert answer.json()["request_id"] == "crm-4711"
    assert Job.objects.get().request_id == "crm-4711"


def test_a_job_of_no_request_has_none() -> None:
    assert job(scene()).request_id == ""


def test_an_entry_of_the_audit_trail_is_found_by_the_request(asking: Program) -> None:
    there = scene()
    asking.put_wish(there, CACHE, **NAMED)
    asked = Job.objects.get()
    audit_trail.intent(asked, step(asked, state="running", op_id=uuid4()))
    [entry] = asking.get("/audit/", request_id="crm-4711").json()["items"]
    assert (entry["request_id"], entry["job"]) == ("crm-4711", asked.key)
    assert asking.get("/audit/", request_id="crm-1").json()["items"] == []


def test_an_operation_after_another_persons_word_is_of_their_request(asking: Program) -> None:
    waiting = job(scene(), state="waiting", request_id="first")
    step(waiting, state="done", op_id=uuid4())
    path = f"/jobs/{waiting.key}/cancel"
    asking.send("post", path, **{"Idempotency-Key": "k", "X-Request-Id": "second"})
    waiting.refresh_from_db()
    assert (waiting.request_id, waiting.last_request_id) == ("first", "second")
    audit_trail.intent(waiting, step(waiting, n=2, state="running", op_id=uuid4()))
    assert AuditEntry.objects.get().request_id == "second"


def test_on_wish_each_request_leaves_one_line_of_json(
    asking: Program, caplog: pytest.LogCaptureFixture, settings: Settings
) -> None:
    caplog.set_level(logging.INFO, "panel.access")
    asking.send("get", "/", **NAMED)
    assert [each for each in caplog.records if each.name == "panel.access"] == []
    settings.TIERCEL_ACCESS_LOG = "json"
    asking.send("get", "/", **NAMED)
    [record] = [each for each in caplog.records if each.name == "panel.access"]
    line = json.loads(record.getMessage())
    assert line["request_id"] == "crm-4711"
    assert (line["method"], line["route"], line["status"]) == ("GET", "api/v1/", 200)
    assert line["user"] == asking.user.pk
    assert line["token"] == asking.text.removeprefix("tcl_").partition(".")[0]
    assert asking.text.partition(".")[2] not in record.getMessage()
    assert line["milliseconds"] >= 0


def test_the_line_of_a_page_has_neither_its_path_nor_its_parameters(
    caplog: pytest.LogCaptureFixture, settings: Settings, client: Client
) -> None:
    caplog.set_level(logging.INFO, "panel.access")
    settings.TIERCEL_ACCESS_LOG = "json"
    client.get("/invitation/opens-the-door?x=secret")
    [record] = [each for each in caplog.records if each.name == "panel.access"]
    assert "opens-the-door" not in record.getMessage()
    assert "secret" not in record.getMessage()
