"""The panel keeps to its description whatever is asked: schemathesis, as an admin, as a member of a
customer, with a token that only reads, with none, and as the billing system, which signs its calls.

A short run is part of `make test`. `make fuzz-api` is the whole one: all phases, with links, at
least 5,000 cases for each of the first four; CASES are the examples for each operation. Nothing is
left of it that cannot be deleted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from jobs import notify_workers
from panel.api.framework import rate_limits
from panel.api.framework.rate_limits import ConcurrencyLimit, Limits
from panel.api.jobs import wait_for_job
from panel.deliveries import signature
from panel.models import User
from storage.models import Customer, Volume
from tests import make
from tests.panel.api.asking import V1, Program, program
from tests.panel.api.test_openapi import described
from tests.panel.cast import NOUNS, Cast, cast

CASES = int(os.environ.get("CASES", "0"))
BY_KEYS, BY_LINKS = ("examples,coverage,fuzzing" if CASES else "examples,fuzzing"), "stateful"
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "missing_required_header",
    "unsupported_method",
    "use_after_free",
    "ensure_resource_availability",
    "ignored_auth",
)
"""Not positive_data_acceptance: a body may be well-formed and name a volume that is not there."""
LEAST_CASES = 5000
SECONDS = 3000
PATIENCE_SECONDS = 120
"""For one answer, on a machine that has much else to do."""
CONFIGURATION = """
[checks.negative_data_rejection]
# A version that is not there any more is said before the body is read (412).
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 412, 413, 415, 422, 429]

