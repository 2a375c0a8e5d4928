"""Checks a call that changes something: verb, arguments and expectations, completely. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ..calls import names
from ..calls.call import Validator, VerbCall
from ..calls.refusals import Refusal
from .registry import VERBS

ASK_AGAIN = "Upgrade the panel and the agent to the same release; then repeat the request."
EXPECT: Mapping[str, Validator] = {
    "vg_uuid": names.lvm_uuid,
    "lv_uuid": names.lvm_uuid,
    "lv_name": names.lv_name,
    "size_bytes": names.size_bytes,
}
"""What a request may expect of the group and the volume that it names."""


def call_from_json(document: Mapping[str, Any]) -> VerbCall:
    """A call that was stored with an operation: checked again like one from the wire. Raises
    Refusal(bad_request | unknown_verb)."""
    verb, args, expect = parts_of(json.loads(json.dumps(document)))
    if verb not in VERBS:
        raise unknown_verb(verb, VERBS)
    return changing_call(verb, args, expect, preview=False)


def parts_of(document: Mapping[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Verb, arguments and expectations, not yet checked. Raises Refusal(bad_request)."""
    verb, args = document.get("verb"), document.get("args", {})
    expect = document.get("expect", {})
    if not isinstance(verb, str):
        raise bad_request("verb must be a string.")
    if not isinstance(args, dict) or not isinstance(expect, dict):
        raise bad_request("args and expect are JSON objects.")
    return verb, args, expect


def changing_call(
    verb: str, args: Mapping[str, Any], expect: Mapping[str, Any], *, preview: bool
) -> VerbCall:
    """Raises Refusal(bad_request) unless arguments and expectations are those of the verb."""
    schema = VERBS[verb].arguments
    only(args, frozenset({**schema.required, **schema.optional}), "args")
    only(expect, frozenset(EXPECT), "expect")
    values: dict[str, Any] = {}
    for name, check in schema.required.items():
        if name not in args:
            raise bad_request(f"{verb} needs the argument {name}.")
        values[name] = checked(name, check, args[name])
    for name, check in schema.optional.items():
        if args.get(name) is not None:
            values[name] = checked(name, check, args[name])
    if schema.any_of and not any(name in values for name in schema.any_of):
        raise bad_request(f"{verb} needs at least one of {', '.join(schema.any_of)}.")
    # A step of a preview may name a volume that an earlier step makes: it has no uuid yet.
    for name in sorted(schema.expects - ({"lv_uuid"} if preview else frozenset())):
        if expect.get(name) is None:
            raise bad_request(f"expect of {verb} needs {name}.")
    expected = {
        name: checked(f"expect.{name}", EXPECT[name], value)
        for name, value in expect.items()
        if value is not None
    }
    return VerbCall(verb, values, expected)


def bad_request(message: str) -> Refusal:
    return Refusal("bad_request", message, ASK_AGAIN)


def unknown_verb(verb: str, known: Iterable[str]) -> Refusal:
    return Refusal(
        "unknown_verb",
        f"This agent has no verb {verb[:64]!r}. It has: {', '.join(known)}.",
        ASK_AGAIN,
    )


def only(document: Mapping[str, Any], allowed: set[str] | frozenset[str], where: str) -> None:
    for key in document:
        if key not in allowed:
            raise bad_request(f"Unknown field {key[:64]!r} in the {where}.")


def checked(name: str, check: Validator, value: Any) -> Any:
    try:
        return check(value)
    except ValueError as error:
        raise Refusal(
            "bad_request", f"{name} must be {error}.", f"Correct {name} in the request."
        ) from None
