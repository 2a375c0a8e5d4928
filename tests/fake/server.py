"""A fake host behind a real SSH server on the loopback: what the panel's transport meets."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import asyncssh

from storage.agent.wire.protocol import REQUEST_LIMIT
from storage.agent.wire.serve import replies
from tests.fake.host import FakeHost
from tests.fake.loop import run

TTY = "sudo: sorry, you must have a tty to run sudo\n"
NO_AGENT = "sudo: /usr/lib/tiercel/agent.pyz: command not found\n"


class FakeServer:
    """`with FakeServer(host) as server:` listens on 127.0.0.1, `server.port`.

    Every session runs the agent of `host`, one channel = one resident agent, whatever command is
    asked for (as with a forced command). Operations are threads of the host: a cut connection
    does not end them. Only the keys given to `authorize` may come in, as `account`.
    """

    def __init__(
        self,
        host: FakeHost,
        *,
        port: int = 0,
        host_key: str | None = None,
        authorized: Sequence[str] = (),
        authorized_keys_file: Path | None = None,
        account: str = "tiercel",
    ) -> None:
        """`host_key` is a private key in OpenSSH or PEM text; `authorized` are public keys in
        OpenSSH's one-line form; `authorized_keys_file` is read again at each log-in."""
        self.host = host
        self.port = port
        self.account = account
        self.totp = False
        self.stderr: str | None = None
        self.sessions = 0
        self.watching = 0
        self._key = (
            asyncssh.generate_private_key("ssh-ed25519")
            if host_key is None else asyncssh.import_private_key(host_key)
        )  # fmt: skip
        self._authorized = list(authorized)
        self._file = authorized_keys_file
        self._listener: asyncssh.SSHAcceptor | None = None
        self._hole: asyncio.Server | None = None
        self._connections: set[asyncssh.SSHServerConnection] = set()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def host_key(self) -> str:
        """The public host key, one line as in known_hosts: `ssh-ed25519 AAAA…`."""
        return " ".join(self._key.export_public_key().decode().split()[:2])

    def start(self) -> None:
        run(self._listen())

    def stop(self) -> None:
        run(self._close())

    def authorize(self, public_key: str) -> None:
        self._authorized.append(public_key)

    def forget_keys(self) -> None:
        """Refuse every key from now on."""
        self._authorized.clear()

    def cut(self) -> None:
        """Cut every connection there is, in the middle of whatever it does."""
        run(self._abort())

    def refuse(self) -> None:
        """From now on: connection refused."""
        run(self._close())

    def black_hole(self) -> None:
        """From now on connections are accepted and nothing ever comes back."""
        run(self._swallow())

    def serve_again(self) -> None:
        """After `refuse` or `black_hole`: as before, on the same port."""
        run(self._close())
        run(self._listen())

    def change_host_key(self) -> None:
        """Another host key, as after a reinstallation or an attack."""
        self._key = asyncssh.generate_private_key("ssh-ed25519")
        self.serve_again()

    def demand_totp(self, on: bool = True) -> None:
        """sshd wants a verification code from every account; a key is not enough."""
        self.totp = on

    def break_sudo(self, stderr: str | None = TTY) -> None:
        """Sessions print this instead of running the agent; None = the agent runs again."""
        self.stderr = stderr

    def admits(self, key: asyncssh.SSHKey) -> bool:
        lines = list(self._authorized)
        if self._file is not None and self._file.exists():
            lines += self._file.read_text().splitlines()
        shown = key.export_public_key().decode().split()[1]
        return any(shown in line.split() for line in lines)

    async def _listen(self) -> None:
        self._listener = await asyncssh.create_server(
            lambda: Origin(self), "127.0.0.1", self.port, server_host_keys=[self._key],
            process_factory=self._session, encoding=None, reuse_address=True, login_timeout=30,
        )  # fmt: skip
        self.port = self._listener.get_port()

    async def _close(self) -> None:
        if self._listener is not None:
            self._listener.close()
            await self._listener.wait_closed()
            self._listener = None
        if self._hole is not None:
            self._hole.close()
            self._hole = None
        await self._abort()

    async def _abort(self) -> None:
        for connection in list(self._connections):
            connection.abort()
        self._connections.clear()

    async def _swallow(self) -> None:
        await self._close()

        async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while await reader.read(65536):
                pass
            writer.close()

        self._hole = await asyncio.start_server(silence, "127.0.0.1", self.port, reuse_address=True)

    async def _session(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        if self.stderr is not None:
            process.stderr.write(self.stderr.encode())
            process.exit(1)
            return
        self.sessions += 1
        begun = b""
        while True:
            chunk = await process.stdin.read(65536)
            if not chunk:
                break
            *lines, rest = chunk.split(b"\n")
            for line in lines:
                request, begun = (begun + line)[: REQUEST_LIMIT + 1], b""
                if b'"sample.watch"' in request:
                    await self._watch(process, request + b"\n")
                    process.exit(0)
                    return
                reply = await asyncio.to_thread(self.host.answer, request + b"\n")
                process.stdout.write(reply)
            # Of a line over the limit only the beginning is kept.
            begun = (begun + rest)[: REQUEST_LIMIT + 1]
        process.exit(0)

    async def _watch(self, process: asyncssh.SSHServerProcess[bytes], request: bytes) -> None:
        """Until the panel says something or goes; time passes on the host by itself."""
        loop, over = asyncio.get_running_loop(), threading.Event()

        def is_quiet(seconds: float) -> bool:
            begun = time.monotonic()
            is_over = over.wait(seconds)
            if not self.host.clock.real:
                self.host.advance(time.monotonic() - begun)
            return not is_over

        def answer() -> None:
            for reply in replies(request, self.host, is_quiet):
                loop.call_soon_threadsafe(process.stdout.write, reply)

        answering = asyncio.create_task(asyncio.to_thread(answer))
        self.watching += 1
        reading = asyncio.create_task(process.stdin.read(1))
        await asyncio.wait((answering, reading), return_when=asyncio.FIRST_COMPLETED)
        over.set()
        reading.cancel()
        await answering
        self.watching -= 1


class Origin(asyncssh.SSHServer):
    """Who may come in."""

    def __init__(self, server: FakeServer) -> None:
        self._server = server
        self._connection: asyncssh.SSHServerConnection | None = None
        self._codes_left = 3

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._server._connections.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._connection is not None:
            self._server._connections.discard(self._connection)

    def begin_auth(self, username: str) -> bool:
        return True

    def public_key_auth_supported(self) -> bool:
        return not self._server.totp

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return username == self._server.account and self._server.admits(key)

    def password_auth_supported(self) -> bool:
        return False

    def kbdint_auth_supported(self) -> bool:
        return self._server.totp and self._codes_left > 0

    def get_kbdint_challenge(
        self, username: str, lang: str, submethods: str
    ) -> tuple[str, str, str, list[tuple[str, bool]]]:
        return "", "", "", [("Verification code: ", False)]

    def validate_kbdint_response(self, username: str, responses: Sequence[str]) -> bool:
        self._codes_left -= 1
        return False
