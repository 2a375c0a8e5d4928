"""The worker of gunicorn that gives a thread to whole requests alone.

gunicorn's own reads head and body in the thread that answers, for as long as the client takes: some
thirty clients that each send half a request, which takes no credential, hold all threads. Here the
loop that accepts connections gathers a request first, without a thread, and drops what is not whole
in time. The same loop waits for clients that do not close a connection whose answer they have. Who
does not read the answer either loses the connection.
"""

from __future__ import annotations

import contextlib
import re
import socket
import time
from functools import partial
from selectors import EVENT_READ
from typing import Any, Final

from gunicorn.workers.gthread import TConn, ThreadWorker  # type: ignore[import-untyped]

REQUEST_SECONDS: float = 15.0
"""A request is whole so long after its connection, or after its first byte on one that stayed
open."""
ANSWER_SECONDS: float = 60.0
"""So long a client may take over one piece of an answer, which is mostly all of it: a thread sends
it."""
LARGEST_HEAD_BYTES: Final = 64 * 1024
LARGEST_BODY_BYTES: Final = 4 * 1024 * 1024
"""No form and no file that the panel takes is as large."""
MOST_HELD_BYTES: Final = 64 * 1024 * 1024
"""Of all requests of this process that are not whole yet."""
MOST_WAITING: Final = 500
"""Connections whose requests are not whole, and those that wait for their clients to close."""
LINGER_SECONDS: Final = 2.0
PIECE_BYTES: Final = 64 * 1024
HEAD_END: Final = b"\r\n\r\n"
LENGTH: Final = re.compile(rb"(?i)content-length:[ \t]*(\d{1,18})[ \t]*\Z")
CHUNKED: Final = re.compile(rb"(?i)transfer-encoding[ \t]*:")
EXPECTS: Final = re.compile(rb"(?i)expect:[ \t]*100-continue[ \t]*\Z")
CHUNK_SIZE: Final = re.compile(rb"([0-9a-fA-F]{1,8})[ \t]*(?:;.*)?\Z")
TOO_LATE: Final = "408 Request Timeout"
TOO_LARGE: Final = "413 Content Too Large"
HEAD_TOO_LARGE: Final = "431 Request Header Fields Too Large"


class PartialRequest:
    """What is there of one request. What is no HTTP counts as whole: gunicorn refuses it."""

    def __init__(self, held: bytes) -> None:
        self.data = bytearray(held)
        self.ends_at = time.monotonic() + REQUEST_SECONDS
        self.expects_continue = False
        self._body_from = 0
        self._length = 0
        self._is_chunked = False
        self._next_chunk = 0

    @property
    def refusal(self) -> str:
        """The status of a request that is too large, "" for one that is not."""
        if not self._body_from:
            return HEAD_TOO_LARGE if len(self.data) > LARGEST_HEAD_BYTES else ""
        length = max(self._length, len(self.data) - self._body_from if self._is_chunked else 0)
        return TOO_LARGE if length > LARGEST_BODY_BYTES else ""

    def add(self, piece: bytes) -> None:
        """The next bytes of the connection."""
        self.data += piece

    def is_whole(self) -> bool:
        """Whether nothing more has to come."""
        if not self._body_from:
            end = self.data.find(HEAD_END)
            if end < 0:
                return False
            self._read_head(bytes(self.data[:end]))
            self._body_from = self._next_chunk = end + len(HEAD_END)
        if self._is_chunked:
            return self._has_last_chunk()
        return len(self.data) - self._body_from >= self._length

    def _read_head(self, head: bytes) -> None:
        for line in head.split(b"\r\n")[1:]:
            if (length := LENGTH.match(line)) is not None:
                self._length = max(self._length, int(length[1]))
            self._is_chunked |= CHUNKED.match(line) is not None
            self.expects_continue |= EXPECTS.match(line) is not None

    def _has_last_chunk(self) -> bool:
        while (line_end := self.data.find(b"\r\n", self._next_chunk)) >= 0:
            size = CHUNK_SIZE.match(bytes(self.data[self._next_chunk : line_end]))
            if size is None:
                return True
            if (length := int(size[1], 16)) == 0:
                # Trailers, if any, end with an empty line.
                return self.data.find(HEAD_END, line_end) >= 0
            after = line_end + 2 + length + 2
            if after > len(self.data):
                return False
            self._next_chunk = after
        return False


class PatientConnection(TConn):  # type: ignore[misc]
    """Closes without letting the loop wait for the client."""

    def __init__(self, worker: WholeRequestWorker, *args: Any) -> None:
        super().__init__(*args)
        self._worker = worker

    def close(self, graceful: bool = False) -> None:
        """Let the client read the answer to its end, or close at once."""
        if graceful:
            self._worker.linger(self.sock)
        else:
            super().close()


