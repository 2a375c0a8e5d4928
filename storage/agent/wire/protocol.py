"""JSON lines: what comes in is checked whole before anything looks at the host. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import PROTOCOL, VERSION
from ..calls import names
from ..calls.refusals import Refusal
from ..state.owner import PanelIdentity, panel_from_json
from .schema import EXPECT, MUTATING, READING, Check

REQUEST_LIMIT = 64 * 1024
REPLY_LIMIT = 4 * 1024 * 1024
STEPS_LIMIT = 64
DIGITS_LIMIT = 20
CALL = frozenset(("verb", "args", "expect"))
FENCE = names.integer(1, 1 << 53)

ASK_AGAIN = "Upgrade the panel and the agent to the same release; then repeat the request."


@dataclass(frozen=True)
class VerbCall:
    """One verb with checked arguments."""

    verb: str
    args: Mapping[str, Any]
    expect: Mapping[str, Any]

    @property
    def mutating(self) -> bool:
        return self.verb in MUTATING

    def to_json(self) -> dict[str, Any]:
        return {"verb": self.verb, "args": dict(self.args), "expect": dict(self.expect)}


@dataclass(frozen=True)
class Request:
    """A call, or a list of mutating calls to be previewed. `fence`: number of the turn in the VG,
    and `panel`: who sends it; both only beside a mutating call."""

    id: str
    body: VerbCall | tuple[VerbCall, ...]
    fence: int | None = None
    panel: PanelIdentity | None = None


def parse(line: bytes) -> Request:
    """One request line. Raises Refusal(bad_request | unknown_verb | too_large)."""
    if len(line) > REQUEST_LIMIT:
        raise Refusal(
            "too_large",
            f"A request has at most {REQUEST_LIMIT} bytes.",
            "Send fewer steps in one request.",
        )
    document = _load(line)
    if not isinstance(document, dict):
        raise bad_request("A request is a JSON object.")
    if type(document.get("v")) is not int or document["v"] != PROTOCOL:
        raise bad_request(f"This agent speaks protocol version {PROTOCOL}.")
    request_id = _checked("id", names.request_id, document.get("id"))
    if "dry_run" in document:
        _only(document, {"v", "id", "dry_run"}, "request")
        return Request(request_id, _steps(document["dry_run"]))
    _only(document, {"v", "id", "verb", "args", "expect", "fence", "panel"}, "request")
    call = _call({key: document[key] for key in document if key in CALL}, False)
    fence, panel = _fence(document.get("fence"), call), _panel(document.get("panel"), call)
    return Request(request_id, call, fence, panel)


def call_from_json(document: Mapping[str, Any]) -> VerbCall:
    """A call that was stored with an operation: checked again like one from the wire."""
    return _call(json.loads(json.dumps(document)), False)


def id_of(line: bytes) -> str | None:
    """The request id of a line that was refused, where it can still be told."""
    try:
        document = _load(line)
        return names.request_id(document.get("id")) if isinstance(document, dict) else None
    except (Refusal, ValueError):
        return None


def encode(reply: Mapping[str, Any]) -> bytes:
    """One reply line, ASCII only, so that a lone surrogate or a line separator stays data."""
    line = json.dumps(reply, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"
    if len(line) <= REPLY_LIMIT:
        return line
    refusal = Refusal(
        "too_large",
        f"The reply would be larger than {REPLY_LIMIT} bytes.",
        "Ask for less at a time (`after` of op.get); else report this host's size.",
    )
    return encode(error_reply(reply.get("id"), refusal, reply.get("host", {})))


def ok_reply(
    request_id: str,
    data: Mapping[str, Any],
    host: Mapping[str, Any],
    warnings: tuple[Mapping[str, str], ...] = (),
) -> dict[str, Any]:
    return {
        "v": PROTOCOL,
        "id": request_id,
        "ok": True,
        "data": data,
        "warnings": list(warnings),
        "host": host,
    }


def error_reply(
    request_id: str | None, refusal: Refusal, host: Mapping[str, Any]
) -> dict[str, Any]:
    return {"v": PROTOCOL, "id": request_id, "ok": False, "error": refusal.to_json(), "host": host}


def host_block(boot_id: str, boottime_ns: int, wall_ns: int) -> dict[str, Any]:
    return {"boot_id": boot_id, "boottime_ns": boottime_ns, "wall_ns": wall_ns, "agent": VERSION}


def bad_request(message: str) -> Refusal:
    return Refusal("bad_request", message, ASK_AGAIN)


def _load(line: bytes) -> Any:
    def no_constant(text: str) -> Any:
        raise bad_request(f"{text} is not a JSON number.")

    def no_float(text: str) -> Any:
        raise bad_request("Numbers are whole numbers.")

    def whole(text: str) -> int:
        if len(text) > DIGITS_LIMIT:
            raise bad_request("A number has too many digits.")
        return int(text)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            raise bad_request("A key is given twice.")
        return result

    try:
        return json.loads(
            line.decode("utf-8"),
            object_pairs_hook=unique,
            parse_constant=no_constant,
            parse_float=no_float,
            parse_int=whole,
        )
    except RecursionError:
        raise bad_request("The JSON is nested too deeply.") from None
    except ValueError:
        raise bad_request("The request is not JSON in UTF-8.") from None


def _only(document: Mapping[str, Any], allowed: set[str] | frozenset[str], where: str) -> None:
    for key in document:
        if key not in allowed:
            raise bad_request(f"Unknown field {key[:64]!r} in the {where}.")


def _checked(name: str, check: Check, value: Any) -> Any:
    try:
        return check(value)
    except ValueError as error:
        raise Refusal(
            "bad_request", f"{name} must be {error}.", f"Correct {name} in the request."
        ) from None


def _fence(value: Any, call: VerbCall) -> int | None:
    if value is None:
        return None
    if not call.mutating:
        raise bad_request(f"A fence does not belong to {call.verb}: it changes no volume group.")
    number: int = _checked("fence", FENCE, value)
    return number


def _panel(value: Any, call: VerbCall) -> PanelIdentity | None:
    if value is None:
        return None
    if not call.mutating:
        raise bad_request(f"A panel does not belong to {call.verb}: it changes no volume group.")
    panel: PanelIdentity = _checked("panel", panel_from_json, value)
    return panel


def _steps(value: Any) -> tuple[VerbCall, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= STEPS_LIMIT:
        raise bad_request(f"dry_run is a list of 1 to {STEPS_LIMIT} steps.")
    steps = []
    for step in value:
        if not isinstance(step, dict):
            raise bad_request("A step is a JSON object.")
        _only(step, {"verb", "args", "expect"}, "step")
        steps.append(_call(step, True))
    return tuple(steps)


def _call(document: Mapping[str, Any], preview: bool) -> VerbCall:
    verb, args = document.get("verb"), document.get("args", {})
    expect = document.get("expect", {})
    if not isinstance(verb, str):
        raise bad_request("verb must be a string.")
    if not isinstance(args, dict) or not isinstance(expect, dict):
        raise bad_request("args and expect are JSON objects.")
    if verb in MUTATING:
        return _mutating(verb, args, expect, preview)
    if verb not in READING or preview:
        known = ", ".join(MUTATING if preview else [*READING, *MUTATING])
        raise Refusal(
            "unknown_verb", f"This agent has no verb {verb[:64]!r}. It has: {known}.", ASK_AGAIN
        )
    fields = READING[verb]
    _only(expect, frozenset(), "expect")
    _only(args, frozenset(fields), "args")
    checked = {
        name: _checked(name, check, args.get(name, 0 if name == "after" else None))
        for name, check in fields.items()
    }
    return VerbCall(verb, checked, {})


def _mutating(
    verb: str, args: Mapping[str, Any], expect: Mapping[str, Any], preview: bool
) -> VerbCall:
    shape = MUTATING[verb]
    _only(args, frozenset({**shape.required, **shape.optional}), "args")
    _only(expect, frozenset(EXPECT), "expect")
    checked: dict[str, Any] = {}
    for name, check in shape.required.items():
        if name not in args:
            raise bad_request(f"{verb} needs the argument {name}.")
        checked[name] = _checked(name, check, args[name])
    for name, check in shape.optional.items():
        if args.get(name) is not None:
            checked[name] = _checked(name, check, args[name])
    if shape.any_of and not any(name in checked for name in shape.any_of):
        raise bad_request(f"{verb} needs at least one of {', '.join(shape.any_of)}.")
    # A step of a preview may name a volume that an earlier step makes: it has no uuid yet.
    for name in sorted(shape.expects - ({"lv_uuid"} if preview else frozenset())):
        if expect.get(name) is None:
            raise bad_request(f"expect of {verb} needs {name}.")
    wanted = {
        name: _checked(f"expect.{name}", EXPECT[name], value)
        for name, value in expect.items()
        if value is not None
    }
    return VerbCall(verb, checked, wanted)
