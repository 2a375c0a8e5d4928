"""Kombu's transport for Redis, which drops whatever is no message of the panel.

Redis carries hints only, and another program can write anything there. Kombu decodes what it pops
within the worker's event loop, and what it cannot decode ends the worker. Here a message is
measured before it is decoded, decoded into a known shape, and written anew from the parts that the
panel uses: neither an ETA nor a forged tag, header or reply address reaches Celery. Whatever else
goes wrong with one message is the end of that message alone, with one line in the log.

Written for Kombu 5.7.0, whose `_brpop_read` and `_receive_one` are replaced; a test compares them.
"""

from __future__ import annotations

import base64
import inspect
import logging
import uuid
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from queue import Empty
from typing import Annotated, Any, Final, Literal, get_type_hints

import msgspec
from celery import current_app
from kombu.transport import redis
from kombu.utils.json import loads
from redis.exceptions import ResponseError

log = logging.getLogger(__name__)

TASK_BYTES: Final = 64 * 1024
COMMAND_BYTES: Final = 8 * 1024
REPLY_BYTES: Final = 4 * 1024 * 1024
"""Answers of workers to `celery inspect`, which they never read themselves."""
WHY_LIMIT: Final = 200
COMMANDS: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(
        (
            "active_queues",
            "clock",
            "disable_events",
            "enable_events",
            "heartbeat",
            "ping",
            "report",
            "reserved",
            "revoked",
            "scheduled",
            "stats",
        ),
        frozenset[str](),
    ),
    "active": frozenset({"safe"}),
    "conf": frozenset({"with_defaults"}),
    "hello": frozenset({"from_node"}),
    "query_task": frozenset({"ids"}),
    "registered": frozenset({"taskinfoitems", "builtins"}),
    "revoke": frozenset({"task_id"}),
}
"""Commands by remote control that end nothing, with the arguments that are handed on. A worker
ends by a signal alone; its pool, queues and limits are the configuration's."""
MAILBOX: Final = ".celery.pidbox"
REPLIES: Final = "reply.celery.pidbox"
NOTHING_FOLLOWS: Final = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}

Word = Annotated[str, msgspec.Meta(max_length=100)]
Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class BadMessage(Exception):
    """What was popped is no message of the panel."""


class _TaskHeaders(msgspec.Struct):
    task: Word
    id: Word
    eta: None = None
    expires: datetime | None = None


class _Properties(msgspec.Struct):
    body_encoding: Literal["base64"]


class _Envelope(msgspec.Struct):
    """What is the same for tasks and commands."""

    body: str
    properties: _Properties
    content_type: Literal["application/json"] = msgspec.field(name="content-type")
    content_encoding: Literal["utf-8"] = msgspec.field(name="content-encoding")


class _Task(_Envelope):
    headers: _TaskHeaders


class _ReplyTo(msgspec.Struct):
    exchange: Literal["reply.celery.pidbox"]
    routing_key: Word


class _Command(msgspec.Struct):
    method: Word
    arguments: dict[str, Any] | None = None
    destination: list[Word] | None = None
    pattern: None = None
    matcher: None = None
    ticket: Word | None = None
    reply_to: _ReplyTo | None = None


_TASK: Final = msgspec.json.Decoder(_Task)
_ARGUMENTS: Final = msgspec.json.Decoder(tuple[list[Word | Integer], dict[str, None], Any])
_ENVELOPE: Final = msgspec.json.Decoder(_Envelope)
_COMMAND: Final = msgspec.json.Decoder(_Command)


def checked(raw: bytes, queue: str) -> dict[str, Any]:
    """The message as Kombu takes it, with a tag of its own; raises `BadMessage`."""
    try:
        if queue.endswith(REPLIES) or "celeryev." in queue:
            return _other(raw)
        return _command(raw, queue) if queue.endswith(MAILBOX) else _task(raw, queue)
    except BadMessage:
        raise
    except Exception as error:
        raise BadMessage(f"{type(error).__name__}: {error}") from error


def _task(raw: bytes, queue: str) -> dict[str, Any]:
    _measure(raw, TASK_BYTES)
    message = _TASK.decode(raw)
    args, kwargs, _ = _ARGUMENTS.decode(base64.b64decode(message.body, validate=True))
    name, expires = message.headers.task, message.headers.expires
    hints = _hints(name)
    if kwargs or len(args) != len(hints):
        raise BadMessage("the task takes other arguments")
    for value, hint in zip(args, hints, strict=True):
        msgspec.convert(value, hint)
    headers = {
        "lang": "py",
        "task": name,
        "id": message.headers.id,
        "root_id": message.headers.id,
        "expires": expires.isoformat() if expires is not None else None,
        "argsrepr": repr(tuple(args)),
        "kwargsrepr": "{}",
        "ignore_result": True,
    }
    return _written(msgspec.json.encode([args, {}, NOTHING_FOLLOWS]), headers, queue)


