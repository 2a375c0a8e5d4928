"""Other machines, as far as network namespaces and host names of their own are some: cables lead
from them to a namespace between them and this machine, where what listens here on Unix sockets has
a relay. Nothing changes in this machine's own network: a browser would give up what it fetches."""

from __future__ import annotations

import asyncio
import ctypes
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from tests.fake.loop import run

POSTGRES_PORT = 5432
CLONE_NEWNET = 0x4000_0000
"""Of setns(2): the namespace is one of the network."""


class NoNamespaces(Exception):
    """Why this process cannot make network namespaces."""


@dataclass(frozen=True)
class Namespace:
    """Of the network."""

    name: str

    @property
    def prefix(self) -> list[str]:
        """A command that runs another one there, under a host name of its own."""
        script = 'hostname "$0" && exec "$@"'
        return ["ip", "netns", "exec", self.name, "unshare", "--uts", "sh", "-c", script, self.name]

    def listen(self, address: str) -> socket.socket:
        """A server's socket there: threads have namespaces, and a socket stays in its maker's."""

        def enter_and_listen() -> socket.socket:
            with Path("/run/netns", self.name).open() as namespace:
                if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), f"setns {self.name}")
            return socket.create_server((address, 0))

        with ThreadPoolExecutor(1) as pool:
            return pool.submit(enter_and_listen).result()


@dataclass(frozen=True)
class Elsewhere(Namespace):
    """A machine with a cable to the one `between`, whose end has the address `near`; `far` is its
    own."""

    between: Namespace
    number: int

    @property
    def near(self) -> str:
        return f"10.213.{self.number}.1"

    @property
    def far(self) -> str:
        return f"10.213.{self.number}.2"


@contextmanager
def namespace(name: str) -> Iterator[Namespace]:
    """Raises `NoNamespaces`."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        raise NoNamespaces("network namespaces need root and iproute2")
    made = Namespace(f"tiercel{os.getpid()}{name}")
    try:
        _ip("netns", "add", made.name)
        _ip("-netns", made.name, "link", "set", "lo", "up")
        yield made
    finally:
        # With a namespace go its cables.
        subprocess.run(["ip", "netns", "delete", made.name], capture_output=True, check=False)


@contextmanager
def elsewhere(number: int, between: Namespace) -> Iterator[Elsewhere]:
    """Raises `NoNamespaces`."""
    with namespace(f"n{number}") as made:
        there = Elsewhere(made.name, between, number)
        here, inside = ("-netns", between.name), ("-netns", made.name)
        cable = f"eth{number}"
        veth = ("type", "veth", "peer", "name", "eth0", "netns", made.name)
        _ip(*here, "link", "add", cable, *veth)
        _ip(*here, "address", "add", f"{there.near}/30", "dev", cable)
        _ip(*here, "link", "set", cable, "up")
        _ip(*inside, "address", "add", f"{there.far}/30", "dev", "eth0")
        _ip(*inside, "link", "set", "eth0", "up")
        _ip(*inside, "route", "add", "default", "via", there.near)
        yield there


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NoNamespaces(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


@contextmanager
def relay(machine: Elsewhere, to: Path | tuple[str, int]) -> Iterator[int]:
    """A TCP port at the near end of its cable which leads to a Unix socket or a port of ours."""

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while chunk := await source.read(65_536):
                sink.write(chunk)
                await sink.drain()
        except OSError:
            pass  # one side is gone: the other learns it by the close
        finally:
            sink.close()

    async def serve(near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        if isinstance(to, Path):
            far, out = await asyncio.open_unix_connection(to)
        else:
            far, out = await asyncio.open_connection(*to)
        await asyncio.gather(pump(near, out), pump(far, back))

    async def listen() -> asyncio.Server:
        return await asyncio.start_server(serve, sock=machine.between.listen(machine.near))

    async def end(server: asyncio.Server) -> None:
        server.close()

    server = run(listen())
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        run(end(server))


def database_of(url: str) -> Path | tuple[str, int]:
    """Where the PostgreSQL of that URL listens."""
    parts = conninfo_to_dict(url)
    host, port = str(parts.get("host") or "localhost"), int(parts.get("port") or POSTGRES_PORT)
    return Path(host) / f".s.PGSQL.{port}" if host.startswith("/") else (host, port)
