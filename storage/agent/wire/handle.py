"""One request line -> one reply line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..facts.hello import hello
from ..facts.inventory import inventory
from ..facts.sample import sample
from ..kernel.host import Host
from ..operations import ops
from ..operations.abort import abort, pace
from ..operations.assess import preview
from ..state import boot, hung_readers
from ..state.policy import load
from . import protocol
from .errors import Refusal
from .protocol import Call, Request

Warnings = tuple[Mapping[str, str], ...]


def handle(line: bytes, host: Host) -> bytes:
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


def answer(request: Request, host: Host) -> tuple[Mapping[str, Any], Warnings]:
    """Data and warnings. Raises Refusal."""
    if not isinstance(request.body, Call):
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


def _reachable(host: Host) -> None:
    """Raises Refusal(stuck) while a program that only reads hangs on this host."""
    reader = host.stuck()
    if reader is not None:
        raise hung_readers.refusal(reader)


def host_block(host: Host) -> dict[str, Any]:
    return protocol.host_block(ops.boot_id(host), host.boottime_ns(), host.wall_ns())
