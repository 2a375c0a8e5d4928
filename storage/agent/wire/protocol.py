"""JSON lines: a request is checked completely before anything reads the host. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import PROTOCOL, REPLY_LIMIT, VERSION
from ..calls import names
from ..calls.call import VerbCall
from ..calls.refusals import Refusal
from ..state.owner import PanelIdentity, panel_from_json
from ..verbs.argument_checks import (
    bad_request,
    changing_call,
    checked,
    only,
    parts_of,
    unknown_verb,
)
from ..verbs.registry import VERBS
from .reading_verbs import READING

REQUEST_LIMIT = 64 * 1024
STEPS_LIMIT = 64
DIGITS_LIMIT = 20
CALL = frozenset(("verb", "args", "expect"))
FENCE = names.integer(1, 1 << 53)


@dataclass(frozen=True)
class Request:
    """A call, or a list of mutating calls to be previewed. `fence`: number of the turn in the VG,
    only beside a mutating call. `panel`: who sends it, beside what only the owner may send."""

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
    request_id = checked("id", names.request_id, document.get("id"))
    if "dry_run" in document:
        only(document, {"v", "id", "dry_run"}, "request")
        return Request(request_id, _steps(document["dry_run"]))
    only(document, {"v", "id", "verb", "args", "expect", "fence", "panel"}, "request")
    call = _call({key: document[key] for key in document if key in CALL}, False)
    fence, panel = _fence(document.get("fence"), call), _panel(document.get("panel"), call)
    return Request(request_id, call, fence, panel)


def id_of(line: bytes) -> str | None:
    """The request id of a line that was refused, where it can still be read."""
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


def is_ok(line: bytes) -> bool:
    """Whether a reply of ours is no error."""
    return json.loads(line)["ok"] is True


def host_block(boot_id: str, boottime_ns: int, wall_ns: int) -> dict[str, Any]:
    return {"boot_id": boot_id, "boottime_ns": boottime_ns, "wall_ns": wall_ns, "agent": VERSION}


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


def _fence(value: Any, call: VerbCall) -> int | None:
    if value is None:
        return None
    if call.verb not in VERBS:
        raise bad_request(f"A fence does not belong to {call.verb}: it changes no volume group.")
    number: int = checked("fence", FENCE, value)
    return number


def _panel(value: Any, call: VerbCall) -> PanelIdentity | None:
    if value is None:
        return None
    if call.verb not in VERBS and not READING[call.verb].is_owners:
        raise bad_request(f"A panel does not belong to {call.verb}: every panel may ask for it.")
    panel: PanelIdentity = checked("panel", panel_from_json, value)
    return panel


def _steps(value: Any) -> tuple[VerbCall, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= STEPS_LIMIT:
        raise bad_request(f"dry_run is a list of 1 to {STEPS_LIMIT} steps.")
    steps = []
    for step in value:
        if not isinstance(step, dict):
            raise bad_request("A step is a JSON object.")
        only(step, {"verb", "args", "expect"}, "step")
        steps.append(_call(step, True))
    return tuple(steps)


def _call(document: Mapping[str, Any], preview: bool) -> VerbCall:
    verb, args, expect = parts_of(document)
    if verb in VERBS:
        return changing_call(verb, args, expect, preview=preview)
    if verb not in READING or preview:
        raise unknown_verb(verb, VERBS if preview else [*READING, *VERBS])
    fields = READING[verb].arguments
    only(expect, frozenset(), "expect")
    only(args, frozenset(fields), "args")
    values = {
        name: checked(name, check, args.get(name, 0 if name == "after" else None))
        for name, check in fields.items()
    }
    return VerbCall(verb, values, {})
