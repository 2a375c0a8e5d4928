"""SSH to storage hosts: the only importer of asyncssh.

One connection per host and process, shared by the process's threads; on it a few channels, each
with a resident agent that answers one JSON line per request line. A channel that misbehaves in any
way is closed and never reused; a closed one is replaced at the next call.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

import asyncssh

from jobs.transport import connection
from jobs.transport.connection import Destination, hub
from jobs.transport.errors import AnswerTimeout
from jobs.transport.replies import PROTOCOL, Reply
from storage.agent.wire.reading_verbs import WATCH
from storage.models import Host

__all__ = ["DEADLINE_SECONDS", "Destination", "ask", "call", "dry_run", "new_key_pair", "watch"]

DEADLINE_SECONDS = 30.0


def call(
    host: Host,
    verb: str,
    args: Mapping[str, Any] | None = None,
    expect: Mapping[str, Any] | None = None,
    *,
    request_id: str | None = None,
    fence: int | None = None,
    panel: Mapping[str, Any] | None = None,
    deadline_seconds: float = DEADLINE_SECONDS,
) -> Reply:
    """Ask the agent of `host` and wait; raises `TransportError`. For threads, never for the loop.

    A refusal of the agent is a reply with `error`, not an exception. Repeating a call with the
    same `request_id` is harmless: the agent runs an operation id once. `fence` is the number of an
    operation's turn in its volume group (`jobs.engine.vg_lock`), `panel` says who sends it
    (`jobs.hosts.panel_identity`).
    """
    request: dict[str, Any] = {"verb": verb, "args": dict(args or {}), "expect": dict(expect or {})}
    if fence is not None:
        request["fence"] = fence
    if panel is not None:
        request["panel"] = dict(panel)
    return connection.run_on_loop(ask(Destination.of(host), request, request_id, deadline_seconds))


def dry_run(host: Host, steps: Sequence[Mapping[str, Any]]) -> Reply:
    """Ask what the steps `{verb, args, expect}` would run; raises `TransportError`."""
    return connection.run_on_loop(ask(Destination.of(host), {"dry_run": list(steps)}))


async def ask(
    destination: Destination,
    request: Mapping[str, Any],
    request_id: str | None = None,
    deadline_seconds: float = DEADLINE_SECONDS,
) -> Reply:
    """The same on the loop: one request, one checked reply."""
    request_id = request_id or str(uuid.uuid4())
    line = json.dumps({"v": PROTOCOL, "id": request_id, **request}, allow_nan=False)
    try:
        async with asyncio.timeout(deadline_seconds):
            return await hub().to(destination).exchange(line.encode() + b"\n", request_id)
    except TimeoutError:
        raise AnswerTimeout(destination.where, deadline_seconds) from None


async def watch_counters(
    destination: Destination,
    lv_uuids: Sequence[str],
    *,
    every_seconds: int,
    count: int,
    deadline_seconds: float = DEADLINE_SECONDS,
) -> AsyncGenerator[Reply]:
    """Counters of some volumes, `count` times: on the loop. A refusal of the agent is the last
    reply; raises `TransportError`, also where one does not come within the deadline after it is
    due. Leaving the loop early ends the agent's part too (with `contextlib.aclosing`)."""
    request_id = str(uuid.uuid4())
    args = {"lv_uuids": list(lv_uuids), "every_seconds": every_seconds, "count": count}
    request = {"v": PROTOCOL, "id": request_id, "verb": WATCH, "args": args}
    replies = hub().to(destination).stream(json.dumps(request).encode() + b"\n", request_id)
    async with aclosing(replies):
        for _ in range(count):
            try:
                async with asyncio.timeout(every_seconds + deadline_seconds):
                    reply = await anext(replies)
            except TimeoutError:
                raise AnswerTimeout(destination.where, deadline_seconds) from None
            yield reply
            if reply.error is not None:
                return


def new_key_pair() -> tuple[bytes, str]:
    """A fresh ed25519 pair: private half (OpenSSH format) and public line."""
    key = asyncssh.generate_private_key("ssh-ed25519")
    return key.export_private_key(), key.export_public_key().decode().strip()
