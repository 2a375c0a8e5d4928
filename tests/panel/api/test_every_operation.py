"""Every operation of the description, so that none is left out: what belongs to another customer is
as if it were not there, and what needs a key says so.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from panel.api.framework.problem import MEDIA_TYPE
from panel.api.urls import urlpatterns
from panel.billing.signed_calls import urlpatterns as billing_patterns
from storage import row_security
from storage.models import CachePlan
from tests import make
from tests.panel.api.asking import V1
from tests.panel.api.test_openapi import described
from tests.panel.cast import NOUNS, Cast, bearer
from tests.panel.cast import people as people

ABSENT, ABSENT_NUMBER = "aaaaaaaaaaaaaaaa", "99999999"
NUMBERED = ("people", "members", "invitations")
"""Nouns whose keys are numbers."""
PARTS = {
    "disk": "disk",
    "array": "disk",
    "fault": "fault",
    "trace": "heat_trace",
    "event": "restart",
    "delivery": "webhook_message",
    "name": "alert_message",
    "message": "alert_message",
}
"""Path parameters below a thing, and what of `Cast.ids` they name."""
NAMED = {
    "volume": "volume",
    "host": "host",
    "customer": "customer",
    "order": "order",
    "ids": "volume",
}
"""Query parameters, and what of `Cast.ids` they name."""
FIELDS = {
    **{"customer": "customer", "host": "host", "volume": "volume", "order": "order", "job": "job"},
    **{"cache_plan": "plan", "hosts": "host", "volumes": "volume"},
}
"""Fields of bodies, and what of `Cast.ids` they name."""
OWN = ("volume", "order", "job", "customer")
"""What another customer has too."""
WHO = ("other", "former")
"""The owner of another customer, and a person who was an administrator, with the token of then."""


class Foreign:
    """Who asks for Acme's."""

    def __init__(self, people: Cast) -> None:
        self.people = people
        former = make.staff_user("former@provider.org")
        self.bearers = {**people.bearers, "former": bearer(former)}
        former.staff_role = ""
        former.save()
        withdrawn = CachePlan.objects.create(
            name="acme's own", size_bytes=1, price_minor=1, currency="EUR", on_offer=False
        )
        self.ids = {**people.ids, "plan": withdrawn.key}
        zebra = people.zebra
        self.own = {
            "volume": zebra.there.volume.key,
            "order": zebra.order.key,
            "job": zebra.job.key,
            "customer": zebra.customer.key,
        }

    def ask(
        self, who: str, method: str, path: str, body: Any, *, with_key: bool = True, **headers: str
    ) -> tuple[int, str, str]:
        """Status, code and text of the answer; what the request did is undone."""
        key = {"Idempotency-Key": uuid.uuid4().hex} if with_key else {}
        with transaction.atomic(), row_security.scope(row_security.NO_ROWS):
            answer = Client().generic(
                method.upper(),
                path,
                "" if body is None else json.dumps(body),
                content_type="application/json",
                headers={**self.bearers[who], **key, **headers},
            )
            transaction.set_rollback(True)
        text = answer.content.decode()
        is_json = "json" in answer.get("Content-Type", "")
        code = answer.json().get("code", "") if is_json and isinstance(answer.json(), dict) else ""
        return answer.status_code, code, text

    def traces_in(self, text: str) -> list[str]:
        return [trace for trace in self.people.acme.traces if trace in text]


@pytest.fixture(scope="module")
def foreign(people: Cast) -> Foreign:
    return Foreign(people)


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in described()["paths"].items():
        for method, operation in methods.items():
            if not path.startswith(f"{V1}/billing/"):
                yield method, path, operation


def parameters(operation: dict[str, Any], place: str) -> list[str]:
    return [each["name"] for each in operation.get("parameters", ()) if each["in"] == place]


BY_KEY = [(method, path) for method, path, each in operations() if parameters(each, "path")]
LISTS = [
    ("get", path)
    for method, path, each in operations()
    if method == "get" and not parameters(each, "path")
]
BY_NAME = [
    (method, path, name)
    for method, path, each in operations()
    if not parameters(each, "path")
    for name in parameters(each, "query")
    if name in NAMED
]


def body_of(method: str, path: str) -> Any:
    """What the description shows as an example."""
    operation = described()["paths"][path][method]
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return None
    name = content["schema"]["$ref"].rpartition("/")[2]
    return json.loads(json.dumps(described()["components"]["examples"][name]["value"]))


