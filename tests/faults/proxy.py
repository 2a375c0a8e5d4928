"""A TCP proxy that breaks in exact ways: cut after byte N, swallow everything, refuse."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Literal, Self

from tests.fake.loop import run

Direction = Literal["up", "down"]
"""`up` = from the panel to the host."""
CHUNK = 65536


class Proxy:
    """`with Proxy(port) as proxy:` listens on 127.0.0.1, `proxy.port`, in front of that port.

    `passed` counts the bytes that went through since the last `cut_after`; `cuts` the cuts made.
    """

    def __init__(self, target: int) -> None:
        self.target = target
        self.port = 0
        self.cuts = 0
        self.connections = 0
        self.passed: dict[str, int] = {"up": 0, "down": 0}
        self._limits: dict[str, int] = {}
        self._swallows = False
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    def __enter__(self) -> Self:
        run(self._listen())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        run(self._close())

    def cut_after(self, count: int, direction: Direction) -> None:
        """Let `count` more bytes through in that direction, then cut every connection, once."""
        self.passed = {"up": 0, "down": 0}
        self._limits = {direction: count}

    def cut(self) -> None:
        """Cut every connection there is now; new ones go through."""
        run(self._abort())

    def black_hole(self) -> None:
        """From now on nothing comes through and nothing is closed, old connections included."""
        self._swallows = True

    def refuse(self) -> None:
        """From now on: connection refused."""
        run(self._close())

    def heal(self) -> None:
        """Everything passes again. What was swallowed is lost: its connections are cut."""
        self._limits = {}
        if self._swallows:
            run(self._abort())
            self._swallows = False
        if self._server is None:
            run(self._listen())

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", self.port, reuse_address=True
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        await self._abort()

    async def _abort(self) -> None:
        for writer in list(self._open):
            writer.transport.abort()
        self._open.clear()

    async def _serve(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open.add(back)
        try:
            far, out = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            back.transport.abort()
            self._open.discard(back)
            return
        self._open.add(out)
        await asyncio.gather(self._pump(near, out, "up"), self._pump(far, back, "down"))
        for writer in (back, out):
            writer.transport.abort()
            self._open.discard(writer)

    async def _pump(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, direction: Direction
    ) -> None:
        try:
            while chunk := await source.read(CHUNK):
                if self._swallows:
                    continue
                left = self._limits.get(direction)
                if left is None:
                    sink.write(chunk)
                else:
                    self._limits[direction] = left - len(chunk)
                    sink.write(chunk[:left])
                self.passed[direction] += len(chunk)
                await sink.drain()
                if left is not None and left <= len(chunk):
                    # What was let through is delivered before the line goes dead.
                    self._limits = {}
                    self.cuts += 1
                    sink.close()
                    await self._abort_but(sink)
                    return
            if not self._swallows:
                sink.close()
        except OSError:
            sink.transport.abort()

    async def _abort_but(self, kept: asyncio.StreamWriter) -> None:
        for writer in list(self._open):
            if writer is not kept:
                writer.transport.abort()
        self._open &= {kept}
