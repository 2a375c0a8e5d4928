"""The OpenAPI description: pieces that many views share, and what holds for all operations (the
range of whole numbers, and the errors that any operation may return).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, inline_serializer
from rest_framework import serializers

from panel.api.framework import cursor, wait_for_job
from panel.api.framework.problem import MEDIA_TYPE
from panel.api.response_shapes import Json


class Fault(serializers.Serializer[dict[str, Any]]):
    """Where in the request it is: `pointer` into the body (RFC 6901), or the name of a
    `parameter`."""

    pointer = serializers.CharField(allow_blank=True, required=False)
    parameter = serializers.CharField(required=False)
    code = serializers.CharField()
    message = serializers.CharField()


class Conflict(serializers.Serializer[dict[str, Any]]):
    """A job in the way."""

    key = serializers.CharField()
    url = serializers.CharField()
    kind = serializers.CharField()
    state = serializers.CharField()


class ProblemShape(serializers.Serializer[dict[str, Any]]):
    """An error (RFC 9457). `code` is stable; `correction` says what to do."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    instance = serializers.CharField()  # type: ignore[assignment]  # a field, no attribute
    code = serializers.CharField()
    correction = serializers.CharField(allow_blank=True)
    errors = Fault(many=True, required=False)  # type: ignore[assignment]  # a field, no attribute
    conflicting_jobs = Conflict(many=True, required=False)


PAGE = [
    OpenApiParameter(
        "limit",
        OpenApiTypes.INT,
        description=f"Items per page, 1 to {cursor.MAX_LIMIT}; {cursor.DEFAULT_LIMIT}",
    ),
    OpenApiParameter(
        "cursor", OpenApiTypes.STR, description="The next_cursor of the previous answer."
    ),
]
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
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="A new random value for each change. Send the same value to repeat a request. "
    "Required for every request that changes a host.",
)

IF_MATCH = OpenApiParameter(
    "If-Match",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="The ETag of the wish you read. The answer is 412 if the wish has changed since.",
)


def query(name: str, description: str, **fields: Any) -> OpenApiParameter:
    """A text parameter."""
    return OpenApiParameter(name, OpenApiTypes.STR, description=description, **fields)


def choice(name: str, description: str, values: Collection[str]) -> OpenApiParameter:
    """A parameter with some of these values: repeated for several."""
    text = f"{description} Repeated: any of them."
    return query(name, text, enum=list(values), many=True, explode=True)


def page_of(shape: type[serializers.Serializer[Any]], name: str) -> serializers.Serializer[Any]:
    """A list's answer."""
    return inline_serializer(
        name,
        {
            "items": shape(many=True),
            "next_cursor": serializers.CharField(allow_null=True),
        },
    )


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


INTEGER: Final = "integer"
INT64: Final = "int64"
ANY_OPERATION: Final = {
    "400": "The request is malformed, or has a parameter or a body that is not known here.",
    "429": "Too many requests of this token or this address; Retry-After says how long to wait.",
}
WITH_BODY: Final = {
    "413": "The body is too large.",
    "415": "The body is no JSON.",
}
NUMBER: Final = {"type": INTEGER, "format": INT64}
LIMIT_HEADERS: Final = {
    "Retry-After": {"description": "Seconds until the next request.", "schema": NUMBER},
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
    responses = {status: _problem(text) for status, text in (ANY_OPERATION | WITH_BODY).items()}
    responses["429"]["headers"] = LIMIT_HEADERS
    result["components"]["responses"] = {
        f"Problem{status}": responses[status] for status in responses
    }
    for operations in result["paths"].values():
        for operation in operations.values():
            answers = operation["responses"]
            for status in (*ANY_OPERATION, *(WITH_BODY if "requestBody" in operation else ())):
                answers.setdefault(status, {"$ref": f"#/components/responses/Problem{status}"})
            operation["responses"] = dict(sorted(answers.items()))
    return result


def _problem(description: str) -> Json:
    shape = {"$ref": "#/components/schemas/ProblemShape"}
    return {"description": description, "content": {MEDIA_TYPE: {"schema": shape}}}


def _objects(part: Any) -> Iterator[Json]:
    if isinstance(part, dict):
        yield part
        part = list(part.values())
    for each in part if isinstance(part, list) else ():
        yield from _objects(each)
