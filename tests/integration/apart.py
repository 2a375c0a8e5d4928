"""Another machine, as far as a network namespace and a host name of its own are one: it reaches
this one over a cable, and what listens here on Unix sockets through a relay."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from tests.fake.loop import run

POSTGRES_PORT = 5432


class NoNamespaces(Exception):
    """Why this process cannot make network namespaces."""


class Elsewhere:
    """A namespace with a cable to this one: `near` is this end's address, `far` its own."""

    def __init__(self, number: int) -> None:
        self.name = f"tiercel{os.getpid()}n{number}"
        self.cable = f"t{os.getpid() % 100_000}n{number}"
        self.near, self.far = (f"10.213.{number}.{end}" for end in (1, 2))

    @property
    def prefix(self) -> list[str]:
        """A command that runs another one there, under a host name of its own."""
        script = 'hostname "$0" && exec "$@"'
        return ["ip", "netns", "exec", self.name, "unshare", "--uts", "sh", "-c", script, self.name]


@contextmanager
def elsewhere(number: int) -> Iterator[Elsewhere]:
    """Raises `NoNamespaces`."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        raise NoNamespaces("network namespaces need root and iproute2")
    there = Elsewhere(number)
    inside = ("-netns", there.name)
    try:
        _ip("netns", "add", there.name)
        _ip("link", "add", there.cable, "type", "veth", "peer", "name", "eth0", "netns", there.name)
        _ip("address", "add", f"{there.near}/30", "dev", there.cable)
        _ip("link", "set", there.cable, "up")
        _ip(*inside, "address", "add", f"{there.far}/30", "dev", "eth0")
        _ip(*inside, "link", "set", "eth0", "up")
        _ip(*inside, "link", "set", "lo", "up")
        _ip(*inside, "route", "add", "default", "via", there.near)
        yield there
    finally:
        # With the namespace goes the cable.
        subprocess.run(["ip", "netns", "delete", there.name], capture_output=True, check=False)


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NoNamespaces(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


@contextmanager
def relay(address: str, to: Path | tuple[str, int]) -> Iterator[int]:
    """A TCP port of that address which leads to a Unix socket or another port."""

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while chunk := await source.read(65_536):
                sink.write(chunk)
                await sink.drain()
        except OSError:
            pass  # one side is gone: the other is told by the close
        finally:
            sink.close()

    async def serve(near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        if isinstance(to, Path):
            far, out = await asyncio.open_unix_connection(to)
        else:
            far, out = await asyncio.open_connection(*to)
        await asyncio.gather(pump(near, out), pump(far, back))

    async def listen() -> asyncio.Server:
        return await asyncio.start_server(serve, address, 0)

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
