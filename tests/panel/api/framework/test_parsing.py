"""What a body may be: read, or refused with a reason; never dropped, and never an error of ours."""

from __future__ import annotations

import json
import uuid
from io import BytesIO
from typing import Any

import pytest
from django.core.signals import request_started
from django.db import close_old_connections
from django.test import Client, RequestFactory

from panel.api.urls import urlpatterns
from panel.wsgi import application, with_hosts
from storage.byte_sizes import GIB
from storage.models import CachePlan, Customer
from tests import make
from tests.panel.api.asking import V1, Program, member, problem, staff
from tests.panel.api.test_openapi import described
from tests.scene import job, scene

pytestmark = pytest.mark.django_db

READ = ("get", "head", "options")
PRICE = {"price_minor": 490, "currency": "EUR"}
ABSENT_KEY = "aaaaaaaaaaaaaaaa"


@pytest.fixture
def asking() -> Program:
    return staff()


def post(asking: Program, text: bytes, path: str = "/customers/") -> Any:
    headers = asking.headers(**{"Idempotency-Key": uuid.uuid4().hex})
    return Client(raise_request_exception=False).post(
        V1 + path, text, content_type="application/json", headers=headers
    )


@pytest.mark.parametrize("depth", [33, 300, 900, 1000, 5000, 30_000])
@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_a_deeply_nested_body_is_refused(asking: Program, depth: int, opening: bytes) -> None:
    closing = b"]" if opening == b"[" else b"}"
    text = b'{"name":' + opening * depth + b"1" + closing * depth + b"}"
    if len(text) > 64 * 1024:
        problem(post(asking, text), 413, "too_large")
    else:
        problem(post(asking, text), 400, "parse_error")


@pytest.mark.parametrize("kilobytes", [65, 3 * 1024])
def test_a_large_body_is_refused(asking: Program, kilobytes: int) -> None:
    text = json.dumps({"name": "x" * kilobytes * 1024}).encode()
    assert "64" in problem(post(asking, text), 413, "too_large")["detail"]
    assert not Customer.objects.exists()


@pytest.mark.parametrize("path", ["/billing/usage-lines", "/billing/suspend"])
@pytest.mark.parametrize("kilobytes", [65, 3 * 1024])
def test_a_large_call_of_billing_is_refused(asking: Program, path: str, kilobytes: int) -> None:
    problem(post(asking, b" " * kilobytes * 1024, path), 413, "too_large")


@pytest.mark.parametrize(
    "text",
    [
        b'{"name": "\xff"}',
        b'{"name": "\\ud800"}',
        b'{"\\ud800": 1}',
        b'{"name": ' + b"9" * 5000 + b"}",
        b'{"name": NaN}',
        b'{"name": "a", "name": "b"}',
        b"{",
    ],
)
def test_what_is_no_plain_json_is_refused(asking: Program, text: bytes) -> None:
    problem(post(asking, text), 400, "parse_error")
    assert not Customer.objects.exists()


@pytest.mark.parametrize("text", [b'"name"', b"[]", b"null", b"", b"{}"])
def test_what_is_no_object_with_fields_is_refused(asking: Program, text: bytes) -> None:
    problem(post(asking, text), 422, "invalid")


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**40, 1e300])
@pytest.mark.parametrize(
    ("method", "path", "field"),
    [
        ("post", "/cache-plans/", "size_bytes"),
        ("post", "/cache-plans/", "price_minor"),
        ("put", "/customers/{customer}/mandate", "cap_charge_minor"),
        ("put", "/volumes/{volume}/wish", "size_bytes"),
        ("put", "/volumes/{volume}/wish", "cache/size_bytes"),
        ("put", "/volumes/{volume}/wish", "cache/migration_threshold_sectors"),
    ],
)
def test_a_number_that_no_column_holds_is_refused(
    asking: Program, method: str, path: str, field: str, number: float
) -> None:
    plan = {"name": "a", "size_bytes": 2**30, "price_minor": 1, "currency": "EUR"}
    body: dict[str, Any] = dict(plan) if "plans" in path else {}
    if "mandate" in path:
        body["currency"] = "EUR"
    if field.startswith("cache/"):
        body["cache"] = {"size_bytes": 2**30, field.removeprefix("cache/"): number}
    else:
        body[field] = number
    at = path.format(customer=make.customer().key, volume=scene().volume.key)
    response = asking.send(method, at, body, **{"Idempotency-Key": uuid.uuid4().hex})
    problem(response, 422, "invalid")


