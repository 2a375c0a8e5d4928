"""A channel: request lines in, reply lines out, until the other side closes it."""

from __future__ import annotations

from typing import BinaryIO

from . import protocol
from .handle import handle
from .host import Host


def serve(reader: BinaryIO, writer: BinaryIO, host: Host) -> None:
    """Answer one line after the other. A line over the limit is read to its end, unkept, and
    answered (too_large); the channel goes on."""
    while True:
        line = _line(reader)
        if line is None:
            return
        try:
            writer.write(handle(line, host))
            writer.flush()
        except BrokenPipeError:
            return


def _line(reader: BinaryIO) -> bytes | None:
    line = reader.readline(protocol.REQUEST_LIMIT + 1)
    if not line:
        return None
    rest = line
    while rest and not rest.endswith(b"\n"):
        rest = reader.readline(protocol.REQUEST_LIMIT)
    return line
