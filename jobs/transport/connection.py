"""One connection per host and process, opened when first needed and again after every loss.

No ssh_config, no agent, no known_hosts file is read: the pinned key and the host's own key pair
are all there is.

One asyncio loop in one thread serves all SSH of a process, and never touches the database. Celery's
worker threads call `run_on_loop`; the collector starts many calls with `start_on_loop` and takes
them as they end.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
from collections.abc import AsyncGenerator, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

import asyncssh

from jobs.transport.channel import Channel, Ended
from jobs.transport.errors import (
    AuthRefused,
    BadReply,
    HostKeyChanged,
    TotpDemanded,
    TransportError,
    Unreachable,
    refused_start,
)
from jobs.transport.key_encryption import unseal
from jobs.transport.replies import Reply, decode_reply
from storage.host_data import BadHostData
from storage.models import Host
from storage.naming import AGENT_PATH

CONNECT_SECONDS = 10
KEEPALIVE_SECONDS, KEEPALIVE_COUNT = 15, 3
CHANNELS = 4
"""Below sshd's default MaxSessions (10), so that a person can still log in beside us."""
LATE_SECONDS = 300.0
"""So long an agent that has not answered in time keeps its place. On a host that is slow to start
one, each request would start another, and none would ever be up."""
HANDSHAKES = 20
LONG_REPLY = 128 * 1024
"""A longer one is decoded in a thread of its own: the loop serves the other hosts meanwhile."""
COMMAND = f"sudo -n {AGENT_PATH}"
"""The forced command is the same; asking for it keeps hosts without one working too."""
KEY_ALGORITHMS = ("ssh-ed25519", "ecdsa-sha2-nistp256", "rsa-sha2-512", "rsa-sha2-256")
"""ed25519 first, because that is the pinned one; the others so that a changed host can be named."""


# It tells of every channel: 30 lines for one call.
asyncssh.set_log_level(logging.WARNING)


@dataclass(frozen=True, slots=True)
class Destination:
    """All that a connection needs, without the record. `sealed_key` is opened at connecting."""

    host_id: int
    name: str
    address: str
    port: int
    account: str
    host_key: str
    sealed_key: bytes

    @classmethod
    def of(cls, host: Host) -> Destination:
        return cls(
            host.pk, host.name, host.address, host.port, host.account, host.host_key,
            bytes(host.sealed_key),
        )  # fmt: skip

    @property
    def where(self) -> str:
        return f"{self.name} ({self.address}:{self.port})"


@dataclass(slots=True)
class Asked:
    """A request. Where its caller left, the reply is awaited if it was sent, and it is never sent
    from then on."""

    line: bytes
    request_id: str
    is_sent: bool = False
    has_caller: bool = True


