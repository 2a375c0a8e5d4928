"""Servers that take what is sent: by HTTP, and by SMTP. Each is down while the test wants it."""

from __future__ import annotations

import email
import email.policy
import http.server
import socketserver
import threading
from email.message import EmailMessage
from types import TracebackType
from typing import Any, Self


class HttpReceiver(http.server.BaseHTTPRequestHandler):
    """Remembers what came; answers by `statuses`, then 200. What is no 200 has the `headers`."""

    got: list[dict[str, Any]]
    statuses: list[int]
    sent_headers: dict[str, str]

    def do_POST(self) -> None:
        """A request with a body."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        status = self.statuses.pop(0) if self.statuses else 200
        self.got.append(
            {
                "method": self.command,
                "path": self.path,
                "headers": headers,
                "body": body,
                "status": status,
            }
        )
        self.send_response(status)
        for name, value in self.sent_headers.items() if status != 200 else ():
            self.send_header(name, value)
        self.end_headers()

    do_PUT = do_POST

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


class SmtpReceiver(socketserver.StreamRequestHandler):
    """Enough of RFC 5321 for a client that sends one message after the other."""

    got: list[EmailMessage]
    state: dict[str, bool]

    def handle(self) -> None:
        """One connection."""
        if self.state["down"]:
            self._say(b"421 not now")
            return
        self._say(b"220 there")
        while line := self.rfile.readline().rstrip(b"\r\n"):
            word = line[:4].upper()
            if word == b"QUIT":
                self._say(b"221 bye")
                return
            if word == b"DATA":
                self._say(b"354 go on")
                self._take()
            self._say(b"250 yes")

    def _take(self) -> None:
        lines = []
        while (line := self.rfile.readline()) not in (b".\r\n", b""):
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        message = email.message_from_bytes(b"".join(lines), policy=email.policy.default)
        assert isinstance(message, EmailMessage)
        self.got.append(message)

    def _say(self, line: bytes) -> None:
        self.wfile.write(line + b"\r\n")
        self.wfile.flush()


class ThreadingSmtp(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


class Receiver:
    """Serves on a thread of its own. A context manager."""

    def __init__(self, server: socketserver.BaseServer) -> None:
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Place(Receiver):
    """A web server of the test."""

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []
        self.statuses: list[int] = []
        self.headers: dict[str, str] = {}
        fields = {"got": self.got, "statuses": self.statuses, "sent_headers": self.headers}
        handler = type("Remembering", (HttpReceiver,), fields)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        super().__init__(server)


class Postbox(Receiver):
    """A mail server of the test."""

    def __init__(self) -> None:
        self.got: list[EmailMessage] = []
        self._state = {"down": False}
        handler = type("Remembering", (SmtpReceiver,), {"got": self.got, "state": self._state})
        server = ThreadingSmtp(("127.0.0.1", 0), handler)
        self.port = int(server.server_address[1])
        super().__init__(server)

    def is_down(self, down: bool) -> None:
        """From now on it sends everybody away, or takes what comes."""
        self._state["down"] = down
