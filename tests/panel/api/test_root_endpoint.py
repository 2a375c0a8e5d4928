"""An address that the API does not have: a problem that names the near one."""

from __future__ import annotations

import gzip

import pytest
from django.test import Client

from tests.panel.api.asking import V1, Program, problem, staff

pytestmark = pytest.mark.django_db


@pytest.fixture
def asking() -> Program:
    return staff("admin")


def test_each_answer_names_the_release_to_who_is_known(asking: Program) -> None:
    version = asking.get("/").json()["version"]
    assert asking.get("/volumes/")["Tiercel-Version"] == version
    assert asking.get("/nowhere")["Tiercel-Version"] == version
    assert "Tiercel-Version" not in Client().get(f"{V1}/volumes/")


@pytest.mark.parametrize(
    ("address", "near"),
    [
        ("/alert/", "/api/v1/alerts/"),
        ("/volume/abc?limit=3", "/api/v1/volumes/"),
        ("/nowhere/at/all?x=1", "/api/v1/"),
        ("/hosts/abc/wish", "/api/v1/hosts/"),
    ],
)
def test_an_unknown_address_is_not_found_and_the_near_one_is_named(
    asking: Program, address: str, near: str
) -> None:
    body = problem(asking.get(address), 404, "not_found")
    assert "no such path" in body["detail"]
    assert f" {near} " in f"{body['correction']} ".replace(", ", " ")
    assert "openapi.json" in body["correction"]


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "options"])
def test_it_is_not_found_whatever_is_done_there(asking: Program, method: str) -> None:
    sent = asking.send(method, "/job?state=failed", {"x": 1})
    assert "/api/v1/jobs/" in problem(sent, 404, "not_found")["correction"]


@pytest.mark.parametrize("method", ["get", "post", "put", "patch", "delete"])
@pytest.mark.parametrize(
    ("address", "meant"),
    [
        ("/alerts?state=open&limit=3", "/api/v1/alerts/?state=open&limit=3"),
        ("/alerts", "/api/v1/alerts/"),
        ("/hosts/abc/?x=1", "/api/v1/hosts/abc?x=1"),
        ("/hosts/abc/arrays/", "/api/v1/hosts/abc/arrays"),
    ],
)
def test_a_slash_too_few_or_too_many_leads_to_the_address_that_was_meant(
    asking: Program, method: str, address: str, meant: str
) -> None:
    answer = asking.send(method, address)
    assert (answer.status_code, answer["Location"]) == (308, meant)


def test_a_slash_leads_to_no_other_site(asking: Program) -> None:
    for address in ("//evil.example/", "/hosts/%0d%0aSet-Cookie:x/", "/hosts/\\evil/"):
        answer = asking.get(address)
        assert answer.status_code == 404, address


@pytest.mark.parametrize("address", ["/api", "/api/", "/api/v1", "/api/v2/hosts/", "/api/v1?x=1"])
def test_above_the_first_version_there_is_a_problem_too(asking: Program, address: str) -> None:
    answer = Client().get(address, headers=asking.headers())
    assert "/api/v1/ " in problem(answer, 404, "not_found")["correction"]


def test_without_a_token_an_unknown_address_asks_for_one() -> None:
    stranger = Program(staff("admin").user, "tcl_none")
    assert stranger.get("/alerts?state=open").status_code == 401
    assert "Location" not in stranger.get("/alerts")


@pytest.mark.parametrize("name", ["openapi.json", "openapi.yaml"])
def test_the_description_is_packed_for_anybody(name: str) -> None:
    plain = Client().get(f"{V1}/{name}")
    packed = Client().get(f"{V1}/{name}", headers={"Accept-Encoding": "gzip"})
    assert packed["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.content) == plain.content
    assert packed["ETag"] == plain["ETag"] and "Accept-Encoding" in packed["Vary"]