@cache
def _hints(name: str) -> tuple[Any, ...]:
    """The types of a task's arguments."""
    if name.startswith("celery.") or name not in current_app.tasks:
        raise BadMessage("the panel has no such task")
    run = current_app.tasks[name].run
    hints = get_type_hints(run)
    return tuple(hints[each] for each in inspect.signature(run).parameters)


def _command(raw: bytes, queue: str) -> dict[str, Any]:
    _measure(raw, COMMAND_BYTES)
    message = _ENVELOPE.decode(raw)
    command = _COMMAND.decode(base64.b64decode(message.body, validate=True))
    given = command.arguments or {}
    if command.method not in COMMANDS or given.get("terminate"):
        raise BadMessage("workers do not accept this command")
    known = {name: given[name] for name in COMMANDS[command.method] & given.keys()}
    command.arguments = known
    return _written(msgspec.json.encode(command), {}, queue)


def _written(body: bytes, headers: dict[str, Any], queue: str) -> dict[str, Any]:
    return {
        "body": body.decode(),
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": headers,
        "properties": {
            "delivery_tag": str(uuid.uuid4()),
            "delivery_info": {"exchange": "", "routing_key": queue},
        },
    }


def _other(raw: bytes) -> dict[str, Any]:
    """Answers and events, which are for clients: they are decoded as Kombu does."""
    _measure(raw, REPLY_BYTES)
    message = loads(raw)
    properties = message["properties"]
    properties["delivery_tag"] = str(uuid.uuid4())
    properties["delivery_info"] = dict(properties["delivery_info"])
    result: dict[str, Any] = message
    return result


def _measure(raw: bytes, limit: int) -> None:
    if len(raw) > limit:
        raise BadMessage("it is too large")


class CheckedChannel(redis.Channel):
    """Reads checked messages only."""

    # Which Kombu's types leave out.
    connection_errors: tuple[type[Exception], ...]
    _queue_cycle: Any
    _fanout_to_queue: dict[str, str]
    _flush_brpop_reauth: Any
    _handle_message: Any
    _q_for_pri: Any

    def _brpop_read(self, **options: Any) -> bool:
        try:
            try:
                popped = self.client.parse_response(self.client.connection, "BRPOP", **options)
            except self.connection_errors:
                self.client.connection.disconnect()
                raise
            except ResponseError as error:
                if not str(error).startswith("WRONGTYPE"):
                    raise
                self._delete_foreign_keys()
                raise Empty from error
            if not popped:
                raise Empty
            key, raw = popped
            queue = key.decode(errors="replace").rsplit(self.sep, 1)[0]
            self._queue_cycle.rotate(queue)
            return self._take(raw, queue)
        finally:
            self._in_poll = None
            self._flush_brpop_reauth()

    def _receive_one(self, client: Any) -> bool | None:
        try:
            response = client.parse_response()
        except self.connection_errors:
            self._in_listen = None
            raise
        if not isinstance(response, list | tuple):
            return None
        payload = self._handle_message(client, response)
        if not payload["type"].endswith(b"message") or not payload["data"]:
            return None
        topic = payload["channel"].decode(errors="replace")
        if topic.startswith("/"):
            topic = topic.partition(".")[2]
        queue = self._fanout_to_queue.get(topic.split("/", 1)[0])
        return queue is not None and self._take(payload["data"], queue)

    def _take(self, raw: bytes, queue: str) -> bool:
        """Hand a message on; False where it was dropped."""
        tag = None
        try:
            message = checked(raw, queue)
            tag = message["properties"]["delivery_tag"]
            self.connection._deliver(message, queue)
        except self.connection_errors:
            raise
        except Exception as error:
            why = f"{error}"[:WHY_LIMIT]
            log.warning("a message of %d bytes on %s was dropped: %r", len(raw), queue, why)
            if tag is not None:
                # It would count as one that is being worked on.
                self.qos.ack(tag)
            return False
        return True

    def _delete_foreign_keys(self) -> None:
        """What has a queue's name and is no list would keep all other queues from being read."""
        with self.conn_or_acquire() as client:
            for queue in self.active_queues:
                for priority in self.priority_steps:
                    key = self._q_for_pri(queue, priority)
                    try:
                        client.llen(key)
                    except ResponseError as error:
                        log.warning("the key %s was deleted: %s", key, error)
                        client.delete(key)


class Transport(redis.Transport):
    """`redis://` and `rediss://` of the panel (`panel.celery`)."""

    Channel = CheckedChannel
