"""The OpenAPI description: pieces that many views share, and what holds for all operations (the
range of whole numbers, and the errors that any operation may return).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, Final

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import serializers

from panel.api.framework import cursor, wait_for_job
from panel.api.framework.error_codes import ERROR_CODES
from panel.api.framework.examples import add_examples
from panel.api.framework.problem import MEDIA_TYPE
from panel.api.framework.resource import Resource
from panel.api.response_shapes import Json
from storage.metrics.series import MAX_POINTS

CODE_CHOICES: Final = list(ERROR_CODES)


class Fault(serializers.Serializer[dict[str, Any]]):
    """Where in the request it is: `pointer` into the body (RFC 6901), or the name of a
    `parameter`."""

    pointer = serializers.CharField(
        allow_blank=True,
        required=False,
        help_text="Where in the body it is (RFC 6901); empty: the body as a whole.",
    )
    parameter = serializers.CharField(required=False, help_text="Name of the query parameter.")
    code = serializers.CharField()
    message = serializers.CharField()


class Conflict(serializers.Serializer[dict[str, Any]]):
    """A job in the way."""

    key = serializers.CharField()
    url = serializers.CharField()
    name = serializers.CharField()
    kind = serializers.CharField(help_text="What the job does.")
    state = serializers.CharField()


class Existing(serializers.Serializer[dict[str, Any]]):
    """The row that has what only one can have."""

    key = serializers.CharField()
    url = serializers.CharField()
    name = serializers.CharField()


class ProblemShape(serializers.Serializer[dict[str, Any]]):
    """An error (RFC 9457). `code` is stable; `correction` says what to do."""

    type = serializers.CharField(help_text="URI of the kind of problem.")
    title = serializers.CharField(help_text="The status in words.")
    status = serializers.IntegerField(help_text="The HTTP status.")
    detail = serializers.CharField(help_text="What is wrong, in a sentence for people.")
    instance = serializers.CharField(help_text="Path of the request.")  # type: ignore[assignment]  # a field, no attribute
    code = serializers.ChoiceField(choices=CODE_CHOICES)
    correction = serializers.CharField(allow_blank=True)
    doc_url = serializers.CharField(help_text="Page of the panel that explains the code.")
    errors = Fault(
        many=True,
        required=False,
        help_text="What is wrong in the body or the parameters, one by one.",
    )  # type: ignore[assignment]  # a field, no attribute
    conflicting_jobs = Conflict(many=True, required=False, help_text="Jobs in the way.")
    not_before = serializers.DateTimeField(
        required=False, help_text="When the same request may succeed, where that is known."
    )
    existing = Existing(required=False, help_text="`external_id_taken`: who has it.")


WAIT = OpenApiParameter(
    "wait",
    OpenApiTypes.INT,
    description=f"Answers when the job is over, or after this many seconds (0 to "
    f"{wait_for_job.MAX_SECONDS}).",
)
DRY_RUN = OpenApiParameter(
    "dry_run",
    OpenApiTypes.BOOL,
    description="Changes nothing. Returns a job whose steps show the commands.",
)
KEY_HEADER = "Idempotency-Key"
KEY_TEXT = "A new random value for each change. Send the same value to repeat a request."
IDEMPOTENCY_KEY = OpenApiParameter(
    KEY_HEADER,
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description=f"{KEY_TEXT} Required without dry_run=true.",
)
REQUIRED_KEY = OpenApiParameter(
    KEY_HEADER, OpenApiTypes.STR, OpenApiParameter.HEADER, required=True, description=KEY_TEXT
)

IF_MATCH = OpenApiParameter(
    "If-Match",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="The ETag of the wish you read. The answer is 412 if the wish has changed since.",
)


class ScopedSchema(AutoSchema):
    """An operation with the scopes of which a token needs one."""

    def get_extensions(self) -> Json:
        """`x-required-scopes`, and `x-dry-run-scopes` where a dry run needs less."""
        if not isinstance(self.view, Resource):
            return {}
        needed = self.view.scopes_for(self.method)
        dry = self.view.scopes_for(self.method, is_dry=True)
        extensions = {"x-required-scopes": needed} if needed else {}
        return extensions | ({"x-dry-run-scopes": dry} if dry != needed else {})


def query(name: str, description: str, **fields: Any) -> OpenApiParameter:
    """A text parameter."""
    return OpenApiParameter(name, OpenApiTypes.STR, description=description, **fields)


def choice(name: str, description: str, values: Collection[str]) -> OpenApiParameter:
    """A parameter with some of these values: repeated for several."""
    text = f"{description} Repeated: any of them."
    return query(name, text, enum=list(values), many=True, explode=True)


def problems(*statuses: int) -> dict[Any, Any]:
    """Answers that are problems, 401 among them."""
    texts = {
        400: "A parameter or header is invalid.",
        402: "The payment authorisation does not allow this order.",
        403: "The token's scopes or the person's role do not allow this.",
        404: "The object does not exist, or you may not see it.",
        409: "Another job is changing the volume (`busy`), or the first request with this "
        "Idempotency-Key is still running.",
        412: "The object has changed: If-Match does not match its current version (`changed`).",
        422: "The body is invalid, or the request cannot be carried out.",
    }
    return {
        (status, MEDIA_TYPE): OpenApiResponse(
            ProblemShape, texts.get(status, "The request has no valid credentials.")
        )
        for status in (401, *statuses)
    }


def gone(why: str) -> dict[Any, Any]:
    """The answer about what is not kept any more."""
    return {(410, MEDIA_TYPE): OpenApiResponse(ProblemShape, why)}


INTEGER: Final = "integer"
INT64: Final = "int64"
ANY_OPERATION: Final = {
    "400": "The request is malformed, or has a parameter or a body that is not known here.",
    "405": "The address does not know this method; Allow names those that it knows.",
    "406": "The answer is JSON, which Accept excludes.",
    "429": "Too many requests of this token or this address; Retry-After says how long to wait.",
    "500": "The panel failed (`internal`); its log has the request's id.",
    "503": "The panel is not available now; Retry-After says how long to wait.",
}
WITH_BODY: Final = {
    "413": "The body is too large.",
    "415": "The body is no JSON.",
}
NUMBER: Final = {"type": INTEGER, "format": INT64}
TEXT: Final = {"type": "string"}
ANSWER_HEADERS: Final = {
    "ETag": {"description": "The version of what is shown; for If-Match.", "schema": TEXT},
    "Location": {"description": "Address of what was made, or of the job.", "schema": TEXT},
    "Idempotency-Replayed": {
        "description": "`true`: this Idempotency-Key was used before, this is the first answer.",
        "schema": TEXT,
    },
    "Tiercel-Version": {"description": "The release of the panel.", "schema": TEXT},
    "X-Request-Id": {
        "description": "The name of the request, in the log, its job and its audit entries.",
        "schema": TEXT,
    },
}
SAME_EVERYWHERE: Final = {
    "key": "Its name in the API; it never changes.",
    "url": "Where the API shows it.",
    "name": "Display name.",
    "label": "Display name.",
    "external_id": "The name of it in your systems; empty where it has none.",
    "host": "The storage host.",
    "volume": "The volume.",
    "customer": "The customer.",
    "order": "The order.",
    "job": "The job.",
    "cache": "Null: no cache.",
    "cache_plan": "The cache plan.",
    "state": "Where it stands now.",
    "mode": "What becomes of writes: writethrough, writeback or writearound.",
    "size_bytes": "Bytes.",
    "price_minor": "Per month, in minor units (cents) of the currency.",
    "currency": "ISO 4217, such as EUR.",
    "currency_digits": "Decimal places of the currency: with 2, 490 minor units are 4.90.",
    "next_invoice_at": "The day of the next invoice.",
    "code": "For programs; it never changes its meaning.",
    "message": "What is wrong, in a sentence for people.",
    "correction": "What to do, in a sentence for people; empty where nothing is to be done.",
    "severity": "error or warning.",
    "reason": "Why, in the words of who said so.",
    "actor": "E-mail address of who did it; null or empty: the panel itself.",
    "door": "By which way it was asked for, such as page, API or billing.",
    "token": "Key of the token that asked; empty: none did.",
    "created_at": "When it was made.",
    "updated_at": "When it changed last.",
    "started_at": "When it began; null: it has not yet.",
    "ended_at": "When it was over; null: it is not yet.",
    "delivered_at": "When it arrived; null: it has not yet.",
    "expires_at": "When it ends.",
    "revoked_at": "When it was revoked; null: it was not.",
    "at": "When it happened.",
    "since": "When it began.",
    "until": "When it ends.",
    "start": "When it begins.",
    "end": "When it ends.",
    "device": "Name of the disk on its host, such as sda.",
    "serial": "Serial number of the disk.",
    "vg_name": "Name of the volume group.",
    "vg_uuid": "LVM's UUID of the volume group.",
    "array": "Name of the array on its host, such as md0.",
    "items": "The rows of this answer, one each.",
    "attempts": "How often it was tried.",
    "on": "False: nothing is sent to it.",
    "zone": "Time zone of its hours, such as Europe/Berlin.",
    "quiet_start": "When its quiet hours begin, by the clock of `zone`; null: it has none.",
    "quiet_end": "When its quiet hours end; they may span midnight.",
    "risk_pierces": "Whether data at risk is told in quiet hours, too.",
    "digest_hour": "Hour of the daily digest in `zone`, 0 to 23; null: no digest.",
    "uuid": "Its UUID, as LVM or md writes it.",
    "by": "E-mail address of who did it; null or empty: the panel itself.",
    "email": "E-mail address of the account.",
    "customer_external_id": "The customer, by the name of it in your systems.",
    "volume_external_id": "The volume, by the name of it in your systems.",
    "mandate": "What the customer lets you charge.",
    "cap_charge_minor": "Maximum for one charge, in minor units; null: not known.",
    "cap_period_minor": "Maximum for a calendar month (UTC), in minor units; null: not known.",
    "earliest_next_at": "Nothing may be charged earlier; null: not known.",
    "argv": "The program and its arguments.",
    "rc": "Exit code; null: it has not ended.",
    "read_at": "When it was read from the host; null: never.",
    "asked_at": "When the host was asked last; null: never.",
    "model": "Model, as the disk names it; empty: it says none.",
    "free_bytes": "Bytes of it that nothing uses.",
    "members": "Names of its disks, such as sda1.",
    "level": "RAID level, such as raid1.",
    "degraded_count": "How many of its disks are missing or have failed; null: unknown.",
    "share": "Share of the reads that the slow disks answered, 0 to 1; null: they answered none.",
    "action": "What is to become of each volume.",
    "staff_role": "Role in the staff; empty: somebody of a customer.",
    "member_role": "Role in the customer; empty: somebody of the staff.",
    "role": "Role in the customer.",
    "scopes": "What the token may do.",
    "port": "TCP port of SSH.",
    "life": "live, retired (switched off, data kept) or gone (wiped and removed).",
    "description": "What it offers, in a sentence for customers.",
    "ratio_percent": "Size in percent of the volume's size; null: `size_bytes` says it.",
    "on_offer": "Whether customers can order it.",
    "vg": "Name of the volume group.",
    "lv": "Name of the logical volume.",
    "next_cursor": "The `cursor` of the next page; null: this is the last one.",
}
"""What a field means by its name, wherever its shape or body says nothing else."""
SAME_TWICE: Final = re.compile(r"^\* `(.*)` - \1$\n?", re.MULTILINE)
ALLOW: Final = {"description": "The methods of the address.", "schema": TEXT}
CHANGING: Final = ("post", "put", "patch", "delete")
VERSIONED: Final = ("put", "patch", "delete")
UNTAGGED: Final = ("events_list",)
"""Operations whose every answer is another one (`Resource.is_tagged`)."""
NOT_MODIFIED: Final = {"description": "If-None-Match names the version that is there."}
LIMIT_HEADERS: Final = {
    "Retry-After": {"description": "Seconds until the next request.", "schema": NUMBER},
    "RateLimit-Policy": {
        "description": 'The limit that is nearest, by name: `"token";q=50;w=10` are 50 requests '
        "in 10 seconds.",
        "schema": TEXT,
    },
    "RateLimit": {
        "description": 'What is left of it: `"token";r=49;t=1` are 49, and all again in a second.',
        "schema": TEXT,
    },
    "RateLimit-Limit": {"description": "Requests at once, after a pause.", "schema": NUMBER},
    "RateLimit-Remaining": {"description": "Requests left of these now.", "schema": NUMBER},
    "RateLimit-Reset": {"description": "Seconds until all are left again.", "schema": NUMBER},
}


def completed(result: Json, **_: object) -> Json:
    """The document as drf-spectacular makes it, with what no view says by itself."""
    for schema in _objects(result):
        kind = schema.get("type")
        # Without it, generated clients have 32 bits: 2 GiB at most.
        if kind == INTEGER or (isinstance(kind, list) and INTEGER in kind):
            schema.setdefault("format", INT64)
        _tell_choices_once(schema)
        for name, field in schema.get("properties", {}).items():
            if name in SAME_EVERYWHERE and isinstance(field, dict):
                field.setdefault("description", SAME_EVERYWHERE[name])
    responses = {status: _problem(text) for status, text in (ANY_OPERATION | WITH_BODY).items()}
    responses["405"]["headers"] = {"Allow": ALLOW}
    responses["429"]["headers"] = LIMIT_HEADERS
    responses["503"]["headers"] = {"Retry-After": LIMIT_HEADERS["Retry-After"]}
    result["components"]["responses"] = {
        f"Problem{status}": responses[status] for status in responses
    }
    result["components"]["headers"] = ANSWER_HEADERS | LIMIT_HEADERS
    for operations in result["paths"].values():
        is_signed = not any("token" in each for each in _securities(operations))
        for method, operation in operations.items():
            if not is_signed:
                _tell_headers(operation, method, is_single=_is_single(operations))
                if operation["operationId"] in UNTAGGED:
                    _tell_no_version(operation)
            _tell_limits(operation)
            answers = operation["responses"]
            for status in (*ANY_OPERATION, *(WITH_BODY if "requestBody" in operation else ())):
                answers.setdefault(status, {"$ref": f"#/components/responses/Problem{status}"})
            operation["responses"] = dict(sorted(answers.items()))
    _close_bodies(result)
    add_examples(result)
    return result


def _tell_choices_once(schema: Json) -> None:
    """Without the lines that explain a value with itself."""
    description = schema.get("description")
    if isinstance(description, str) and SAME_TWICE.search(description):
        schema["description"] = SAME_TWICE.sub("", description).strip()
        if not schema["description"]:
            del schema["description"]


def _securities(operations: Json) -> list[Json]:
    return [each for operation in operations.values() for each in operation.get("security", [])]


def _is_single(operations: Json) -> bool:
    """Whether one thing is read and changed there (`Resource.has_version`)."""
    return "get" in operations and any(method in operations for method in VERSIONED)


def _tell_headers(operation: Json, method: str, *, is_single: bool) -> None:
    """The headers that every operation takes and answers with."""
    parameters = operation.setdefault("parameters", [])
    given = {each["name"] for each in parameters}
    if method in CHANGING and KEY_HEADER not in given:
        parameters.append(
            _header(KEY_HEADER, "A new random value for each change; the same to repeat it.")
        )
    if method in VERSIONED and is_single and "If-Match" not in given:
        parameters.append(_header("If-Match", "The ETag you read; 412 if it has changed since."))
        answer = operation["responses"].setdefault("412", _problem("It has changed (`changed`)."))
        answer.setdefault("headers", {})["ETag"] = _reference("ETag")
    if method == "get":
        parameters.append(_header("If-None-Match", "The ETag you have; 304 if it is the same."))
        operation["responses"].setdefault("304", NOT_MODIFIED)
    for status, answer in operation["responses"].items():
        if "$ref" in answer:
            continue
        names = ["X-Request-Id", "Tiercel-Version"]
        if status == "200" and (method == "get" or (is_single and method in VERSIONED)):
            names.append("ETag")
        if status in ("201", "202"):
            names.append("Location")
        if status[0] == "2" and method in CHANGING:
            names.append("Idempotency-Replayed")
        if status in ("202", "409", "422"):
            names.append("Retry-After")
        headers = answer.setdefault("headers", {})
        for name in names:
            headers.setdefault(name, _reference(name))


def _tell_no_version(operation: Json) -> None:
    """Each answer is another one."""
    operation["parameters"] = [
        each for each in operation["parameters"] if each["name"] != "If-None-Match"
    ]
    del operation["responses"]["304"]
    for answer in operation["responses"].values():
        answer.get("headers", {}).pop("ETag", None)


def _tell_limits(operation: Json) -> None:
    """What the server refuses anyway: numbers out of range, and more than is asked for."""
    for parameter in operation.get("parameters", ()):
        schema, name = parameter["schema"], parameter["name"]
        # The `after` of events is a text.
        if parameter["in"] == "query" and name in LIMITS and schema.get("type") == INTEGER:
            schema["minimum"], schema["maximum"] = LIMITS[name]
    body = operation.get("requestBody")
    if body is not None:
        body["required"] = True


def _close_bodies(result: Json) -> None:
    """A body has no other fields than those that are described: the server refuses them."""
    schemas: Json = result["components"]["schemas"]
    bodies = [
        operation["requestBody"]
        for operations in result["paths"].values()
        for operation in operations.values()
        if "requestBody" in operation
    ]
    left = [each["$ref"] for each in _objects(bodies) if "$ref" in each]
    closed: set[str] = set()
    while left:
        name = left.pop().rpartition("/")[2]
        if name in closed:
            continue
        closed.add(name)
        schema = schemas[name]
        if schema.get("type") == "object":
            schema["additionalProperties"] = False
        left += [each["$ref"] for each in _objects(schema) if "$ref" in each]


LIMITS: Final = {
    "limit": (1, cursor.MAX_LIMIT),
    "wait": (0, wait_for_job.MAX_SECONDS),
    "points": (1, MAX_POINTS),
    "after": (0, 2**31 - 1),
}
"""The least and the most of query parameters that are numbers, by name."""


def _header(name: str, description: str) -> Json:
    return {"in": "header", "name": name, "schema": TEXT, "description": description}


def _reference(header: str) -> Json:
    return {"$ref": f"#/components/headers/{header}"}


def _problem(description: str) -> Json:
    shape = {"$ref": "#/components/schemas/ProblemShape"}
    return {"description": description, "content": {MEDIA_TYPE: {"schema": shape}}}


def _objects(part: Any) -> Iterator[Json]:
    if isinstance(part, dict):
        yield part
        part = list(part.values())
    for each in part if isinstance(part, list) else ():
        yield from _objects(each)
