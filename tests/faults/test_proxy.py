"""The proxy breaks at the requested byte."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from tests.faults.proxy import Direction, Proxy

SECONDS = 10.0


@pytest.fixture
def echo() -> Iterator[int]:
    """The port of a server that says back what it hears."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                near, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(near,), daemon=True).start()

    def answer(near: socket.socket) -> None:
        with near:
            while chunk := _heard(near):
                near.sendall(chunk)

    threading.Thread(target=serve, daemon=True).start()
    yield server.getsockname()[1]
    server.shutdown(socket.SHUT_RDWR)
    server.close()


def _heard(near: socket.socket) -> bytes:
    try:
        return near.recv(65536)
    except OSError:
        return b""


def dialled(proxy: Proxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), SECONDS)


def all_that_comes(line: socket.socket) -> bytes:
    found = b""
    while chunk := _heard(line):
        found += chunk
    return found


@pytest.mark.parametrize("direction", ["up", "down"])
@pytest.mark.parametrize("count", [0, 1, 7, 4096])
def test_after_so_many_bytes_the_line_is_cut_and_the_next_one_holds(
    echo: int, direction: Direction, count: int
) -> None:
    with Proxy(echo) as proxy:
        proxy.cut_after(count, direction)
        with dialled(proxy) as line:
            line.sendall(b"x" * 5000)
            heard = all_that_comes(line)
        assert len(heard) <= count if direction == "up" else heard == b"x" * count
        assert proxy.cuts == 1
        with dialled(proxy) as line:
            line.sendall(b"again")
            assert line.recv(5) == b"again"


def test_a_black_hole_neither_answers_nor_closes_until_it_is_healed(echo: int) -> None:
    with Proxy(echo) as proxy, dialled(proxy) as line:
        line.sendall(b"before")
        assert line.recv(6) == b"before"
        proxy.black_hole()
        line.sendall(b"lost")
        line.settimeout(0.3)
        with pytest.raises(TimeoutError):
            line.recv(1)
        line.settimeout(SECONDS)
        proxy.heal()
        assert all_that_comes(line) == b""
        with dialled(proxy) as fresh:
            fresh.sendall(b"after")
            assert fresh.recv(5) == b"after"


def test_a_refusing_proxy_refuses_and_comes_back_on_its_port(echo: int) -> None:
    with Proxy(echo) as proxy:
        proxy.refuse()
        with pytest.raises(ConnectionRefusedError):
            dialled(proxy)
        proxy.heal()
        with dialled(proxy) as line:
            line.sendall(b"x")
            assert line.recv(1) == b"x"