def fields_of(method: str, path: str) -> list[str]:
    """The fields of a body that name something."""
    content = described()["paths"][path][method].get("requestBody", {}).get("content", {})
    name = content.get("application/json", {}).get("schema", {}).get("$ref", "").rpartition("/")[2]
    properties = described()["components"]["schemas"].get(name, {}).get("properties", ())
    return [field for field in properties if field in FIELDS]


def filled(path: str, ids: dict[str, Any], absent: str) -> str:
    """The address for Acme's things, or for those that no one has."""
    noun = path.split("/")[3]
    named = {"key": NOUNS.get(noun, f"no row for {noun}"), **PARTS}
    for parameter in [part[1:-1] for part in path.split("/") if part.startswith("{")]:
        path = path.replace(f"{{{parameter}}}", absent or str(ids[named[parameter]]))
    return path


BY_FIELD = [
    (method, path, name)
    for method, path, each in operations()
    if not parameters(each, "path") or NOUNS[path.split("/")[3]] in OWN
    for name in fields_of(method, path)
]


@pytest.mark.parametrize("who", WHO)
def test_what_is_foreign_is_answered_as_what_is_not_there(
    foreign: Foreign, subtests: pytest.Subtests, who: str
) -> None:
    for method, path in BY_KEY:
        with subtests.test(f"{method} {path}"):
            absent = ABSENT_NUMBER if path.split("/")[3] in NUMBERED else ABSENT
            body = body_of(method, path)
            status, code, text = foreign.ask(who, method, filled(path, foreign.ids, ""), body)
            assert (status, code) in ((404, "not_found"), (403, "insufficient_scope")), text
            assert (status, code) == foreign.ask(who, method, filled(path, {}, absent), body)[:2]
            assert foreign.traces_in(text) == []


@pytest.mark.parametrize("who", WHO)
def test_no_list_shows_what_is_foreign(
    foreign: Foreign, subtests: pytest.Subtests, who: str
) -> None:
    for method, path in LISTS:
        with subtests.test(f"{method} {path}"):
            status, _, text = foreign.ask(who, method, path, None)
            assert status in (200, 404), text
            assert foreign.traces_in(text) == []


@pytest.mark.parametrize("who", WHO)
def test_a_foreign_name_in_a_filter_finds_what_a_name_of_nothing_finds(
    foreign: Foreign, subtests: pytest.Subtests, who: str
) -> None:
    for method, path, name in BY_NAME:
        with subtests.test(f"{method} {path} {name}"):
            named = str(foreign.ids[NAMED[name]])
            mine = foreign.ask(who, method, f"{path}?{name}={named}", None)
            nothing = foreign.ask(who, method, f"{path}?{name}={ABSENT}", None)
            assert mine[:2] == nothing[:2]
            assert foreign.traces_in(mine[2]) == []


@pytest.mark.parametrize("who", WHO)
def test_a_foreign_name_in_a_body_is_refused_as_a_name_of_nothing(
    foreign: Foreign, subtests: pytest.Subtests, who: str
) -> None:
    def asked(method: str, path: str, name: str, thing: str) -> tuple[int, str, str]:
        body = {**body_of(method, path), name: [thing] if name.endswith("s") else thing}
        status, code, text = foreign.ask(who, method, filled(path, foreign.own, ""), body)
        return status, code, text.replace(thing, "")

    for case in BY_FIELD:
        with subtests.test(" ".join(case)):
            theirs = asked(*case, str(foreign.ids[FIELDS[case[2]]]))
            assert theirs[0] >= 400
            assert theirs[:2] == asked(*case, ABSENT)[:2]
            assert foreign.traces_in(theirs[2]) == []


def test_no_operation_is_left_out() -> None:
    asked = {*BY_KEY, *LISTS}
    left = {(method, path) for method, path, _ in operations()} - asked
    assert all(method != "get" and "{" not in path for method, path in left)
    assert len(BY_FIELD) > 10


def example(parameter: dict[str, Any]) -> str:
    """A value that the description of a query parameter allows."""
    schema = parameter["schema"].get("items", parameter["schema"])
    if "enum" in schema:
        return str(schema["enum"][0])
    by_format = {"date-time": "2026-11-28T08:00:00Z", "date": "2026-11-28"}
    by_type = {"boolean": "true", "integer": "7", "number": "7"}
    return by_format.get(schema.get("format", ""), by_type.get(schema["type"], "a"))


