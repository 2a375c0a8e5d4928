"""What is sent to webhooks, for the OpenAPI description: its section `webhooks`, one entry for each
family of events, and one for the test message."""

from __future__ import annotations

from typing import Any, Final

from panel.api.framework.shape import Json
from panel.deliveries.webhooks.webhook_sending import TEST
from storage.models import EventKind
from storage.models.event import FAMILIES
from storage.planner.wish import CACHES

TEXT: Final = {"type": "string"}
FIELDS: Final = {
    "job": "`kind` and `state`; without success also `error_code`.",
    "volume": "`size_bytes`, `external_id`, `label`; for staff `managed`, `vg`.",
    "cache": "`size_bytes`, `mode`; for staff `technology`, `trouble`.",
    "host": "`name`, `state`, `error_code`, `until`; for changes `change`, `item`, `before` and "
    "`after`. For staff only.",
    "order": "`state`, `intent`, `reason_code`, `external_id`; for proofs `proof`, `verdict`.",
    "alert": "`code`, `severity`, `data_at_risk`, `is_told`, `tier`. For staff only.",
}
"""Of `data`, by family."""
HEADERS: Final = {
    "webhook-id": "The event's id, the same in each attempt.",
    "webhook-timestamp": "Time of this attempt, in seconds since 1970.",
    "webhook-signature": "`v1,` and the HMAC-SHA256 of id, time and body, by Standard Webhooks; "
    "two of them, separated by a space, while the secret is being changed.",
}
ANSWERS: Final = {
    "2XX": "Accepted. Later events of the same subject follow.",
    "410": "The receiver is gone: the webhook is disabled.",
    "429": "Too many requests. The event is sent again, after `Retry-After` if given (at most an "
    "hour).",
    "503": "Temporarily unavailable. The event is sent again, as after 429.",
    "default": "Not accepted. The event is sent again for 25 hours, at growing intervals.",
}


def add_webhooks(result: Json, **_: object) -> Json:
    """The document with what the panel sends."""
    components = result["components"]
    components["parameters"] = {
        name: {"in": "header", "name": name, "required": True, "schema": TEXT, "description": text}
        for name, text in HEADERS.items()
    }
    components["examples"] |= {
        f"{family}_message": {"value": _example(components["examples"], family)}
        for family in FAMILIES
    }
    result["webhooks"] = {family: {"post": _family(family)} for family in FAMILIES}
    result["webhooks"]["test"] = {"post": _test()}
    return result


def _kinds(family: str) -> list[EventKind]:
    return [kind for kind in EventKind if kind.partition(".")[0] == family]


def _family(family: str) -> Json:
    kinds = _kinds(family)
    meanings = "\n".join(f"- `{kind.value}`: {kind.label}" for kind in kinds)
    schema = {
        "allOf": [
            {"$ref": "#/components/schemas/EventShape"},
            {
                "type": "object",
                "properties": {"type": {"type": "string", "enum": [each.value for each in kinds]}},
            },
        ]
    }
    return _message(
        f"webhook_{family}",
        f"An event of the family {family}.*",
        f"{meanings}\n\n`data` has the keys of the objects of the event, and {FIELDS[family]}",
        schema,
        {"$ref": f"#/components/examples/{family}_message"},
    )


def _test() -> Json:
    properties: Json = {
        **dict.fromkeys(("id", "subject"), TEXT),
        "type": {"type": "string", "const": TEST},
        "version": {"type": "integer", "format": "int64"},
        "timestamp": {"type": "string", "format": "date-time"},
        "data": {"type": "object", "properties": {"text": TEXT}, "required": ["text"]},
    }
    schema = {"type": "object", "properties": properties, "required": sorted(properties)}
    example = {
        "id": "k4zq7m2xv5a6bhtw",
        "type": TEST,
        "version": 1,
        "timestamp": "2026-11-23T12:00:00Z",
        "subject": "webhook:a4mz7c2xk5qv3bth",
        "data": {"text": "This is a test message."},
    }
    return _message(
        "webhook_test_message",
        "A test message",
        "A person requested it; it has no other meaning.",
        schema,
        {"value": example},
    )


def _message(
    operation_id: str, summary: str, description: str, schema: Json, example: Json
) -> Json:
    content = {"application/json": {"schema": schema, "examples": {"example": example}}}
    return {
        "operationId": operation_id,
        "summary": summary,
        "description": description,
        "tags": ["webhooks"],
        "security": [],
        "parameters": [{"$ref": f"#/components/parameters/{name}"} for name in HEADERS],
        "requestBody": {"required": True, "content": content},
        "responses": {status: {"description": text} for status, text in ANSWERS.items()},
    }


def _example(examples: Json, family: str) -> Any:
    """An event of the family, after the one that the list of events shows."""
    event = examples["EventPageShape"]["value"]["items"][0]
    names = ("customer", "customer_external_id", "volume", "job", "order")
    data = {name: event["data"][name] for name in names}
    return {**event, "type": _kinds(family)[0].value, "data": {**data, **DATA[family]}}


VOLUME: Final = {"size_bytes": 1 << 40, "external_id": "vps-1012", "label": "crm-data"}
DATA: Final[dict[str, Json]] = {
    "job": {"kind": "add-cache", "state": "queued"},
    "volume": {**VOLUME, "managed": True, "vg": "vg0"},
    "cache": {"size_bytes": 1 << 33, "mode": "writethrough", "technology": next(iter(CACHES))},
    "host": {"name": "stor-1", "state": "pending"},
    "order": {"state": "authorising", "intent": "upgrade", "external_id": "vps-1012"},
    "alert": {"code": "drift", "severity": "warning", "data_at_risk": False, "tier": 1},
}
"""Fields of a family's example, in addition to the keys."""
