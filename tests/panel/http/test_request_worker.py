"""gunicorn gives a thread to whole requests alone, so half a request holds nothing."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from panel.configuration.gunicorn import threads
from panel.http import request_worker
from panel.http.request_worker import PartialRequest
from panel.operations.local_services import CHECKOUT

START_SECONDS = 60
ANSWER_SECONDS = 10
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\n"
HALVES = {
    "nothing": b"",
    "part of the head": POST[:9],
    "no body": POST + b"Content-Length: 1000\r\n\r\n",
    "part of a body": POST + b"Content-Length: 1000\r\n\r\nab",
    "part of a chunk": POST + b"Transfer-Encoding: chunked\r\n\r\nff\r\n\r\n0\r\n\r\n",
}


@contextlib.contextmanager
def serving(**variables: str) -> Iterator[int]:
    """gunicorn as the panel configures it, with one process; its port."""
    gunicorn = str(Path(sys.executable).with_name("gunicorn"))
    process = subprocess.Popen(
        [gunicorn, "tests.panel.http.echo", "--config", "python:tests.panel.http.echo"],
        cwd=CHECKOUT,
        env={**os.environ, **variables},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if found := re.search(r"Listening at: http://127.0.0.1:(\d+)", line):
                yield int(found[1])
                return
        raise AssertionError("gunicorn did not start")
    finally:
        process.terminate()
        process.communicate(timeout=START_SECONDS)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serving() as number:
        yield number


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS)


def answered(client: socket.socket) -> bytes:
    """What comes until an answer is complete."""
    text = b""
    while not (found := re.search(rb"(?i)content-length: (\d+)\r\n(?:.*\r\n)*?\r\n", text)) or (
        len(text) < found.end() + int(found[1])
    ):
        piece = client.recv(65536)
        if not piece:
            break
        text += piece
    return text


def asks(port: int, text: bytes, *more: bytes) -> bytes:
    with connected(port) as client:
        for each in (text, *more):
            client.sendall(each)
        return answered(client)


@pytest.mark.parametrize("half", HALVES.values(), ids=HALVES)
def test_half_requests_hold_no_thread(port: int, half: bytes) -> None:
    with contextlib.ExitStack() as held:
        for _ in range(threads * 2):
            held.enter_context(connected(port)).sendall(half)
        answer = asks(port, POST + b"Content-Length: 2\r\n\r\nok")
    assert answer.startswith(b"HTTP/1.1 200") and answer.endswith(b"ok")


def test_clients_that_do_not_close_hold_no_thread_and_not_the_loop(port: int) -> None:
    with contextlib.ExitStack() as held:
        for _ in range(threads):
            client = held.enter_context(connected(port))
            client.sendall(POST + b"Connection: close\r\nContent-Length: 2\r\n\r\nok")
            assert answered(client).endswith(b"ok")


def test_clients_that_do_not_read_their_answer_hold_no_thread() -> None:
    large = POST + b"Content-Length: 65536\r\n\r\n" + b"x" * 65536
    with serving(ECHO_TIMES="256", ECHO_ANSWER_SECONDS="1") as port, contextlib.ExitStack() as held:
        for _ in range(threads):
            client = held.enter_context(socket.socket())
            # Else the kernel would keep all of the answer for them.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(ANSWER_SECONDS)
            client.connect(("127.0.0.1", port))
            client.sendall(large)
        assert asks(port, POST + b"Content-Length: 2\r\n\r\nok").startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "pieces",
    [
        (POST[:20], POST[20:] + b"Content-Le", b"ngth: 5\r", b"\n\r\nhe", b"llo"),
        (
            POST + b"transfer-encoding: chunked\r\n\r",
            b"\n2\r\nhe\r",
            b"\n3\r\nllo\r\n0\r\n",
            b"\r\n",
        ),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n5;x=1\r\nhello\r\n0\r\nX: ", b"y\r\n\r\n"),
    ],
)
def test_a_request_in_pieces_is_put_together(port: int, pieces: tuple[bytes, ...]) -> None:
    with connected(port) as client:
        for piece in pieces:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client.sendall(piece)
        assert answered(client).endswith(b"hello")


def test_requests_one_behind_the_other_are_answered_in_their_order(port: int) -> None:
    first, second = (POST + b"Content-Length: 1\r\n\r\n" + each for each in (b"1", b"2"))
    with connected(port) as client:
        client.sendall(first + second[:-1])
        assert answered(client).endswith(b"1")
        client.sendall(second[-1:])
        assert answered(client).endswith(b"2")


def test_who_expects_to_be_asked_for_the_body_is_asked(port: int) -> None:
    with connected(port) as client:
        client.sendall(POST + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert client.recv(65536).startswith(b"HTTP/1.1 100 Continue\r\n\r\n")
        client.sendall(b"ok")
        assert answered(client).endswith(b"ok")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (POST + b"Content-Length: 5000000\r\n\r\n", b"413"),
        (POST + b"X: " + b"x" * request_worker.LARGEST_HEAD_BYTES, b"431"),
        (POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc", b"400"),
        (b"no HTTP at all\r\n\r\n", b"400"),
    ],
)
def test_what_is_too_large_or_no_request_is_refused(port: int, text: bytes, status: bytes) -> None:
    assert asks(port, text).startswith(b"HTTP/1.1 " + status)


def test_what_is_not_whole_in_time_is_dropped() -> None:
    with serving(ECHO_SECONDS="0.2") as port:
        assert asks(port, HALVES["part of a body"]).startswith(b"HTTP/1.1 408")
        assert asks(port, HALVES["nothing"]) == b""


@pytest.mark.parametrize("half", list(HALVES.values()))
def test_a_half_is_not_whole(half: bytes) -> None:
    assert not PartialRequest(half).is_whole()


def test_a_request_that_names_two_lengths_waits_for_the_longer_one() -> None:
    head = POST + b"Content-Length: 1\r\ncontent-length: 3\r\n\r\n"
    assert not PartialRequest(head + b"ab").is_whole()
    assert PartialRequest(head + b"abc").is_whole()
