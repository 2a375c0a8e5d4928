"""Checks the agent's reply lines before anything uses them. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, NoReturn

import msgspec
from msgspec import UNSET, Meta, UnsetType

from storage.host_data import BadHostData, Count, cleaned, decoded

PROTOCOL: Final = 1
TEXT_LIMIT: Final = 4096
ARGV_LIMIT: Final = 64
NESTING_LIMIT: Final = 32
UNSTORABLE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")


@dataclass(frozen=True, slots=True)
class AgentError:
    """Why the agent refused or failed."""

    code: Annotated[str, Meta(max_length=32)]
    message: str
    correction: str
    argv: tuple[str, ...] | None = None
    rc: int | None = None
    stderr: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As kept in `Step.error` and `Job.error`."""
        return {
            "code": self.code,
            "message": self.message,
            "correction": self.correction,
            "argv": list(self.argv or ())[:ARGV_LIMIT],
            "rc": self.rc,
            "stderr": self.stderr or "",
        }


@dataclass(frozen=True, slots=True)
class Reply:
    """`stamp` is the host block: boot_id, boottime_ns, wall_ns, agent. `error` is None when ok."""

    data: dict[str, Any]
    stamp: dict[str, Any]
    error: AgentError | None = None

    @property
    def ok(self) -> bool:
        return self.error is None


class AgentCommand(msgspec.Struct, frozen=True):
    """A command of an operation or a preview. Some agents do not say when it started."""

    argv: list[str]
    shell: str
    rc: int | None = None
    started_ns: Count | UnsetType | None = UNSET


class OutputLine(msgspec.Struct, frozen=True):
    """A line of output and its number, by the operation's own counter."""

    n: Annotated[int, Meta(ge=1, lt=2**31)]
    text: str


class OtherVolumes(msgspec.Struct, frozen=True):
    """What the other volumes on the same disks feel of a flush."""

    p95_us: Count
    alone_p95_us: Count
    allowed_percent: Count
    share_percent: Count


class OperationProgress(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far an operation is, and its speed as far as the agent can tell."""

    label: str
    done_bytes: Count | None
    total_bytes: Count | None
    rate_bytes_s: Count | None = None
    left_s: Count | None = None
    stalled_s: Count | None = None
    others: OtherVolumes | None = None


@dataclass(frozen=True, slots=True)
class OperationState:
    """What `op.get` says of an operation."""

    state: Literal["running", "done", "failed", "interrupted"]
    commands: Annotated[tuple[AgentCommand, ...], Meta(max_length=64)]
    lines: tuple[OutputLine, ...]
    progress: OperationProgress | None = None
    error: AgentError | None = None

    @property
    def is_over(self) -> bool:
        return self.state != "running"


class DeferredCheck(msgspec.Struct, frozen=True):
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class PreviewedStep:
    """A step of a dry run. What an earlier step will satisfy is a `deferred` check."""

    commands: Annotated[tuple[AgentCommand, ...], Meta(max_length=64)]
    deferred: tuple[DeferredCheck, ...]
    error: AgentError | None = None


def decode_reply(line: bytes, request_id: str) -> Reply:
    """One reply line to the request `request_id`; raises `BadHostData`."""
    document = _load(line)
    if not isinstance(document, dict):
        raise BadHostData("not a JSON object")
    if document.get("v") != PROTOCOL:
        raise BadHostData(f"protocol version {document.get('v')!r:.20} instead of {PROTOCOL}")
    if document.get("id") != request_id:
        raise BadHostData("it answers another request")
    stamp = _object(document, "host")
    if document.get("ok") is True:
        return Reply(_object(document, "data"), stamp)
    return Reply({}, stamp, error=decoded(document.get("error"), AgentError, "error", TEXT_LIMIT))


def decode_operation(data: object) -> OperationState:
    """The data of an `op.get` reply; raises `BadHostData`."""
    return decoded(data, OperationState, "op.get", TEXT_LIMIT)


def decode_preview(steps: object, count: int) -> list[dict[str, Any]]:
    """The `count` steps of a dry run as a job keeps them; raises `BadHostData`."""
    previewed = decoded(steps, tuple[PreviewedStep, ...], "steps", TEXT_LIMIT)
    if len(previewed) != count:
        raise BadHostData("a preview has another number of steps than requested")
    return [
        {
            "commands": to_json(step.commands),
            "deferred": to_json(step.deferred),
            "error": step.error.to_json() if step.error else {},
        }
        for step in previewed
    ]


def to_json(items: Iterable[msgspec.Struct]) -> list[dict[str, Any]]:
    """Parts of a reply as a job keeps them."""
    return [msgspec.to_builtins(item) for item in items]


def has_begun(commands: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the host began one of an operation's commands. A command without `started_ns` counts
    as begun."""
    return any(_began(command) for command in commands)


def has_changed(commands: Iterable[Mapping[str, Any]]) -> bool:
    """Whether one of the commands succeeded, or began and its result is unknown."""
    return any(
        command.get("rc") == 0 or (command.get("rc") is None and _began(command))
        for command in commands
    )


def _began(command: Mapping[str, Any]) -> bool:
    return command.get("rc") is not None or command.get("started_ns", 0) is not None


def _object(document: dict[str, Any], key: str) -> dict[str, Any]:
    value = document.get(key)
    if not isinstance(value, dict):
        raise BadHostData(f"{key} is not an object")
    return value


def _load(line: bytes) -> object:
    # Not by msgspec: it takes the last of two equal keys without a word.
    def refuse_constant(name: str) -> NoReturn:
        raise BadHostData(f"{name} is not a number")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        document = dict(pairs)
        if len(document) != len(pairs):
            raise BadHostData("a key is given twice")
        return document

    def finite(number: str) -> float:
        value = float(number)
        if not math.isfinite(value):
            raise BadHostData(f"{number[:20]} is too large")
        return value

    try:
        document = json.loads(
            line,
            parse_constant=refuse_constant,
            parse_float=finite,
            object_pairs_hook=unique,
        )
        # The texts keep their length, each use cuts its own.
        return cleaned(document, None, NESTING_LIMIT) if UNSTORABLE.search(line) else document
    except RecursionError:
        raise BadHostData("nested too deeply") from None
    except BadHostData:
        raise
    except ValueError:
        raise BadHostData("not JSON") from None
