"""By which names the panel answers."""

from __future__ import annotations

import logging

import pytest
from django.test import Client
from pytest_django import Settings


@pytest.fixture(autouse=True)
def _a_public_panel(settings: Settings) -> None:
    settings.TIERCEL_PUBLIC_URL = "https://panel.example.org"
    settings.ALLOWED_HOSTS = ["panel.example.org", "panel.lan", "localhost"]


@pytest.mark.parametrize(
    "host",
    # A proxy that does not pass the name on asks by loopback.
    [
        "panel.example.org",
        "panel.example.org:443",
        "panel.lan:8000",
        "PANEL.example.org",
        "localhost:8000",
    ],
)
def test_it_answers_by_its_names(client: Client, host: str) -> None:
    assert client.get("/account/login/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example.net", "panel.example.org:31337", "panel.example.org:80", "a b", ""]
)
def test_another_name_or_port_is_refused_in_one_quiet_line(
    client: Client, host: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        answer = client.get("/account/login/", headers={"Host": host})
    assert answer.status_code == 400
    (line,) = [each for each in caplog.records if each.name.startswith(("panel", "django.sec"))]
    assert (line.levelno, line.exc_info) == (logging.WARNING, None)


@pytest.mark.parametrize("path", ["/api/v1/volumes/", "/api/", "/metrics"])
def test_programs_are_refused_with_a_problem(client: Client, path: str) -> None:
    answer = client.get(path, headers={"Host": "evil.example.net"})
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    body = answer.json()
    assert (body["status"], body["code"]) == (400, "bad_request")
    assert body["instance"].endswith(answer["X-Request-Id"])
    assert body["correction"]


def test_the_port_of_the_public_address_counts(client: Client, settings: Settings) -> None:
    settings.TIERCEL_PUBLIC_URL = "https://panel.example.org:8443"
    for port, status in (("8443", 200), ("443", 400)):
        host = f"panel.example.org:{port}"
        assert client.get("/account/login/", headers={"Host": host}).status_code == status


def test_a_panel_of_this_machine_alone_may_be_reached_through_a_tunnel(
    client: Client, settings: Settings
) -> None:
    settings.TIERCEL_PUBLIC_URL = "http://localhost:8000"
    assert client.get("/account/login/", headers={"Host": "localhost:9000"}).status_code == 200
