"""One POST: what it may reach, and how long it may take."""

from __future__ import annotations

import http.server
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from panel.deliveries.http_post import (
    ALERTS,
    WEBHOOKS,
    AddressPolicy,
    Forbidden,
    NoResponse,
    PostTarget,
    is_allowed,
    post,
    target_of,
)


class Handler(http.server.BaseHTTPRequestHandler):
    """Remembers what came, and answers by the path."""

    seen: list[dict[str, Any]]

    def do_POST(self) -> None:
        """`/<status>`."""
        size = int(self.headers.get("Content-Length", -1))
        body = self.rfile.read(max(size, 0))
        self.seen.append({"path": self.path, "size": size, "body": body})
        self.send_response(int(self.path.strip("/")))
        self.send_header("Location", "/200")
        self.end_headers()
        self.wfile.write(b"x" * 200_000)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def seen() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def there(seen: list[dict[str, Any]]) -> Iterator[str]:
    handler = type("Remembering", (Handler,), {"seen": seen})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_it_says_what_came_back_and_reads_no_more_than_it_needs(there: str) -> None:
    answer = post(f"{there}/200", b"{}", {}, seconds=5)
    assert (answer.status, len(answer.body)) == (200, 65536)


def test_a_post_without_a_body_says_so(there: str, seen: list[dict[str, Any]]) -> None:
    post(f"{there}/204", b"", {}, seconds=5)
    assert (seen[0]["size"], seen[0]["body"]) == (0, b"")


@pytest.mark.parametrize("value", ["tk_VERYSECRET\r\nX-I: 1", "tk_VERYSECRET\u20ac"])
def test_a_header_that_cannot_be_sent_is_not_repeated(there: str, value: str) -> None:
    with pytest.raises(NoResponse) as failure:
        post(f"{there}/200", b"", {"Authorization": f"Bearer {value}"}, seconds=5)
    assert "VERYSECRET" not in str(failure.value)


def test_what_another_service_says_is_not_repeated() -> None:
    with (
        listening(b"SSH-2.0-OpenSSH_9.2p1 Debian\r\n") as url,
        pytest.raises(NoResponse, match=r"The answer is not HTTP\.\Z"),
    ):
        post(url, b"", {}, seconds=5)


def test_many_addresses_that_do_not_answer_share_one_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    def connect(address: tuple[str, int], timeout: float) -> socket.socket:
        given.append(timeout)
        time.sleep(min(timeout, 0.1))
        raise TimeoutError

    four = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"93.184.215.{n}", 443)) for n in range(4)]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: four)
    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(NoResponse):
        post("https://billing.example.org/", b"", {}, seconds=0.25)
    assert given == sorted(given, reverse=True) and len(given) < len(four)


def test_a_name_that_is_looked_up_for_ever_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    is_over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: is_over.wait(60) and [])
    with pytest.raises(NoResponse, match="No answer within"):
        post("https://billing.example.org/", b"", {}, seconds=0.1)
    is_over.set()


@pytest.mark.parametrize("purpose", [ALERTS, WEBHOOKS])
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_an_address_from_the_pages_or_the_api_leads_to_this_machine_by_name_alone(
    purpose: AddressPolicy, host: str
) -> None:
    url, name = f"http://{host}:8443/x", host.strip("[]")
    with pytest.raises(Forbidden, match=purpose.setting):
        target_of(url, (), purpose)
    assert target_of(url, (name,), purpose).port == 8443
    target = PostTarget(is_https=True, host=name, port=443, path="/", may_be_near=False)
    assert not is_allowed("127.0.0.1", target)


def test_a_redirect_is_an_answer_and_not_followed(there: str, seen: list[dict[str, Any]]) -> None:
    assert post(f"{there}/302", b"{}", {}, seconds=5).status == 302
    assert [each["path"] for each in seen] == ["/302"]


def test_a_server_that_is_away_gives_no_answer() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(NoResponse, match="refused"):
            post(f"http://127.0.0.1:{taken.getsockname()[1]}/", b"", {}, seconds=5)


@contextmanager
def listening(trickle: bytes) -> Iterator[str]:
    """One that sends `trickle` ten times a second for ever, and never an answer."""
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            taken, _ = server.accept()
            with taken:
                while not stop.wait(0.05):
                    try:
                        taken.sendall(trickle)
                    except OSError:
                        return

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        finally:
            stop.set()
            thread.join()


@pytest.mark.parametrize("trickle", [b"", b"H", b"HTTP/1.1 200 OK\r\nX: y\r\n"])
def test_silence_and_a_trickle_are_no_answer(trickle: bytes) -> None:
    with listening(trickle) as url, pytest.raises(NoResponse):
        post(url, b"", {}, seconds=0.3)


@pytest.mark.parametrize(
    ("url", "private", "is_good"),
    [
        ("https://billing.example.org/hook", (), True),
        ("https://billing.example.org:8443/hook?x=1", (), True),
        ("http://localhost:8000/", (), True),
        ("http://127.0.0.1:8000/", (), True),
        ("http://[::1]:8000/", (), True),
        ("http://billing.internal/hook", ("billing.internal",), True),
        ("http://billing.example.org/hook", (), False),
        ("http://billing.example.org/hook", ("billing.internal",), False),
        ("http://127.0.0.1.example.org/", (), False),
        ("ftp://billing.example.org/", (), False),
        ("file:///etc/passwd", (), False),
        ("https://user:word@billing.example.org/", (), False),
        ("https://billing.example.org:port/", (), False),
        ("https:///hook", (), False),
        ("https://10.0.0.1/", (), False),
        ("https://10.0.0.1/", ("10.0.0.1",), True),
        ("https://192.0.0.8/", (), False),
        ("https://[fec0::1]/", (), False),
        ("https://billing.example.org/a b", (), False),
        ("https://billing.example.org/é", (), False),
        ("", (), False),
    ],
)
def test_an_address_is_https_or_what_the_operator_named(
    url: str, private: tuple[str, ...], is_good: bool
) -> None:
    if is_good:
        assert target_of(url, private).host
    else:
        with pytest.raises(Forbidden):
            target_of(url, private)


@pytest.mark.parametrize(
    ("address", "host", "private", "is_good"),
    [
        ("93.184.215.14", "billing.example.org", (), True),
        ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", "billing.example.org", (), True),
        ("10.0.0.7", "billing.example.org", (), False),
        ("10.0.0.7", "billing.example.org", ("billing.example.org",), True),
        ("169.254.169.254", "billing.example.org", (), False),
        ("127.0.0.1", "billing.example.org", (), False),
        ("::ffff:127.0.0.1", "billing.example.org", (), False),
        ("fd00::1", "billing.example.org", (), False),
        ("224.0.0.1", "billing.example.org", (), False),
        ("192.0.0.8", "billing.example.org", (), False),
        ("::127.0.0.1", "billing.example.org", (), False),
        ("fec0::1", "billing.example.org", (), False),
        ("64:ff9b:1::a00:7", "billing.example.org", (), False),
        ("127.0.0.1", "localhost", (), True),
        ("10.0.0.7", "localhost", (), False),
    ],
)
def test_a_name_leads_nowhere_the_operator_did_not_mean(
    address: str, host: str, private: tuple[str, ...], is_good: bool
) -> None:
    target = PostTarget(is_https=True, host=host, port=443, path="/")
    assert is_allowed(address, target, private) is is_good


def test_a_name_that_leads_into_a_private_network_is_not_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("169.254.169.254", 443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: found)
    with pytest.raises(Forbidden, match="private network"):
        post("https://billing.example.org/", b"", {}, seconds=5)