class WholeRequestWorker(ThreadWorker):  # type: ignore[misc]
    """Its loop is one thread: what is gathered and what lingers needs no lock."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Both by their ends, the earliest first.
        self._partial: dict[PatientConnection, PartialRequest] = {}
        self._lingering: dict[socket.socket, float] = {}

    def accept(self, listener: socket.socket) -> None:
        """A new connection."""
        with contextlib.suppress(BlockingIOError, ConnectionAbortedError):
            client, address = listener.accept()
            self.nr_conns += 1
            self.enqueue_req(
                PatientConnection(self, self.cfg, client, address, listener.getsockname())
            )

    def enqueue_req(self, conn: PatientConnection) -> None:
        """Gather the next request of the connection, and give it to a thread once it is whole."""
        conn.init()
        # What came behind the request before is there already.
        request = PartialRequest(conn.parser.unreader.take_buffered())
        if request.is_whole():
            self._answer(conn, request)
            return
        while len(self._partial) >= MOST_WAITING:
            self._drop(next(iter(self._partial)))
        conn.sock.setblocking(False)
        self._partial[conn] = request
        self.poller.register(conn.sock, EVENT_READ, partial(self._read, conn))

    def _read(self, conn: PatientConnection, client: socket.socket) -> None:
        request = self._partial[conn]
        try:
            piece = client.recv(PIECE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        if not piece:
            self._drop(conn)
            return
        expected = request.expects_continue
        request.add(piece)
        is_whole = request.is_whole()
        if request.refusal:
            self._drop(conn, request.refusal)
        elif is_whole:
            self._forget(conn)
            self._answer(conn, request)
        elif request.expects_continue and not expected:
            _send(client, b"HTTP/1.1 100 Continue\r\n\r\n")
        self._drop_largest()

    def _answer(self, conn: PatientConnection, request: PartialRequest) -> None:
        conn.parser.unreader.unread(bytes(request.data))
        conn.data_ready = True
        super().enqueue_req(conn)

    def handle_request(self, req: Any, conn: PatientConnection) -> bool:
        """Answer in a thread, which no client may hold for long by reading slowly."""
        conn.sock.settimeout(ANSWER_SECONDS)
        try:
            return bool(super().handle_request(req, conn))
        except TimeoutError:
            self.log.debug("A client did not read its answer in time.")
            return False

    def _drop_largest(self) -> None:
        """Where all partial requests together are too large, the largest go."""
        while sum(len(each.data) for each in self._partial.values()) > MOST_HELD_BYTES:
            self._drop(
                max(self._partial, key=lambda conn: len(self._partial[conn].data)), TOO_LARGE
            )

    def _forget(self, conn: PatientConnection) -> None:
        del self._partial[conn]
        self.poller.unregister(conn.sock)

    def _drop(self, conn: PatientConnection, status: str = "") -> None:
        """Close the connection, with a status where the client has sent something."""
        self._forget(conn)
        self.nr_conns -= 1
        if status:
            text = f"{status[4:]}.\n"
            _send(
                conn.sock,
                f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(text)}\r\n"
                f"Connection: close\r\n\r\n{text}".encode(),
            )
        conn.close(graceful=bool(status))

    def linger(self, client: socket.socket) -> None:
        """Half-close, and close once the client has (RFC 9112, 9.6)."""
        try:
            client.shutdown(socket.SHUT_WR)
        except OSError:
            client.close()
            return
        while len(self._lingering) >= MOST_WAITING:
            self._end(next(iter(self._lingering)))
        client.setblocking(False)
        self._lingering[client] = time.monotonic() + LINGER_SECONDS
        self.poller.register(client, EVENT_READ, self._skip)

    def _skip(self, client: socket.socket) -> None:
        """What a client sends after its answer is read, so that it is not reset before it has
        read the answer."""
        try:
            if client.recv(PIECE_BYTES):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self._end(client)

    def _end(self, client: socket.socket) -> None:
        del self._lingering[client]
        self.poller.unregister(client)
        client.close()

    def murder_pending(self) -> None:
        """Drop what was not whole in time, and close what lingers for too long."""
        super().murder_pending()
        now = time.monotonic()
        for conn in [each for each, request in self._partial.items() if request.ends_at <= now]:
            self._drop(conn, TOO_LATE if self._partial[conn].data else "")
        for client in [each for each, ends_at in self._lingering.items() if ends_at <= now]:
            self._end(client)

    def _cap_keepalive(self, deadline: float) -> None:
        """A worker that stops waits no longer for the rest of a request than for a next one."""
        super()._cap_keepalive(deadline)
        for request in self._partial.values():
            request.ends_at = min(request.ends_at, deadline)


def _send(client: socket.socket, text: bytes) -> None:
    """A few bytes, as far as the client takes them."""
    with contextlib.suppress(OSError):
        client.send(text)
