"""One request line -> one reply line."""

from __future__ import annotations

from typing import Any

from ..calls.call import VerbCall
from ..calls.refusals import Refusal
from ..kernel import hung_readers
from ..kernel.local_host import LocalHost
from ..operations import boot, ops
from ..operations.assess import preview
from ..verbs.registry import VERBS
from . import protocol
from .protocol import Request
from .reading_verbs import READING, Data, Warnings


def handle(line: bytes, host: LocalHost) -> bytes:
    """Never raises for anything a request or the host's state can bring."""
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
