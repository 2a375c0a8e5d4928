"""A channel: request lines in, reply lines out, until the other side closes it; and the answer to
one line."""

from __future__ import annotations

import select
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Callable

from ..calls.call import VerbCall
from ..calls.refusals import Refusal
from ..kernel import hung_readers
from ..kernel.local_host import LocalHost
from ..operations import boot, ops
from ..operations.assess import preview
from ..state import owner
from ..verbs.registry import VERBS
from . import protocol
from .protocol import Request
from .reading_verbs import READING, WATCH, Data, Warnings


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
            for reply in replies(line, host, lambda seconds: _is_quiet(reader, seconds)):
                writer.write(reply)
                writer.flush()
                if not is_installed():
                    return
        except BrokenPipeError:
            return


def _is_quiet(reader: BinaryIO, seconds: float) -> bool:
    """Wait; False as soon as the other side says something, or has gone."""
    return not select.select([reader], [], [], seconds)[0]


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


def replies(line: bytes, host: LocalHost, is_quiet: Callable[[float], bool]) -> Iterator[bytes]:
    """The reply to a line; of WATCH as many as it asks for, at even times, until one is an error
    or the other side is not `is_quiet` for as many seconds."""
    reply = handle(line, host)
    yield reply
    call = _watching(line)
    if call is None or not protocol.is_ok(reply):
        return
    begun_ns, every_ns = host.boottime_ns(), call.args["every_seconds"] * 1_000_000_000
    for n in range(1, call.args["count"]):
        left_ns = begun_ns + n * every_ns - host.boottime_ns()
        if not is_quiet(max(0, left_ns) / 1e9):
            return
        reply = handle(line, host)
        yield reply
        if not protocol.is_ok(reply):
            return


def _watching(line: bytes) -> VerbCall | None:
    try:
        body = protocol.parse(line).body
    except Refusal:
        return None
    return body if isinstance(body, VerbCall) and body.verb == WATCH else None


def handle(line: bytes, host: LocalHost) -> bytes:
    """One reply. Never raises for anything a request or the host's state can bring."""
    request_id: str | None = None
    try:
        request = protocol.parse(line)
        request_id = request.id
        data, warnings = answer(request, host)
    except Refusal as refusal:
        known = request_id or protocol.id_of(line)
        return protocol.encode(protocol.error_reply(known, refusal, host_block(host)))
    except Exception as problem:
        failure = Refusal(
            "internal",
            f"The agent failed: {type(problem).__name__}: {problem}.",
            "Report this with the agent's version.",
        )
        return protocol.encode(protocol.error_reply(request_id, failure, host_block(host)))
    return protocol.encode(protocol.ok_reply(request.id, data, host_block(host), warnings))


def answer(request: Request, host: LocalHost) -> tuple[Data, Warnings]:
    """Data and warnings. Raises Refusal."""
    if not isinstance(request.body, VerbCall):
        _reachable(host)
        boot.demand_started(host)
        return {"steps": preview(host, request.body)}, ()
    call = request.body
    if call.verb in VERBS:
        _reachable(host)
        boot.demand_started(host)
        return ops.accept(host, request.id, call, request.fence, request.panel), ()
    verb = READING[call.verb]
    if verb.is_owners:
        owner.check_owner(host, request.panel)
    if verb.needs_reachable:
        _reachable(host)
    if verb.needs_started:
        boot.demand_started(host)
    return verb.answer(host, call)


def _reachable(host: LocalHost) -> None:
    """Raises Refusal(stuck) while a program that only reads hangs on this host."""
    reader = host.stuck()
    if reader is not None:
        raise hung_readers.refusal(reader)


def host_block(host: LocalHost) -> dict[str, Any]:
    return protocol.host_block(ops.boot_id(host), host.boottime_ns(), host.wall_ns())
