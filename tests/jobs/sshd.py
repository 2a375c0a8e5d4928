"""An SSH server in this process with a scripted agent: what sshd, sudo and the agent may do wrong.

`Sshd(answer)` serves until `close`; `answer(request)` returns reply data, a `Raw` line, `Silence`,
or raises `Refuse`. It runs on the loop of `jobs.transport.connection`, beside the client.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import asyncssh

from jobs.transport import connection as transport_connection
from jobs.transport import new_key_pair
from jobs.transport.key_encryption import seal
from storage.models import Host
from tests import make

STAMP = {"boot_id": "b", "boottime_ns": 1, "wall_ns": 1, "agent": "0.1.0"}


class Refuse(Exception):
    """An error reply of the agent."""

    def __init__(self, code: str, message: str = "no", stderr: str = "") -> None:
        super().__init__(code)
        self.error = {
            "code": code,
            "message": message,
            "correction": "mend it",
            "argv": None,
            "rc": None,
            "stderr": stderr,
        }


@dataclass(frozen=True)
class Raw:
    """Bytes in the place of a reply line."""

    data: bytes


class Silence:
    """No reply at all."""


@dataclass(frozen=True)
class Trickle:
    """A byte every so many seconds, and never a whole line."""

    seconds: float


@dataclass
class Flood:
    """Bytes as fast as they go, on stdout or stderr, without end or `most` of them; `after` is
    answered first. `sent` counts them."""

    stream: str
    after: object = None
    most: int = 2**62
    sent: int = 0


class Cut:
    """The connection breaks after the request arrived."""


@dataclass(frozen=True)
class Exit:
    """The channel's program ends at once, as sudo or the shell does."""

    status: int
    stderr: str


Answer = Callable[[dict[str, Any]], object]


@dataclass
class Sshd:
    """`auth` is key (admit it), refused, totp (a code besides the key) or code-only."""

    answer: Answer
    auth: str = "key"
    exit: Exit | None = None
    login_seconds: float = 0.0
    requests: list[dict[str, Any]] = field(default_factory=list)
    connections: int = 0
    channels: int = 0
    server_key: Any = field(default_factory=lambda: asyncssh.generate_private_key("ssh-ed25519"))
    port: int = 0

    def __post_init__(self) -> None:
        self._open: set[asyncssh.SSHServerConnection] = set()
        self.start()

    @property
    def host_key(self) -> str:
        line: bytes = self.server_key.export_public_key()
        return line.decode().strip()

    def start(self) -> None:
        async def listen() -> asyncssh.SSHAcceptor:
            return await asyncssh.listen(
                "127.0.0.1",
                self.port,
                server_factory=lambda: _Server(self),
                server_host_keys=[self.server_key],
                process_factory=self._serve,
                encoding=None,
            )

        self._acceptor = transport_connection.run_on_loop(listen())
        self.port = self._acceptor.get_port()

    def close(self) -> None:
        async def stop() -> None:
            self._acceptor.close()
            await self._acceptor.wait_closed()
            for connection in list(self._open):
                connection.abort()

        transport_connection.run_on_loop(stop())

    def host(self, **fields: Any) -> Host:
        """A host record that trusts this server."""
        private_key, public_key = new_key_pair()
        trusted = {
            "address": "127.0.0.1",
            "port": self.port,
            "host_key": self.host_key,
            "public_key": public_key,
            "sealed_key": seal(private_key),
            # What answers here says none.
            "machine_id": "",
        }
        return make.host(**{**trusted, **fields})

    def verbs(self) -> list[str]:
        return [request.get("verb", "dry_run") for request in self.requests]

    async def _serve(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        self.channels += 1
        if self.exit is not None:
            process.stderr.write(self.exit.stderr.encode())
            process.exit(self.exit.status)
            return
        try:
            while line := await process.stdin.readline():
                if not await self._reply(process, line):
                    return
        except asyncssh.Error:
            pass
        process.exit(0)

    async def _reply(self, process: asyncssh.SSHServerProcess[bytes], line: bytes) -> bool:
        request = json.loads(line)
        self.requests.append(request)
        reply: dict[str, Any] = {"v": 1, "id": request["id"], "host": STAMP}
        try:
            answer = await asyncio.to_thread(self.answer, request)
        except Refuse as refuse:
            answer, reply = None, reply | {"ok": False, "error": refuse.error}
        if isinstance(answer, Silence):
            return True
        if isinstance(answer, Trickle):
            while not process.is_closing():
                process.stdout.write(b"{")
                await asyncio.sleep(answer.seconds)
            return False
        if isinstance(answer, Flood):
            return await self._flood(process, answer, reply)
        if isinstance(answer, Cut):
            process.channel.get_connection().abort()
            return False
        if isinstance(answer, Exit):
            process.stderr.write(answer.stderr.encode())
            process.exit(answer.status)
            return False
        if isinstance(answer, Raw):
            process.stdout.write(answer.data)
            return True
        if "ok" not in reply:
            reply |= {"ok": True, "data": answer, "warnings": []}
        process.stdout.write(json.dumps(reply).encode() + b"\n")
        return True

    async def _flood(
        self, process: asyncssh.SSHServerProcess[bytes], flood: Flood, reply: dict[str, Any]
    ) -> bool:
        if flood.after is not None:
            whole = reply | {"ok": True, "data": flood.after, "warnings": []}
            process.stdout.write(json.dumps(whole).encode() + b"\n")
        stream = process.stdout if flood.stream == "stdout" else process.stderr
        chunk = b"x" * min(65_536, flood.most)
        while not process.is_closing() and flood.sent < flood.most:
            stream.write(chunk)
            flood.sent += len(chunk)
            await stream.drain()
            # A drained stream does not yield, and this is the client's loop too.
            await asyncio.sleep(0)
        return not process.is_closing()


class _Server(asyncssh.SSHServer):
    def __init__(self, sshd: Sshd) -> None:
        self._sshd = sshd
        self._offered = False

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._conn = conn
        self._sshd.connections += 1
        self._sshd._open.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        self._sshd._open.discard(self._conn)

    def public_key_auth_supported(self) -> bool:
        # After the right key, sshd with AuthenticationMethods lists only what is still missing.
        return self._sshd.auth in ("key", "refused") or (
            self._sshd.auth == "totp" and not self._offered
        )

    async def begin_auth(self, username: str) -> bool:
        await asyncio.sleep(self._sshd.login_seconds)
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        self._offered = True
        return self._sshd.auth == "key"

    def kbdint_auth_supported(self) -> bool:
        return (
            self._sshd.auth == "code-only"
            or (self._sshd.auth == "totp" and self._offered)
            or self._sshd.auth == "refused"
        )

    def get_kbdint_challenge(
        self, username: str, lang: str, submethods: str
    ) -> tuple[str, str, str, list[tuple[str, bool]]]:
        return "", "", "", [("Verification code: ", False)]
