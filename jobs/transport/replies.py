"""The agent's reply lines, checked before anything trusts them. Pure."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

PROTOCOL = 1
TEXT_LIMIT = 4096
UNSTORABLE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")


class BadLine(ValueError):
    """Not a reply to this request; the text says why."""


@dataclass(frozen=True, slots=True)
class AgentError:
    """Why the agent refused or failed."""

    code: str
    message: str
    correction: str
    argv: tuple[str, ...] = ()
    rc: int | None = None
    stderr: str = ""

    def to_json(self) -> dict[str, Any]:
        """As kept in `Step.error` and `Job.error`."""
        return {
            "code": self.code,
            "message": self.message,
            "correction": self.correction,
            "argv": list(self.argv),
            "rc": self.rc,
            "stderr": self.stderr,
        }


@dataclass(frozen=True, slots=True)
class Reply:
    """`stamp` is the host block: boot_id, boottime_ns, wall_ns, agent. `error` is None when ok."""

    data: dict[str, Any]
    stamp: dict[str, Any]
    error: AgentError | None = None
    warnings: tuple[dict[str, Any], ...] = field(default=())

    @property
    def ok(self) -> bool:
        return self.error is None


def decode(line: bytes, request_id: str) -> Reply:
    """One reply line to the request `request_id`; raises `BadLine`."""
    document = _load(line)
    if not isinstance(document, dict):
        raise BadLine("not a JSON object")
    if document.get("v") != PROTOCOL:
        raise BadLine(f"protocol version {document.get('v')!r:.20} instead of {PROTOCOL}")
    if document.get("id") != request_id:
        raise BadLine("it answers another request")
    stamp = _object(document, "host")
    if document.get("ok") is True:
        warnings = document.get("warnings", [])
        if not isinstance(warnings, list) or not all(isinstance(w, dict) for w in warnings):
            raise BadLine("warnings is not a list of objects")
        return Reply(_object(document, "data"), stamp, warnings=tuple(warnings))
    return Reply({}, stamp, error=decode_error(_object(document, "error")))


def decode_error(error: object) -> AgentError:
    """An error object of a reply, of `op.get` or of a dry-run step; raises `BadLine`."""
    if not isinstance(error, dict):
        raise BadLine("error is not an object")
    argv, rc = error.get("argv") or [], error.get("rc")
    if not isinstance(argv, list) or not all(isinstance(word, str) for word in argv):
        raise BadLine("error.argv is not a list of texts")
    if rc is not None and not isinstance(rc, int):
        raise BadLine("error.rc is not a number")
    return AgentError(
        code=text(error, "code")[:32],
        message=text(error, "message"),
        correction=text(error, "correction"),
        argv=tuple(word[:TEXT_LIMIT] for word in argv[:64]),
        rc=rc,
        stderr=text({"stderr": error.get("stderr") or ""}, "stderr"),
    )


def text(document: dict[str, Any], key: str) -> str:
    """A text field, cut, without what PostgreSQL cannot store; raises `BadLine`."""
    value = document.get(key)
    if not isinstance(value, str):
        raise BadLine(f"{key} is not a text")
    return clean(value)


def clean(value: str) -> str:
    """A text cut to a sane length, as PostgreSQL can store it."""
    return _storable(value[:TEXT_LIMIT])


def _storable(value: str) -> str:
    """PostgreSQL refuses NUL, in text and in jsonb, and a lone surrogate cannot be encoded."""
    return value.replace("\0", "\ufffd").encode(errors="replace").decode()


def _scrubbed(value: Any) -> Any:
    """The same document with every text cleaned; the length of texts stays."""
    if isinstance(value, str):
        return _storable(value)
    if isinstance(value, list):
        return [_scrubbed(item) for item in value]
    if isinstance(value, dict):
        return {_storable(key): _scrubbed(item) for key, item in value.items()}
    return value


def _object(document: dict[str, Any], key: str) -> dict[str, Any]:
    value = document.get(key)
    if not isinstance(value, dict):
        raise BadLine(f"{key} is not an object")
    return value


def _load(line: bytes) -> object:
    def refuse_constant(name: str) -> NoReturn:
        raise BadLine(f"{name} is not a number")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        document = dict(pairs)
        if len(document) != len(pairs):
            raise BadLine("a key is given twice")
        return document

    def finite(number: str) -> float:
        value = float(number)
        if not math.isfinite(value):
            raise BadLine(f"{number[:20]} is too large")
        return value

    try:
        document = json.loads(
            line,
            parse_constant=refuse_constant,
            parse_float=finite,
            object_pairs_hook=unique,
        )
        return _scrubbed(document) if UNSTORABLE.search(line) else document
    except RecursionError:
        raise BadLine("nested too deeply") from None
    except BadLine:
        raise
    except ValueError:
        raise BadLine("not JSON") from None