def test_no_parameter_of_a_read_makes_it_fail(foreign: Foreign, subtests: pytest.Subtests) -> None:
    for method, path, operation in operations():
        queries = [each for each in operation.get("parameters", ()) if each["in"] == "query"]
        if method != "get":
            continue
        for parameter in queries:
            query = f"?{parameter['name']}={example(parameter)}"
            with subtests.test(path + query):
                status, _, text = foreign.ask("admin", method, acmes(foreign, path) + query, None)
                assert status < 500, text


KEYED = [
    (method, path)
    for method, path, each in operations()
    if "Idempotency-Key" in parameters(each, "header")
]


VERSIONED = [
    (method, path)
    for method, path, each in operations()
    if "If-Match" in parameters(each, "header")
]
NOT_YET = {
    "/api/v1/customers/{key}/suspension": "The customer may order.",
    "/api/v1/halt": "The jobs are not stopped.",
    "/api/v1/hosts/{key}/maintenance": "The host is in use.",
}
"""Addresses where nothing is that could have another version."""


def acmes(foreign: Foreign, path: str) -> str:
    """The address of Acme's thing that the operation is about."""
    job = "preview" if path.endswith("/apply") else "job"
    return filled(path, {**foreign.people.ids, "job": foreign.people.ids[job]}, "")


@pytest.mark.parametrize("who", ["admin", "owner"])
def test_no_request_is_in_its_own_way(
    foreign: Foreign, subtests: pytest.Subtests, who: str
) -> None:
    """It would be where a view kept the key itself, and the framework kept it too."""
    for method, path in KEYED:
        with subtests.test(f"{method} {path}"):
            body = body_of(method, path)
            status, code, text = foreign.ask(who, method, acmes(foreign, path), body)
            assert status < 500, text
            assert code != "idempotency_key_in_use", text


def test_a_change_of_an_older_version_is_refused(
    foreign: Foreign, subtests: pytest.Subtests
) -> None:
    for method, path in VERSIONED:
        with subtests.test(f"{method} {path}"):
            is_missing = path in NOT_YET and method == "delete"
            body, stale = body_of(method, path), {"If-Match": '"bogus"'}
            answer = foreign.ask("admin", method, acmes(foreign, path), body, **stale)
            assert answer[:2] == ((404, "not_found") if is_missing else (412, "changed")), answer


def test_a_key_is_required_where_the_description_says_so(
    foreign: Foreign, subtests: pytest.Subtests
) -> None:
    """Of those who may ask; where there are dry runs, they need none."""
    for method, path in KEYED:
        with subtests.test(f"{method} {path}"):
            operation = described()["paths"][path][method]
            [key] = [each for each in operation["parameters"] if each["name"] == "Idempotency-Key"]
            query = "?dry_run=true" if "dry_run" in parameters(operation, "query") else ""
            at, body = acmes(foreign, path) + query, body_of(method, path)
            codes = {
                who: foreign.ask(who, method, at, body, with_key=False)[1]
                for who in ("admin", "owner")
            }
            is_required = key.get("required", False)
            assert ("idempotency_key_required" in codes.values()) is is_required, codes


KNOWN = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
METHODS = {*KNOWN, "TRACE", "PROPFIND", "USER"}
"""Two more of HTTP and WebDAV, and the name of an attribute that every view has."""
ROUTES = {
    str(route.pattern): {name for name in KNOWN if hasattr(route.callback.view_class, name.lower())}
    for route in (*urlpatterns, *billing_patterns)
    if route.name != "api-nothing"
}


@pytest.mark.parametrize("role", ["admin", "owner"])
def test_a_method_that_an_address_does_not_know_is_answered_alike_everywhere(
    foreign: Foreign, subtests: pytest.Subtests, role: str
) -> None:
    for route, views in ROUTES.items():
        path = f"{V1}/{re.sub('<str:.*?>', ABSENT, route)}"
        known = views | ({"HEAD"} if "GET" in views else set())
        with subtests.test(path):
            for method in sorted(METHODS - known):
                answer = Client().generic(method, path, headers=foreign.bearers[role])
                assert (answer.status_code, answer["Content-Type"]) == (405, MEDIA_TYPE), method
                assert set(answer["Allow"].split(", ")) == known
                if method != "HEAD":
                    assert answer.json()["code"] == "method_not_allowed"


def test_every_operation_says_what_an_unknown_method_gets() -> None:
    assert "Allow" in described()["components"]["responses"]["Problem405"]["headers"]
    for method, path, operation in operations():
        assert "405" in operation["responses"], f"{method} {path}"