class Connection:
    """The connection to one host, opened when first needed and whenever it was lost."""

    def __init__(self, hub: Hub, destination: Destination) -> None:
        self.destination = destination
        self._hub = hub
        self._opening: asyncio.Task[asyncssh.SSHClientConnection] | None = None
        self._slots = asyncio.Semaphore(CHANNELS)
        self._idle: list[Channel] = []
        self._ssh: asyncssh.SSHClientConnection | None = None

    async def exchange(self, line: bytes, request_id: str) -> Reply:
        """Send a line, return its reply. Where the caller leaves after it was sent, the reply is
        awaited all the same, and the agent then serves the next request."""
        await self._slots.acquire()
        asked = Asked(line, request_id)
        serving = asyncio.create_task(self._serve(asked))
        serving.add_done_callback(self._served)
        try:
            return await asyncio.shield(serving)
        except asyncio.CancelledError:
            asked.has_caller = False
            if not asked.is_sent:
                serving.cancel()
            raise

    def _served(self, serving: asyncio.Task[Reply]) -> None:
        self._slots.release()
        _forget_error(serving)

    async def _serve(self, asked: Asked) -> Reply:
        self._idle = [channel for channel in self._idle if not channel.is_closed]
        if self._idle:
            try:
                asked.is_sent = True
                return await self._on(self._idle.pop(), asked.line, asked.request_id)
            except Ended:
                # It died while idle (agent replaced, sshd restarted): a new one is tried.
                if not asked.has_caller:
                    raise
        asked.is_sent = False
        channel = await self._open()
        asked.is_sent = True
        try:
            return await self._on(channel, asked.line, asked.request_id)
        except Ended as ended:
            raise await self._diagnose(channel, ended) from None

    async def stream(self, line: bytes, request_id: str) -> AsyncGenerator[Reply]:
        """Each reply to a request with several, on a channel of its own, which ends with it."""
        async with self._slots:
            channel = await self._open()
            try:
                async for reply in channel.stream(line):
                    yield decode_reply(reply, request_id)
            except BadHostData as error:
                raise BadReply(self.destination.where, str(error)) from None
            except Ended as ended:
                raise await self._diagnose(channel, ended) from None
            finally:
                channel.close()

    async def _on(self, channel: Channel, line: bytes, request_id: str) -> Reply:
        try:
            async with asyncio.timeout(LATE_SECONDS):
                answer = await channel.exchange(line)
            if len(answer) > LONG_REPLY:
                reply = await asyncio.to_thread(decode_reply, answer, request_id)
            else:
                reply = decode_reply(answer, request_id)
        except BadHostData as error:
            channel.close()
            raise BadReply(self.destination.where, str(error)) from None
        except Ended:
            raise  # left as it is: its exit status is still to be read
        except BaseException:
            channel.close()
            raise
        self._idle.append(channel)
        return reply

    async def _open(self) -> Channel:
        where = self.destination.where
        try:
            ssh = await self._connected()
            return Channel(await ssh.create_process(COMMAND, encoding=None, request_pty=False))
        except asyncssh.ChannelOpenError as error:
            raise Unreachable(where, f"no channel: {error.reason}") from None
        except (asyncssh.Error, OSError) as error:
            self.close()
            raise Unreachable(where, str(error) or type(error).__name__) from None

    async def _connected(self) -> asyncssh.SSHClientConnection:
        if self._ssh is not None and not self._ssh.is_closed():
            return self._ssh
        if self._opening is None:
            self._opening = asyncio.create_task(self._connect())
            self._opening.add_done_callback(_forget_error)
        # A caller whose deadline is shorter than a slow host's log-in must not undo it: the
        # connection then serves the next one.
        return await asyncio.shield(self._opening)

    async def _connect(self) -> asyncssh.SSHClientConnection:
        try:
            keys = keys_of(self.destination)
            line = await dial(self.destination)
            try:
                async with self._hub.handshakes:
                    self._ssh = await connect(self.destination, keys, line)
            except BaseException:
                line.close()
                raise
            return self._ssh
        finally:
            self._opening = None

    async def _diagnose(self, channel: Channel, ended: Ended) -> TransportError:
        where, account = self.destination.where, self.destination.account
        if ended.garbage:
            return BadReply(where, ended.garbage)
        exit_status = await channel.exit_status()
        if exit_status is None:
            self.close()
            return Unreachable(where, "the connection was cut during a request")
        return refused_start(where, account, channel.stderr)

    def close(self) -> None:
        """Drop the connection and all its channels."""
        if self._opening is not None:
            self._opening.cancel()
        ssh, self._ssh, self._idle = self._ssh, None, []
        if ssh is not None:
            ssh.abort()


def _forget_error(task: asyncio.Task[Any]) -> None:
    """A waiting caller has the error; asyncio would log one that no caller reads."""
    if not task.cancelled():
        task.exception()


class Hub:
    """All connections of a process; lives on the loop."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.handshakes = asyncio.Semaphore(HANDSHAKES)
        self._connections: dict[int, Connection] = {}

    def to(self, destination: Destination) -> Connection:
        """The connection of this host; another address, key or account means another connection."""
        known = self._connections.get(destination.host_id)
        if known is not None and known.destination == destination:
            return known
        if known is not None:
            known.close()
        made = self._connections[destination.host_id] = Connection(self, destination)
        return made


class Client(asyncssh.SSHClient):
    """Notes what asyncssh's exceptions do not say: the key seen, and what else sshd wants."""

    def __init__(self) -> None:
        self.seen: asyncssh.SSHKey | None = None
        self.is_key_refused = False
        self.is_more_wanted = False

    def validate_host_public_key(
        self, host: str, addr: str, port: int, key: asyncssh.SSHKey
    ) -> bool:
        """Called for a key that is not the pinned one."""
        self.seen = key
        return False

    def public_key_auth_requested(self) -> None:
        """Called when our key was offered and sshd still asks for one: it was refused."""
        self.is_key_refused = True

    def kbdint_auth_requested(self) -> None:
        self._asked_for_more()

    def password_auth_requested(self) -> None:
        self._asked_for_more()

    def _asked_for_more(self) -> None:
        # Reached without a refused key only when the key was a partial success, or was not asked.
        self.is_more_wanted = self.is_more_wanted or not self.is_key_refused


