"""One request line -> one reply line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..calls.refusals import Refusal
from ..facts.counter_sample import sample
from ..facts.hello import hello
from ..facts.inventory import inventory
from ..kernel import hung_readers
from ..kernel.local_host import LocalHost
from ..operations import ops
from ..operations.abort import abort, pace
from ..operations.assess import preview
from ..state import boot
from ..state.policy import load
from . import protocol
from .protocol import Request, VerbCall

Warnings = tuple[Mapping[str, str], ...]


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


def answer(request: Request, host: LocalHost) -> tuple[Mapping[str, Any], Warnings]:
    """Data and warnings. Raises Refusal."""
    if not isinstance(request.body, VerbCall):
        _reachable(host)
        boot.demand_started(host)
        return {"steps": preview(host, request.body)}, ()
    call = request.body
    if call.mutating or call.verb in ("inventory", "sample"):
        _reachable(host)
    if call.mutating or call.verb == "inventory":
        boot.demand_started(host)
    if call.mutating:
        return ops.accept(host, request.id, call, request.fence, request.panel), ()
    if call.verb == "hello":
        return hello(host), ()
    if call.verb == "inventory":
        return inventory(host, load(host)), ()
    if call.verb == "sample":
        data, warnings = sample(host)
        return data, tuple(warnings)
    if call.verb == "op.get":
        return ops.get(host, call.args["op"], call.args["after"]), ()
    if call.verb == "op.abort":
        return abort(host, call.args["op"]), ()
    if call.verb == "op.pace":
        return pace(host, call.args["op"], call.args["rise_percent"]), ()
    return ops.listing(host), ()


def _reachable(host: LocalHost) -> None:
    """Raises Refusal(stuck) while a program that only reads hangs on this host."""
    reader = host.stuck()
    if reader is not None:
        raise hung_readers.refusal(reader)


def host_block(host: LocalHost) -> dict[str, Any]:
    return protocol.host_block(ops.boot_id(host), host.boottime_ns(), host.wall_ns())