[dictionaries]
{dictionaries}
"""
FOR_CUSTOMERS = """
[checks.missing_required_header]
# What is for staff alone is not there for them, whatever their headers (404).
expected-statuses = [400, 401, 403, 404, 406, 415, 422]
"""
OPERATIONS = """
[[operations]]
include-path-regex = "^/api/v1/{noun}/[{{]key[}}]"
parameters = {{ "path.key" = {{ dictionary = "{noun}", probability = 0.8 }} }}
"""


def configuration(people: Cast, who: str) -> str:
    """Of schemathesis: keys that are asked for, most of the time, instead of missing ones."""
    keys = {noun: str(people.ids[name]) for noun, name in NOUNS.items()}
    named = "\n".join(f'{noun} = {{ values = ["{key}"] }}' for noun, key in keys.items())
    checks = FOR_CUSTOMERS if who == "customer" else ""
    of_nouns = (OPERATIONS.format(noun=noun) for noun in keys)
    return CONFIGURATION.format(dictionaries=named) + checks + "".join(of_nouns)


@pytest.fixture(autouse=True)
def _at_full_speed(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """No limits of rate, no request waits for a job that no worker takes, and no message leaves."""
    settings.TIERCEL_API_TOKEN_RATE = settings.TIERCEL_API_ADDRESS_RATE = 100_000
    settings.ALLOWED_HOSTS = ["*"]
    monkeypatch.setattr(rate_limits, "LIMITS", Limits())
    monkeypatch.setattr(wait_for_job, "PLACES", ConcurrencyLimit(most=0, most_of_one=0))
    monkeypatch.setattr(notify_workers, "send", lambda task, *args, **kwargs: True)


def run(url: str, token: str, phases: str, folder: Path) -> dict[str, Any]:
    """The report of one run; what it said is in the output of a test that fails."""
    report = folder / f"{phases.partition(',')[0]}.json"
    examples = CASES * (20 if phases == BY_LINKS else 1) or 1
    more = ["--header", f"Authorization: Bearer {token}"] if token else []
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "schemathesis.cli",
            "run",
            "openapi.json",
            "--url",
            url,
            "--request-timeout",
            str(PATIENCE_SECONDS),
            "--phases",
            phases,
            "--max-examples",
            str(examples),
            "--checks",
            ",".join(CHECKS),
            "--continue-on-failure",
            "--no-shrink",
            "--no-color",
            "--generation-database",
            "none",
            "--seed",
            "20",
            "--warnings",
            "off",
            "--suppress-health-check",
            "all",
            "--report",
            "json",
            "--report-json-path",
            str(report),
            *more,
        ],
        env={**os.environ, "NO_PROXY": "localhost"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    connections.close_all()
    print(done.stdout[-20_000:], done.stderr[-4000:])
    results: dict[str, Any] = json.loads(report.read_text())
    return results


def description(*, signed: bool) -> dict[str, Any]:
    """What anybody with a token may ask, or what the billing system may: without the headers that
    sign, because the description cannot say how."""
    document: dict[str, Any] = json.loads(json.dumps(described()))
    if signed:
        document["paths"] = {
            path: operations
            for path, operations in document["paths"].items()
            if all("security" not in each for each in operations.values())
        }
        for operations in document["paths"].values():
            for operation in operations.values():
                operation["parameters"] = [
                    each
                    for each in operation["parameters"]
                    if each["name"] not in (signature.ID, signature.TIMESTAMP, signature.SIGNATURE)
                ]
    return document


def deletable() -> dict[str, str]:
    """The lists whose things can be deleted, with the parameter that deletes for good."""
    paths, lists = described()["paths"], {}
    for path, operations in paths.items():
        place = path.removesuffix("{key}")
        if path != place and "delete" in operations and "get" in paths.get(place, {}):
            names = {each["name"] for each in operations["delete"].get("parameters", ())}
            lists[place.removeprefix(V1)] = "?forget=true" if "forget" in names else ""
    return lists


def things(asking: Program) -> set[str]:
    """The addresses of whatever can be deleted."""
    there: set[str] = set()
    for place in deletable():
        query: dict[str, str] = {}
        while True:
            page = asking.get(place, **query).json()
            there |= {f"{place}{each['key']}" for each in page["items"] if not is_over(each)}
            if page.get("next_cursor") is None:
                break
            query = {"cursor": page["next_cursor"]}
    return there


def is_over(thing: dict[str, Any]) -> bool:
    """A silence that ended stands in the list for as long as its history."""
    return "until" in thing and not thing["active"]


def delete_all_but(before: set[str], asking: Program) -> None:
    """Delete what is new, and what hangs on it first; fails where something stays."""
    for job in asking.get("/jobs/", state="queued", limit=200).json()["items"]:
        asking.send("post", f"/jobs/{job['key']}/cancel", **{"Idempotency-Key": uuid.uuid4().hex})
    refusals: dict[str, Any] = {}
    while new := things(asking) - before:
        refusals = {}
        for address in sorted(new):
            place = address[: address.rindex("/") + 1]
            answer = asking.send("delete", f"{address}{deletable()[place]}")
            if answer.status_code not in (200, 204):
                refusals[address] = answer.json()
        assert len(refusals) < len(new), refusals


@pytest.mark.timeout(2 * SECONDS)
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("who", ["admin", "customer", "reader", "stranger", "billing"])
def test_whatever_is_asked_is_answered_as_described(
    who: str, live_server: LiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = cast()
    if who == "billing":
        # Each call is signed, under a name of its own; the examples name Acme and its volume.
        monkeypatch.setattr(signature, "verify", lambda *_: uuid.uuid4().hex)
        Customer.objects.filter(pk=people.acme.customer.pk).update(external_id="crm-42")
        Volume.objects.filter(pk=people.acme.there.volume.pk).update(external_id="vps-1012")
    cleaner = program(make.staff_user("cleaner@provider.org"))
    before, generated = things(cleaner), 0
    tokens = {
        "admin": people.bearers["admin"]["Authorization"].removeprefix("Bearer "),
        "customer": people.bearers["owner"]["Authorization"].removeprefix("Bearer "),
        "reader": program(User.objects.get(email="admin@provider.org"), "read").text,
        "stranger": "",
        "billing": "",
    }
    (tmp_path / "schemathesis.toml").write_text(configuration(people, who))
    (tmp_path / "openapi.json").write_text(json.dumps(description(signed=who == "billing")))
    for phases in (BY_KEYS, BY_LINKS) if CASES else (BY_KEYS,):
        report = run(live_server.url, tokens[who], phases, tmp_path)
        cases, operations = report["test_cases"], report["operations"]
        print(f"{who}, {phases}: {cases}, {operations['tested']} operations")
        assert report["failures"] == [] and report["errors"] == []
        # The calls of a billing system have no links.
        assert cases["errored"] == 0 and (cases["generated"] or who == "billing")
        generated += cases["generated"]
        assert phases == BY_LINKS or operations["tested"] == operations["total"]
    assert not CASES or who == "billing" or generated >= LEAST_CASES
    delete_all_but(before, cleaner)