Keys = tuple[asyncssh.SSHKey, asyncssh.SSHKey]


def keys_of(destination: Destination) -> Keys:
    """The host's pinned key and our own."""
    try:
        return (
            asyncssh.import_public_key(destination.host_key),
            asyncssh.import_private_key(unseal(destination.sealed_key)),
        )
    except asyncssh.KeyImportError as error:
        reason = f"its stored keys cannot be read: {error}"
        raise Unreachable(destination.where, reason) from None


async def dial(destination: Destination) -> socket.socket:
    """A TCP connection on which the host has begun to speak, as every SSH server does at once. It
    is waited for before the host has its turn of the `HANDSHAKES`: those that are switched off
    would keep the others waiting."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            places = await loop.getaddrinfo(
                destination.address, destination.port, type=socket.SOCK_STREAM
            )
            for place in places[:-1]:
                try:
                    return await _spoken_to(*place)
                except OSError:
                    continue  # a name with several addresses: the next one
            return await _spoken_to(*places[-1])
    except TimeoutError:
        raise _too_slow(destination) from None


async def _spoken_to(
    family: int, kind: int, protocol: int, name: str, address: tuple[Any, ...]
) -> socket.socket:
    loop = asyncio.get_running_loop()
    line = socket.socket(family, kind, protocol)
    line.setblocking(False)
    begun = loop.create_future()
    try:
        await loop.sock_connect(line, address)
        loop.add_reader(line, _mark, begun)
        try:
            await begun
        finally:
            loop.remove_reader(line)
    except BaseException:
        line.close()
        raise
    return line


def _mark(begun: asyncio.Future[None]) -> None:
    # The loop reports a readable line until the reader is removed.
    if not begun.done():
        begun.set_result(None)


def _too_slow(destination: Destination) -> Unreachable:
    return Unreachable(destination.where, f"no connection within {CONNECT_SECONDS} s")


async def connect(
    destination: Destination, keys: Keys, line: socket.socket
) -> asyncssh.SSHClientConnection:
    """A fresh connection over that line, with every default of asyncssh that reads files or agents
    turned off."""
    client, where = Client(), destination.where
    pinned, own = keys
    try:
        return await asyncssh.connect(
            destination.address,
            destination.port,
            sock=line,
            username=destination.account,
            client_factory=lambda: client,
            client_keys=[own],
            known_hosts=asyncssh.import_known_hosts(f"* {destination.host_key}\n"),
            server_host_key_algs=KEY_ALGORITHMS,
            preferred_auth=("publickey", "keyboard-interactive", "password"),
            config=None,
            agent_path=None,
            connect_timeout=CONNECT_SECONDS,
            login_timeout=CONNECT_SECONDS,
            keepalive_interval=KEEPALIVE_SECONDS,
            keepalive_count_max=KEEPALIVE_COUNT,
        )
    except asyncssh.HostKeyNotVerifiable:
        if client.seen is None:
            raise
        raise HostKeyChanged(
            where,
            pinned.get_fingerprint(),
            client.seen.get_fingerprint(),
            client.seen.export_public_key().decode().strip(),
        ) from None
    except asyncssh.PermissionDenied:
        if client.is_more_wanted:
            raise TotpDemanded(where, destination.account) from None
        raise AuthRefused(where, destination.account) from None
    except TimeoutError:
        raise _too_slow(destination) from None


_hubs: list[Hub] = []


def hub() -> Hub:
    """The hub of the running loop; a fork or a restarted loop gets a new one."""
    if not _hubs or _hubs[0].loop is not asyncio.get_running_loop():
        _hubs[:] = [Hub()]
    return _hubs[0]


T = TypeVar("T")

_guard = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_pid = 0


def shared() -> asyncio.AbstractEventLoop:
    """The loop of this process, started at first use (again after a fork)."""
    global _loop, _pid
    with _guard:
        if _loop is None or _pid != os.getpid():
            _loop, _pid = asyncio.new_event_loop(), os.getpid()
            threading.Thread(target=_loop.run_forever, name="ssh-loop", daemon=True).start()
        return _loop


def start_on_loop(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Run a coroutine on the loop; the future is for another thread."""
    return asyncio.run_coroutine_threadsafe(coroutine, shared())


def run_on_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop and wait for it. Coroutines carry their own deadline."""
    return start_on_loop(coroutine).result()
