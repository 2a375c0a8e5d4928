"""One resident agent on one SSH channel: a line out, a line in, anything else is an error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import asyncssh

REPLY_LIMIT = 4 * 1024 * 1024
STDERR_LIMIT = 4096
STDERR_FLOOD = 1024 * 1024
"""No honest agent reports this much: reading on would cost the other hosts their time."""
CHUNK = 64 * 1024
EXIT_SECONDS = 3.0
UNREAD_LIMIT = 8
"""So many replies of a stream may wait for their reader."""


class Ended(Exception):
    """The channel is over. `garbage` says what the host sent that it should not have."""

    def __init__(self, garbage: str = "") -> None:
        super().__init__(garbage)
        self.garbage = garbage


class Channel:
    """Reads all the time, so that unsolicited output ends the channel."""

    def __init__(self, process: asyncssh.SSHClientProcess[bytes]) -> None:
        self._process = process
        self._waiting: asyncio.Future[bytes] | None = None
        self._stream: asyncio.Queue[bytes | Ended] | None = None
        self._errors = bytearray()
        self.is_closed = False
        self._tasks = (
            asyncio.create_task(self._read()),
            asyncio.create_task(self._read_errors()),
        )

    @property
    def stderr(self) -> str:
        return self._errors.decode(errors="replace")

    async def exchange(self, line: bytes) -> bytes:
        """Send a line, return the reply line; raises `Ended`. One at a time."""
        if self.is_closed:
            raise Ended
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            self._process.stdin.write(line)
            await self._process.stdin.drain()
        except (asyncssh.Error, OSError):
            self._over()
        return await self._waiting

    async def stream(self, line: bytes) -> AsyncGenerator[bytes]:
        """Send a line, and give each reply line there is to it; raises `Ended`. The channel serves
        nothing else afterwards: close it."""
        self._stream = asyncio.Queue()
        if self.is_closed:
            raise Ended
        try:
            self._process.stdin.write(line)
            await self._process.stdin.drain()
        except (asyncssh.Error, OSError):
            self._over()
        while True:
            reply = await self._stream.get()
            if isinstance(reply, Ended):
                raise reply
            yield reply

    async def exit_status(self) -> int | None:
        """The exit status of the agent (or sudo, or the shell); None when the connection ended."""
        try:
            async with asyncio.timeout(EXIT_SECONDS):
                await asyncio.wait(self._tasks)
                await self._process.wait_closed()
        except TimeoutError:
            self._process.close()
        return self._process.exit_status

    def close(self) -> None:
        """End the channel; the agent sees the end of its input."""
        self._over()
        self._process.close()

    def _over(self, garbage: str = "") -> None:
        self.is_closed = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(Ended(garbage))
        if self._stream is not None:
            self._stream.put_nowait(Ended(garbage))

    async def _read(self) -> None:
        buffer = bytearray()
        garbage = ""
        try:
            while not garbage and (chunk := await self._process.stdout.read(CHUNK)):
                buffer += chunk
                garbage = self._take(buffer)
        except (asyncssh.Error, OSError):
            pass  # the connection broke: the same as its end
        self._over(garbage)
        if garbage:
            self._process.close()

    def _take(self, buffer: bytearray) -> str:
        """Deliver a complete line out of the buffer; what is wrong with the output, else ""."""
        if self._stream is not None:
            return self._take_all(buffer, self._stream)
        if self._waiting is None or self._waiting.done():
            return "unsolicited output"
        end = buffer.find(b"\n")
        if end == -1:
            return f"a line of more than {REPLY_LIMIT} bytes" if len(buffer) > REPLY_LIMIT else ""
        if end > REPLY_LIMIT:
            return f"a line of more than {REPLY_LIMIT} bytes"
        if end + 1 != len(buffer):
            return "more than one line for one request"
        self._waiting.set_result(bytes(buffer[:end]))
        buffer.clear()
        return ""

    def _take_all(self, buffer: bytearray, stream: asyncio.Queue[bytes | Ended]) -> str:
        *lines, rest = bytes(buffer).split(b"\n")
        buffer[:] = rest
        for line in lines:
            stream.put_nowait(line)
        if stream.qsize() > UNREAD_LIMIT:
            return "more lines than anybody reads"
        is_too_long = any(len(each) > REPLY_LIMIT for each in (*lines, rest))
        return f"a line of more than {REPLY_LIMIT} bytes" if is_too_long else ""

    async def _read_errors(self) -> None:
        size = 0
        try:
            while size <= STDERR_FLOOD and (chunk := await self._process.stderr.read(CHUNK)):
                size += len(chunk)
                room = STDERR_LIMIT - len(self._errors)
                self._errors += chunk[: max(0, room)]
        except (asyncssh.Error, OSError):
            pass  # the connection broke: what was said until then is all there is
        if size > STDERR_FLOOD:
            self._over(f"more than {STDERR_FLOOD} bytes of error output")
            self._process.close()