def chunked(asking: Program, method: str, path: str, text: bytes) -> tuple[int, dict[str, Any]]:
    """The answer to a request whose body comes in chunks: without a length, as gunicorn passes it
    on once it has put the chunks together."""
    environ = RequestFactory().generic(method, V1 + path, headers=asking.headers()).environ
    environ.pop("CONTENT_LENGTH", None)
    environ |= {
        "CONTENT_TYPE": "application/json",
        "HTTP_HOST": "localhost",
        "HTTP_TRANSFER_ENCODING": "chunked",
        "HTTP_IDEMPOTENCY_KEY": uuid.uuid4().hex,
        "wsgi.input": BytesIO(text),
        "wsgi.input_terminated": True,
    }
    statuses: list[str] = []
    # As the test client does: else the connection of the test would be closed.
    request_started.disconnect(close_old_connections)
    try:
        answer = application(environ, lambda status, headers, info=None: statuses.append(status))
    finally:
        request_started.connect(close_old_connections)
    return int(statuses[0].split()[0]), json.loads(b"".join(answer))


def test_a_body_that_comes_in_chunks_is_read(asking: Program) -> None:
    volume = scene().volume
    path = f"/volumes/{volume.key}"
    status, said = chunked(asking, "PATCH", path, b'{"label": "renamed"}')
    assert (status, said["label"]) == (200, "renamed")
    volume.refresh_from_db()
    assert volume.label == "renamed"
    status, said = chunked(asking, "POST", "/customers/", b'{"name": "Acme"}')
    assert (status, said["name"]) == (201, "Acme")


def test_a_large_body_in_chunks_is_refused(asking: Program) -> None:
    text = json.dumps({"name": "x" * 3 * 1024 * 1024}).encode()
    status, said = chunked(asking, "POST", "/customers/", text)
    assert (status, said["code"]) == (413, "too_large")


@pytest.mark.parametrize("text", [b"", b"{}"])
@pytest.mark.parametrize("noun", ["volumes", "customers", "cache-plans"])
def test_a_change_of_nothing_is_refused(asking: Program, noun: str, text: bytes) -> None:
    keys = {
        "volumes": scene().volume.key,
        "customers": make.customer().key,
        "cache-plans": CachePlan.objects.create(name="Fast", size_bytes=GIB, **PRICE).key,
    }
    path = f"{V1}/{noun}/{keys[noun]}"
    response = Client().generic(
        "PATCH", path, text, content_type="application/json", headers=asking.headers()
    )
    [error] = problem(response, 422, "invalid")["errors"]
    assert (error["pointer"], error["code"]) == ("", "empty")


BODILESS = [
    (method, path)
    for path, operations in described()["paths"].items()
    for method, operation in operations.items()
    if "requestBody" not in operation
]


@pytest.mark.parametrize(("method", "path"), BODILESS)
def test_a_body_where_none_is_read_is_refused(method: str, path: str) -> None:
    there = scene()
    asking = member(make.customer()) if "/orders/" in path else staff()
    made = job(there)
    keys = {"volumes": there.volume.key, "jobs": made.key, "hosts": there.host.key}
    at = path.replace("{key}", keys.get(path.split("/")[3], ABSENT_KEY)).removeprefix(V1)
    headers = asking.headers(**{"Idempotency-Key": uuid.uuid4().hex})
    response = Client().generic(
        method.upper(), V1 + at, '{"why": "x"}', content_type="application/json", headers=headers
    )
    problem(response, 400, "no_body_here")


def test_an_empty_object_where_no_body_is_read_says_nothing(asking: Program) -> None:
    made = job(scene())
    response = asking.send("post", f"/jobs/{made.key}/cancel", {}, **{"Idempotency-Key": "a"})
    assert response.status_code in (200, 202)


def test_every_operation_is_looked_at() -> None:
    assert len(BODILESS) > 20
    assert len(urlpatterns) > 20


@pytest.mark.parametrize(
    ("environ", "is_asked"),
    [
        ({"SERVER_PROTOCOL": "HTTP/1.1", "HTTP_HOST": "localhost"}, True),
        ({"SERVER_PROTOCOL": "HTTP/1.0"}, True),
        ({"SERVER_PROTOCOL": "HTTP/1.1"}, False),
        ({"SERVER_PROTOCOL": "HTTP/1.1", "HTTP_HOST": ""}, False),
    ],
)
def test_a_request_names_its_host(environ: dict[str, str], is_asked: bool) -> None:
    said: list[str] = []
    wrapped = with_hosts(lambda environ, start_response: [b"ours"])
    answer = wrapped(environ, lambda status, headers: said.append(status))
    assert (list(answer) == [b"ours"]) is is_asked
    assert said == ([] if is_asked else ["400 Bad Request"])


@pytest.mark.parametrize("window", [{}, {"start": "22:00"}, {"end": "04:00"}])
def test_an_object_within_a_change_is_whole(asking: Program, window: dict[str, str]) -> None:
    answer = asking.send("patch", f"/hosts/{make.host().key}", {"window": window})
    pointers = {each["pointer"] for each in problem(answer, 422, "invalid")["errors"]}
    assert pointers == {f"/window/{name}" for name in ("start", "end") if name not in window}


@pytest.mark.parametrize("query", ["limit=00200", "limit=+5", "limit=\u0665", "limit=0x10"])
def test_a_number_is_written_in_one_way(query: str) -> None:
    problem(staff().get(f"/volumes/?{query}"), 400, "invalid_parameter")
