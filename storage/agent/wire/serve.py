"""A channel: request lines in, reply lines out, until the other side closes it."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, Callable

from ..kernel.local_host import LocalHost
from . import protocol
from .handle import handle


def serve(
    reader: BinaryIO, writer: BinaryIO, host: LocalHost, is_installed: Callable[[], bool]
) -> None:
    """Answer one line after the other. A line over the limit is read to its end, unkept, and
    answered (too_large); the channel goes on. Once this agent is no longer the installed one it
    ends unanswered, and the panel opens another: operations are this process's children, and would
    be of the old code."""
    while True:
        line = _line(reader)
        if line is None or not is_installed():
            return
        try:
            writer.write(handle(line, host))
            writer.flush()
        except BrokenPipeError:
            return


def unreplaced(path: str) -> Callable[[], bool]:
    """Whether the file is still the one that it is now. An upgrade puts another in its place."""

    def identity() -> tuple[int, int] | None:
        try:
            status = Path(path).stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns

    known = identity()
    return lambda: identity() == known


def _line(reader: BinaryIO) -> bytes | None:
    line = reader.readline(protocol.REQUEST_LIMIT + 1)
    if not line:
        return None
    rest = line
    while rest and not rest.endswith(b"\n"):
        rest = reader.readline(protocol.REQUEST_LIMIT)
    return line
