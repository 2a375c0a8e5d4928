"""Requests that are lost on the way, come too early, or meet something else."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from panel.cli import panel_client
from panel.cli.exit_codes import CommandError, ExitCode, PanelRefusal
from panel.cli.panel_client import PanelClient
from panel.cli.panel_profiles import made_profile

TOKEN = "tcl_abcdefghijkl.s3cr3t"
Answer = tuple[int, dict[str, str], bytes]
LOST: Answer = (0, {}, b"")
DONE: Answer = (200, {}, b'{"done": true}')


class ScriptedPanel:
    """Gives these answers, one after the other, and keeps what it was asked."""

    def __init__(self, answers: list[Answer]) -> None:
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        panel = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length)
                panel.asked.append((self.command, self.path, dict(self.headers), body))
                status, headers, content = answers[len(panel.asked) - 1]
                self.close_connection = True
                if status:
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)

            do_GET = do_POST = do_PUT = answer

            def log_message(self, *arguments: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    slept: list[float] = []
    monkeypatch.setattr(panel_client, "sleep", slept.append)
    return slept


@pytest.fixture
def scripted(pauses: list[float]) -> Iterator[Callable[..., tuple[ScriptedPanel, PanelClient]]]:
    panels: list[ScriptedPanel] = []

    def start(*answers: Answer) -> tuple[ScriptedPanel, PanelClient]:
        panel = ScriptedPanel(list(answers))
        panels.append(panel)
        threading.Thread(target=panel.server.serve_forever, daemon=True).start()
        return panel, PanelClient(made_profile("test", panel.url, TOKEN))

    yield start
    for panel in panels:
        panel.server.shutdown()
        panel.server.server_close()


Start = Callable[..., tuple[ScriptedPanel, PanelClient]]


def problem(status: int, code: str, **headers: str) -> Answer:
    body = {"code": code, "detail": "No.", "correction": "Do this."}
    return status, headers, json.dumps(body).encode()


def test_a_request_that_is_lost_is_repeated_with_its_key(scripted: Start) -> None:
    panel, client = scripted(LOST, LOST, DONE)
    assert client.ask("POST", "/volumes/", body={"a": 1}).data == {"done": True}
    keys = {headers["Idempotency-Key"] for _, _, headers, _ in panel.asked}
    assert (len(panel.asked), len(keys)) == (3, 1)
    assert {body for *_, body in panel.asked} == {b'{"a": 1}'}


def test_what_no_key_protects_is_sent_once(scripted: Start) -> None:
    panel, client = scripted(LOST, DONE)
    with pytest.raises(CommandError) as lost:
        client.ask("POST", "/alert-routes/", body={}, is_repeatable=False)
    assert (lost.value.ends_with, len(panel.asked)) == (ExitCode.NO_ANSWER, 1)


def test_what_comes_too_early_waits_as_long_as_the_panel_says(
    scripted: Start, pauses: list[float]
) -> None:
    early = problem(429, "too_many_requests", **{"Retry-After": "7"})
    _, client = scripted(early, problem(409, "idempotency_key_in_use"), DONE)
    assert client.get("/volumes/") == {"done": True}
    assert pauses == [7.0, 1.0]


def test_it_does_not_wait_for_an_hour(scripted: Start, pauses: list[float]) -> None:
    _, client = scripted(problem(503, "service_unavailable", **{"Retry-After": "3600"}))
    with pytest.raises(PanelRefusal) as refused:
        client.get("/volumes/")
    assert (refused.value.ends_with, pauses) == (ExitCode.NO_ANSWER, [])


@pytest.mark.parametrize(
    ("status", "code", "ends_with"),
    [
        (400, "invalid_parameter", ExitCode.REFUSED),
        (401, "authentication_failed", ExitCode.NOT_ALLOWED),
        (403, "insufficient_scope", ExitCode.NOT_ALLOWED),
        (404, "not_found", ExitCode.NOT_FOUND),
        (409, "busy", ExitCode.IN_THE_WAY),
        (412, "changed", ExitCode.IN_THE_WAY),
        (422, "no_capacity", ExitCode.REFUSED),
        (500, "internal", ExitCode.NO_ANSWER),
    ],
)
def test_a_problem_ends_with_its_code(
    scripted: Start, status: int, code: str, ends_with: ExitCode
) -> None:
    _, client = scripted(problem(status, code))
    with pytest.raises(PanelRefusal) as refused:
        client.get("/volumes/")
    error = refused.value
    assert (error.ends_with, error.code, error.correction) == (ends_with, code, "Do this.")


@pytest.mark.parametrize(
    "answer",
    [
        (302, {"Location": "https://elsewhere.example.org/"}, b""),
        (200, {}, b"<html>"),
        (502, {}, b"<html>Bad gateway"),
        (404, {}, b'{"detail": "nginx"}'),
    ],
)
def test_what_is_no_panel_gets_no_second_request(scripted: Start, answer: Answer) -> None:
    panel, client = scripted(answer)
    with pytest.raises(CommandError) as refused:
        client.get("/volumes/")
    assert (refused.value.ends_with, len(panel.asked)) == (ExitCode.NO_ANSWER, 1)


def test_where_nothing_listens_it_says_so_without_the_token(pauses: list[float]) -> None:
    with pytest.raises(CommandError, match="does not answer") as refused:
        PanelClient(made_profile("test", "http://127.0.0.1:1", TOKEN)).get("/")
    assert refused.value.ends_with == ExitCode.NO_ANSWER
    assert refused.value.__suppress_context__ and "s3cr3t" not in str(refused.value)


def test_a_list_is_read_page_for_page_and_no_further(scripted: Start) -> None:
    pages = [
        (200, {}, json.dumps({"items": [{"n": n}] * 2, "next_cursor": f"c{n}"}).encode())
        for n in range(3)
    ]
    panel, client = scripted(*pages)
    assert len(list(client.items("/volumes/", 4, state=["managed", "found"], host=None))) == 4
    assert [path for _, path, *_ in panel.asked] == [
        "/api/v1/volumes/?state=managed&state=found&limit=4",
        "/api/v1/volumes/?state=managed&state=found&limit=2&cursor=c0",
    ]
